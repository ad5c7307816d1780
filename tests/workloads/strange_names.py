# SPDX-License-Identifier: BSD-3-Clause
"""Proves that any name gets through to every output: quotes, control characters, other scripts, great length."""

NAMES = (
    "plain", "with \"quotes\" and 'others'", "back\\slash", "line\nend", "tab\tand\x01control", "dot.in.name",
    "<angle>", "caf\u00e9", "\u51fd\u6570", "\U0001f600", "x" * 300,
)  # fmt: skip

for number, name in enumerate(NAMES):
    code = compile("def f(): return 1\nf()", f"/file of {name}", "exec")
    # The name of a code object need not be an identifier.
    inner = code.co_consts[0].replace(co_name=name, **({"co_qualname": name} if hasattr(code, "co_qualname") else {}))
    for _ in range(number + 1):
        exec(code.replace(co_consts=(inner, *code.co_consts[1:])))

# A lone surrogate is in no encoding: it may be dropped, but nothing may break.
exec(compile("def f(): return 1\nf()", "/file of \udc80", "exec"))

# SPDX-License-Identifier: BSD-3-Clause
"""allranks install-shims: modules in site-packages that have other profilers' names, where those are not installed."""

from __future__ import annotations

import os
import sys

from allranks.compat import DROP_INS, SHIM_LINE, is_command_shim, is_shim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

USAGE = """\
usage: allranks install-shims [--remove] [--list] [--json] [NAME...]

Let programs of this environment that use another profiler find allranks in its
place: `import mpiprof` and `python -m mpiprof`. For each NAME (default: all)
a small module is put beside allranks, in site-packages. Where the other
profiler is installed nothing is done, and if it is installed later it is the
one that is found. Of kernprof the commands kernprof and kernprof.py are put
beside the interpreter, unless there are such files. To stand in for a profiler
in one run only: allranks run --as NAME.

names:
  {names}

options:
      --remove  remove those modules again
      --list    show what there is, and change nothing
      --json    the same for programs; also says what was done
  -h, --help    show this help

exit status: 0, 1 if one could not be installed or removed, 2 if nothing was tried
"""

SHIM = (
    SHIM_LINE
    + """
import sys

from allranks import compat

stand_in = compat.load_for_shim("{name}")
if __name__ == "__main__":
    stand_in.main()
else:
    sys.modules[__name__] = stand_in
"""
)


# A first line of more than 127 bytes, or with a space in it, is not understood by every kernel.
COMMAND_HEAD = "#!{python}\n"
COMMAND_HEAD_BY_SHELL = """\
#!/bin/sh
'''exec' "{python}" "$0" "$@"
' '''
"""
COMMAND = (
    SHIM_LINE
    + """
from allranks.compat import load_for_shim

load_for_shim("{name}").main()
"""
)


def directory() -> str:
    """That of allranks: a Python that finds it finds them."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def shim_of(name: str) -> str:
    return os.path.join(directory(), name + ".py")


def command_directory() -> str:
    """Where pip puts the commands of packages that are in this directory."""
    import sysconfig

    here = directory()
    schemes = [sysconfig.get_default_scheme() if sys.version_info >= (3, 10) else sysconfig._get_default_scheme(), "posix_user"]  # type: ignore[attr-defined]
    for scheme in schemes:
        paths = sysconfig.get_paths(scheme)
        if os.path.realpath(here) in map(os.path.realpath, (paths["purelib"], paths["platlib"])):
            return paths["scripts"]
    return os.path.join(here, "bin")


def command_text(name: str) -> str:
    is_plain = len(sys.executable) < 120 and not any(each.isspace() for each in sys.executable)
    head = COMMAND_HEAD if is_plain else COMMAND_HEAD_BY_SHELL
    return head.format(python=sys.executable) + COMMAND.format(name=name)


def where_it_is(spec: ModuleSpec) -> str:
    if spec.origin and spec.has_location:
        return spec.origin
    return next(iter(spec.submodule_search_locations or ()), str(spec.origin))


def original_of(name: str) -> str:
    """Where Python finds the other profiler; empty: nowhere. The current directory is no installation."""
    from importlib.machinery import PathFinder

    here = os.getcwd()
    path = [entry for entry in sys.path if entry and os.path.abspath(entry) != here]
    spec = PathFinder.find_spec(name, path)
    found = where_it_is(spec) if spec else ""
    return "" if found and is_shim(found) else found


def install(name: str) -> str:
    """What was done."""
    path = shim_of(name)
    if original_of(name):
        return "original"
    if is_shim(path):
        return "present"
    with open(path, "x", encoding="utf-8") as file:  # never over what another program has put there
        file.write(SHIM.format(name=name))
    return "installed"


def remove(name: str) -> str:
    path = shim_of(name)
    if not is_shim(path):
        return "original" if original_of(name) else "absent"
    os.unlink(path)
    return "removed"


def look(name: str) -> str:
    if original_of(name):
        return "original"
    return "present" if is_shim(shim_of(name)) else "absent"


# ---- commands ----


def look_for_command(path: str) -> str:
    if not os.path.lexists(path):
        return "absent"
    return "present" if is_command_shim(path) else "original"


def install_command(name: str, path: str) -> str:
    state = look_for_command(path)
    if state != "absent":
        return state
    if original_of(name):
        return "absent"  # it would call another module than it says
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "x", encoding="utf-8") as file:
        file.write(command_text(name))
    os.chmod(path, 0o777 & ~current_umask())
    return "installed"


def current_umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def remove_command(name: str, path: str) -> str:
    state = look_for_command(path)
    if state != "present":
        return state
    os.unlink(path)
    return "removed"


# ---- what was done ----

WORDS = {
    "installed": "{name}: installed, {path}",
    "removed": "{name}: removed, {path}",
    "present": "{name}: a shim, {path}",
    "absent": "{name}: no shim",
    "original": "{name}: left alone, it is installed: {original}",
}


def describe(name: str, state: str) -> dict[str, str]:
    original = original_of(name) if state == "original" else ""
    path = shim_of(name) if state in ("installed", "removed", "present") else ""
    return {"name": name, "state": state, "path": path, "original": original}


def describe_command(path: str, state: str) -> dict[str, str]:
    original = path if state == "original" else ""
    shown = path if state in ("installed", "removed", "present") else ""
    return {"name": f"bin/{os.path.basename(path)}", "state": state, "path": shown, "original": original}


def do(what: str, name: str) -> list[dict[str, str]]:
    """`what`: install, remove or look. The module first: commands follow it."""
    rows = [describe(name, {"install": install, "remove": remove, "look": look}[what](name))]
    for command in DROP_INS[name].commands:
        path = os.path.join(command_directory(), command)
        if what == "look":
            state = look_for_command(path)
        else:
            state = (install_command if what == "install" else remove_command)(name, path)
        rows.append(describe_command(path, state))
    return rows


def parse(argv: list[str]) -> tuple[set[str], list[str]]:
    from allranks._launch import UsageError

    options = {word for word in argv if word.startswith("-")}
    names = [word for word in argv if not word.startswith("-")]
    for word in options - {"--remove", "--list", "--json", "-h", "--help"}:
        raise UsageError(f"unknown option {word} (try: allranks install-shims --help)")
    for name in names:
        if name not in DROP_INS:
            raise UsageError(f"{name}: not one of {', '.join(DROP_INS)}")
    return options, names or list(DROP_INS)


def show(rows: list[dict[str, str]], as_json: bool) -> None:
    from allranks._launch import answer, showable

    if as_json:
        import json

        answer(json.dumps({"directory": directory(), "shims": rows}, indent=2) + "\n")
        return
    answer("".join(showable(WORDS[row["state"]].format(**row)) + "\n" for row in rows))


def main(argv: list[str]) -> int:
    from allranks._launch import UsageError, answer, complain

    try:
        options, names = parse(argv)
    except UsageError as error:
        complain(str(error))
        return 2
    if options & {"-h", "--help"}:
        answer(USAGE.format(names=", ".join(DROP_INS)))
        return 0
    what = "look" if "--list" in options else "remove" if "--remove" in options else "install"
    rows, failed = [], False
    for name in names:
        try:
            rows += do(what, name)
        except OSError as error:
            complain(f"{error.filename or shim_of(name)}: {error.strerror} (use an environment of your own: python -m venv)")
            failed = True
    show(rows, "--json" in options)
    return 1 if failed else 0

# SPDX-License-Identifier: BSD-3-Clause
"""Not a program to be recorded but the yardstick: runs one under cProfile, without or with functions in C.

    python cprofile_reference.py [--builtins] OUTPUT SCRIPT [arguments]
"""

import cProfile
import sys
from types import ModuleType


def run(builtins, output, script, *arguments):
    with open(script, "rb") as file:
        code = compile(file.read(), script, "exec", dont_inherit=True)
    module = sys.modules["__main__"] = ModuleType("__main__")
    module.__file__ = script
    sys.argv[:] = [script, *arguments]
    profile = cProfile.Profile(builtins=builtins)
    try:
        profile.enable(builtins=builtins)  # from 3.14 on runctx() forgets what the profile was made with
        exec(code, module.__dict__, module.__dict__)
    finally:
        profile.disable()
    profile.dump_stats(output)


words = sys.argv[1:]
run("--builtins" in words[:1], *words["--builtins" in words[:1] :])

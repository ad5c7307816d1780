# SPDX-License-Identifier: BSD-3-Clause
"""Not a program to be recorded but the yardstick: runs one under cProfile, Python functions only.

    python cprofile_reference.py OUTPUT SCRIPT [arguments]
"""

import cProfile
import sys
from types import ModuleType


def run(output, script, arguments):
    with open(script, "rb") as file:
        code = compile(file.read(), script, "exec", dont_inherit=True)
    module = sys.modules["__main__"] = ModuleType("__main__")
    module.__file__ = script
    sys.argv[:] = [script, *arguments]
    profile = cProfile.Profile(builtins=False)
    try:
        profile.enable(builtins=False)  # from 3.14 on runctx() forgets what the profile was made with
        exec(code, module.__dict__, module.__dict__)
    finally:
        profile.disable()
    profile.dump_stats(output)


run(sys.argv[1], sys.argv[2], sys.argv[3:])

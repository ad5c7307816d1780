# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT
# run: -W error SCRIPT error => 1
# run: -W error -c CODE error => 1
# run: -W ignore SCRIPT
# run: -W always SCRIPT
# run: -X dev SCRIPT
# run: -W error::BytesWarning -b SCRIPT
# run: -W default -m MODULE
"""Where a warning is said to come from, with levels of the stack and through C."""

import functools
import sys
import warnings


def at(level):
    warnings.warn(f"level {level}", UserWarning, stacklevel=level)


def caller(level):
    at(level)


if sys.argv[1:] == ["error"]:
    caller(2)
for level in (1, 2, 3, 4, 5, 20):
    caller(level)
caller(1)
functools.partial(warnings.warn, "from C")()
list(map(warnings.warn, ["from map"]))
warnings.warn_explicit("explicit", DeprecationWarning, "a file", 7)
exec(compile("import warnings; warnings.warn('in exec', stacklevel=1)", "no-such-file", "exec"))
print(__warningregistry__.keys() if "__warningregistry__" in globals() else "no registry")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    caller(1)
    caller(2)
    print([(w.lineno, w.category.__name__, str(w.message)) for w in caught])
warnings.showwarning = lambda *args, **kwargs: print("shown", args[1].__name__, args[3])
warnings.simplefilter("always")
caller(2)
print(len(warnings.filters), sys.warnoptions)
open(__file__).read(1)

# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT
# run: SCRIPT one "two words" -q --output x -- -m ""
# run: -m MODULE one
# run: -c CODE one -c
# run: DIRECTORY one
# run: ARCHIVE one
# run: STDIN one
# run: -O SCRIPT
# run: -OO SCRIPT
# run: -I SCRIPT
# run: -E SCRIPT
# run: -s SCRIPT
# run: -B SCRIPT
# run: -u SCRIPT
# run: -b SCRIPT
# run: -bb SCRIPT
# run: -R SCRIPT
# run: -W error SCRIPT
# run: -X dev SCRIPT
# run: -X utf8 SCRIPT
# run: -X faulthandler SCRIPT
# run: -X tracemalloc=3 SCRIPT
# run: -X pycache_prefix=cache SCRIPT
# run: -I -m MODULE => 1
# mask: No module named \S+
"""What a program can see of itself and of the interpreter around it."""

names = sorted(globals())
import builtins
import sys

print("names", names)
for name in ("__name__", "__file__", "__package__", "__cached__", "__annotations__", "__doc__"):
    print(name, repr(globals().get(name, "absent")))
print("spec", __spec__ and (__spec__.name, __spec__.origin, __spec__.has_location))
print("loader", getattr(__loader__, "__name__", type(__loader__).__name__))
print("main", sys.modules["__main__"].__dict__ is globals(), __builtins__ is builtins)
print("argv", sys.argv, "path", sys.path)
print("flags", sys.flags, sys.warnoptions, sys._xoptions, sys.dont_write_bytecode)
print("builtins", sorted(set(vars(builtins)) - {"profile"}))  # a recorded program has that one as under kernprof
print("hooks", [getattr(h, "__name__", type(h).__name__) for h in sys.path_hooks])
print("finders", [getattr(f, "__name__", type(f).__name__) for f in sys.meta_path])
print("prefixes", sys.prefix, sys.executable, sys.pycache_prefix)
print("limits", sys.getrecursionlimit(), sys.getswitchinterval(), sys.getdlopenflags())
print("traces", sys.gettrace(), sys.getprofile(), sys.excepthook is sys.__excepthook__)
print("trees", [name for name in ("ps1", "ps2", "last_value", "tracebacklimit") if hasattr(sys, name)])
print("utf8", sys.getfilesystemencoding(), sys.stdout.encoding, sys.stdout.errors)
print("buffers", sys.stdout.line_buffering, sys.stdout.write_through, sys.stderr.line_buffering)
print("debug", __debug__, __doc__ is None)

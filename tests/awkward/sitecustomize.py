# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT
# run: -s SCRIPT
# run: -I SCRIPT
# run: -E SCRIPT
# env: PYTHONPATH=.
"""Loaded by the interpreter at start-up, from PYTHONPATH, and then run: it starts things before allranks does."""

import sys

if __name__ == "sitecustomize":
    import atexit

    def tracer(frame, event, argument):
        """There before us, and still there when the program starts."""

    sys.from_sitecustomize = True
    sys.setprofile(tracer)
    atexit.register(print, "registered first, called last")
    print("customized", flush=True)
else:
    print(getattr(sys, "from_sitecustomize", False), getattr(sys.getprofile(), "__name__", None), "sitecustomize" in sys.modules)

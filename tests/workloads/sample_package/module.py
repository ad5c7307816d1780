# SPDX-License-Identifier: BSD-3-Clause
"""Run by -m sample_package.module; fails, exits or is interrupted if asked to."""

import sys

from .helper import greet

greet()
print(__name__, __package__, __spec__.name, __spec__.parent, sys.argv[1:], sys.path[0])
if "fail" in sys.argv:
    raise ValueError("as asked")
if "exit" in sys.argv:
    sys.exit(3)
if "interrupt" in sys.argv:
    raise KeyboardInterrupt

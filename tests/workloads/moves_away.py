# SPDX-License-Identifier: BSD-3-Clause
"""Proves that the output goes where it was meant to go, and that the program does not suffer where it cannot:

    moves_away.py chdir     changes its directory
    moves_away.py remove    removes the directory it was started in
"""

import os
import shutil
import sys

if sys.argv[1] == "chdir":
    os.chdir("/")
else:
    shutil.rmtree(os.getcwd())
print("done")

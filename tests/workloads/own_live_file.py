# SPDX-License-Identifier: BSD-3-Clause
"""Proves where the live file is while the program runs: prints its path, looked for in the directories that are
named on the command line.
"""

import os
import sys
from pathlib import Path

for directory in sys.argv[1:]:
    for path in Path(directory).rglob(f"*p{os.getpid()}*.live"):
        print(path)

# SPDX-License-Identifier: BSD-3-Clause
"""Proves that what a module does while it is imported is recorded like anything else: the program is one import,
as where a package's entry point does all the work. The lines go into the file that is named on the command line.
"""

import json
import sys

import imported_work

with open(sys.argv[1], "w") as file:
    json.dump(imported_work.LINES, file)

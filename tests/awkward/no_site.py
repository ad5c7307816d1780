# SPDX-License-Identifier: BSD-3-Clause
# run: -S SCRIPT
# run: -S -m MODULE
# env: PYTHONPATH=PACKAGES
"""Without the site module: no exit(), no packages but by PYTHONPATH."""

import builtins
import sys

print(sys.flags, sys.path, hasattr(builtins, "exit"), "site" in sys.modules)

# SPDX-License-Identifier: BSD-3-Clause
"""Not a program: a module that takes its time when it is imported, as large ones do on a busy file system."""

import time

time.sleep(0.8)
READY = True

# SPDX-License-Identifier: BSD-3-Clause
"""Run by -m sample_package."""

import sys

from . import helper

print("main of", __package__, __spec__.name, sys.argv[1:], sys.argv[0] == __file__)
helper.greet()

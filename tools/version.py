#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints the version, which stands in one place: python/allranks/__init__.py."""

import re
from pathlib import Path

text = (Path(__file__).parents[1] / "python/allranks/__init__.py").read_text()
match = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
print(match.group(1) if match else "0")

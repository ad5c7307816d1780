# SPDX-License-Identifier: BSD-3-Clause
"""Proves that standard input reaches the program, every byte of it."""

import sys

print(sys.stdin.readline(), end="")
print(input())
print(len(sys.stdin.read()))

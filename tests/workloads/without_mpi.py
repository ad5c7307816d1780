# SPDX-License-Identifier: BSD-3-Clause
"""Proves that ranks which never use MPI are recorded all the same: each calls `work` 7 times and prints a line."""


def work():
    return None


for _ in range(7):
    work()
print("no MPI here", flush=True)

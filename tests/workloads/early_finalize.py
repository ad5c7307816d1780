# SPDX-License-Identifier: BSD-3-Clause
"""Proves that a program may end MPI long before it ends itself: calls `before` 5 times, ends MPI, calls `after` 7
times.
"""

from mpi4py import MPI


def before():
    return None


def after():
    return None


for _ in range(5):
    before()
MPI.Finalize()
for _ in range(7):
    after()
print("done", flush=True)

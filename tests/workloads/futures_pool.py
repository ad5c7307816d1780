# SPDX-License-Identifier: BSD-3-Clause
"""Proves that the workers of an MPIPoolExecutor do what they do without allranks, whether MPI starts them or they are the
other ranks of `-m mpi4py.futures`: `square` is called 12 times, by whichever of them.
"""

from mpi4py.futures import MPIPoolExecutor


def square(x):
    return x * x


if __name__ == "__main__":
    with MPIPoolExecutor(max_workers=2) as executor:
        print(list(executor.map(square, range(12))), flush=True)

# SPDX-License-Identifier: BSD-3-Clause
"""Proves that MPI is seen without mpi4py, through ctypes or cffi: LIBRARY WORLD HOW [OTHER]

WORLD is the handle, a number or the name of a variable in the library. 5 barriers in `meet`, and as many in `meet_in_c` where
OTHER, a library that calls MPI itself, is loaded after MPI_Init; with ctypes also 7 questions in `ask`.
"""

import ctypes
import sys

LIBRARY, WORLD, HOW, *OTHER = sys.argv[1:]

if HOW == "cffi":
    import cffi

    ffi = cffi.FFI()
    ffi.cdef("int MPI_Init(void *, void *); int MPI_Barrier(void *); int MPI_Finalize(void); extern int ompi_mpi_comm_world;")
    mpi = ffi.dlopen(LIBRARY)
    nothing = ffi.NULL
    world = ffi.cast("void *", ffi.addressof(mpi, WORLD)) if WORLD.startswith("ompi") else ffi.cast("void *", int(WORLD, 0))
else:
    mpi = ctypes.CDLL(LIBRARY, ctypes.RTLD_GLOBAL)
    nothing = None
    number = ctypes.addressof(ctypes.c_int.in_dll(mpi, WORLD)) if WORLD.startswith("ompi") else int(WORLD, 0)
    world = ctypes.c_void_p(number)


def meet():
    assert mpi.MPI_Barrier(world) == 0


def ask():
    answer = ctypes.c_int()
    assert mpi.MPI_Comm_size(world, ctypes.byref(answer)) == 0 and answer.value == 2


def meet_in_c(library):
    assert library.meet_in_c() == 0


assert mpi.MPI_Init(nothing, nothing) == 0
for _ in range(5):
    meet()
if HOW == "ctypes":
    for _ in range(7):
        ask()
if OTHER:
    library = ctypes.CDLL(OTHER[0])
    for _ in range(5):
        meet_in_c(library)
assert mpi.MPI_Finalize() == 0
print("done", flush=True)

# SPDX-License-Identifier: BSD-3-Clause
"""Proves who waits for whom in collective calls that make, use and free windows, files and communicators, on four ranks that come from
a barrier, of which one then comes late. Whether such a call keeps the others is up to the library: when each rank left goes
into truth-R.json, too, see planted_notes.py.
"""

import time

from mpi4py import MPI
from planted_notes import enter, leave, set_out, write

world = MPI.COMM_WORLD
rank = world.rank
LATE = 2
memory, data = bytearray(64), bytearray(16)


def comes_late():
    time.sleep(0.1)


def come_to(fault):
    world.Barrier()
    set_out()
    if rank == LATE:
        comes_late()
    enter(fault)


def windows():
    come_to("win_create")
    window = MPI.Win.Create(memory, comm=world)  # WAIT: win_create
    leave("win_create")
    come_to("fence")
    window.Fence()  # WAIT: fence
    leave("fence")
    window.Put(data, (rank + 1) % 4)
    come_to("second_fence")
    window.Fence()  # WAIT: second_fence
    leave("second_fence")
    come_to("win_free")
    window.Free()  # WAIT: win_free
    leave("win_free")
    come_to("win_allocate")
    window = MPI.Win.Allocate(64, comm=world)  # WAIT: win_allocate
    leave("win_allocate")
    window.Free()


def files():
    come_to("file_open")
    file = MPI.File.Open(world, "planted.bin", MPI.MODE_RDWR | MPI.MODE_CREATE)  # WAIT: file_open
    leave("file_open")
    come_to("set_size")
    file.Set_size(64)  # WAIT: set_size
    leave("set_size")
    come_to("set_view")
    file.Set_view(0)  # WAIT: set_view
    leave("set_view")
    come_to("write_all")
    file.Write_at_all(16 * rank, data)  # WAIT: write_all
    leave("write_all")
    come_to("write_begin")
    file.Write_at_all_begin(16 * rank, data)  # WAIT: write_begin
    leave("write_begin")
    come_to("write_end")
    file.Write_at_all_end(data)  # WAIT: write_end
    leave("write_end")
    come_to("sync")
    file.Sync()  # WAIT: sync
    leave("sync")
    come_to("file_close")
    file.Close()  # WAIT: file_close
    leave("file_close")


def communicators():
    group = world.group.Incl([3, 2, 1])
    come_to("create_group")
    if rank:
        three = world.Create_group(group, tag=5)  # WAIT: create_group
        leave("create_group")
        three.Free()
    first, second = world.Dup(), world.Dup()
    come_to("comm_free")
    first.Free()  # WAIT: comm_free
    leave("comm_free")
    come_to("disconnect")
    second.Disconnect()  # WAIT: disconnect
    leave("disconnect")


def main():
    windows()
    files()
    communicators()
    world.Barrier()
    write()


main()

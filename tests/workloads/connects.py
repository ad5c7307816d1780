# SPDX-License-Identifier: BSD-3-Clause
"""Proves that two runs may connect to each other: `connects.py accept` writes its port into a file, `connects.py connect`
reads it; each sends what the other prints.
"""

import os
import sys
import time

from mpi4py import MPI


def talk(comm, text):
    return comm.sendrecv(text, dest=0, source=0)


if sys.argv[1] == "accept":
    port = MPI.Open_port()
    with open("port.new", "w") as file:
        file.write(port)
    os.rename("port.new", "port")
    other = MPI.COMM_SELF.Accept(port)
else:
    for _ in range(1000):
        if os.path.exists("port"):
            break
        time.sleep(0.01)
    with open("port") as file:
        port = file.read()
    other = MPI.COMM_SELF.Connect(port)
print(talk(other, f"from {sys.argv[1]}"), flush=True)
other.Disconnect()
if sys.argv[1] == "accept":
    MPI.Close_port(port)

# SPDX-License-Identifier: BSD-3-Clause
"""Proves that a full file system stops nobody: fills the one that is named on the command line, once both ranks have
their live files there and before MPI starts; then they meet. Each prints its rank.
"""

import glob
import os
import sys
import time

deadline_s = time.monotonic() + 20
while len(glob.glob(os.path.join(sys.argv[1], "*", "*.live"))) < 2 and time.monotonic() < deadline_s:
    time.sleep(0.01)
name = os.path.join(sys.argv[1], f"filling-{os.getpid()}")
with open(name, "wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(4096))
    except OSError:
        pass

from mpi4py import MPI  # noqa: E402

MPI.COMM_WORLD.Barrier()
print(MPI.COMM_WORLD.rank, flush=True)

"""The example of PyPerfDump's README as it is, after a function that does a known amount of work."""

import ctypes
import os
import sys

if "mpi" in sys.argv:
    from mpi4py import MPI


def interesting_work_function():
    ctypes.CDLL(os.environ["ALLRANKS_PAPI"]).stand_in_work(5 + MPI.COMM_WORLD.rank if "mpi" in sys.argv else 5)


# from here on word for word, but for the linter's remark
import pyperfdump  # noqa: E402

# Call init to initialize the module
pyperfdump.init()

# Start a named region
pyperfdump.start_region('region1')

# Start counter collection
pyperfdump.start_profile()

# Execute the region of interest within a profile
interesting_work_function()

# End counter collection, appends counter values
pyperfdump.end_profile()

# End the current region, saves counter values
pyperfdump.end_region()

# Call finalize to free resources when finished
pyperfdump.finalize()

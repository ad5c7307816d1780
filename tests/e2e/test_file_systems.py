# SPDX-License-Identifier: BSD-3-Clause
"""Live files on a file system that may take them away while they are mapped: a line says so before the program begins."""

import pytest
from harness import Sandbox

WARNING = "live files are on {}, whose failure could end the program by SIGBUS"


def recorded(sandbox: Sandbox, shim: str, file_system: str, *options: str) -> str:
    done = sandbox.recorded("-c", "print('runs')", options=options, env={"LD_PRELOAD": shim, "FILE_SYSTEM": file_system})
    assert (done.code, done.out) == (0, "runs\n"), done
    return done.err


@pytest.mark.parametrize(
    ("file_system", "name"), [("0x6969", "NFS"), ("0x0bd00bd0", "Lustre"), ("0xff534d42", "CIFS"), ("-0xacb2be", "CIFS")]
)
def test_a_remote_one_is_warned_of(any_python: Sandbox, shim: str, file_system: str, name: str):
    warning, closing = recorded(any_python, shim, file_system).splitlines()
    assert warning.startswith(f"allranks: {any_python.live}/") and WARNING.format(name) in warning, warning
    assert "recorded in command.allranks" in closing, closing


def test_a_local_one_is_not(any_python: Sandbox, shim: str):
    (closing,) = recorded(any_python, shim, "0xef53").splitlines()
    assert "recorded in command.allranks" in closing, closing


def test_nobody_is_warned_who_asked_for_quiet(any_python: Sandbox, shim: str):
    assert recorded(any_python, shim, "0x6969", "-q") == ""


def test_children_do_not_repeat_it(any_python: Sandbox, shim: str):
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'pass'], check=True)"
    done = any_python.recorded("-c", code, env={"LD_PRELOAD": shim, "FILE_SYSTEM": "0x6969"})
    assert done.code == 0 and done.err.count("SIGBUS") == 1, done


def test_one_rank_says_it_for_all(one_mpi: Sandbox, shim: str):
    done = one_mpi.recorded_ranks(3, "-c", "from mpi4py import MPI", env={"LD_PRELOAD": shim, "FILE_SYSTEM": "0x6969"})
    assert done.code == 0 and done.err.count("SIGBUS") == 1, done

# SPDX-License-Identifier: BSD-3-Clause
"""CPython's own tests end as they do without allranks: a part of `make check-cpython`, which runs many more of them."""

import subprocess
import sys

import pytest
from harness import ROOT, Sandbox


def test_the_same_outcome_test_by_test(any_python: Sandbox):
    tool = str(ROOT / "tools" / "check_cpython.py")
    if any_python.plain("-c", "import test.test_code").code:
        pytest.skip(f"this Python {any_python.stack.python_version} comes without its tests")
    done = subprocess.run(
        [sys.executable, tool, "--fast", "--python", any_python.stack.name],
        check=False, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 differ" in done.stdout

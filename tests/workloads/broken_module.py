# SPDX-License-Identifier: BSD-3-Clause
"""Not a program: a module that fails while it is imported."""


def fail():
    raise OSError("cannot be imported")


fail()

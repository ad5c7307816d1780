# SPDX-License-Identifier: BSD-3-Clause
"""Imported by the others."""


def greet():
    print("greetings from", __name__)

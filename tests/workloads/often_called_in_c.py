# SPDX-License-Identifier: BSD-3-Clause
"""A short function in C, two million times."""


def ask(n):
    text = "a"
    for _ in range(n):
        text.isupper()


ask(2_000_000)

# SPDX-License-Identifier: BSD-3-Clause
"""A tiny function, a million times; and one in C, not quite as often but longer. Prints what was worked out."""

WORDS = [str(number) for number in range(400)]


def tiny(x):
    return x + 1


def count(n):
    total = 0
    for _ in range(n):
        total = tiny(total)
    return total


def collect(n):
    text = ""
    for _ in range(n):
        text = ",".join(WORDS)
    return len(text)


print(count(1_000_000), sum(collect(500) for _ in range(400)))

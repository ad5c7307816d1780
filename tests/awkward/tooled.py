# SPDX-License-Identifier: BSD-3-Clause
# run: -m cProfile -s stdname SCRIPT
# run: -m profile -s stdname SCRIPT
# run: -m unittest -v MODULE => 1
# run: -m doctest -v SCRIPT
# run: -m trace --listfuncs SCRIPT
# run: -m trace --count --missing --coverdir=. SCRIPT
# run: -m pdb SCRIPT
# run: -m tokenize SCRIPT
# run: -m pyclbr SCRIPT
# stdin: break work\ncontinue\nwhere\nreturn\ncontinue\nquit\n
# mask: \d+\.\d+(?= |s|/|$)
# mask: (?m)^.*(/lib/python3\.\d+/|<frozen |site-packages).*\n
"""Run by the tools of the standard library, as module.

>>> work(5)
5
"""

import unittest


def work(n):
    return n if n < 2 else work(n - 1) + work(n - 2)


class Test(unittest.TestCase):
    def test_passes(self):
        self.assertEqual(work(6), 8)

    def test_fails(self):
        self.assertEqual(work(6), 9)


if __name__ == "__main__":
    print(work(10))

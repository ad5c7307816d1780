# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT
# run: -m MODULE
# mask: in \d+\.\d+s
"""doctest and unittest as the program, with failures.

>>> 1 + 1
2
>>> f()
Traceback (most recent call last):
  ...
ValueError: no
"""

import doctest
import sys
import unittest


def f():
    """
    >>> f.__name__
    'f'
    """
    raise ValueError("no")


class Test(unittest.TestCase):
    def test_passes(self):
        self.assertEqual(1, 1)

    def test_fails(self):
        self.assertEqual([1, 2], [1, 3])

    def test_raises(self):
        f()

    @unittest.skip("reason")
    def test_skipped(self):
        pass

    def test_log(self):
        with self.assertLogs() as logs:
            import logging

            logging.getLogger().warning("logged")
        print(logs.output)

    def test_subtests(self):
        for i in range(2):
            with self.subTest(i=i):
                self.assertEqual(i, 0)

    @unittest.expectedFailure
    def test_expected(self):
        self.assertTrue(False)


if __name__ == "__main__":
    print(doctest.testmod())
    result = unittest.main(argv=["x", "-v"], exit=False).result
    print(len(result.failures), len(result.errors), file=sys.stderr)

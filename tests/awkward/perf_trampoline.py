# SPDX-License-Identifier: BSD-3-Clause
# python: 3.12+
# run: SCRIPT
# run: -X perf SCRIPT => 0; 3.14: SIGSEGV
"""The interpreter's own support for perf also takes the place of the evaluator.

With -X perf, Python 3.14.8 itself crashes at the end of this.
"""

import sys


def work(n):
    return n if n < 2 else work(n - 1) + work(n - 2)


def down(n):
    try:
        return down(n + 1)
    except RecursionError:
        return n


print(sys.is_stack_trampoline_active())
try:
    sys.activate_stack_trampoline("perf")
    print(work(12), sys.is_stack_trampoline_active(), down(0))
    sys.deactivate_stack_trampoline()
except ValueError as error:
    print(error)
print(work(12), sys.is_stack_trampoline_active(), down(0))

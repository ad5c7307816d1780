# SPDX-License-Identifier: BSD-3-Clause
# run: -i SCRIPT
# run: -i SCRIPT fail
# run: -i SCRIPT interrupt => 0; 3.14+: SIGINT
# run: -i -m MODULE fail
# run: -i -c CODE interrupt => 0; 3.14+: SIGINT
# stdin: print(value)\nvalue += 1\nprint(value, __name__)\n1/0\n
# mask: >>>
"""python -i: the prompt comes after the program, in its namespace."""

import sys


def fail():
    raise ValueError


def interrupt():
    raise KeyboardInterrupt


value = 1
print("program", sys.flags.interactive, sys.flags.inspect)
if len(sys.argv) > 1:
    globals()[sys.argv[1]]()

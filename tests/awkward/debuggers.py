# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT
# run: -m MODULE
# stdin: break twice\ncontinue\nwhere\nargs\nup\ndown\nnext\nnext\nlist\np x\nstep\nreturn\nclear 1\ncontinue\nquit\n
# mask: [^ \n]*/lib/python3\.\d+/
"""pdb with a script on standard input, bdb, and the trace module."""

import bdb
import io
import sys
import trace


def twice(x):
    y = x + x
    return y


def work(n):
    return [twice(i) for i in range(n)]


class Debugger(bdb.Bdb):
    def user_call(self, frame, args):
        print("call", frame.f_code.co_name)
        self.set_step()

    def user_line(self, frame):
        print("line", frame.f_code.co_name, frame.f_lineno - frame.f_code.co_firstlineno)
        self.set_step()

    def user_return(self, frame, value):
        print("return", frame.f_code.co_name, value)
        self.set_step()


Debugger().runcall(work, 2)

tracer = trace.Trace(count=True, trace=False, countfuncs=False)
tracer.runfunc(work, 4)
print(sorted((line, n) for (_, line), n in tracer.results().counts.items()))
tracer = trace.Trace(count=False, trace=False, countcallers=True)
tracer.runfunc(work, 2)
print(sorted((a[2], b[2]) for a, b in tracer.results().callers))

import pdb

pdb.Pdb(nosigint=True, readrc=False).runcall(work, 1)
print("done")

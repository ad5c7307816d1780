# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT read
# run: SCRIPT closed => 120
# run: SCRIPT broken => 120
# run: SCRIPT broken_default => SIGPIPE, no line
# run: SCRIPT full => 120
# run: SCRIPT detached
# run: SCRIPT redirected
# run: SCRIPT none => 1
# run: SCRIPT binary
# run: SCRIPT unflushed
# run: -u SCRIPT unflushed
# run: SCRIPT lone
# stdin: one\ntwo\nthree
"""Standard streams that are closed, broken, full, redirected or gone."""

import contextlib
import io
import os
import signal
import sys


def read():
    print(sys.stdin.readline(), input(), sys.stdin.read(), sys.stdin.isatty())


def closed():
    print("x")
    os.close(1)


def broken():
    reader, writer = os.pipe()
    os.close(reader)
    os.dup2(writer, 1)
    print("nobody reads this", flush=True)


def broken_default():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    broken()


def full():
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
    print("no space")


def detached():
    raw = sys.stdout.detach()
    raw.write(b"bytes\n")
    raw.flush()
    sys.stdout = io.TextIOWrapper(raw, encoding="latin-1")
    print("caf\xe9")


def redirected():
    with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.redirect_stderr(io.StringIO()) as errors:
        print("x")
        print("y", file=sys.stderr)
    print(repr(text.getvalue()), repr(errors.getvalue()))


def none():
    sys.stdout = sys.stderr = None
    print("no stream")
    raise ValueError("nobody sees it")


def binary():
    os.write(1, bytes(range(256)))
    sys.stdout.buffer.write(b"\xff\xfe")


def unflushed():
    sys.stdout.write("no line end")
    sys.stderr.write("none here either")


def lone():
    print(ascii(sys.stdin.read()), "\N{SNAKE}")
    sys.stderr.write("\udcff\n")


globals()[sys.argv[1]]()

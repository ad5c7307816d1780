# SPDX-License-Identifier: BSD-3-Clause
"""A command in a terminal: a pty with a size, keys to press, and what is on the screen.

Only the sequences that allranks writes are understood; any other is an error, since some terminal might not either.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path

from harness import TIME_LIMIT_S, clean_environment, take_signals

SEQUENCE = re.compile(rb"\x1b\[(\??)([0-9;]*)([A-Za-z])")


class Screen:
    """Lines of characters, with what has been asked of the terminal besides."""

    def __init__(self, n_rows: int, n_columns: int) -> None:
        self.resize(n_rows, n_columns)
        self.is_other = False  # the screen is the one that goes away again
        self.cursor_shown = True
        self.main_text = b""  # what went to the screen that stays
        self.rest = b""

    def resize(self, n_rows: int, n_columns: int) -> None:
        self.n_rows, self.n_columns = n_rows, n_columns
        self.lines = [""] * n_rows
        self.row = self.column = 0

    def feed(self, data: bytes) -> None:
        data = self.rest + data
        self.rest = b""
        at = 0
        while at < len(data):
            if data[at] == 0x1B:
                found = SEQUENCE.match(data, at)
                if not found:
                    assert len(data) - at < 20, data[at : at + 20]
                    self.rest = data[at:]
                    return
                self.obey(found[1], found[2], found[3])
                at = found.end()
            else:
                end = data.find(b"\x1b", at)
                end = len(data) if end < 0 else end
                self.write(data[at:end])
                at = end

    def obey(self, private: bytes, number: bytes, what: bytes) -> None:
        words = private + number + what
        if words == b"?1049h":
            self.is_other, self.lines = True, [""] * self.n_rows
        elif words == b"?1049l":
            self.is_other = False
        elif words in (b"?25h", b"?25l"):
            self.cursor_shown = words.endswith(b"h")
        elif words == b"H":
            self.row = self.column = 0
        elif words == b"K":
            self.lines[self.row] = self.lines[self.row][: self.column]
        elif words == b"J":
            self.lines[self.row] = self.lines[self.row][: self.column]
            self.lines[self.row + 1 :] = [""] * (self.n_rows - self.row - 1)
        else:
            assert what == b"m", words

    def write(self, data: bytes) -> None:
        if not self.is_other:
            self.main_text += data
            return
        for character in data.decode(errors="replace"):
            if character == "\r":
                self.column = 0
            elif character == "\n":
                self.row += 1
                assert self.row < self.n_rows, "the screen scrolls"
            else:
                assert self.column < self.n_columns, f"beyond the edge: {self.lines[self.row]}{character}"
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = line[: self.column] + character + line[self.column + 1 :]
                self.column += 1

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines)


class Terminal:
    """A command that believes that somebody sits in front of it."""

    def __init__(self, argv: list[str], cwd: Path, n_rows: int = 24, n_columns: int = 80) -> None:
        self.screen = Screen(n_rows, n_columns)
        # The other end stays open, so that its settings can be looked at when the command has ended.
        self.fd, self.other_end = pty.openpty()
        self.resize(n_rows, n_columns)
        self.process = subprocess.Popen(
            argv, cwd=cwd, env={**clean_environment(), "TERM": "xterm"}, start_new_session=True,
            preexec_fn=self.take_terminal, stdin=self.other_end, stdout=self.other_end, stderr=self.other_end,
        )  # fmt: skip
        self.pid = self.process.pid

    @staticmethod
    def take_terminal() -> None:
        """In the child: Ctrl-C and a change of size reach it."""
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        take_signals()

    def resize(self, n_rows: int, n_columns: int) -> None:
        self.screen.resize(n_rows, n_columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", n_rows, n_columns, 0, 0))

    def settings(self) -> list:
        return termios.tcgetattr(self.other_end)

    def press(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def read(self, seconds: float = 0.05) -> None:
        while select.select([self.fd], [], [], seconds)[0]:
            try:
                data = os.read(self.fd, 65536)
            except OSError:  # nobody is at the other end
                return
            if not data:
                return
            self.screen.feed(data)
            seconds = 0

    def wait_for(self, condition: Callable[[str], object], what: str) -> str:
        """Until the screen shows something; gives it back."""
        deadline = time.monotonic() + TIME_LIMIT_S
        while not condition(self.screen.text):
            assert time.monotonic() < deadline, f"never {what}:\n{self.screen.text}"
            assert not self.has_ended() or condition(self.screen.text), f"ended before {what}:\n{self.screen.text}"
            self.read()
        return self.screen.text

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def end(self) -> int:
        """The exit status, negative for a signal, when it has ended by itself."""
        deadline = time.monotonic() + TIME_LIMIT_S
        while not self.has_ended():
            assert time.monotonic() < deadline, f"still running:\n{self.screen.text}"
            self.read()
        self.read()
        return self.process.returncode

    def close(self) -> None:
        if not self.has_ended():
            self.process.kill()
            self.process.wait()
        os.close(self.fd)
        os.close(self.other_end)

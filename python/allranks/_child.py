# SPDX-License-Identifier: BSD-3-Clause
"""Records a Python that a recorded program has started. Imported by allranks.pth, and by nothing else.

The variable ALLRANKS_CHILD holds the name of the recording in its first line and options of `allranks run` in the others. The
program is not to see it: it is taken out of os.environ, and passed on from C.
"""

import os
import sys

# What multiprocessing starts with -c. Its trackers outlive the program, and do nothing of it.
WORKERS = {"multiprocessing.spawn": "multiprocessing worker", "multiprocessing.forkserver": "multiprocessing fork server"}
TRACKERS = ("multiprocessing.resource_tracker", "multiprocessing.semaphore_tracker")


def command_line() -> "list[str]":
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return [os.fsdecode(word) for word in file.read().split(b"\0")[1:-1]]
    except OSError:
        return sys.argv


def word_after(flag: str, words: "list[str]") -> str:
    return words[words.index(flag) + 1] if flag in words[:-1] else ""


def is_wanted(words: "list[str]") -> bool:
    """Not one that is recorded on its own."""
    return word_after("-m", words) != "allranks" and not any(name in word_after("-c", words) for name in TRACKERS)


def program_of(words: "list[str]") -> str:
    """What children of one kind have in common."""
    code = word_after("-c", words)
    if sys.argv[:1] == ["-c"]:
        return next((label for name, label in WORKERS.items() if name in code), "-c " + code.partition("\n")[0])
    return f"-m {word_after('-m', words)}" if sys.argv[:1] == ["-m"] else sys.argv[0]


def start() -> None:
    text = os.environ.pop("ALLRANKS_CHILD")
    words = command_line()
    if not is_wanted(words):
        return
    from allranks import _launch

    if not _launch.trouble:
        stem, *argv = text.split("\n")
        facts = {"program": program_of(words), "command": " ".join(words)}
        _launch.start_recording(_launch.parse([*argv, "-"]), stem, facts)


try:
    start()
except Exception:  # whatever it is, the program is to run
    pass

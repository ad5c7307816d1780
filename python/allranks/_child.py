# SPDX-License-Identifier: BSD-3-Clause
"""Records a Python that a recorded program has started. Imported by allranks.pth, and by nothing else.

The variable ALLRANKS_CHILD holds the name of the recording in its first line and options of `allranks run` in the others. The
program is not to see it: it is taken out of os.environ, and passed on from C. A Python that MPI_Comm_spawn has started finds
the same in a note (src/runtime/spawning.h).
"""

import os
import sys

# What multiprocessing starts with -c. Its trackers outlive the program, and do nothing of it.
WORKERS = {"multiprocessing.spawn": "multiprocessing worker", "multiprocessing.forkserver": "multiprocessing fork server"}
OWN_RECORDERS = ("allranks", "kernprof", "mpiprof", "scorep")  # what records a program when it is started with -m
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
    module = word_after("-m", words)
    return module.partition(".")[0] not in OWN_RECORDERS and not any(name in word_after("-c", words) for name in TRACKERS)


def program_of(words: "list[str]") -> str:
    """What children of one kind have in common."""
    code = word_after("-c", words)
    if sys.argv[:1] == ["-c"]:
        return next((label for name, label in WORKERS.items() if name in code), "-c " + code.partition("\n")[0])
    return f"-m {word_after('-m', words)}" if sys.argv[:1] == ["-m"] else sys.argv[0]


# ---- started by MPI ----

LAUNCHERS = ("mpiexec", "mpirun", "hydra", "pmi_proxy", "orted", "prte", "slurmstepd")


def launchers_of(pid: int) -> "set[int]":
    """Those above a process, on this node."""
    found = set()
    while pid > 1:
        with open(f"/proc/{pid}/stat") as file:
            name, _, rest = file.read().partition("(")[2].rpartition(")")
        if name.startswith(LAUNCHERS):
            found.add(pid)
        pid = int(rest.split()[1])
    return found


def is_private(path: str) -> bool:
    """A file or directory, and no link, that only this user can change: others can make any in the default places."""
    stat = os.lstat(path)
    return stat.st_uid == os.geteuid() and not stat.st_mode & 0o22 and stat.st_mode & 0o170000 in (0o040000, 0o100000)


def has_our_launcher(pid: int) -> bool:
    return not launchers_of(pid).isdisjoint(launchers_of(os.getpid()))


def notes() -> "list[tuple[str, int]]":
    """Each with the process that left it."""
    from allranks._live_names import homes, spawner

    jobs = [os.path.join(home, job) for home in homes() for job in names_in(home)]
    return [(os.path.join(job, name), spawner(name)) for job in jobs for name in names_in(job) if spawner(name)]


def names_in(directory: str) -> "list[str]":
    try:
        return os.listdir(directory) if is_private(directory) else []
    except OSError:  # there is none, or no more
        return []


def read_note(path: str) -> "tuple[str, str]":
    """The name of the process that left it, and what it says; nothing if it is not a note."""
    with open(path, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK | os.O_NOFOLLOW)) as file:
        magic, _, rest = file.read().partition("\n")
    name, _, text = rest.partition("\n")
    return (name, text) if magic == "ALLRNOTE" else ("", "")


def left_by_parent() -> str:
    """What the rank that has started this process wants it to know; Open MPI says which one that was, MPICH does not."""
    parent = os.environ.get("OMPI_PARENT_PORT", "").partition(":")[0]
    texts = []
    for path, pid in notes():
        try:
            if is_private(path) and has_our_launcher(pid):
                texts.append(read_note(path))
        except (OSError, ValueError):  # another call has returned meanwhile; or it is no note of ours
            continue
    texts.sort(key=lambda text: (not text[1], text[0] != parent))
    return texts[0][1] if texts else ""


def is_recording(stem: str) -> bool:
    """Can it be one? A daemon that was started below a program has the variable for days: then this is all that it costs."""
    return os.path.isabs(stem) and os.path.isdir(os.path.dirname(stem))


def start() -> None:
    text = os.environ.pop("ALLRANKS_CHILD", "") or left_by_parent()
    stem, *argv = text.split("\n")
    words = command_line()
    if not is_recording(stem) or not is_wanted(words):
        return
    from allranks import _launch, _runtime

    # Another interpreter of a process that is recorded already looks into allranks.pth, too.
    if not _launch.trouble and not _runtime.is_recording():
        facts = {"program": program_of(words), "command": " ".join(words)}
        options = _launch.parse([*argv, "-"])
        _launch.use_drop_ins(options)
        _launch.offer_profile(options)
        _launch.start_recording(options, stem, facts)


try:
    start()
except Exception:  # whatever it is, the program is to run
    pass

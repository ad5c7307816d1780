# SPDX-License-Identifier: BSD-3-Clause
"""The experiment directory: made of the run file, once, by a process of its own that is started when the run file is there.

    scorep-20260131_1207_1769861220/
        script.allranks      the run file
        profile.cubex        SCOREP_ENABLE_PROFILING
        traces.otf2          SCOREP_ENABLE_TRACING, with traces.def and traces/
        scorep.cfg           the settings
        MANIFEST.md          what is here

With MPI the run file is written after the interpreter has ended: see src/runtime/after_run.h. This file is then run as a script, without
site-packages, so that nothing records it.
"""

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from allranks.compat.scorep._settings import Settings

# ---- before the program runs ----


def directory_named(settings: "Settings") -> str:
    """By SCOREP_EXPERIMENT_DIRECTORY; empty: the name is made at the end."""
    name = settings.values["EXPERIMENT_DIRECTORY"]
    return os.path.join(os.getcwd(), name).rstrip("/") if name else ""


def command(settings: "Settings", target: str, keeps_run: bool, verbose: bool) -> "tuple[str, ...]":
    """What makes the directory, but for the path of the run file."""
    if not settings.wants_directory():
        return ()
    from allranks._launch import command_path

    flags = ("keeps",) * keeps_run + ("verbose",) * verbose
    words = [f"{name}={settings.values[name]}" for name in sorted(settings.is_set)]
    return (
        sys.executable, "-I", "-S", os.path.abspath(__file__), command_path(), os.getcwd(), target,
        ",".join(flags), as_lines(settings.without_effect), as_lines(words),
    )  # fmt: skip


def as_lines(words: "list[str]") -> str:
    """One word of a command line, from which from_lines makes the same list: a value may contain the end of a line."""
    return "\n".join(word.replace("%", "%25").replace("\n", "%0A") for word in words)


def from_lines(text: str) -> "list[str]":
    return [word.replace("%0A", "\n").replace("%25", "%") for word in text.split("\n") if word]


# ---- after it ----


class Experiment:
    def __init__(self, program: str, base: str, target: str, flags: "list[str]", settings: "Settings") -> None:
        self.program = program  # the command allranks
        self.base = base  # where the program was started
        self.target = target
        self.keeps_run = "keeps" in flags
        self.verbose = "verbose" in flags
        self.settings = settings

    def make_directory(self) -> str:
        """A new one. One that is there gets another name, unless that is not wanted: then the new one does."""
        if not self.target:
            return make_new(os.path.join(self.base, f"scorep-{stamp()}"))
        os.makedirs(os.path.dirname(self.target), exist_ok=True)
        try:
            os.mkdir(self.target)
        except FileExistsError:
            if not self.settings.is_on("OVERWRITE_EXPERIMENT_DIRECTORY"):
                made = make_new(f"{self.target}-{stamp()}")
                say(f"{self.target}: is there already, and is not to be overwritten; this run is in {made}")
                return made
            move_away(self.target)
            os.mkdir(self.target)
        return self.target

    def make(self, run: str) -> None:
        try:
            home = self.make_directory()
            self.fill(home, run)
        except OSError as error:
            say(f"the experiment directory cannot be written: {error.strerror}: {error.filename} (the recording is in {run})")

    def fill(self, home: str, run: str) -> None:
        made = [("scorep.cfg", "the settings of this run; a shell can source it")]
        info = self.info(run)
        self.settings.without_effect += uncounted(info)
        cut, untraced = self.cut(info), untraced_functions(info)
        self.settings.notes += [f"The trace {each}" for each in (cut, untraced) if each]
        too_deep = info.get("facts", {}).get("too deep", "")
        self.settings.notes += [f"Recursion: {too_deep}"] if too_deep else []
        write(os.path.join(home, "scorep.cfg"), self.settings.as_cfg())
        if self.settings.wants_profile():
            name = self.settings.values["PROFILING_BASE_NAME"] + ".cubex"
            target = f"{home}/{name}"
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if self.export(run, "cubex", target):
                made.append((name, "the call tree of all ranks and threads, for Cube, pycubexr and Extra-P"))
        if self.settings.wants_trace() and self.export_trace(run, home):
            what = "a part of the events" if cut else "every event"
            made.append(("traces.otf2", f"{what} with its time, for Vampir and otf2-print; with traces.def and traces/"))
            made += [("", f"the trace {each}") for each in (cut, untraced) if each]
            if cut:
                say(f"{os.path.join(home, 'traces.otf2')} {cut}")
        name = run if self.keeps_run else os.path.basename(run)
        if not self.keeps_run:
            move(run, os.path.join(home, name))
        made.append((name, "the run file: allranks report, mpi, waits, timeline …"))
        made += [("", too_deep)] if too_deep else []
        write(os.path.join(home, "MANIFEST.md"), manifest(made))
        if self.verbose:
            say(f"experiment directory: {home}")

    def info(self, run: str) -> "dict[str, Any]":
        """What the run says of itself, as far as it is asked here."""
        import json
        import subprocess

        done = subprocess.run([self.program, "info", "--json=1", run], stdout=subprocess.PIPE, check=False)
        found: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {}
        return found

    def cut(self, info: "dict[str, Any]") -> str:
        """Where the trace ends early, and after how many events; empty: it does not."""
        trace = info.get("trace") or {}
        n_threads = trace.get("full_threads", 0)
        if not n_threads:
            return ""
        threads = f"{n_threads} of {count(trace['threads'], 'thread')}"
        return (
            f"ends early: {threads} reached the limit of {self.settings.values['TOTAL_MEMORY']} per process, the first at {trace['full_ns'] / 1e9:.6f} s; "
            f"it has {count(trace['events'], 'event')} (SCOREP_TOTAL_MEMORY is the limit)"
        )

    def export(self, run: str, form: str, target: str) -> bool:
        """What the command says of a failure is on standard error, and the run file is there in any case."""
        words = [self.program, "export", run, "-f", form, "--quiet", "-o", target]
        return os.waitpid(os.posix_spawn(self.program, words, os.environ), 0)[1] == 0

    def export_trace(self, run: str, home: str) -> bool:
        """An archive is a directory of its own; what is in it belongs into the experiment directory."""
        archive = os.path.join(home, "traces.part")
        if not self.export(run, "otf2", archive):
            return False
        for name in os.listdir(archive):
            os.rename(os.path.join(archive, name), os.path.join(home, name))
        os.rmdir(archive)
        return True


def count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def uncounted(info: "dict[str, Any]") -> "list[str]":
    """Metrics that this machine does not count, and why."""
    return [f"metric {each}" for each in info.get("facts", {}).get("why not", "").split("; ") if each]


def untraced_functions(info: "dict[str, Any]") -> str:
    n = (info.get("trace") or {}).get("untraced_functions", 0)
    return f"lacks most calls of {count(n, 'C function')} that proved to be short; the profile counts them" if n else ""


def stamp() -> str:
    import time

    return f"{time.strftime('%Y%m%d_%H%M')}_{time.time_ns() // 1000}"


def make_new(name: str) -> str:
    number = 1
    while True:
        path = name if number == 1 else f"{name}-{number}"
        try:
            os.mkdir(path)
        except FileExistsError:
            number += 1
        else:
            return path


def move_away(path: str) -> None:
    """Never onto something: renaming a directory onto an empty one would remove that."""
    number = 1
    while True:
        other = f"{path}-{stamp()}" + (f"-{number}" if number > 1 else "")
        if not os.path.lexists(other):
            os.rename(path, other)
            return
        number += 1


def move(path: str, target: str) -> None:
    """Also to another file system. On failure the file is where it was."""
    try:
        os.rename(path, target)
    except OSError as error:
        import errno
        import shutil

        if error.errno != errno.EXDEV:
            raise
        part = target + ".part"
        try:
            shutil.copy2(path, part)
            os.rename(part, target)
        except OSError:
            if os.path.lexists(part):
                os.unlink(part)
            raise
        os.unlink(path)


def write(path: str, text: str) -> None:
    with open(path, "x", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def manifest(made: "list[tuple[str, str]]") -> str:
    lines = ["# Experiment directory", "", "Written by allranks in Score-P's place.", ""]
    lines += [f"- `{name}`: {what}" if name else f"  - {what}" for name, what in made]
    return "\n".join(lines) + "\n"


def say(text: str) -> None:
    shown = "".join(each if each.isprintable() else "?" for each in text)
    os.write(2, f"scorep: {shown}\n".encode(errors="replace"))


def main(words: "list[str]") -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # the program may have ignored it, and the commands here are waited for
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from _settings import PREFIX, Settings  # type: ignore[import-not-found]

    program, base, target, flags, without_effect, variables, run = words
    environment = dict(each.split("=", 1) for each in from_lines(variables))
    settings = Settings({PREFIX + name: value for name, value in environment.items()})
    settings.find_counters()
    settings.without_effect = from_lines(without_effect)
    Experiment(program, base, target, flags.split(","), settings).make(run)


if __name__ == "__main__":
    main(sys.argv[1:])

# SPDX-License-Identifier: BSD-3-Clause
"""What kernprof leaves and prints at the end, made of the run file by a process of its own: see src/runtime/after_run.h.

This file is run as a script, without site-packages, so that nothing records it.
"""

from __future__ import annotations

import os
import subprocess
import sys

SHOWN = {"stripzeros": "skip-zero", "rich": "rich", "summarize": "summarize"}


class End:
    def __init__(self, words: list[str]) -> None:
        self.program, self.base, self.viewer, self.form, self.outfile, self.alias, unit, flags, self.run = words
        self.unit = float(unit)
        self.flags = flags.split(",")

    def command(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([self.program, *words], capture_output=True, check=False)

    # -- the files --

    def ranks(self) -> list[int]:
        """None for a program that is not run by a launcher, or alone."""
        import json

        done = self.command("info", "--json=1", self.run)
        found = {each["rank"] for each in json.loads(done.stdout or b"{}").get("processes", [])} - {None}
        return sorted(found) if len(found) > 1 else []

    def names(self, outfile: str) -> tuple[str, list[str]]:
        """For `export -o`, and as they will be."""
        has_place = "{rank}" in outfile
        ranks = self.ranks()
        if not ranks:
            name = outfile.replace("{rank}", "")
            return name, [name]
        pattern = outfile if has_place else outfile.replace("{", "{{").replace("}", "}}") + "{rank}"
        return pattern, [outfile.replace("{rank}", str(rank)) if has_place else f"{outfile}{rank}" for rank in ranks]

    def export(self, form: str, outfile: str) -> list[str]:
        """The files that were written."""
        pattern, names = self.names(outfile) if form == "lprof" else (outfile, [outfile])
        done = self.command("export", self.run, "-f", form, "--quiet", "-o", pattern)
        if done.returncode and b"no lines were counted" in done.stderr:
            return [self.write_empty(name) for name in names]
        if done.returncode:
            sys.stderr.write(done.stderr.decode(errors="replace"))
            return []
        return names

    def write_empty(self, name: str) -> str:
        """As the original does where no function is decorated, or none was called."""
        from allranks.compat.line_profiler._line_profiler import LineStats

        LineStats({}, 1e-9).to_file(name)
        return name

    # -- what is printed --

    def say(self, names: list[str]) -> None:
        import shlex

        for name in names:
            print(f"Wrote profile results to {name!r}")
        several = shlex.quote(self.outfile.partition("{rank}")[0]) + "[0-9]*"
        how = f"{self.viewer} -rmt" if self.form == "lprof" else "pstats"
        print(f"Inspect results with:\n{sys.executable} -m {how} {shlex.quote(names[0]) if len(names) == 1 else several}")

    def show(self, names: list[str]) -> None:
        if self.form == "lprof":
            from allranks.compat.line_profiler._line_profiler import LineStats

            flags = {name: flag in self.flags for name, flag in SHOWN.items()}
            LineStats.from_files(*names).print(None, output_unit=self.unit, **flags)
            return
        import pstats

        pstats.Stats(*names).strip_dirs().sort_stats(-1).print_stats()

    def work(self) -> None:
        os.chdir(self.base)
        names = [self.outfile] if self.form == "dumped" else self.export(self.form, self.outfile)
        if self.alias:
            self.export(self.form, self.alias)
        if self.form == "pstats" and names:
            os.unlink(self.run)
        if names and "quiet" not in self.flags:
            self.say(names)
        if names and "verbose" in self.flags:
            self.show(names)


def main() -> None:
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    if sys.stdout is not None:
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        End(sys.argv[1:]).work()
    except OSError as error:
        sys.stderr.write(f"kernprof: {error.filename}: {error.strerror} (the recording is in {sys.argv[-1]})\n")


if __name__ == "__main__":
    main()

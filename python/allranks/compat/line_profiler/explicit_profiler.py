# SPDX-License-Identifier: BSD-3-Clause
"""`from line_profiler import profile`: a decorator that does nothing until it is enabled.

    LINE_PROFILE=1 python script.py        or    python script.py --line-profile

In a recording whose builtin `profile` is the profiler (kernprof -l), it is that one.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from allranks.compat.line_profiler.line_profiler import LineProfiler

__all__ = ["GlobalProfiler", "profile"]

FALSE = ("", "0", "off", "false", "no")
WHERE = {"environ_flags": ["LINE_PROFILE"], "cli_flags": ["--line-profile", "--line_profile"]}
WRITTEN = {"lprof": True, "text": True, "timestamped_text": True, "stdout": True}
SHOWN = {"sort": True, "stripzeros": True, "rich": False, "details": False, "summarize": True}


def profiler_of_recording() -> Any:
    """The builtin `profile`, where it is one of ours; else None."""
    given = sys.modules["builtins"].__dict__.get("profile")
    module = sys.modules.get("allranks.compat.line_profiler.line_profiler")
    return given if module is not None and isinstance(given, module.RecordingProfiler) else None


def default_prefix() -> str:
    """Of a rank beside others its own: all write at the same time."""
    from allranks.compat import has_other_ranks, rank_of_this_process

    return "profile_output" + (f"_rank{rank_of_this_process()}" if has_other_ranks() else "")


class GlobalProfiler:
    """GlobalProfiler(config=None): configuration files are not read."""

    def __init__(self, config: object = None) -> None:
        self.setup_config = dict(WHERE)
        self.write_config = dict(WRITTEN)
        self.show_config = dict(SHOWN)
        self.output_prefix = default_prefix()
        self.enabled: bool | None = None  # None: the environment is asked when it is first needed
        self._profile: LineProfiler | None = None

    def _wants_to_run(self) -> bool:
        flags = self.setup_config
        return any(os.environ.get(name, "").lower() not in FALSE for name in flags["environ_flags"]) or any(
            flag in sys.argv for flag in flags["cli_flags"]
        )

    def enable(self, output_prefix: str | None = None) -> None:
        """From now on functions are counted as they are decorated. At the end of the program the results are written."""
        import atexit

        from allranks.compat.line_profiler.line_profiler import LineProfiler

        if self._profile is None:
            self._profile = profiler_of_recording()
        if self._profile is None:
            self._profile = LineProfiler()
            atexit.register(self.show)
        self.enabled = True
        if output_prefix is not None:
            self.output_prefix = output_prefix

    def disable(self) -> None:
        self.enabled = False

    def __call__(self, func: Any) -> Any:
        if self.enabled is None:
            self.enabled = False
            if profiler_of_recording() is not None or self._wants_to_run():
                self.enable()
        if not self.enabled or self._profile is None:
            return func
        return self._profile(func)

    # -- the end --

    def show(self) -> None:
        """Writes what is asked for by `write_config`, and prints a summary."""
        if self._profile is None or self._profile is profiler_of_recording():
            return
        stats = self._profile.get_stats()
        if self.write_config["stdout"]:
            stats.print(None, **self.show_config)
        written = list(self._write_texts(stats))
        if self.write_config["lprof"]:
            written.append(f"{self.output_prefix}.lprof")
            stats.to_file(written[-1])
        for name in written:
            print(f"Wrote profile results to {name}")
        if self.write_config["lprof"]:
            print(f"Inspect results with:\n{viewer()} -rmt {written[-1]}")

    def _write_texts(self, stats: Any) -> Any:
        from time import strftime

        options = {**self.show_config, "rich": False, "details": True}
        names = {"text": f"{self.output_prefix}.txt", "timestamped_text": f"{self.output_prefix}_{strftime('%Y-%m-%dT%H%M%S')}.txt"}
        for kind, name in names.items():
            if self.write_config[kind]:
                with open(name, "w", encoding="utf-8") as file:
                    stats.print(file, **options)
                yield name


def viewer() -> str:
    """The command that prints files, as it can be typed here."""
    from allranks.compat import is_importable

    module = "line_profiler" if is_importable("line_profiler") else "allranks.compat.line_profiler"
    return f"{sys.executable} -m {module}"


GlobalProfiler.__module__ = "line_profiler.explicit_profiler"
profile = GlobalProfiler()

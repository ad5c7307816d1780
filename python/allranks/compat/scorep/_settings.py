# SPDX-License-Identifier: BSD-3-Clause
"""Score-P's variables: what they ask for, as values of options of `allranks run`. Loaded before the program, in its process."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# Every variable of Score-P that a job script may set, with its default. `used`: it does here what it does there.
#
#   name            without SCOREP_
#   kind            of value: bool, size, text, names
VARIABLES = (
    ("ENABLE_PROFILING", "bool", "true", True),
    ("ENABLE_TRACING", "bool", "false", True),
    ("ENABLE_UNWINDING", "bool", "false", False),
    ("VERBOSE", "bool", "false", True),
    ("TOTAL_MEMORY", "size", "1G", True),
    ("PAGE_SIZE", "size", "8k", False),
    ("EXPERIMENT_DIRECTORY", "text", "", True),
    ("OVERWRITE_EXPERIMENT_DIRECTORY", "bool", "true", True),
    ("FORCE_CFG_FILES", "bool", "true", True),
    ("MACHINE_NAME", "text", "Linux", False),
    ("EXECUTABLE", "text", "", False),
    ("TIMER", "text", "", False),
    ("FILTERING_FILE", "text", "", True),
    ("SELECTIVE_CONFIG_FILE", "text", "", False),
    ("PROFILING_FORMAT", "text", "default", True),
    ("PROFILING_BASE_NAME", "text", "profile", True),
    ("PROFILING_MAX_CALLPATH_DEPTH", "text", "100", False),
    ("PROFILING_MAX_CALLPATH_NUM", "text", "1000000000", False),
    ("PROFILING_ENABLE_CLUSTERING", "bool", "true", False),
    ("PROFILING_CLUSTER_COUNT", "text", "64", False),
    ("PROFILING_CLUSTERING_MODE", "text", "subtree", False),
    ("PROFILING_CLUSTERED_REGION", "text", "", False),
    ("PROFILING_TASK_EXCHANGE_NUM", "text", "1K", False),
    ("PROFILING_ENABLE_CORE_FILES", "bool", "false", False),
    ("TRACING_USE_SION", "bool", "false", False),
    ("TRACING_MAX_PROCS_PER_SION_FILE", "text", "1K", False),
    ("TRACING_CONVERT_CALLING_CONTEXT_EVENTS", "bool", "false", False),
    ("MPI_ENABLE_GROUPS", "names", "default", False),
    ("MPI_MAX_COMMUNICATORS", "text", "50", False),
    ("MPI_MAX_WINDOWS", "text", "50", False),
    ("MPI_MAX_EPOCHS", "text", "50", False),
    ("MPI_MAX_GROUPS", "text", "50", False),
    ("MPI_MEMORY_RECORDING", "bool", "false", False),
    ("MPI_ONLINE_ANALYSIS", "bool", "false", False),
    ("MEMORY_RECORDING", "bool", "false", False),
    ("IO_POSIX", "bool", "false", False),
    ("METRIC_PAPI", "names", "", True),
    ("METRIC_PAPI_PER_PROCESS", "names", "", False),
    ("METRIC_PAPI_SEP", "text", ",", True),
    ("METRIC_PERF", "names", "", True),
    ("METRIC_PERF_PER_PROCESS", "names", "", False),
    ("METRIC_PERF_SEP", "text", ",", True),
    ("METRIC_RUSAGE", "names", "", True),
    ("METRIC_RUSAGE_PER_PROCESS", "names", "", False),
    ("METRIC_RUSAGE_SEP", "text", ",", True),
    ("METRIC_PLUGINS", "names", "", False),
    ("METRIC_PLUGINS_SEP", "text", ",", False),
    ("SAMPLING_EVENTS", "text", "perf_cycles@10000000", False),
    ("SUBSTRATE_PLUGINS", "text", "", False),
)
PREFIX = "SCOREP_"
INTERNAL = ("SCOREP_PYTHON_BINDINGS_INITIALISED", "SCOREP_PYTHON_BINDINGS_TEMP_DIR", "SCOREP_LD_PRELOAD_BACKUP")

# What getrusage counts and the kernel's counters do, too.
OF_RUSAGE = {
    "ru_minflt": "minor-faults",
    "ru_majflt": "major-faults",
    "ru_nvcsw": "context-switches",
    "ru_nivcsw": "context-switches",
}
USED_FORMATS = ("default", "cube4", "cube_tuple", "none")  # of the profile
FACTORS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
LEAST_TRACE, MOST_TRACE = 1 << 20, 1 << 38  # as --trace-limit


def read_bool(text: str) -> bool:
    """As Score-P does: true, yes, on, in any case, or a number that is not 0."""
    word = text.strip().lower()
    return word in ("true", "yes", "on") or (word.isdigit() and int(word) != 0)


def read_size(text: str) -> int:
    """Bytes; 0: it is not a size."""
    word = text.strip().upper()
    if word.endswith("B"):
        word = word[:-1]
    factor = FACTORS.get(word[-1:], 1)
    digits = word[:-1] if factor > 1 else word
    return int(digits) * factor if digits.isdigit() else 0


def read_names(text: str, separator: str) -> "list[str]":
    names = text.split(separator) if separator else [text]
    return [name.strip() for name in names if name.strip()]


class Settings:
    """What the environment says."""

    values: "dict[str, str]"  # of all variables, by name without SCOREP_
    is_set: "set[str]"  # those that the environment has
    without_effect: "list[str]"  # words, as the user gave them; options of the command come in front
    notes: "list[str]"  # what else a reader of scorep.cfg is to know of the run

    def __init__(self, environment: "Mapping[str, str]") -> None:
        self.values = {name: default for name, _, default, _ in VARIABLES}
        self.is_set = set()
        self.without_effect = []
        self.notes = []
        self.counters: list[str] = []
        for name, _, _, _ in VARIABLES:
            if environment.get(PREFIX + name):
                self.values[name] = environment[PREFIX + name]
                self.is_set.add(name)
        for name, _, default, used in VARIABLES:
            if not used and name in self.is_set and self.values[name] != default:
                self.ignore(name)
        known = {PREFIX + name for name, _, _, _ in VARIABLES}
        self.without_effect += sorted(name for name in environment if name.startswith(PREFIX) and name not in known and name not in INTERNAL)

    def ignore(self, name: str) -> None:
        self.without_effect.append(f"{PREFIX}{name}={self.values[name]}")

    def is_on(self, name: str) -> bool:
        return read_bool(self.values[name])

    def wants_trace(self) -> bool:
        return self.is_on("ENABLE_TRACING")

    def wants_profile(self) -> bool:
        return self.is_on("ENABLE_PROFILING") and self.values["PROFILING_FORMAT"].lower() not in ("none", "tau_snapshot")

    def wants_directory(self) -> bool:
        return self.wants_trace() or self.wants_profile() or self.is_on("FORCE_CFG_FILES")

    # -- values of options --

    def apply(self, values: "dict[str, Any]") -> None:
        """To the options of `allranks run`; what the command line says itself stays."""
        if self.wants_trace() and not values["trace"] and not values["trace-later"]:
            values["trace"] = True
        self._apply_memory(values)
        self._apply_filter(values)
        self._apply_counters(values)
        if self.values["PROFILING_FORMAT"].lower() not in USED_FORMATS:
            self.ignore("PROFILING_FORMAT")

    def _apply_memory(self, values: "dict[str, Any]") -> None:
        if "TOTAL_MEMORY" not in self.is_set:
            return
        n_bytes = read_size(self.values["TOTAL_MEMORY"])
        if n_bytes == 0:
            self.ignore("TOTAL_MEMORY")
        elif values["trace-limit"] == 1 << 30:
            values["trace-limit"] = min(max(n_bytes, LEAST_TRACE), MOST_TRACE)

    def _apply_filter(self, values: "dict[str, Any]") -> None:
        if "FILTERING_FILE" not in self.is_set:
            return
        if "filter-file" in values:
            values["filter-file"] = (*values["filter-file"], self.values["FILTERING_FILE"])
        else:
            self.ignore("FILTERING_FILE")

    def find_counters(self) -> None:
        for source in ("PAPI", "PERF"):
            self.counters += read_names(self.values[f"METRIC_{source}"], self.values[f"METRIC_{source}_SEP"])
        usage = read_names(self.values["METRIC_RUSAGE"], self.values["METRIC_RUSAGE_SEP"])
        if usage == ["all"]:
            usage = list(OF_RUSAGE)
        self.counters += dict.fromkeys(OF_RUSAGE[name] for name in usage if name in OF_RUSAGE)
        self.without_effect += [f"{PREFIX}METRIC_RUSAGE={name}" for name in usage if name not in OF_RUSAGE]

    def _apply_counters(self, values: "dict[str, Any]") -> None:
        self.find_counters()
        if self.counters:
            values["counters"] = ",".join(filter(None, [values["counters"], *self.counters]))
            values["counters-optional"] = True

    def as_cfg(self) -> str:
        """scorep.cfg: what a shell can source to have the same again."""
        lines = [
            "# The settings of this run, by the names that Score-P has for them; a shell can source this file.",
            "# Written by allranks in Score-P's place: see docs/scorep.md.",
        ]
        if self.without_effect:
            lines += ["#", "# Without effect here:"]
            lines += [f"#   {''.join(c if c.isprintable() else '?' for c in word)}" for word in self.without_effect]
        lines += [line for note in self.notes for line in ("#", f"# {note}")]
        lines.append("")
        lines += [f"{PREFIX}{name}={shell_word(self.values[name])}" for name, _, _, used in VARIABLES if used]
        return "\n".join(lines) + "\n"


def shell_word(text: str) -> str:
    is_plain = all(c.isalnum() or c in "_-+=:,./@%~*" for c in text)
    return text if is_plain else "'" + text.replace("'", "'\\''") + "'"

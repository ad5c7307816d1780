# SPDX-License-Identifier: BSD-3-Clause
"""python -m scorep [options] script.py, and what `--as scorep` does beside imports: Score-P's variables, the experiment directory."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from allranks._launch import Options
    from allranks.compat.scorep._settings import Settings

USAGE = """\
Usage: python -m scorep [options] [--] <script> [args]

Record a Python program, alone or on every rank of an MPI job, as Score-P's
Python bindings do. allranks stands in for them: the experiment directory also
has a run file for `allranks report`, `allranks mpi`, `allranks waits` ...

options:
  --help                  show this help
  --nopython, --noinstrumenter
                          record regions and MPI calls only, until the program
                          asks for functions (scorep.instrumenter.enable)
  --instrumenter-type=TYPE
                          profile, trace, cProfile, cTrace: all of them see
                          functions in the same way, the cheapest there is;
                          dummy: the same as --noinstrumenter
  --instrumenter-file=FILE
                          run FILE first, which may wrap functions of modules
                          (scorep.user.instrument_module)
  --verbose, -v           show settings on standard error
  --mpp=..., --mpi, --thread=..., --compiler, --nocompiler, --user, --io=...,
  --keep-files and others accepted; there is nothing to compile or to link, and
                          MPI, threads and child processes are always recorded

environment:
  SCOREP_ENABLE_PROFILING, SCOREP_ENABLE_TRACING, SCOREP_EXPERIMENT_DIRECTORY,
  SCOREP_FILTERING_FILE, SCOREP_METRIC_PAPI and others. Those without effect are
  listed in scorep.cfg, which is in the experiment directory.
"""


class Request:
    """What the command line asks for."""

    def __init__(self) -> None:
        self.words: list[str] = []  # the script and its arguments
        self.without_effect: list[str] = []
        self.functions_later = False
        self.verbose = False
        self.shows_help = False
        self.instrumenter_type = "cProfile"
        self.instrumenter_file = ""


def say(text: str) -> None:
    if sys.stderr is not None:
        print(f"scorep: {text}", file=sys.stderr, flush=True)


def fail(text: str, status: int = 1) -> "NoReturn":
    say(text)
    sys.exit(status)


def parse_option(request: Request, word: str) -> None:
    said, _, value = word.partition("=")
    if said in ("--nopython", "--noinstrumenter"):
        request.functions_later = True
    elif said == "--instrumenter-type":
        request.instrumenter_type = value
    elif said == "--instrumenter-file":
        request.instrumenter_file = value
    elif word in ("--verbose", "-v"):
        request.verbose = True
    else:
        if word == "--mpi":
            say("Warning: The option '--mpi' is deprecated and will be removed in future.")
        request.without_effect.append(word)


def parse(argv: "list[str]") -> Request:
    request = Request()
    rest = list(argv)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word == "--":
            break
        if word == "--help":
            request.shows_help = True
            return request
        parse_option(request, word)
    request.words = rest
    return request


def check_script(path: str) -> None:
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        fail(f"Cannot run file {path!r} because: {error}")


# ---- as a part of `allranks run` ----


def prepare(options: "Options", request: "Request | None" = None) -> None:
    """Score-P's variables become options, and the experiment directory is made at the end. With `--as scorep` there is no request."""
    from allranks.compat.scorep import _experiment
    from allranks.compat.scorep._settings import Settings

    settings = Settings(os.environ)
    settings.apply(options.values)
    check_filter(settings)
    if settings.counters:
        count_everywhere(options.values)
    if request:
        settings.without_effect[:0] = request.without_effect
    verbose = settings.is_on("VERBOSE") or bool(request and request.verbose)
    target = _experiment.directory_named(settings)
    options.after_run = _experiment.command(settings, target, keeps_run=request is None, verbose=verbose)
    if settings.without_effect:
        options.facts["score-p"] = "without effect: " + " ".join(settings.without_effect)
    if request:
        options.values["output"] = output_beside(os.path.dirname(target) if target else os.getcwd(), request.words[0])
    if verbose:
        show(settings)


def check_filter(settings: "Settings") -> None:
    """Before the launcher reads it: a fault is reported for the variable, not for an option that was not given."""
    if "FILTERING_FILE" not in settings.is_set:
        return
    from allranks._filter_file import FilterError, read_rules
    from allranks._launch import UsageError

    try:
        read_rules(settings.values["FILTERING_FILE"])
    except FilterError as error:
        raise UsageError(f"SCOREP_FILTERING_FILE: {error}") from None


def count_everywhere(values: "dict[str, Any]") -> None:
    """As Score-P does, in every call path; where a read takes too long for that, in regions."""
    try:
        from allranks import _runtime

        _runtime.check_counters(os.fsencode(values["counters"]), True, True)
    except (ImportError, ValueError):
        return
    values["counters-everywhere"] = True


def output_beside(place: str, script: str) -> str:
    """The run file is written beside the experiment directory, and then moved into it."""
    from allranks._launch import with_braces

    stem = os.path.splitext(os.path.basename(script))[0]
    return with_braces(os.path.join(place if os.path.isdir(place) else os.getcwd(), stem)) + ".allranks"


def show(settings: "Settings") -> None:
    for name in sorted(settings.is_set):
        say(f"SCOREP_{name}={settings.values[name]}")
    if settings.without_effect:
        say("without effect: " + " ".join(settings.without_effect))


def run_instrumenter_file(path: str) -> None:
    """Before the recording starts: what it imports is not recorded."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    exec(compile(text, path, "exec"), {"__name__": "__main__", "__file__": path, "__builtins__": __builtins__})


def main() -> None:
    from allranks import _launch

    request = parse(sys.argv[1:])
    if request.shows_help:
        _launch.answer(USAGE)
        sys.exit(0)
    if not request.words:
        fail("Did not find a script to run")
    from allranks.compat.scorep.instrumenter import TYPES

    if request.instrumenter_type not in TYPES:
        fail(f"--instrumenter-type={request.instrumenter_type}: there is no such type (expected: {', '.join(TYPES)})", 2)
    check_script(request.words[0])
    options = _launch.Options()
    _launch.set_from_environment(options.values)
    options.target, options.arguments = request.words[0], request.words[1:]
    options.values["as"] = ("scorep",)
    options.values["quiet"] = True
    options.values["functions-later"] = request.functions_later or request.instrumenter_type == "dummy"
    try:
        prepare(options, request)
        _launch.check_values(options.values)
    except _launch.UsageError as error:
        fail(str(error))
    if request.instrumenter_file:
        if not os.access(request.instrumenter_file, os.R_OK):
            fail(f"{request.instrumenter_file}: cannot be read (--instrumenter-file=FILE: Python that runs before the script)")
        options.before = lambda: run_instrumenter_file(request.instrumenter_file)
    _launch.run_with(options)

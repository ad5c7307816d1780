# SPDX-License-Identifier: BSD-3-Clause
"""python -m line_profiler FILE...: what .lprof files hold, summed up, as text."""

from __future__ import annotations

import argparse
import os
import sys
from typing import NoReturn

from allranks.compat.line_profiler import __version__
from allranks.compat.line_profiler._line_profiler import LineStats
from allranks.compat.line_profiler._text import DEFAULT_UNIT

TRUE, FALSE = ("y", "yes", "t", "true", "on", "1"), ("n", "no", "f", "false", "off", "0")


def is_true(text: str) -> bool:
    if text.lower() not in TRUE + FALSE:
        raise argparse.ArgumentTypeError(f"{text}: not one of yes, no")
    return text.lower() in TRUE


def add_flag(parser: argparse.ArgumentParser, letter: str, name: str, help: str) -> None:
    """-x, --name, --name=yes and --no-name. The long one takes no word of its own: that would be a file."""
    dest = name.replace("-", "_")
    parser.add_argument(f"-{letter}", f"--{name}", dest=dest, action="store_true", help=help)
    parser.add_argument(f"--no-{name}", dest=dest, action="store_false", help=argparse.SUPPRESS)


def new_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m line_profiler",
        description="Show .lprof files, which kernprof, LineProfiler.dump_stats and `allranks export -f lprof` write. Several files are summed up.",
    )
    parser.add_argument("-V", "--version", action="version", version=__version__)
    parser.add_argument("-c", "--config", metavar="FILE", help="accepted; configuration files are not read")
    parser.add_argument("--no-config", action="store_true", help="accepted; configuration files are not read")
    parser.add_argument("-u", "--unit", type=float, default=DEFAULT_UNIT, metavar="SECONDS", help="unit of times (default: 1e-6)")
    add_flag(parser, "r", "rich", "colours, if the package rich is installed")
    add_flag(parser, "z", "skip-zero", "leave out functions that were not called")
    add_flag(parser, "t", "sort", "the function that took most comes last")
    add_flag(parser, "m", "summarize", "end with a line for each function")
    parser.add_argument("profile_output", nargs="+", metavar="FILE", help="a .lprof file")
    return parser


def split_flags(words: list[str]) -> list[str]:
    """--sort=yes is --sort, --sort=no is --no-sort."""
    split = []
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in ("--rich", "--skip-zero", "--sort", "--summarize") and value.lower() in TRUE + FALSE:
            word = name if is_true(value) else f"--no-{name[2:]}"
        split.append(word)
    return split


def fail(text: str) -> NoReturn:
    sys.stderr.write(f"line_profiler: error: {text}\n")
    sys.exit(1)


def read(files: list[str]) -> LineStats:
    stats = []
    for file in files:
        try:
            stats.append(LineStats.from_files(file))
        except OSError as error:
            fail(f"{file}: {error.strerror}")
        except ValueError as error:
            fail(f"{file}: {error}")
    return LineStats.from_stats_objects(*stats)


def main(argv: list[str] | None = None) -> None:
    options = new_parser().parse_args(split_flags(sys.argv[1:] if argv is None else argv))
    stats = read(options.profile_output)
    try:
        stats.print(
            output_unit=options.unit, stripzeros=options.skip_zero, rich=options.rich, sort=options.sort, summarize=options.summarize
        )
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)

# SPDX-License-Identifier: BSD-3-Clause
"""Rows of a function in colours, by the package rich. Their layout is that of the plain report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO


def write_rich_rows(stream: TextIO, rows: Iterable[tuple[str, str]]) -> None:
    """Each row: its numbers, and its source. Colours are for terminals: rich finds out."""
    from rich.console import Console  # type: ignore[import-not-found,unused-ignore]
    from rich.syntax import Syntax  # type: ignore[import-not-found,unused-ignore]
    from rich.text import Text  # type: ignore[import-not-found,unused-ignore]

    console = Console(file=stream, highlight=False)
    syntax = Syntax("", "python", background_color="default")
    for numbers, source in rows:
        text = Text(numbers + "  ", style="cyan")
        highlighted = syntax.highlight(source)
        highlighted.rstrip()
        console.print(text.append_text(highlighted), soft_wrap=True)

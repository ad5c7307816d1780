# SPDX-License-Identifier: BSD-3-Clause
"""Reads traces as `allranks dump --csv` prints them and as they are exported, into the same shape.

A trace is a list of steps for each thread, in order: calls that begin and end, with what an MPI call did at its end; periods
without a recording; parameters; the instant at which the limit was reached. Perfetto's files are read by the message
definitions of its own package, nothing here knows the encoding.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Union

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto

Value = Union[int, str]
Message = dict[str, Value]
OFF_NAME = "not recorded"
FULL_NAME = "trace limit reached"


@dataclass(frozen=True)
class Step:
    kind: str  # begin, end, off, on, parameter, full, message
    ns: int
    name: str = ""
    is_implied: bool = False
    messages: tuple[tuple[tuple[str, Value], ...], ...] = ()
    value: str = ""
    category: str = field(default="", compare=False)
    source: str = field(default="", compare=False)


@dataclass(frozen=True)
class Flow:
    """An end of an arrow, or a place on its way."""

    id: int
    phase: str  # s, t, f: start, on the way, end
    process: str
    ns: int


Thread = tuple[str, str]  # of the process and of the thread, as they are called
Trace = dict[Thread, list[Step]]


def frozen(messages: list[Message]) -> tuple[tuple[tuple[str, Value], ...], ...]:
    return tuple(tuple(sorted(message.items())) for message in messages)


@dataclass
class Exported:
    trace: Trace
    processes: list[str]  # in their order
    flows: list[Flow]


# ---- as `allranks dump --csv` has it ----

PEERS = {"send": "to", "send-posted": "to", "send-done": "to", "collective": "root", "collective-posted": "root",
         "collective-done": "root"}  # fmt: skip


def message_of(row: dict[str, str]) -> Message:
    message: Message = {"kind": row["event"]}
    if row["peer"]:
        message[PEERS.get(row["event"], "from")] = int(row["peer"])
    if row["communicator"] != "?":
        message["communicator"] = row["communicator"]
    if row["event"].startswith("collective"):
        message["number"] = int(row["sequence"])
    else:
        message["tag"] = int(row["tag"])
    counted = {"bytes out": row["bytes_out"], "bytes in": row["bytes_in"], "request": row["request"]}
    message.update({name: int(text) for name, text in counted.items() if text != "0"})
    return message


def dumped_thread(rows: list[dict[str, str]]) -> Iterator[Step]:
    messages: list[Message] = []
    is_off = False
    for row in rows:
        event, ns = row["event"], int(row["time_ns"])
        if is_off and event != "off":
            is_off = False
            yield Step("on", ns)
        if event in ("enter", "leave"):
            done, messages = frozen(messages), []
            if row["node"] == "0":
                continue
            source = f"{row['file']}:{row['line']}" if row["file"] else ""
            if event == "enter":
                yield Step("begin", ns, row["function"], row["implied"] == "1", source=source)
            else:
                yield Step("end", ns, "", row["implied"] == "1", done)
        elif event in ("parameter", "counter"):
            yield Step(event, ns, row["parameter"], value=row["value"])
        elif event == "full":
            yield Step("full", ns, FULL_NAME)
        elif event == "off":
            is_off = True
            yield Step("off", ns, OFF_NAME)
        elif event != "on":
            messages.append(message_of(row))
    assert not messages


def dumped(text: bytes) -> dict[tuple[str, str, str], list[Step]]:
    """By pid, rank and thread."""
    rows: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for row in csv.DictReader(io.StringIO(text.decode(), newline="")):
        rows.setdefault((row["process"], row["rank"], row["thread"]), []).append(row)
    return {thread: list(dumped_thread(found)) for thread, found in rows.items()}


# ---- Perfetto ----


class Sequence:
    """What one sequence of packets has said so far."""

    def __init__(self) -> None:
        self.clocks: dict[int, int] = {}
        self.incremental: set[int] = set()
        self.clock = 6
        self.interned: dict[str, dict[int, Any]] = {}

    def learn(self, packet: perfetto.TracePacket) -> None:
        if packet.HasField("trace_packet_defaults"):
            self.clock = packet.trace_packet_defaults.timestamp_clock_id
        for clock in packet.clock_snapshot.clocks:
            self.clocks[clock.clock_id] = clock.timestamp
            self.incremental |= {clock.clock_id} if clock.is_incremental else set()
        for kind, values in packet.interned_data.ListFields():
            for value in values:
                known = self.interned.setdefault(kind.name, {})
                assert value.iid and value.iid not in known, (kind.name, value)
                known[value.iid] = value

    def time_of(self, packet: perfetto.TracePacket) -> int:
        assert not packet.HasField("timestamp_clock_id") and self.clock in self.incremental
        self.clocks[self.clock] += packet.timestamp
        return self.clocks[self.clock]

    def argument(self, one: perfetto.DebugAnnotation) -> tuple[str, Any]:
        name = one.name
        if one.name_iid:
            name = self.interned["debug_annotation_names"][one.name_iid].name
        if one.array_values:
            return name, [dict(map(self.argument, each.dict_entries)) for each in one.array_values]
        what = one.WhichOneof("value")
        if what == "string_value_iid":
            return name, self.interned["debug_annotation_string_values"][one.string_value_iid].str.decode()
        return name, getattr(one, what)


def messages_in(arguments: dict[str, Any]) -> list[Message]:
    if "messages" in arguments:
        return arguments["messages"]
    return [arguments] if arguments else []


def perfetto_step(sequence: Sequence, event: perfetto.TrackEvent, ns: int, open_names: list[str]) -> Step:
    arguments = dict(map(sequence.argument, event.debug_annotations))
    (category,) = [sequence.interned["event_categories"][iid].name for iid in event.category_iids] or [""]
    if event.type == event.TYPE_SLICE_END:
        name = open_names.pop()
        if name == OFF_NAME:
            return Step("on", ns)
        return Step("end", ns, "", arguments.pop("left later", False), frozen(messages_in(arguments)))
    name = event.name or sequence.interned["event_names"][event.name_iid].name
    if event.type == event.TYPE_INSTANT:
        if category == "parameter":
            return Step("parameter", ns, name, value=str(arguments[name]), category=category)
        return Step("full" if name == FULL_NAME else "message", ns, name, False, frozen(messages_in(arguments)), category=category)
    assert event.type == event.TYPE_SLICE_BEGIN
    open_names.append(name)
    if category == "allranks":
        return Step("off", ns, name, category=category)
    source = ""
    if event.source_location_iid:
        place = sequence.interned["source_locations"][event.source_location_iid]
        source = f"{place.file_name}:{place.line_number}"
    return Step("begin", ns, name, "entered earlier" in arguments, category=category, source=source)


def read_perfetto(data: bytes) -> Exported:
    trace = perfetto.Trace()
    trace.ParseFromString(data)
    sequence, found = Sequence(), {}
    processes: dict[int, tuple[int, str]] = {}
    threads: dict[int, Thread] = {}
    open_names: dict[int, list[str]] = {}
    counters: dict[int, tuple[int, str]] = {}  # of which thread, and its name
    flows: list[Flow] = []
    for at, packet in enumerate(trace.packet):
        assert packet.trusted_packet_sequence_id == 1
        assert packet.sequence_flags == (1 if at == 0 else 0) and packet.first_packet_on_sequence == (at == 0)
        sequence.learn(packet)
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            if track.HasField("process"):
                assert track.process.pid not in (pid for pid, _ in processes.values())
                processes[track.uuid] = (track.process.pid, track.process.process_name)
                assert track.process.legacy_sort_index == track.sibling_order_rank == len(processes) - 1
            elif track.HasField("counter"):
                assert track.uuid not in {*processes, *threads, *counters}
                counters[track.uuid] = (track.parent_uuid, track.name)
            else:
                pid, name = processes[track.parent_uuid]
                assert track.thread.pid == pid
                threads[track.uuid] = (name, track.thread.thread_name)
                found[track.uuid] = []
        elif packet.HasField("track_event"):
            uuid = packet.track_event.track_uuid
            if packet.track_event.type == perfetto.TrackEvent.TYPE_COUNTER:
                thread, name = counters[uuid]
                value = str(packet.track_event.counter_value)
                found[thread].append(Step("counter", sequence.time_of(packet), name, value=value, category="counter"))
                continue
            step = perfetto_step(sequence, packet.track_event, sequence.time_of(packet), open_names.setdefault(uuid, []))
            if step.name == "received":
                assert packet.track_event.terminating_flow_ids
            else:
                found[uuid].append(step)
            begun = {flow.id for flow in flows} if packet.track_event.flow_ids else set()
            flows += [Flow(id, "t" if id in begun else "s", threads[uuid][0], step.ns) for id in packet.track_event.flow_ids]
            flows += [Flow(id, "f", threads[uuid][0], step.ns) for id in packet.track_event.terminating_flow_ids]
    assert not any(open_names.values())
    return Exported({threads[uuid]: steps for uuid, steps in found.items()}, [name for _, name in processes.values()], flows)


# ---- Chrome's Trace Event Format ----


def chrome_step(event: dict[str, Any], open_names: list[str]) -> Step:
    ns = int(Decimal(event["ts"]) * 1000)
    arguments = event.get("args", {})
    if event["ph"] == "E":
        if open_names.pop() == OFF_NAME:
            return Step("on", ns)
        is_implied = arguments.pop("left later", False)
        return Step("end", ns, "", is_implied, frozen(messages_in(arguments)))
    name, category = event["name"], event["cat"]
    if event["ph"] == "C":
        assert event["id"] == event["tid"]
        return Step("counter", ns, name, value=str(arguments["value"]), category=category)
    if event["ph"] == "i":
        assert event["s"] == "t"
        if category == "parameter":
            return Step("parameter", ns, name, value=str(arguments["value"]), category=category)
        return Step("full" if name == FULL_NAME else "message", ns, name, False, frozen(messages_in(arguments)), category=category)
    assert event["ph"] == "B"
    open_names.append(name)
    if category == "allranks":
        return Step("off", ns, name, category=category)
    return Step("begin", ns, name, arguments.get("entered earlier", False), category=category, source=arguments.get("source", ""))


def read_chrome(data: bytes) -> Exported:
    facts: dict[tuple[int, int], dict[str, Any]] = {}
    found: dict[tuple[int, int], list[Step]] = {}
    open_names: dict[tuple[int, int], list[str]] = {}
    flows: list[Flow] = []
    for event in json.loads(data, parse_float=str)["traceEvents"]:
        thread = (event["pid"], event["tid"])
        if event["ph"] == "M":
            (value,) = event["args"].values()
            facts.setdefault(thread, {})[event["name"]] = value
        elif event["ph"] in "stf":
            assert open_names[thread] and event.get("bp") == ("e" if event["ph"] == "f" else None)
            process = facts[event["pid"], event["pid"]]["process_name"]
            flows.append(Flow(event["id"], event["ph"], process, int(Decimal(event["ts"]) * 1000)))
        else:
            found.setdefault(thread, []).append(chrome_step(event, open_names.setdefault(thread, [])))
    assert not any(open_names.values())
    processes = {pid: said for (pid, _), said in facts.items() if "process_name" in said}
    names = [said["process_name"] for said in sorted(processes.values(), key=lambda said: said["process_sort_index"])]
    trace = {(processes[pid]["process_name"], facts[pid, tid]["thread_name"]): steps for (pid, tid), steps in found.items()}
    return Exported(trace, names, flows)


# ---- speedscope ----


def speedscope_thread(profile: dict[str, Any], frames: list[dict[str, Any]]) -> Iterator[Step]:
    stack: list[int] = []
    last = profile["startValue"]
    for event in profile["events"]:
        assert set(event) == {"type", "frame", "at"}
        frame, ns = frames[event["frame"]], event["at"]
        assert last <= ns <= profile["endValue"]
        last = ns
        if event["type"] == "O":
            stack.append(event["frame"])
            is_off = frame["name"] == f"[{OFF_NAME}]"
            source = f"{frame['file']}:{frame['line']}" if "line" in frame else ""
            yield Step("off", ns, OFF_NAME) if is_off else Step("begin", ns, frame["name"], source=source)
        else:
            assert event["type"] == "C" and stack.pop() == event["frame"]
            yield Step("on" if frame["name"] == f"[{OFF_NAME}]" else "end", ns)
    assert not stack


def read_speedscope(data: bytes) -> tuple[dict[str, list[Step]], dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """Threads with a trace by name, profiles without one, and frames."""
    file = json.loads(data)
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = file["shared"]["frames"]
    assert all(frame["name"] and set(frame) <= {"name", "file", "line"} for frame in frames[1:])
    evented = {profile["name"]: list(speedscope_thread(profile, frames)) for profile in file["profiles"] if profile["type"] == "evented"}
    others = {profile["name"]: profile for profile in file["profiles"] if profile["type"] != "evented"}
    assert len(evented) + len(others) == len(file["profiles"])
    return evented, others, frames


def without_details(steps: list[Step]) -> list[Step]:
    """As far as speedscope can say it."""
    return [replace(step, is_implied=False, messages=()) for step in steps if step.kind in ("begin", "end", "off", "on")]

# SPDX-License-Identifier: BSD-3-Clause
"""Prints what python3-otf2, which belongs to the system's own Python, reads in an archive, as JSON.

otf2_reading.py ARCHIVE     {"clock": …, "locations": [{…}], "regions": [{…}], "comms": [{…}], "events": [[location, time, kind, {…}]]}
"""

from __future__ import annotations

import json
import sys

import otf2


def plain(value):
    """Definitions by their names, all else as it is."""
    if isinstance(value, (int, float, str, type(None))):
        return value
    for name in ("name", "_ref"):
        if isinstance(found := getattr(value, name, None), (int, str)):
            return found
    return str(value).rpartition(".")[2]


def region(definition):
    return {
        "name": definition.name,
        "canonical": definition.canonical_name,
        "file": definition.source_file,
        "line": definition.begin_line_number,
        "role": str(definition.region_role).rpartition(".")[2],
        "paradigm": str(definition.paradigm).rpartition(".")[2],
    }


def rank_names(group):
    """Of a communicator: in the order of its ranks, the processes."""
    return [location.group.name for location in group.members]


def comm(definition):
    parent = definition.parent and definition.parent.name
    return {"name": definition.name, "parent": parent, "groups": [rank_names(definition.group)]}


def event(each, regions):
    fields = {name: value for name, value in vars(each).items() if not name.startswith("_")}
    found = {name: plain(value) for name, value in fields.items() if name not in ("time", "attributes", "region", "parameter")}
    if "region" in fields:
        found["region"] = regions[fields["region"]]
    if "parameter" in fields:
        found["parameter"] = fields["parameter"].name
    if "metric" in fields:
        (member,), (value,) = fields["metric"].members, fields["values"]
        return [type(each).__name__, {"metric": member.name, "value": value}]
    return [type(each).__name__, found]


def main() -> None:
    with otf2.reader.open(sys.argv[1]) as trace:
        defined = trace.definitions
        clock = defined.clock_properties
        regions = {each: i for i, each in enumerate(defined.regions)}
        locations = {each: i for i, each in enumerate(defined.locations)}
        json.dump(
            {
                "clock": [clock.timer_resolution, clock.global_offset, clock.trace_length, clock.realtime_timestamp],
                "locations": [
                    {"name": each.name, "process": each.group.name, "node": each.group.system_tree_parent.name, "events": each.number_of_events,
                     "creator": each.group.creating_location_group and each.group.creating_location_group.name}
                    for each in defined.locations
                ],
                "regions": [region(each) for each in defined.regions],
                "comms": [comm(each) for each in defined.comms],
                "events": [[locations[where], each.time, *event(each, regions)] for where, each in trace.events],
            },
            sys.stdout,
        )  # fmt: skip


if __name__ == "__main__":
    main()

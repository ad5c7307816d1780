# SPDX-License-Identifier: BSD-3-Clause
"""All that allranks.load gives of a run, as JSON, whatever the tables are made of.

    dump_run.py RUN [python|numpy|pandas] [fold]
"""

import json
import sys

import allranks

TABLES = ("functions", "tree", "mpi", "communicators", "messages", "requests", "synchronisations", "sync_causes", "ranks", "processes", "threads")


def plain(column):
    """A column of any kind as a list."""
    return column.tolist() if hasattr(column, "tolist") else list(column)


def columns_of(table):
    return {str(name): plain(table[name]) for name in table.columns}


def types_of(table):
    """Of the table, and of a column of numbers."""
    kinds = (type(table), type(table["line" if "line" in table.columns else "id"]))
    return [f"{kind.__module__}.{kind.__qualname__}" for kind in kinds]


words = sys.argv[2:]
form = next((word for word in words if word != "fold"), None)
run = allranks.load(sys.argv[1], as_=form, fold="fold" in words)
json.dump(
    {
        "tables": {name: columns_of(getattr(run, name)) for name in TABLES},
        "types": {name: types_of(getattr(run, name)) for name in TABLES},
        "values": {metric: columns_of(run.values(metric)) for metric in run.metrics},
        "across_ranks": {str(f.id): columns_of(run.across_ranks(f)) for f in run},
        "facts": run.facts,
        "wall_s": run.wall_s,
        "mpi_s": run.mpi_s,
        "modules": [name for name in ("numpy", "pandas") if name in sys.modules],
    },
    sys.stdout,
)

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes C of src/format/mpi.def.

    gen_mpi.py functions DEF OUT    the list of functions: X(id, name, class), one a line
    gen_mpi.py wrappers  DEF OUT    the wrappers; compiled once for each handle ABI, which gives the types

A wrapper stops the clock before it counts bytes, and passes everything on as it came; a status that the caller does not want
is taken into one of our own where bytes are read from it.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

LINE = re.compile(r"(\w+)\s+(\w+)\s+([c-])\s+\((.*?)\)\s*(?:out:\s*(.*?))?\s*(?:\bin:\s*(.*))?$")
SCALARS = {
    "int": "int",
    "rank": "int",
    "tag": "int",
    "char": "char",
    "buf": "void *",
    "cbuf": "const void *",
    "type": "MPI_Datatype",
    "comm": "MPI_Comm",
    "op": "MPI_Op",
    "info": "MPI_Info",
    "infos": "const MPI_Info *",
    "word": "const char *",
    "ints": "const int *",
    "request": "MPI_Request",
    "message": "MPI_Message",
    "status": "MPI_Status",
}
COUNTS = {  # as int, and in the large-count form
    "count": ("int", "MPI_Count"),
    "counts": ("const int *", "const MPI_Count *"),
    "displs": ("const int *", "const MPI_Aint *"),
}
SPAWNING = (  # the root alone starts processes, and only what it says counts
    "bool starts = role_of(root, comm) == ROLE_ROOT;\n\n    if (starts)\n        ar_mpi_spawning(&AR_ABI);",
    "if (starts)\n        ar_mpi_spawned(&AR_ABI);",
)
HOOKS = {  # what happens around the call besides measuring it
    "Init": ("", "if (rc == 0)\n        ar_mpi_initialized(&AR_ABI);"),
    "Init_thread": ("", "if (rc == 0)\n        ar_mpi_initialized(&AR_ABI);"),
    "Finalize": ("ar_mpi_finalizing(&AR_ABI);\n    if (seen)\n        ar_mpi_restart(&call);", ""),
    "Comm_spawn": SPAWNING,
    "Comm_spawn_multiple": SPAWNING,
}


@dataclass
class Parameter:
    ctype: str
    name: str


@dataclass
class Function:
    name: str
    kind: str
    parameters: list[Parameter]
    out_bytes: str
    in_bytes: str


def fail(where: str, what: str) -> None:
    sys.exit(f"{where}: {what}")


def parse_parameter(text: str, large: bool, where: str) -> Parameter:
    kind, _, name = text.strip().rpartition(" ")
    base = kind.rstrip("*")
    stars = kind[len(base) :]
    if base in COUNTS:
        ctype = COUNTS[base][large]
    elif base in SCALARS:
        ctype = SCALARS[base]
    else:
        fail(where, f"unknown kind of parameter {kind!r}")
    return Parameter(f"{ctype} {stars}".strip(), name)


def parse_line(text: str, where: str) -> list[Function]:
    match = LINE.match(text)
    if not match:
        fail(where, "not a function")
    name, kind, has_large, parameters, out_bytes, in_bytes = match.groups()
    forms = [(name, False)] + ([(name + "_c", True)] if has_large == "c" else [])
    return [
        Function(
            form,
            kind,
            [parse_parameter(p, large, where) for p in parameters.split(",") if p.strip()],
            out_bytes or "0",
            in_bytes or "0",
        )
        for form, large in forms
    ]


def parse(path: Path) -> list[Function]:
    functions: list[Function] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.split("#", 1)[0].strip()
        if text:
            functions += parse_line(text, f"{path}:{number}")
    return functions


def declare(p: Parameter) -> str:
    return f"{p.ctype}{'' if p.ctype.endswith('*') else ' '}{p.name}"


def wrapper(f: Function) -> str:
    parameters = ", ".join(declare(p) for p in f.parameters) or "void"
    types = ", ".join(p.ctype for p in f.parameters) or "void"
    arguments = ", ".join(p.name for p in f.parameters)
    before, after = HOOKS.get(f.name, ("", ""))
    lines = [
        f"static int wrap_{f.name}({parameters})",
        "{",
        f"    int (*real)({types}) = (int (*)({types}))AR_ABI.real[AR_MPI_{f.name}];",
        "    struct ar_mpi_call call;",
    ]
    if "received(status)" in f.in_bytes:
        lines += [
            "    MPI_Status own_status;",
            "",
            "    if (status == MPI_STATUS_IGNORE)",
            "        status = &own_status;",
        ]
    lines += ["", f"    bool seen = ar_mpi_enter(&call, &AR_ABI, AR_MPI_{f.name});", ""]
    if before:
        lines.append(f"    {before}")
    lines += [
        f"    int rc = real({arguments});",
        "",
        "    if (seen)",
        "        ar_mpi_leave(&call);",
    ]
    if f.out_bytes != "0" or f.in_bytes != "0":
        lines += [
            "    if (seen && rc == 0)",
            f"        ar_mpi_collective(&call, 0, AR_MPI_NO_ROOT, {f.out_bytes},",
            f"                          {f.in_bytes});",
        ]
    if after:
        lines.append(f"    {after}")
    lines += ["    return rc;", "}", ""]
    return "\n".join(lines)


def write_functions(functions: list[Function]) -> str:
    rows = [f'X({f.name}, "MPI_{f.name}", "{f.kind}")' for f in functions]
    return "\n".join(["/* Made by tools/gen_mpi.py from mpi.def. */", *rows, ""])


def write_wrappers(functions: list[Function]) -> str:
    table = [f"    [AR_MPI_{f.name}] = (void *)wrap_{f.name}," for f in functions]
    return "\n".join(
        [
            "/* Made by tools/gen_mpi.py from mpi.def. */",
            *(wrapper(f) for f in functions),
            "static void *const wrappers[AR_N_MPI] = {",
            *table,
            "};",
            "",
        ]
    )


def main() -> None:
    what, source, target = sys.argv[1:4]
    make = {"functions": write_functions, "wrappers": write_wrappers}[what]
    Path(target).write_text(make(parse(Path(source))))


if __name__ == "__main__":
    main()

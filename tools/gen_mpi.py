#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes C of src/format/mpi.def.

    gen_mpi.py functions DEF OUT    the list of functions: X(id, name, class, sync), one a line
    gen_mpi.py classes   DEF OUT    the list of classes: X(class, what it is), one a line
    gen_mpi.py wrappers  DEF OUT    the wrappers; compiled once for each handle ABI, which gives the types

A wrapper stops the clock before it counts bytes, and passes everything on as it came; a status that the caller does not want
is taken into one of our own where bytes are read from it. What a call did is noted by a function of its own, after it.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

NAMED = re.compile(r"(class|list|rule)\s+(\w+)\s*=\s*(.*)$")
LINE = re.compile(r"(\w+)\s+(\w+)\s+([c-])\s+(\w+)\s+\((.*?)\)\s*(.*)$")
KEY = re.compile(r"\b(out|in|room|to|from|on|posts|prepares|makes|finds|frees|names|matches|matched): *")
SYNCS = ("none", "barrier", "all", "from_root", "to_root", "scan", "send", "receive", "unknown")
REQUESTS = ("send", "receive", "collective", "rma", "known", "read", "write", "other")

SCALARS = {
    "int": "int",
    "rank": "int",
    "tag": "int",
    "ints": "const int *",
    "char": "char",
    "text": "const char *",
    "buf": "void *",
    "cbuf": "const void *",
    "fn": "void *",
    "tool": "void *",
    "aint": "MPI_Aint",
    "aints": "const MPI_Aint *",
    "offset": "MPI_Offset",
    "long": "MPI_Count",
    "pcount": "MPI_Count",
    "type": "MPI_Datatype",
    "types": "const MPI_Datatype *",
    "comm": "MPI_Comm",
    "win": "MPI_Win",
    "file": "MPI_File",
    "group": "MPI_Group",
    "session": "MPI_Session",
    "info": "MPI_Info",
    "infos": "const MPI_Info *",
    "errhandler": "MPI_Errhandler",
    "op": "MPI_Op",
    "request": "MPI_Request",
    "requests": "const MPI_Request *",
    "message": "MPI_Message",
    "status": "MPI_Status",
    "cstatus": "const MPI_Status",
}
COUNTS = {  # as int, and in the large-count form
    "count": ("int", "MPI_Count"),
    "counts": ("const int *", "const MPI_Count *"),
    "displs": ("const int *", "const MPI_Aint *"),
    "unit": ("int", "MPI_Aint"),
    "size": ("MPI_Aint", "MPI_Count"),
    "sizes": ("const MPI_Aint *", "const MPI_Count *"),
}
WORDS = {"comm": "word", "win": "window_word", "file": "file_word"}  # how their handles become words
SPAWNING = (  # the root alone starts processes, and only what it says counts
    "bool starts = role_of(root, comm) == ROLE_ROOT;\n\n    if (starts)\n        ar_mpi_events->spawning();",
    "if (starts)\n        ar_mpi_events->spawned();",
)
INITIALIZING = ("", "if (rc == 0)\n        ar_mpi_events->initialized(&AR_ABI, seen ? &call : NULL);")
HOOKS = {  # what happens around the call besides measuring it
    "Init": INITIALIZING,
    "Init_thread": INITIALIZING,
    "Finalize": ("ar_mpi_events->finalizing(&AR_ABI, seen ? &call : NULL);\n    if (seen)\n        ar_mpi_restart(&call);", ""),
    "Comm_spawn": SPAWNING,
    "Comm_spawn_multiple": SPAWNING,
}


@dataclass
class Parameter:
    kind: str  # as in the table, with its stars
    ctype: str
    name: str


@dataclass
class Function:
    name: str
    kind: str
    sync: str
    parameters: list[Parameter]
    by_hand: bool
    light: bool  # answered by heart
    keys: dict[str, str]

    def parameter(self, *kinds: str) -> Parameter | None:
        return next((p for p in self.parameters if p.kind in kinds), None)

    def named(self, name: str) -> Parameter:
        return next(p for p in self.parameters if p.name == name)


@dataclass
class Table:
    classes: dict[str, str] = field(default_factory=dict)
    lists: dict[str, str] = field(default_factory=dict)
    rules: dict[str, str] = field(default_factory=dict)
    functions: list[Function] = field(default_factory=list)


# ---- reading the table ----


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
    return Parameter(kind, f"{ctype} {stars}".strip(), name)


def parse_words(text: str, rules: dict[str, str], where: str) -> tuple[set[str], dict[str, str]]:
    """Marks and names of rules, and then keys with their values."""
    head, *rest = KEY.split(text)
    words = set(head.split())
    marks = words & {"by_hand", "light"}
    keys: dict[str, str] = {}
    for word in words - marks:
        if word not in rules:
            fail(where, f"unknown rule {word!r}")
        keys.update(parse_words(rules[word], {}, where)[1])
    keys.update((key, value.strip()) for key, value in zip(rest[::2], rest[1::2]))
    for key in ("posts", "prepares"):
        if keys.get(key, "other") not in REQUESTS:
            fail(where, f"unknown kind of request {keys[key]!r}")
    return marks, keys


def parse_function(text: str, table: Table, where: str) -> list[Function]:
    match = LINE.match(text)
    if not match:
        fail(where, "not a function")
    name, kind, has_large, sync, parameters, words = match.groups()
    if kind not in table.classes or sync not in SYNCS:
        fail(where, f"unknown class or sync: {kind} {sync}")
    parameters = re.sub(r"\$(\w+)", lambda m: table.lists[m[1]], parameters)
    marks, keys = parse_words(words, table.rules, where)
    forms = [(name, False)] + ([(name + "_c", True)] if has_large == "c" else [])
    return [
        Function(
            form,
            kind,
            sync,
            [parse_parameter(p, large, where) for p in parameters.split(",") if p.strip()],
            "by_hand" in marks,
            "light" in marks,
            keys,
        )
        for form, large in forms
    ]


def parse(path: Path) -> Table:
    table = Table()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.split("#", 1)[0].strip()
        if match := NAMED.match(text):
            what, name, value = match.groups()
            {"class": table.classes, "list": table.lists, "rule": table.rules}[what][name] = value
        elif text:
            table.functions += parse_function(text, table, f"{path}:{number}")
    return table


# ---- what a call did ----


def declare(p: Parameter) -> str:
    return f"{p.ctype}{'' if p.ctype.endswith('*') else ' '}{p.name}"


def where_it_works(f: Function) -> str:
    """The communicator, window or file, as a word."""
    if "matched" in f.keys:
        return "matched_on"
    if "on" in f.keys:
        p = f.named(f.keys["on"])
        return made_handle(p) if p.kind.endswith("*") else f"{WORDS[p.kind]}({p.name})"
    p = f.parameter(*WORDS)
    return f"{WORDS[p.kind]}({p.name})" if p else "0"


def root_of(f: Function) -> str:
    return "root" if f.sync in ("from_root", "to_root") else "AR_MPI_NO_ROOT"


def tag_out(f: Function) -> str:
    """Of what goes out; 0 where there are no tags."""
    return next((p.name for p in f.parameters if p.name in ("tag", "sendtag")), "0")


def tag_in(f: Function) -> str:
    if f.keys.get("from") == "status->source":
        return "status->tag"
    return next((p.name for p in f.parameters if p.name in ("tag", "recvtag")), "0")


def post(f: Function, kind: str, peer: str, tag: str, out: str, into: str) -> list[str]:
    return [
        "    ar_mpi_posted(call, &(struct ar_mpi_post){",
        "                            .request = word(*request),",
        f"                            .comm = {where_it_works(f)},",
        f"                            .peer = {peer},",
        f"                            .tag = {tag},",
        f"                            .kind = AR_REQUEST_{kind.upper()},",
        f"                            .is_persistent = {'true' if 'prepares' in f.keys else 'false'},",
        f"                            .may_share = may_share(*request, AR_REQUEST_{kind.upper()}),",
        f"                            .n_out = {out},",
        f"                            .n_in = {into},",
        "                        });",
    ]


def post_both_ways(f: Function, kind: str, out: str, into: str) -> list[str]:
    """It has two peers. What receives from MPI_PROC_NULL is a send, and the request is that send's."""
    return [
        f"    if ({f.keys['from']} == MPI_PROC_NULL) {{",
        *(f"    {line}" for line in post(f, "send", f.keys["to"], tag_out(f), out, "0")),
        "        return;",
        "    }",
        f"    ar_mpi_out(call, {where_it_works(f)}, {f.keys['to']}, {tag_out(f)}, {out});",
        *post(f, kind, f.keys["from"], tag_in(f), "0", into),
    ]


def note_post(f: Function) -> list[str]:
    kind = f.keys.get("posts") or f.keys["prepares"]
    out, into = f.keys.get("out", "0"), f.keys.get("in") or f.keys.get("room", "0")
    if "to" in f.keys and "from" in f.keys and kind != "rma":
        return post_both_ways(f, kind, out, into)
    peer = f.keys.get("from") or f.keys.get("to") or root_of(f)
    return post(f, kind, peer, tag_in(f) if "from" in f.keys else tag_out(f), out, into)


def takes_truncated(f: Function) -> bool:
    """A message that is too long for its buffer is received, and others have gone on, although the call fails."""
    posts = "posts" in f.keys or "prepares" in f.keys
    return not posts and ("room" in f.keys or f.kind in ("collective", "neighbour"))


def bytes_in(f: Function) -> str:
    """Of a truncated message what there was room for: libraries report its whole length, or the room."""
    into = f.keys.get("in", "0")
    return f"rc == 0 ? {into} : at_most({into}, {f.keys['room']})" if "room" in f.keys else into


def note_bytes(f: Function) -> list[str]:
    if "frees" in f.keys:
        return ["    ar_mpi_freed(call, &was);"]
    out, into = f.keys.get("out", "0"), f.keys.get("in", "0")
    if "to" in f.keys or "from" in f.keys:
        lines = []
        if "to" in f.keys:
            lines.append(f"    ar_mpi_out(call, {where_it_works(f)}, {f.keys['to']}, {tag_out(f)}, {out});")
        if "from" in f.keys:
            lines.append(f"    ar_mpi_in(call, {where_it_works(f)}, {f.keys['from']}, {tag_in(f)}, {bytes_in(f)});")
        return lines
    if f.sync != "none" or "out" in f.keys or "in" in f.keys:
        return [f"    ar_mpi_collective(call, {where_it_works(f)}, {root_of(f)}, {out}, {into});"]
    return []


def counted_once(f: Function) -> tuple[list[str], Function]:
    """What goes out and what comes in is often the same."""
    out = f.keys.get("out")
    if not out or out != f.keys.get("in"):
        return [], f
    keys = {**f.keys, "out": "n_bytes", "in": "n_bytes"}
    return [f"    uint64_t n_bytes = {out};", ""], replace(f, keys=keys)


def made_handle(p: Parameter) -> str:
    base = p.kind.rstrip("*")
    return f"made_word(*{p.name})" if base == "comm" else f"{WORDS[base]}(*{p.name})"


def note_made(f: Function) -> list[str]:
    text = f.keys.get("makes") or f.keys.get("finds")
    if not text:
        return []
    origin, name, rest = re.match(r"(\w+) (\w+) ?(.*)", text).groups()
    parent = re.match(r"of (\w+)", rest)
    tag = re.search(r"\btag (.*)", rest)
    p = f.named(name)
    told = (
        f"ar_mpi_made(call, AR_COMM_{origin}, {f'word({parent[1]})' if parent else '0'},\n"
        f"                {made_handle(p)}, {f'(uint64_t)({tag[1]})' if tag else '0'});"
    )
    if "finds" in f.keys:
        return [f"    if (is_first_sight({made_handle(p)}))", f"        {told}"]
    lines = [f"    {told}"]
    if "names" in f.keys:
        lines.append(f"    ar_mpi_named(call->abi, {made_handle(p)}, {f.keys['names']});")
    return lines


def note(f: Function) -> list[str]:
    """The body of the function that notes what a call did; empty if that is nothing."""
    first, f = counted_once(f)
    posts = "posts" in f.keys or "prepares" in f.keys
    did, made = note_post(f) if posts else note_bytes(f), note_made(f)
    is_among_its_members = f.keys.get("on", "") != "" and f.named(f.keys["on"]).kind.endswith("*")
    lines = first + (made + did if is_among_its_members else did + made)
    if waits_for_message(f):
        lines.append(f"    ar_mpi_probed(call, {where_it_works(f)}, status->source, status->tag);")
    if "names" in f.keys and "makes" not in f.keys:
        lines.append(f"    ar_mpi_named(call->abi, {where_it_works(f)}, {f.keys['names']});")
    if "matches" in f.keys:
        lines += [f"    if ({f.keys['matches']})", f"        note_message(*message, {where_it_works(f)});"]
    return lines


def used_parameters(f: Function, body: list[str]) -> list[Parameter]:
    text = "\n".join(body)
    used = [p for p in f.parameters if re.search(rf"(?<![.>\w]){p.name}\b(?!\()", text)]
    if "matched" in f.keys:
        used.append(Parameter("", "uint64_t", "matched_on"))
    if re.search(r"\brc\b", text):
        used.append(Parameter("", "int", "rc"))
    if "frees" in f.keys:
        used.append(Parameter("", "struct ar_mpi_comm", "was"))
    return used


# ---- writing ----


def waits_for_message(f: Function) -> bool:
    return f.kind == "probe" and not f.parameter("int*")


def reads_status(f: Function) -> bool:
    return waits_for_message(f) or "received(status)" in (f.keys.get("in", "") + f.keys.get("out", ""))


def note_function(f: Function) -> str:
    body = note(f)
    if not body:
        return ""
    parameters = ["struct ar_mpi_call *call", *(declare(p) for p in used_parameters(f, body))]
    return "\n".join([f"static void note_{f.name}({', '.join(parameters)})", "{", *body, "}", ""])


def before_all(f: Function) -> list[str]:
    """Our own work, before the clock starts."""
    lines = []
    if "frees" in f.keys:
        p = f.named(f.keys["frees"])
        unmade = f"ar_mpi_unmade(&AR_ABI, {WORDS[p.kind.rstrip('*')]}(*{p.name}))"
        lines.append(f"    struct ar_mpi_comm was = {p.name} ? {unmade} : (struct ar_mpi_comm){{0}};")
    if "matched" in f.keys:
        lines.append("    uint64_t matched_on = message ? take_message(*message) : 0;")
    return [*lines, ""] if lines else []


def waits(f: Function) -> tuple[str, str, str] | None:
    """For what a call waits that posts nothing: kind, peer and tag. A buffered send does not, nor the receipt of a matched message."""
    if "posts" in f.keys or "prepares" in f.keys or "matched" in f.keys or f.name.startswith("Bsend"):
        return None
    if f.sync in ("barrier", "all", "from_root", "to_root", "scan"):
        return f.sync, root_of(f), "0"
    if waits_for_message(f):
        return "probe", "source", "tag"
    if f.kind == "p2p" and "from" in f.keys:
        return "receive", "source", next(p.name for p in f.parameters if p.name in ("tag", "recvtag"))
    if f.kind == "p2p" and "to" in f.keys:
        return "send", f.keys["to"], tag_out(f)
    return None


def before_call(f: Function) -> list[str]:
    lines = []
    if what := waits(f):
        kind, peer, tag = what
        lines += [
            "    if (seen)",
            f"        ar_mpi_waits(&call, AR_SYNC_{kind.upper()}, {where_it_works(f)}, {peer}, {tag});",
        ]
    if reads_status(f):
        lines += ["    if (seen && status == MPI_STATUS_IGNORE)", "        status = &own_status;"]
    if hook := HOOKS.get(f.name, ("", ""))[0]:
        lines.append(f"    {hook}")
    return [*lines, ""] if lines else []


def after_call(f: Function) -> list[str]:
    body = note(f)
    lines = [f"    if (seen){' {' if body else ''}", "        ar_mpi_leave(&call);"]
    if body:
        arguments = ", ".join(["&call", *(p.name for p in used_parameters(f, body))])
        moved = "rc == 0 || is_truncated(rc)" if takes_truncated(f) else "rc == 0"
        lines += [f"        if ({moved})", f"            note_{f.name}({arguments});", "    }"]
    if hook := HOOKS.get(f.name, ("", ""))[1]:
        lines.append(f"    {hook}")
    return lines


def wrapper(f: Function) -> str:
    parameters = ", ".join(declare(p) for p in f.parameters) or "void"
    types = ", ".join(p.ctype for p in f.parameters) or "void"
    own = ["    MPI_Status own_status;"] if reads_status(f) else []
    lines = [
        f"static int wrap_{f.name}({parameters})",
        "{",
        f"    int (*real)({types}) = (int (*)({types}))AR_ABI.real[AR_MPI_{f.name}];",
        "    struct ar_mpi_call call;",
        *own,
        "",
        *before_all(f),
        f"    bool seen = ar_mpi_enter(&call, &AR_ABI, AR_MPI_{f.name});",
        "",
        *before_call(f),
        f"    int rc = real({', '.join(p.name for p in f.parameters)});",
        "",
        *after_call(f),
        "    return rc;",
        "}",
        "",
    ]
    return "\n".join(lines)


def head() -> str:
    return "/* Made by tools/gen_mpi.py from mpi.def. */"


def write_functions(table: Table) -> str:
    rows = [
        f'X({f.name}, "MPI_{f.name}", {f.kind}, {f.sync.upper()}, {int(f.light)})'
        for f in table.functions
    ]
    return "\n".join([head(), *rows, ""])


def write_classes(table: Table) -> str:
    return "\n".join([head(), *(f'X({name}, "{what}")' for name, what in table.classes.items()), ""])


def write_wrappers(table: Table) -> str:
    generated = [f for f in table.functions if not f.by_hand]
    return "\n".join(
        [
            head(),
            *filter(None, map(note_function, generated)),
            *map(wrapper, generated),
            "static void *const wrappers[AR_N_MPI] = {",
            *(f"    [AR_MPI_{f.name}] = (void *)wrap_{f.name}," for f in table.functions),
            "};",
            "",
        ]
    )


def main() -> None:
    what, source, target = sys.argv[1:4]
    make = {"functions": write_functions, "classes": write_classes, "wrappers": write_wrappers}[what]
    Path(target).write_text(make(parse(Path(source))))


if __name__ == "__main__":
    main()

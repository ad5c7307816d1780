# SPDX-License-Identifier: BSD-3-Clause
r"""Reads filter files of Score-P: which functions are recorded, by their names and by their source files.

    # a comment, up to the end of its line
    SCOREP_REGION_NAMES_BEGIN
      EXCLUDE numpy* json.*:*      # several patterns, also in the lines that follow
              *:<lambda>
      INCLUDE numpy.linalg*:norm
    SCOREP_REGION_NAMES_END
    SCOREP_FILE_NAMES_BEGIN
      EXCLUDE */site-packages/*
    SCOREP_FILE_NAMES_END

Words are separated by white space. A backslash takes the meaning from the character after it: of a space, of `#`, and of what
is special in a pattern; at the end of a line, of that end. Patterns are globs: `*`, `?`, `[a-z]`, `[!a-z]`. Of the rules that match a name the last
one holds; what no rule matches is recorded. What either of the two kinds of rules excludes is not.

The runtime gets a rule as text: `-` or `+` for EXCLUDE or INCLUDE, `r` or `f` for names of regions or of files, and the pattern.
"""

import os

BLOCKS = {"SCOREP_REGION_NAMES": "r", "SCOREP_FILE_NAMES": "f"}
SIGNS = {"EXCLUDE": "-", "INCLUDE": "+"}
BEGIN, END = "_BEGIN", "_END"
SHOWN_CHARACTERS = 60


class FilterError(Exception):
    """A filter file that cannot be understood; the text says where, and what was expected."""


def words_of(path: str, text: str) -> "list[tuple[int, str]]":
    """Each with the number of its line. Backslashes stay in front of what they escape: patterns need them."""
    words: list[tuple[int, str]] = []
    word, number, at = "", 1, 0
    begun_at = 1
    while at < len(text):
        character = text[at]
        at += 1
        if character == "#":
            while at < len(text) and text[at] != "\n":
                at += 1
            continue
        if character == "\\":
            if at == len(text):
                raise FilterError(f"{path}:{number}: a backslash at the end of the file (expected: a character after it)")
            character += text[at]
            at += 1
            if character[1] == "\n":
                number += 1
                continue
        if character.isspace():
            if word:
                words.append((begun_at, word))
            word = ""
            number += character == "\n"
            continue
        if not word:
            begun_at = number
        word += character
    if word:
        words.append((begun_at, word))
    return words


def shown(word: str) -> str:
    return word if len(word) <= SHOWN_CHARACTERS else word[:SHOWN_CHARACTERS] + "..."


def rules_of(path: str, text: str) -> "tuple[str, ...]":
    begins = " or ".join(name + BEGIN for name in BLOCKS)
    rules = []
    block, begun_at, sign, is_first = "", 0, "", False
    for number, word in words_of(path, text):
        where, name = f"{path}:{number}", shown(word)
        if not block:
            block = word[: -len(BEGIN)]
            if not word.endswith(BEGIN) or block not in BLOCKS:
                raise FilterError(f"{where}: {name} cannot stand here (expected: {begins})")
            begun_at, sign = number, ""
        elif word == block + END:
            block = ""
        elif word in (each + end for each in BLOCKS for end in (BEGIN, END)):
            raise FilterError(f"{where}: {name} cannot stand here (expected: {block + END} for line {begun_at})")
        elif word in SIGNS:
            sign, is_first = SIGNS[word], True
        elif not sign:
            raise FilterError(f"{where}: {name} cannot stand here (expected: EXCLUDE or INCLUDE in front of a pattern)")
        elif word == "MANGLED" and is_first and block == "SCOREP_REGION_NAMES":
            is_first = False  # names in Python are not mangled
        else:
            is_first = False
            rules.append(sign + BLOCKS[block] + word)
    if block:
        number = text.count("\n") + (not text.endswith("\n"))
        raise FilterError(f"{path}:{number}: the end of the file (expected: {block + END} for line {begun_at})")
    return tuple(rules)


def read_rules(path: str) -> "tuple[str, ...]":
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise FilterError(f"{path}: {error.strerror}") from None
    if b"\0" in content:
        raise FilterError(f"{path}:{content[: content.index(0)].count(10) + 1}: a zero byte (expected: text)")
    text = os.fsdecode(content.removeprefix(b"\xef\xbb\xbf")).replace("\r\n", "\n")
    return rules_of(path, text)

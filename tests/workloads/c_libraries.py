# SPDX-License-Identifier: BSD-3-Clause
"""Parts of the standard library that call many C functions, each once to fill caches and once to be measured.

    python c_libraries.py PART                    to be recorded: what is below `measured` counts
    python c_libraries.py PART counts.json        by cProfile: calls of each C function as JSON
"""

import argparse
import collections
import copy
import cProfile
import csv
import datetime
import decimal
import io
import json
import logging
import os.path
import pickle
import pprint
import pstats
import random
import re
import sys
import textwrap
import tokenize
import urllib.parse
import xml.etree.ElementTree

DOCUMENT = {"a": [1, 2.5, None, True, {"b": "c" * 20, "d": [[], {}, ()]}] * 5, "e": {"f": "é\n"}}
with open(textwrap.__file__) as file:
    SOURCE = file.read()
LOGGER = logging.Logger("measured")
LOGGER.addHandler(logging.StreamHandler(io.StringIO()))
LOGGER.handlers[0].setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--number", type=int)
OPTIONS.add_argument("words", nargs="*")


def with_json():
    return json.loads(json.dumps(DOCUMENT, indent=1)), json.loads(json.dumps(DOCUMENT), object_hook=lambda found: len(found))


def with_pprint():
    return pprint.pformat(DOCUMENT, width=40)


def with_deepcopy():
    return copy.deepcopy(DOCUMENT), copy.copy(DOCUMENT)


def with_tokenize():
    return collections.Counter(token.type for token in tokenize.generate_tokens(io.StringIO(SOURCE).readline))


def with_textwrap():
    return textwrap.wrap("some words and more " * 50, 20), textwrap.dedent(SOURCE), textwrap.shorten(SOURCE, 100)


def with_logging():
    for i in range(20):
        LOGGER.warning("number %d", i)
    try:
        LOGGER.level // 0
    except ZeroDivisionError:
        LOGGER.exception("failed")


def with_re():
    re.purge()
    pattern = re.compile(r"(a|b)*c[d-e]{2,3}(?P<name>\w+)|(?:x+?y)(?=z)")
    found = [match.span() for match in pattern.finditer("abcddname xxyz" * 20)]
    return found, pattern.sub(lambda match: match.group(0).upper(), "abcddname" * 20), re.split(r"\W+", SOURCE)


def with_sorting():
    items = [(i * 7919) % 101 for i in range(200)]
    return sorted(items, key=lambda x: -x), list(map(abs, items)), max(items, key=str), sorted(items, key=abs)


def with_pickle():
    return pickle.loads(pickle.dumps([DOCUMENT, datetime.date(2020, 1, 2), decimal.Decimal(1)]))


def with_csv():
    rows = list(csv.reader(io.StringIO("a,b\n1,2\n" * 20)))
    text = io.StringIO()
    csv.DictWriter(text, ["a", "b"]).writerows([{"a": 1, "b": 2}] * 20)
    return rows, text.getvalue()


def with_dates():
    return [datetime.datetime.strptime(f"2020-01-{day:02d}", "%Y-%m-%d").isoformat() for day in range(1, 20)]


def with_arguments():
    return OPTIONS.parse_args(["--number", "3", "a", "b"]), urllib.parse.urlsplit("http://a:1/b?c=d#e").geturl()


def with_random():
    dice = random.Random(5)
    return dice.sample(range(100), 10), dice.choices("abc", k=10), dice.gauss(0, 1), dice.randint(1, 1000)


def with_paths():
    return [os.path.relpath(os.path.join("/a", name, "..", "c"), "/a/b") for name in ("x", "y/z", "/w")]


def with_xml():
    root = xml.etree.ElementTree.fromstring("<a><b c='d'>e</b><b/></a>")
    return [each.get("c") for each in root.iter("b")], xml.etree.ElementTree.tostring(root)


def with_exceptions():
    caught = 0
    for bad in (lambda: "".index("a"), lambda: [].pop(), lambda: {}.popitem(), lambda: next(iter(())), lambda: getattr(1, "x" * len("x"))):
        for _ in range(20):
            try:
                bad()
            except (ValueError, IndexError, KeyError, StopIteration, AttributeError):
                caught += 1
    return caught


def warm(part):
    part()


def measured(part):
    part()


def counts_of(profile):
    counts = {}
    for (file, _, name), (_, calls, *_) in pstats.Stats(profile).stats.items():
        if file == "~":
            counts[name] = counts.get(name, 0) + calls
    return counts


def main(part, output=None):
    function = globals()[f"with_{part}"]
    warm(function)
    if not output:
        return measured(function)
    profile = cProfile.Profile()
    profile.enable()
    measured(function)
    profile.disable()
    with open(output, "w") as file:
        return json.dump(counts_of(profile), file)


main(*sys.argv[1:])

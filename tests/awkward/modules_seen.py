# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT
# run: -I SCRIPT
# run: -m MODULE
# run: -c CODE
# run: DIRECTORY
# python: 3.9+
"""Which modules are loaded at the start: allranks adds its own, and nothing else that a program could shadow."""

import sys

# What `python -m` itself brings along and `python script` does not: see docs/differences.md.
expected = {"allranks", "allranks._launch", "allranks._runtime", "allranks.__main__"}
of_runpy = {
    "runpy", "pkgutil", "importlib", "importlib._bootstrap", "importlib._bootstrap_external", "importlib.machinery",
    "importlib.util", "importlib._abc", "importlib.abc", "_frozen_importlib", "_frozen_importlib_external", "warnings", "types",
    "typing", "contextlib", "collections", "collections.abc", "functools", "operator", "_operator", "keyword", "reprlib",
    "itertools", "_collections", "_functools", "re", "sre_compile", "sre_parse", "sre_constants", "_sre", "enum", "copyreg",
    "weakref", "_weakrefset", "_weakref", "atexit", "typing.io", "typing.re", "zipimport", "linecache", "tokenize", "token",
    "re._compiler", "re._parser", "re._constants", "re._casefix", "_typing", "__future__", "heapq", "_heapq",
}  # fmt: skip
if sys.version_info >= (3, 14):
    of_runpy |= {"_types", "io"}  # up to 3.13 every program has the latter, and the former is no module
print(sorted(set(sys.modules) - expected - of_runpy))

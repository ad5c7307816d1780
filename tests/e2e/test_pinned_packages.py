# SPDX-License-Identifier: BSD-3-Clause
"""What build, demo, tests and benchmarks install has one version, on every supported Python: a package that is published
tomorrow changes nothing today.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from harness import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
CONSTRAINTS = ROOT / "tools" / "constraints.txt"
LISTS = sorted((ROOT / "tools").glob("requirements-*.txt"))
SCRIPTS = [path for folder in ("tools", "bench", "tests") for path in sorted((ROOT / folder).rglob("*.py"))
           if path != Path(__file__).resolve()]  # fmt: skip
SHELLS = [ROOT / "Makefile", *sorted((ROOT / "tools").glob("*.sh"))]
PACKAGE = re.compile(r"[A-Za-z][\w.-]*(\[\w+\])?([<>=!~].*)?")  # and not a path, an option or a sentence
WITH_VALUE = ("-w", "--no-binary", "--only-binary", "--target", "-c", "-r")


def lines_of(path: Path) -> list[str]:
    lines = (line.partition("#")[0].strip() for line in path.read_text().splitlines())
    return [line for line in lines if line]


def requirements_of(path: Path) -> list[Requirement]:
    return [Requirement(line) for line in lines_of(path) if not line.startswith("-")]


def is_pinned(requirement: Requirement) -> bool:
    return bool(re.fullmatch(r"==[\w.]+", str(requirement.specifier)))


def holds_on(requirement: Requirement, python: str) -> bool:
    return not requirement.marker or requirement.marker.evaluate({"python_version": python})


def all_pins() -> list[Requirement]:
    return [each for path in (*LISTS, CONSTRAINTS) for each in requirements_of(path)]


def build_requirements() -> list[str]:
    (requires,) = re.findall(r"^requires = (\[.*\])$", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    return ast.literal_eval(requires)


@pytest.mark.parametrize("path", [*LISTS, CONSTRAINTS], ids=lambda path: path.name)
def test_lists_name_versions(path: Path):
    assert [str(each) for each in requirements_of(path) if not is_pinned(each)] == []
    others = {line for line in lines_of(path) if line.startswith("-")}
    assert path == CONSTRAINTS or "-c constraints.txt" in others
    assert others <= {"-c constraints.txt", *(f"-r {each.name}" for each in LISTS)}


@pytest.mark.parametrize("version", PYTHONS)
def test_a_package_has_one_version(version: str):
    versions: dict[str, set[str]] = {}
    for each in all_pins():
        if holds_on(each, version):
            versions.setdefault(canonicalize_name(each.name), set()).add(str(each.specifier))
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}
    assert versions.keys() == {canonicalize_name(each.name) for each in all_pins()}


def test_a_build_in_isolation_takes_the_same():
    wanted = {str(each) for each in requirements_of(ROOT / "tools" / "requirements-build.txt")}
    assert {str(Requirement(each)) for each in build_requirements()} == {each for each in wanted if not each.startswith("pip==")}


def words_of(node: ast.AST) -> Iterator[str]:
    """Texts among the arguments of a call, or in a list or tuple."""
    items = node.args if isinstance(node, ast.Call) else node.elts if isinstance(node, (ast.List, ast.Tuple)) else []
    for item in items:
        if isinstance(item, ast.Constant) and isinstance(item.value, str):
            yield item.value


def loose_words(path: Path) -> Iterator[str]:
    """Packages that a script names without a version where it calls pip."""
    for node in ast.walk(ast.parse(path.read_text())):
        words = list(words_of(node))
        if "install" not in words and "wheel" not in words:
            continue
        start = next(i for i, word in enumerate(words) if word in ("install", "wheel"))
        for before, word in zip(words[start:], words[start + 1 :]):
            if before not in WITH_VALUE and PACKAGE.fullmatch(word) and "==" not in word:
                yield f"{path.relative_to(ROOT)}: {word}"


def test_scripts_that_call_pip_name_versions():
    assert [loose for path in SCRIPTS for loose in loose_words(path)] == []


def test_packages_of_the_stacks_have_versions():
    tree = ast.parse((ROOT / "tools" / "stacks.py").read_text())
    lists = [node for node in tree.body if isinstance(node, ast.Assign) and "_PACKAGES" in getattr(node.targets[0], "id", "")]
    words = [word for node in lists for word in words_of(node.value)]
    assert len(words) == 6
    assert [word for word in words if not is_pinned(Requirement(word))] == []


def test_shells_call_pip_with_lists_only():
    calls = [line for path in SHELLS for line in path.read_text().replace("\\\n", " ").splitlines()
             if re.search(r"(pip|\$\(PIP\))[^#]* install\b", line)]  # fmt: skip
    assert len(calls) == 2
    assert [line for line in calls if " -r " not in line and "--no-deps" not in line] == []


def needed_by(name: str) -> list[str]:
    try:
        requires = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []
    found = [Requirement(each) for each in requires]
    return [each.name for each in found if not each.marker or each.marker.evaluate({"extra": ""})]


def test_packages_that_these_need_are_pinned_too():
    """Of those that are installed here."""
    pinned = {canonicalize_name(each.name) for each in all_pins()}
    needed = {canonicalize_name(name) for package in sorted(pinned) for name in needed_by(package)}
    assert needed and needed <= pinned

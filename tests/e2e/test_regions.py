# SPDX-License-Identifier: BSD-3-Clause
"""Regions and pauses: what the program named, how often, for how long; and nothing to notice without a recording."""

from __future__ import annotations

import textwrap

import pytest
from harness import Done, Sandbox, settled, times_unlike, workload
from readings import Node, Report
from trace_events import by_thread, check_sound, events_of

MODES = {"default": (), "none": ("--builtins", "none"), "all": ("--builtins", "all")}


def record(python: Sandbox, path: str, *words: str, options: tuple[str, ...] = ()) -> Done:
    (python.cwd / "run.allranks").unlink(missing_ok=True)
    done = python.recorded(path, *words, options=("-q", "-o", "run.allranks", *options))
    assert (done.code, done.err) == (0, ""), done
    return done


def record_text(python: Sandbox, text: str, *options: str) -> Report:
    (python.cwd / "program.py").write_text(textwrap.dedent(text))
    record(python, "program.py", options=options)
    return python.report("run.allranks")


def above(node: Node) -> list[Node]:
    return [*above(node.parent), node.parent] if node.parent else []


def outermost(report: Report, kind: str, name: str) -> list[Node]:
    """Those that are not inside themselves."""
    nodes = [node for node in report.named(name) if node.kind == kind]
    return [node for node in nodes if all(each.function != node.function for each in above(node))]


def seconds_of(report: Report, kind: str, name: str) -> float:
    return sum(node["time_ns"]["sum"] for node in outermost(report, kind, name)) / 1e9


def calls_of(report: Report, kind: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in report.nodes:
        if node.kind == kind:
            found[node.name] = found.get(node.name, 0) + node["calls"]
    return found


def unlike_logged(report: Report, kind: str, logged: dict[str, float]) -> dict[str, str]:
    return times_unlike({name: seconds_of(report, kind, name) for name in logged}, logged)


# ---- regions ----


@pytest.mark.parametrize("mode", MODES)
def test_regions_are_what_the_program_noted(any_python: Sandbox, mode: str):
    def look() -> dict[str, str]:
        record(any_python, workload("regions.py"), "log.json", options=MODES[mode])
        log = any_python.read_json("log.json")
        report = any_python.report("run.allranks")
        found = calls_of(report, "region")
        assert {name: found.get(name, 0) for name in log["calls"]} == log["calls"]
        return unlike_logged(report, "region", log["seconds"])

    assert not settled(look)


def test_nothing_is_to_be_noticed(any_python: Sandbox):
    plain = any_python.plain(workload("regions.py"), "plain.json")
    assert (plain.code, plain.err) == (0, ""), plain
    recorded = record(any_python, workload("regions.py"), "log.json")
    assert recorded.out == plain.out
    assert "True True {} Documented." in plain.out
    assert any_python.read_json("plain.json")["calls"] == any_python.read_json("log.json")["calls"]


def test_regions_are_found_where_they_are(any_python: Sandbox):
    record(any_python, workload("regions.py"), "log.json", options=MODES["none"])
    report = any_python.report("run.allranks")
    paths = {tuple(node.path[-3:]) for node in report.nodes if node.kind == "region" or node.name == "inside_crossing"}
    assert ("blocks", "assemble(level=2)", "nested") in paths
    assert ("in itself", "in itself") in {path[-2:] for path in paths}
    assert ("across", "crossing", "inside_crossing") in paths, "a region goes on when the function that began it is left"
    assert ("overlap", "first of two", "second of two") in paths
    assert ("across", "overlap", "second of two") in paths, "the inner one goes on when the outer one ends"
    for name in ("after_crossing", "exceptions", "threads"):
        for node in report.named(name):
            assert all(each.kind != "region" for each in above(node)), node.path
    for number in range(3):
        for node in report.named(f"thread {number}"):
            assert any(each.kind == "thread" and each.parent for each in above(node)), node.path


def test_a_region_that_outlives_its_function_has_no_line_of_another(any_python: Sandbox):
    first_lines = "; ".join(["a = 1"] * 40)  # so that the other's place is on this line
    report = record_text(any_python, f"""
        import allranks
        from contextlib import contextmanager
        @contextmanager
        def begun_elsewhere():
            with allranks.region("wandering"):
                yield
        def user():
            {first_lines}
            with begun_elsewhere(): inside()
        def inside():
            pass
        user()
    """, "--builtins", "none")  # fmt: skip
    (node,) = [node for node in report.named("wandering") if node.parent.name == "user"]
    assert node["line"] in (0, 10)


def test_ends_without_a_begin_are_counted(any_python: Sandbox):
    record_text(any_python, """
        import allranks
        ended = allranks.region("ended twice")
        with ended:
            pass
        ended.__exit__(None, None, None)
        allranks.resume()
    """)  # fmt: skip
    (process,) = any_python.info("run.allranks").processes
    assert process["lost"]["regions"] == any_python.info("run.allranks").lost == 2


def test_what_shows_a_parameter_is_not_recorded(any_python: Sandbox):
    """We call it, and not the program; it may even fork."""
    report = record_text(
        any_python,
        """
        import os
        from allranks import region

        def helper(n):
            return n + 1

        class Size:
            def __repr__(self):
                with region("inside"):
                    if os.fork() == 0:
                        helper(1)
                        os._exit(0)
                    os.wait()
                return str(helper(1))

        for _ in range(3):
            with region("with", size=Size()):
                helper(2)
        """,
        "--no-children",
    )
    assert calls_of(report, "region") == {"with(size=2)": 3}
    assert not report.named("__repr__") and not report.named("Size.__repr__")
    assert {node.parent.name for node in report.named("helper")} == {"with(size=2)"}
    assert sum(node["calls"] for node in report.named("helper")) == 3


def test_a_region_may_be_ended_by_another_object_of_its_name(any_python: Sandbox):
    report = record_text(any_python, """
        import allranks
        def begin(): allranks.region("named").__enter__()
        def end(): allranks.region("named").__exit__(None, None, None)
        def after(): pass
        begin()
        end()
        after()
    """)  # fmt: skip
    (after,) = report.named("after")
    assert "named" not in after.path or any_python.info("run.allranks").lost == 1
    assert "named" not in after.path


INSTRUMENTED = """
import allranks, sys, types
module = types.ModuleType("module")
exec(compile('''
def of_module(): return not_of_module()
def other_of_module(): pass
class InModule:
    def method_of_module(self): pass
from os.path import join
''', "module.py", "exec"), vars(module))
def not_of_module(): pass
module.not_of_module = not_of_module
def one(): return hidden()
def hidden(): pass
class Thing:
    def method(self): return hidden()
    @staticmethod
    def static(): pass
    @classmethod
    def klass(cls): pass
    @property
    def value(self): return 3
    def generator(self):
        yield 1
    class Inner:
        def inner(self): pass
allranks.instrument(one)
allranks.instrument(Thing)
allranks.instrument(module)
one(), one()
thing = Thing()
thing.method(), thing.static(), thing.klass(), thing.value, list(thing.generator()), Thing.Inner().inner()
module.of_module(), module.other_of_module(), module.InModule().method_of_module(), module.join("a", "b")
hidden()
"""


def test_what_is_instrumented_is_recorded_whatever_is_excluded(any_python: Sandbox):
    report = record_text(any_python, INSTRUMENTED, "--exclude", "*", "--builtins", "none")
    found = calls_of(report, "region")
    assert found == {
        "one": 2, "Thing.method": 1, "Thing.static": 1, "Thing.klass": 1, "Thing.value": 1, "Thing.generator": 2,
        "Thing.Inner.inner": 1, "of_module": 1, "other_of_module": 1, "InModule.method_of_module": 1,
    }  # fmt: skip
    names = {node.name.rpartition(".")[2] for node in report.nodes if node.kind == "python"}
    assert not names & {"hidden", "not_of_module", "<module>", "join"}


# ---- pauses ----


@pytest.mark.parametrize("mode", MODES)
def test_pauses_are_kept_to(any_python: Sandbox, mode: str):
    def look() -> dict[str, str]:
        record(any_python, workload("pauses.py"), "log.json", options=MODES[mode])
        log = any_python.read_json("log.json")
        report = any_python.report("run.allranks")
        found = calls_of(report, "python")
        assert {name: found.get(name, 0) for name in log["calls"]} == log["calls"]
        assert not [name for name in found if name.startswith("hidden")]
        assert any_python.info("run.allranks").lost == 0
        assert all("(paused)" not in node.path for node in report.named("main_goes_on"))
        del log["seconds"]["recursive"]
        return unlike_logged(report, "python", log["seconds"])

    assert not settled(look)


def test_a_pause_that_ends_deeper_in_a_recursion(any_python: Sandbox):
    def look() -> dict[str, str]:
        record(any_python, workload("pauses.py"), "log.json", options=MODES["none"])
        logged = any_python.read_json("log.json")["seconds"]["recursive"]
        return unlike_logged(any_python.report("run.allranks"), "python", {"recursive": logged})

    assert not settled(look)


def test_pauses_do_nothing_in_a_program_that_is_not_recorded(any_python: Sandbox):
    done = any_python.plain(workload("pauses.py"), "plain.json")
    assert (done.code, done.out, done.err) == (0, "", ""), done
    record(any_python, workload("pauses.py"), "log.json")
    assert any_python.read_json("plain.json")["calls"] == any_python.read_json("log.json")["calls"]


ENDS_IN_A_PAUSE = """
    import threading
    import allranks

    def after(): pass

    def one():
        with allranks.region("across"):
            allranks.pause()
        allranks.resume()
        after()

    def same_name():
        with allranks.region("twice"):
            allranks.pause()
            with allranks.region("twice"):
                pass
            late = allranks.region("twice")
            late.__enter__()
            allranks.resume()
            with allranks.region("twice"):
                pass
            late.__exit__(None, None, None)
            after()
        after()

    def generator():
        with allranks.region("in generator"):
            yield
            yield

    def by_generator():
        steps = generator()
        next(steps)
        with allranks.paused():
            steps.close()
        after()

    def in_thread(go, gone):
        with allranks.region("in thread"):
            go.set()
            gone.wait()
        with allranks.paused():
            pass
        after()

    def other_thread():
        go, gone = threading.Event(), threading.Event()
        thread = threading.Thread(target=in_thread, args=(go, gone))
        thread.start()
        go.wait()
        allranks.pause()
        gone.set()
        thread.join()
        allranks.resume()
        late = threading.Thread(target=after)
        late.start()
        late.join()

    one()
    same_name()
    by_generator()
    other_thread()
"""


@pytest.mark.parametrize("mode", MODES)
def test_a_region_that_ends_in_a_pause_is_closed(any_python: Sandbox, mode: str):
    report = record_text(any_python, ENDS_IN_A_PAUSE, "--trace", *MODES[mode])
    calls = {name: n for name, n in calls_of(report, "region").items() if name != "(paused)"}
    assert calls == {"across": 1, "twice": 2, "in generator": 1, "in thread": 1}
    around = [[each.name for each in above(node) if each.kind == "region"] for node in report.named("after") for _ in range(node["calls"])]
    assert sorted(around) == [[], [], [], [], ["twice"]]
    assert any_python.info("run.allranks").lost == 0
    events = events_of(any_python, "run.allranks")
    check_sound(events)
    open_regions: list[str] = []
    inside = []
    for event in (event for thread in by_thread(events).values() for event in thread):
        if event.kind == "enter" and event.name in calls:
            open_regions.append(event.name)
        elif event.kind == "leave" and event.name in calls:
            open_regions.remove(event.name)
        elif event.kind == "enter" and event.name == "after":
            inside.append(list(open_regions))
    assert sorted(inside) == [[], [], [], [], ["twice"]] and not open_regions


METHODS_OF_A_REGION = """
    import sys
    from contextlib import ExitStack
    import allranks

    region = allranks.region("held")
    with region as given:
        with region:  # twice at once
            assert given is region and region.name == "held"
    assert sys.getrefcount(region) == 3, "nobody else holds it but `given`"

    enter, leave = allranks.region("gone").__enter__, allranks.region("gone").__exit__
    others = [allranks.region(str(number)) for number in range(100)]
    assert enter().name == "gone", "a method keeps its region"
    assert leave(None, None, None) is None
    del enter, leave, others

    with ExitStack() as stack:  # takes them from the class
        assert stack.enter_context(allranks.region("stacked")).name == "stacked"
    kind = type(region)
    assert kind.__enter__(region) is region and kind.__exit__(region, None, None, None) is None
    assert kind.__enter__.__name__ == "__enter__"

    for wrong in (
        lambda: kind.__enter__(), lambda: kind.__enter__(5), lambda: kind.__exit__(), lambda: kind.__exit__(5),
        lambda: kind.__enter__(region, 1), lambda: region.__enter__(1), lambda: region.__enter__(a=1),
        lambda: kind.__dict__["__exit__"].__get__(5, int), lambda: region(), lambda: allranks.region(),
        lambda: type(region.__enter__)(),
    ):
        try:
            wrong()
        except TypeError:
            continue
        raise AssertionError("no TypeError")

    try:
        with allranks.region("failing"):
            raise KeyError("its own")
    except KeyError as error:
        assert error.args == ("its own",)
"""


def test_methods_of_a_region_are_as_of_any_context_manager(any_python: Sandbox):
    (any_python.cwd / "methods.py").write_text(textwrap.dedent(METHODS_OF_A_REGION))
    plain = any_python.plain("methods.py")
    assert (plain.code, plain.out, plain.err) == (0, "", ""), plain
    record(any_python, "methods.py")
    report = any_python.report("run.allranks")
    assert calls_of(report, "region") == {"held": 3, "gone": 1, "stacked": 1, "failing": 1}

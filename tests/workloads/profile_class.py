# SPDX-License-Identifier: BSD-3-Clause
"""What allranks.Profile does where there is no cProfile to compare it with, or where that is known to go wrong.

    python profile_class.py CASE...

Each case checks itself, and "ok" is printed; some are about not crashing.
"""

import gc
import marshal
import pstats
import sys
import threading
import time
import weakref

import allranks

HAS_MONITORING = hasattr(sys, "monitoring")
unraisable = []
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def leaf():
    return 1


def middle(n):
    return sum(leaf() for _ in range(n))


def new_function(name="made"):
    """With a code object that nobody else has."""
    names = {}
    exec(f"def {name}(): return 1", names)
    return names.pop(name)  # no cycle


def counts(profile):
    """Calls by name, of Python functions and C functions."""
    found = {}
    for entry in profile.getstats():
        name = entry.code if isinstance(entry.code, str) else entry.code.co_name
        found[name] = found.get(name, 0) + entry.callcount
    return found


# ---- time ----


def spin(duration_ns, log):
    start = time.perf_counter_ns()
    while time.perf_counter_ns() - start < duration_ns:
        pass
    log.append(time.perf_counter_ns() - start)


@case
def times_are_between_what_was_seen_inside_and_outside():
    inside, profile = [], allranks.Profile(builtins=False)
    outside = 0
    for duration_ns in (1_000_000, 20_000_000, 50_000, 3_000_000):
        start = time.perf_counter_ns()
        profile.runcall(spin, duration_ns, inside)
        outside += time.perf_counter_ns() - start
    (entry,) = (entry for entry in profile.getstats() if entry.code is spin.__code__)
    assert sum(inside) * 0.998 <= entry.totaltime * 1e9 <= outside * 1.002, (inside, entry, outside)
    assert entry.totaltime == entry.inlinetime and entry.callcount == 4, entry
    assert profile.getstats() == profile.getstats()


@case
def self_times_add_up_to_the_total():
    profile = allranks.Profile()
    profile.runcall(middle, 1000)
    entries = [e for e in profile.getstats() if "disable" not in str(e.code)]
    (top,) = (entry for entry in entries if entry.code is middle.__code__)
    assert abs(sum(e.inlinetime for e in entries) - top.totaltime) < 1e-9 * len(entries), entries


# ---- threads ----


@case
def only_the_thread_that_enables_is_recorded():
    """The other one is in the middle of things, begins some and ends some, at every moment."""
    stop, started = threading.Event(), threading.Event()

    def other():
        while not stop.is_set():
            new_function("elsewhere")()
            middle(3)
            started.set()

    thread = threading.Thread(target=other)
    thread.start()
    started.wait()
    profile, inside = allranks.Profile(), []
    profile.enable()
    for _ in range(20):
        middle(5)
        spin(1_000_000, inside)
        time.sleep(0)  # lets the other one run
    profile.disable()
    stop.set()
    thread.join()
    found = counts(profile)
    assert (found["middle"], found["leaf"], found["spin"]) == (20, 100, 20), found
    assert "elsewhere" not in found and "other" not in found and "is_set" not in found, found
    (entry,) = (entry for entry in profile.getstats() if entry.code is spin.__code__)
    assert entry.totaltime * 1e9 >= sum(inside) * 0.998, (entry, inside)


@case
def a_thread_can_record_itself():
    profile = allranks.Profile()
    thread = threading.Thread(target=profile.runcall, args=(middle, 7))
    thread.start()
    thread.join()
    middle(2)
    assert counts(profile)["leaf"] == 7, counts(profile)


@case
def another_thread_can_disable():
    profile = allranks.Profile()
    profile.enable()
    middle(3)
    thread = threading.Thread(target=profile.disable)
    thread.start()
    thread.join()
    middle(4)
    assert counts(profile)["leaf"] == 3, counts(profile)
    profile.disable()
    second = allranks.Profile()
    second.runcall(middle, 5)
    assert counts(second)["leaf"] == 5 and counts(profile)["leaf"] == 3


@case
def moving_to_another_thread():
    """Calls that are open in the first thread end there; they are not the callers of what the second one calls."""
    profile, opened, done = allranks.Profile(), threading.Event(), threading.Event()

    def first():
        profile.enable()
        second()
        leaf()

    def second():
        opened.set()
        done.wait()

    thread = threading.Thread(target=first)
    thread.start()
    opened.wait()
    if HAS_MONITORING:  # there is one at a time in the process
        profile.disable()
    profile.enable()
    middle(2)
    done.set()
    thread.join()
    profile.disable()
    found = counts(profile)
    assert (found["second"], found["leaf"], found["middle"]) == (1, 2, 1), found
    for entry in profile.getstats():
        callees = [each.code for each in entry.calls or ()]
        assert middle.__code__ not in callees, entry


@case
def a_thread_that_ended_enabled_stays_out_of_the_way():
    profile = allranks.Profile()
    thread = threading.Thread(target=profile.enable)
    thread.start()
    thread.join()
    middle(3)
    profile.disable()
    profile.runcall(middle, 2)
    assert counts(profile)["leaf"] == 2, counts(profile)


# ---- Python code inside hooks ----


class Timer:
    """Does something at its n-th call."""

    def __init__(self, at, action):
        self.at, self.action, self.n = at, action, 0
        self.profile = None

    def __call__(self):
        self.n += 1
        if self.n == self.at:
            self.action(self.profile)
        return self.n


def with_timer(action):
    for at in range(1, 12):
        timer = Timer(at, action)
        timer.profile = profile = allranks.Profile(timer, 1.0)
        profile.enable()
        middle(2)
        profile.disable()
        assert timer.n > 11
        yield profile, timer


@case
def a_timer_cannot_disable_clear_or_enable():
    for action in ("disable", "clear", "enable"):
        unraisable.clear()
        for profile, _ in with_timer(lambda profile, action=action: getattr(profile, action)()):
            assert counts(profile)["leaf"] == 2, counts(profile)
            profile.clear()
            assert profile.getstats() == []
        assert unraisable == [RuntimeError] * 11, unraisable


@case
def a_timer_may_look():
    for profile, _ in with_timer(lambda profile: (profile.getstats(), profile.snapshot_stats())):
        assert counts(profile)["leaf"] == 2
    assert unraisable == []


@case
def a_timer_that_raises_reads_zero():
    def fail(profile):
        raise KeyError("timer")

    for profile, _ in with_timer(fail):
        assert counts(profile)["leaf"] == 2
    assert unraisable == [KeyError] * 11


@case
def a_timer_that_replaces_itself():
    class Last(Timer):
        def __del__(self):
            self.profile.clear()

    for at in range(1, 12):
        timer = Last(at, lambda profile: profile.__init__(time.perf_counter))
        timer.profile = profile = allranks.Profile(timer)
        del timer
        profile.enable()
        middle(2)
        profile.disable()
        assert counts(profile)["leaf"] == 2


@case
def a_timer_that_takes_the_hooks_away():
    def take_away(profile):
        if HAS_MONITORING:
            monitoring = sys.monitoring
            monitoring.set_events(2, 0)
            for bit in range(17):
                monitoring.register_callback(2, 1 << bit, None)
            monitoring.free_tool_id(2)
        else:
            sys.setprofile(None)

    for at in range(1, 12):
        timer = Timer(at, take_away)
        profile = allranks.Profile(timer)
        profile.enable()
        del profile  # the hooks have the last reference
        middle(5)
        gc.collect()
        assert timer.n == at, (timer.n, at)
    allranks.Profile().runcall(middle, 1)


@case
def wrong_results_of_timers():
    for result, unit, error in (
        ("x", 0.0, TypeError), (int, 0.0, TypeError), (1.5, 0.1, TypeError), (None, 0.1, TypeError),
        (float("nan"), 0.0, ValueError), (float("inf"), 0.0, OverflowError), (1e300, 0.0, OverflowError),
        (2**63, 0.1, OverflowError), (2**62, 0.0, OverflowError), (-(2**63) - 1, 0.1, OverflowError),
    ):  # fmt: skip
        unraisable.clear()
        profile = allranks.Profile(lambda result=result: result, unit)
        profile.runcall(leaf)
        assert set(unraisable) == {error}, (result, unraisable)
        assert counts(profile)["leaf"] == 1
    allranks.Profile(None).runcall(leaf)
    unraisable.clear()
    allranks.Profile(7).runcall(leaf)
    assert set(unraisable) == {TypeError}


@case
def names_that_run_code():
    """The name of a method in C is the repr of whatever its type has by that name."""
    profile = allranks.Profile()

    class Named:
        def __get__(self, instance, owner):
            return super(List, instance).append

        def __repr__(self):
            profile.disable()

    class List(list):
        append = Named()

    for _ in range(3):
        profile.enable()
        List().append(1)
        leaf()
        profile.disable()
        assert counts(profile)["leaf"] == 1, "it could be disabled there"
        profile.clear()


@case
def pending_exceptions_are_kept():
    def raises():
        raise LookupError("kept")

    for timer in (None, time.perf_counter, lambda: time.perf_counter()):
        profile = allranks.Profile(timer)
        profile.enable()
        for action in (raises, lambda: [].pop(), lambda: next(iter(())), lambda: new_function()() / 0):
            try:
                action()
            except (LookupError, StopIteration, ZeroDivisionError) as error:
                assert error.__context__ is None
            else:
                raise AssertionError("lost an exception")
        generator = (leaf() for _ in range(3))
        next(generator)
        try:
            generator.throw(LookupError("thrown"))
        except LookupError as error:
            assert str(error) == "thrown"
        profile.disable()
    assert unraisable == []


# ---- objects that come and go ----


@case
def code_objects_are_kept_until_cleared():
    profile, gone = allranks.Profile(), []
    profile.enable()
    for _ in range(50):
        function = new_function()
        weakref.finalize(function.__code__, gone.append, 1)
        function()
    del function
    profile.disable()
    assert not gone and len([e for e in profile.getstats() if "made" in str(e.code)]) == 50
    profile.clear()
    assert len(gone) == 50


@case
def the_end_of_code_objects_may_call_back():
    """Clearing lets go of code objects, and each that goes uses the profiler in every way."""
    profile, seen = allranks.Profile(), []

    def use():
        seen.append(len(profile.getstats()))
        profile.clear()
        profile.runcall(leaf)
        profile.clear()

    for _ in range(20):
        function = new_function()
        weakref.finalize(function.__code__, use)
        profile.runcall(function)
        del function
    profile.clear()
    assert len(seen) == 20, seen


@case
def the_end_of_a_profiler_lets_go_of_code_objects():
    profile, gone = allranks.Profile(), []
    for _ in range(20):
        function = new_function()
        weakref.finalize(function.__code__, gone.append, 1)
        profile.runcall(function)
        del function
    del profile
    assert len(gone) == 20


@case
def clear_while_enabled():
    profile = allranks.Profile()
    profile.enable()
    (lambda: (leaf(), profile.clear(), leaf()))()
    middle(2)
    profile.disable()
    found = counts(profile)
    assert found["leaf"] == 3 and "<lambda>" not in found, found


@case
def results_while_garbage_is_collected():
    """Making results allocates, which collects, which runs this."""
    profile = allranks.Profile()

    class Garbage:
        def __del__(self):
            profile.clear()
            profile.__init__()

    for i in range(200):
        profile.runcall(new_function(f"f{i}"))
    gc.set_threshold(1)
    for _ in range(20):
        garbage = Garbage()
        garbage.self = garbage
        del garbage
        profile.runcall(middle, 2)
        for entry in profile.getstats():
            assert entry.callcount > 0


@case
def timers_are_let_go_of():
    timer, gone = Timer(0, None), []
    weakref.finalize(timer, gone.append, 1)
    profile = allranks.Profile(timer)
    profile.runcall(leaf)
    del timer
    assert not gone
    del profile
    assert gone


@case
def cycles_are_collected():
    gone = []

    class Timed(allranks.Profile):
        def now(self):
            return 1.0

    for _ in range(3):
        profile = Timed()
        profile.__init__(profile.now)
        profile.runcall(leaf)
        weakref.finalize(profile, gone.append, 1)
        del profile
        gc.collect()
    assert gone == [1, 1, 1]


# ---- interface ----


@case
def functions_of_one_label_are_added_up():
    pair = [lambda: leaf(), lambda: leaf()]
    profile = allranks.Profile()
    profile.enable()
    for function in pair:
        function()
    profile.disable()
    profile.create_stats()
    (line,) = (v for k, v in profile.stats.items() if k[2] == "<lambda>")
    assert line[:2] == (2, 2), line
    (line,) = (v for k, v in profile.stats.items() if k[2] == "leaf")
    assert line[:2] == (2, 2) and [v[:2] for v in line[4].values()] == [(2, 2)], line


@case
def files_are_read_by_pstats():
    profile = allranks.Profile()
    profile.runcall(middle, 3)
    profile.dump_stats("a.pstats")
    stats = pstats.Stats("a.pstats")
    stats.add(profile)
    (line,) = (v for k, v in stats.stats.items() if k[2] == "leaf")
    assert line[:2] == (6, 6), line
    with open("a.pstats", "rb") as file:
        assert marshal.load(file).keys() == stats.stats.keys()
    allranks.runctx("f(2)", {"f": middle}, {}, "b.pstats")
    assert any(k[2] == "leaf" for k in pstats.Stats("b.pstats").stats)
    allranks.run("raise SystemExit(3)", filename="c.pstats")
    assert pstats.Stats("c.pstats").stats


@case
def wrong_arguments():
    profile = allranks.Profile()
    for action in (
        lambda: allranks.Profile(None, "x"), lambda: allranks.Profile(None, 0.5, 1, 1, 1),
        lambda: allranks.Profile(wrong=1), lambda: profile.enable(wrong=1), lambda: profile.disable(1),
        lambda: profile.clear(1), lambda: profile.getstats(1), lambda: profile.runcall(),
    ):  # fmt: skip
        try:
            action()
        except TypeError:
            continue
        raise AssertionError("no TypeError")
    assert profile.getstats() == []
    try:
        allranks.absent  # noqa: B018
    except AttributeError as error:
        assert "absent" in str(error)


@case
def what_is_not_given_stays():
    profile = allranks.Profile(subcalls=False, builtins=False)
    profile.runcall(middle, 2)
    assert "leaf" in counts(profile) and not any(e.calls for e in profile.getstats())
    assert not any("sum" in name for name in counts(profile))
    profile.enable(builtins=True)
    middle(2)
    profile.disable()
    assert any("sum" in name for name in counts(profile))
    assert not any(e.calls for e in profile.getstats())
    profile.clear()
    profile.runcall(middle, 2)
    assert any("sum" in name for name in counts(profile))
    assert not any(e.calls for e in profile.getstats())


@case
def never_initialised():
    profile = allranks.Profile.__new__(allranks.Profile)
    profile.disable()
    profile.clear()
    profile.runcall(leaf)
    assert counts(profile)["leaf"] == 1


@case
def methods_called_on_the_wrong_thing():
    """Python's own profiler sets an exception in its hook there."""
    profile = allranks.Profile()
    profile.enable()
    for _ in range(3):
        for action in (lambda: list.append({}, 1), lambda: list.append(), lambda: str.join(1, [])):
            try:
                action()
            except TypeError:
                leaf()
    profile.disable()
    found = counts(profile)
    assert found["leaf"] == 9 and not any("append" in name or "join" in name for name in found), found


@case
def deep_recursion():
    def down(n):
        return down(n - 1) if n else 0

    sys.setrecursionlimit(3000)
    profile = allranks.Profile()
    profile.enable()
    down(2500)
    try:
        down(10**6)
    except RecursionError:
        leaf()
    profile.disable()
    entry = next(e for e in profile.getstats() if e.code is down.__code__)
    assert entry.callcount - entry.reccallcount == 2 and entry.callcount > 5000, entry
    assert counts(profile)["leaf"] == 1


@case
def many_callees():
    functions = [new_function(f"f{i}") for i in range(3000)]
    profile = allranks.Profile()
    profile.enable()
    for step in (1, 7, 13):
        for i in range(0, 3000 * step, step):
            functions[i % 3000]()
    profile.disable()
    found = counts(profile)
    assert all(found[f"f{i}"] == 3 for i in range(3000))


@case
def one_profiler_at_a_time():
    first, second = allranks.Profile(), allranks.Profile()
    first.enable()
    if not HAS_MONITORING:
        second.enable()  # the last one has it
        leaf()
        second.disable()
        first.disable()
        assert counts(second)["leaf"] == 1 and "leaf" not in counts(first)
        return
    for again in (first, second):
        try:
            again.enable(subcalls=False, builtins=False)
        except ValueError:
            continue
        raise AssertionError("two at a time")
    middle(2)
    first.disable()
    assert counts(first)["leaf"] == 2 and any(e.calls for e in first.getstats())
    assert sys.monitoring.get_tool(2) is None


@case
def a_tool_that_has_taken_the_id_is_left_alone():
    if not HAS_MONITORING:
        return
    monitoring, seen = sys.monitoring, []
    profile = allranks.Profile()
    profile.enable()
    monitoring.free_tool_id(2)
    monitoring.use_tool_id(2, "another")
    monitoring.register_callback(2, monitoring.events.PY_START, lambda code, offset: seen.append(code))
    monitoring.set_events(2, monitoring.events.PY_START)
    profile.disable()
    del profile
    leaf()
    assert monitoring.get_tool(2) == "another" and leaf.__code__ in seen
    monitoring.set_events(2, 0)
    monitoring.free_tool_id(2)


@case
def still_enabled_at_the_end():
    """Whatever is torn down then, the process must end well."""
    global last_profile
    last_profile = allranks.Profile(lambda: time.perf_counter())
    last_profile.enable()
    middle(2)


def main():
    sys.unraisablehook = lambda event: unraisable.append(event.exc_type)
    for name in sys.argv[1:]:
        unraisable.clear()
        CASES[name]()
        print("ok")


if __name__ == "__main__":
    main()

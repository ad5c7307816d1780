# SPDX-License-Identifier: BSD-3-Clause
# python: 3.13+
# needs: _testcapi
"""A library in C fires events of sys.monitoring itself, for objects that are no code objects.

Others' tools get its events, with every answer that a callback can give; they are as many as without us.
"""

import sys

import _testcapi as capi

m = sys.monitoring
TOOL = m.COVERAGE_ID
FIRED = {
    "PY_START": (capi.fire_event_py_start,),
    "PY_RESUME": (capi.fire_event_py_resume,),
    "PY_YIELD": (capi.fire_event_py_yield, 10),
    "PY_RETURN": (capi.fire_event_py_return, 20),
    "CALL": (capi.fire_event_call, len, 40),
    "JUMP": (capi.fire_event_jump, 60),
    "PY_THROW": (capi.fire_event_py_throw, ValueError(1)),
    "RAISE": (capi.fire_event_raise, ValueError(2)),
    "PY_UNWIND": (capi.fire_event_py_unwind, ValueError(6)),
}


def fire(name, code, answer):
    event = getattr(m.events, name)
    seen = []
    m.register_callback(TOOL, event, lambda *args: seen.append(args[0] is code) or answer)
    m.set_events(TOOL, event)
    function, *args = FIRED[name]
    capi.monitoring_enter_scope(code, event.bit_length() - 1)
    try:
        for _ in range(3):
            function(code, 0, *args)
    except ValueError as error:
        seen.append(str(error))
    finally:
        capi.monitoring_exit_scope()
        m.set_events(TOOL, 0)
    return seen.count(True), [each for each in seen if isinstance(each, str)]


m.use_tool_id(TOOL, "other")
for name in FIRED:
    print(name, *(fire(name, capi.CodeLike(2), answer) for answer in (None, m.DISABLE)))
m.free_tool_id(TOOL)

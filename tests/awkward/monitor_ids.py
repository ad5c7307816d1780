# SPDX-License-Identifier: BSD-3-Clause
# python: 3.12+
"""Tool ids of sys.monitoring: those with a name are free. Id 4 is ours, see docs/differences.md."""

import sys

m = sys.monitoring
for tool in (m.DEBUGGER_ID, m.COVERAGE_ID, m.PROFILER_ID, 3, m.OPTIMIZER_ID):
    print(tool, m.get_tool(tool))
    m.use_tool_id(tool, f"mine {tool}")
    print(tool, m.get_tool(tool), m.get_events(tool))
    m.free_tool_id(tool)
try:
    m.use_tool_id(0, "a")
    m.use_tool_id(0, "b")
except ValueError as error:
    print(error)

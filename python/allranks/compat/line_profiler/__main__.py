# SPDX-License-Identifier: BSD-3-Clause
"""python -m allranks.compat.line_profiler FILE..., which prints .lprof files."""

from allranks.compat.line_profiler._viewer import main

main()

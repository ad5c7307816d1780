// SPDX-License-Identifier: BSD-3-Clause
/*
 * c_source: functions in C as a source of events. How a call is seen: c_stubs.h; which functions: c_scan.h;
 * whether every call is timed: c_cheap.h.
 */
#pragma once

#include "runtime/sources.h"

extern const struct ar_source ar_source_c;

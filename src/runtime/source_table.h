// SPDX-License-Identifier: BSD-3-Clause
/*
 * source_table: the sources of events, one line each. To add one, write its descriptor (sources.h) and add
 * a line here.
 */
#pragma once

#include "runtime/sources.h"

extern const struct ar_source *const ar_source_table[];

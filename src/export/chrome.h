// SPDX-License-Identifier: BSD-3-Clause
/*
 * chrome: traces as Chrome's Trace Event Format, JSON, which about:tracing, Perfetto, vizviewer and many scripts read.
 *
 * Calls are pairs of events "B" and "E", with times in microseconds to the nanosecond; processes and threads are named by events "M".
 * What an MPI call did is in `args` of its "E". An event takes about 100 bytes, and those who read it hold all of it in
 * memory: it is for small runs.
 */
#pragma once

#include "export/exporters.h"
#include "export/sink.h"

/* 500 MB; the JSON parsers of browsers take no text that is longer. */
#define AR_CHROME_MOST_EVENTS UINT64_C(5000000)

/* AR_UNSUPPORTED: the run has no trace. */
AR_MUST_CHECK enum ar_status ar_chrome_encode(struct ar_profile *p,
                                              const struct ar_export_choice *which,
                                              struct ar_sink *out, ar_export_tell_fn *tell,
                                              struct ar_error *err);

// SPDX-License-Identifier: BSD-3-Clause
/*
 * speedscope: runs as https://www.speedscope.app reads them, JSON.
 *
 * A thread with a trace is an "evented" profile: its calls in the order of time. A rank without one is a "sampled" profile: each call
 * path with the time that it took itself, so that every run has a flame graph. Its samples stand in the order of the tree, which is not that of
 * time. Messages and parameters have no place in the format.
 */
#pragma once

#include "export/exporters.h"
#include "export/sink.h"

/* 400 MB, which is what a browser parses. */
#define AR_SPEEDSCOPE_MOST_EVENTS UINT64_C(10000000)

AR_MUST_CHECK enum ar_status ar_speedscope_encode(struct ar_profile *p,
                                                  const struct ar_export_choice *which,
                                                  struct ar_sink *out, ar_export_tell_fn *tell,
                                                  struct ar_error *err);

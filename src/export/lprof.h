// SPDX-License-Identifier: BSD-3-Clause
/*
 * lprof: the file of line_profiler and kernprof, which `python -m line_profiler` prints.
 *
 *     LineStats
 *         timings   { (file, first line, name): [ (line, hits, time) … ] }
 *         unit      1e-09: times are in nanoseconds
 *
 * It is the pickle of one object, whose class is known by its path. That path changed with line_profiler 5; the one that is written is the older
 * one, which all versions from 3 to 5 have, so that each of them reads the file.
 *
 * Only lines that were counted (runtime/chosen_lines.h) are in it, and a function of which none ran is not. Functions are sorted by file, first
 * line and name, lines by number. Hits and times are sums over call paths, threads and ranks. The name is the qualified one: line_profiler has that
 * from version 5 on.
 *
 * A run in which no lines were counted is AR_BAD, as is a rank that the run does not have. A rank on which none were counted makes a file
 * without functions.
 *
 * Threads: one owner.
 */
#pragma once

#include "export/exporters.h"

/* `write` of struct ar_exporter. No time in it is estimated. */
AR_MUST_CHECK enum ar_status ar_lprof_encode(struct ar_profile *p,
                                             const struct ar_export_choice *which,
                                             struct ar_bytes *out, size_t *n_estimated,
                                             struct ar_error *err);

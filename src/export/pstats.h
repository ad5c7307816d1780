// SPDX-License-Identifier: BSD-3-Clause
/*
 * pstats: the file that Python's pstats.Stats loads, and what is built on it (snakeviz, gprof2dot).
 *
 *     { (file, first line, name): (cc, nc, tt, ct, { caller's key: (nc, cc, tt, ct) }) }
 *
 *     nc   all calls
 *     cc   primitive calls: those made while the function was not active already
 *     tt   seconds in the function itself
 *     ct   seconds in it and below, of primitive calls only, so that recursion is not counted twice
 *
 * The figures of a caller are those of the calls it made, and recursion is that of the pair: a call
 * is primitive when the same caller is not already active in a call to the same function. This is
 * what cProfile does.
 *
 * Functions in C have the keys that cProfile gives them, and what else is no Python function is
 * written in the same way; pstats shows it in braces, {MPI_Allreduce}:
 *
 *     ('~', 0, '<built-in method time.sleep>')     ('~', 0, "<method 'append' of 'list' objects>")
 *     ('~', 0, '<MPI_Allreduce>')                  ('~', 0, '<region assemble>')
 *     ('~', 0, '<task loader>')
 *
 * A profile of caller pairs, which came from such files, becomes what it was: the sums that
 * pstats.Stats.add gives, in whole nanoseconds.
 *
 * A region or a task is the caller of what is called in it, where cProfile has the function around
 * it. What has one key is one function here, since a reader of the file cannot tell them apart. The
 * time of several ranks and threads is their sum. Times that are estimates are written as they are: the file
 * has no place to say so, but it is counted how many functions have such. Time that may be a function's or its caller's
 * is the caller's own.
 *
 * The bytes are a dict in Python's marshal format, version 2, which every Python 3 reads. A file
 * that pstats would refuse, the empty dict, is not made: that is AR_BAD, as is a rank that the run
 * does not have.
 *
 * Threads: one owner.
 */
#pragma once

#include "export/exporters.h"

/* `write` of struct ar_exporter. */
AR_MUST_CHECK enum ar_status ar_pstats_encode(struct ar_profile *p,
                                              const struct ar_export_choice *which,
                                              struct ar_bytes *out, size_t *n_estimated,
                                              struct ar_error *err);

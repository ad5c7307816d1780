// SPDX-License-Identifier: BSD-3-Clause
/*
 * cubex: a profile as CUBE 4 has it, Score-P's format: for Cube, pycubexr, Extra-P and Score-P's own tools.
 *
 *     anchor.xml     metrics, call tree, machines with processes and threads
 *     N.index        metric N: which call paths have values
 *     N.data         a number for each of these, on each thread
 *
 * in an archive of tar. A row of a metric is there if any thread has a value; the numbers of a row are dense.
 *
 * Calls are Score-P's `visits`, and bytes `bytes_sent` and `bytes_received`; all other metrics have their own names.
 * Nanoseconds become seconds. In CUBE an inclusive metric has a value wherever something below has one, and the part of a
 * node itself is the difference. Here a metric may have been measured on some nodes only, as counters are: a node that has
 * no value has those of its children, so that its own part is 0. That goes for the root, too, where threads hang that
 * are not the main one. Least and largest values belong to the calls of their node alone; where there is none, the value is
 * the one that CUBE takes for that.
 *
 * CUBE has no place for how far a value is to be believed: estimates are written as they are, and it is counted how many
 * functions have such. Metrics of bits, and variances, are left out.
 *
 * A profile of caller pairs has no call tree: AR_BAD.
 *
 * Memory: the whole file, and a few words for each call path. Threads: one owner.
 */
#pragma once

#include "export/exporters.h"

/* `write` of struct ar_exporter; of `which` it takes all ranks. */
AR_MUST_CHECK enum ar_status ar_cubex_encode(struct ar_profile *p,
                                             const struct ar_export_choice *which,
                                             struct ar_bytes *out, size_t *n_estimated,
                                             struct ar_error *err);

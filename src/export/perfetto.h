// SPDX-License-Identifier: BSD-3-Clause
/*
 * perfetto: traces as https://ui.perfetto.dev and its trace processor read them.
 *
 * The file is one message of Protocol Buffers, a list of packets, all of one sequence. It begins with what all packets rely on, then has a
 * packet for each process and thread, then one for each event in the order of time. A time is how long after the packet before it is
 * (an incremental clock), and names, categories, files and lines are written once and referred to by number, so an event
 * takes 12 to 30 bytes.
 *
 *     process   named "rank 3", in order of ranks, each with its children below it
 *     slice     a call; its category is python, c, mpi, region …; its source is the function's file and line or, for one that has no
 *               file, the line of the call. What an MPI call did is in arguments of the end of its slice
 *     instant   a parameter that the program noted; the limit of the trace; "received", where an arrow leads to
 *     flow      an arrow from the call that sends or posts a message to the end of the one that received it, and through all members
 *               of a collective call
 */
#pragma once

#include "export/exporters.h"
#include "export/sink.h"

/* AR_UNSUPPORTED: the run has no trace. */
AR_MUST_CHECK enum ar_status ar_perfetto_encode(struct ar_profile *p,
                                                const struct ar_export_choice *which,
                                                struct ar_sink *out, ar_export_tell_fn *tell,
                                                struct ar_error *err);

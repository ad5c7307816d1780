// SPDX-License-Identifier: BSD-3-Clause
/* trace_notes: what a user of a trace is told on stderr beside what was asked for. */
#pragma once

#include "analysis/trace_matches.h"

/*
 * Where clocks of hosts were never compared: what they are taken from. Where messages went backward in time: how many, and how far
 * times were moved for that. Nothing otherwise.
 */
void ar_note_clocks(const char *path, const struct ar_traces *traces);
/* Where --trace-last asked for more than there was room for: how much there is. Nothing otherwise. */
void ar_note_short(const char *path, const struct ar_traces *traces);
/* The same; and where traces end before their threads: how many do. For what does not show that by itself. */
void ar_note_early_ends(const char *path, const struct ar_traces *traces);
/* Ends of messages that are not matched, and why; of collective calls as well. */
void ar_note_unmatched(const char *path, const struct ar_trace_matches *m);

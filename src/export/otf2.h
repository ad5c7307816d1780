// SPDX-License-Identifier: BSD-3-Clause
/*
 * otf2: a trace as an OTF2 archive, for Vampir, Scalasca, TraceCompass and otf2-print.
 *
 *     DIR/traces.otf2           the anchor: what belongs to it
 *     DIR/traces.def            definitions: regions, ranks and threads, communicators, parameters
 *     DIR/traces/N.evt, N.def   the events of thread N
 *
 * It is written through libotf2 (otf2_library.h), by a thread for each processor, one location after the other: an open
 * location takes a chunk of 1 MiB, the 4 MiB that the library keeps of a file, and a chunk of the trace, whatever the trace's length.
 * Where allranks was built without the library's header, otf2_missing.c is here instead.
 *
 * What there is in each record: otf2_events.h and otf2_definitions.h.
 */
#pragma once

#include "export/exporters.h"

/* `save` of struct ar_exporter. */
enum ar_status ar_otf2_save(struct ar_profile *p, const struct ar_export_choice *which,
                            const char *path, ar_export_tell_fn *tell, struct ar_error *err);

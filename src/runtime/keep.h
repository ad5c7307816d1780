// SPDX-License-Identifier: BSD-3-Clause
/*
 * keep: live files of a rank are copied to where the user looks for results.
 *
 * Live files lie in the memory of a node, which may be out of reach, or wiped, when the job is over. So
 * where ranks are not merged each leaves its own, and those of its children, beside the run file that is not
 * there:
 *
 *     heat.live/<job>/r3-p100-7.live        to be had by: allranks recover heat.live/<job> -o heat.allranks
 *
 * It is done at the end, and when SIGTERM comes (terminated.h). A rank that is asked to end also copies the files of
 * its neighbours, after its own: they may be dead already, or not live long enough to do it.
 *
 * Where the live directory is on the file system of the output nothing is copied, unless the user asked for it
 * (--no-merge).
 *
 * Threads: prepare under the GIL or in MPI_Init. Copying uses only what a signal handler may use, and memory of
 * its own: it is done once at a time.
 */
#pragma once

#include "runtime/identity.h"

/* Where to, from now on; again when more is known about this rank. `always`: it was asked for. */
void ar_keep_prepare(const struct ar_identity *identity, bool always);
/* `say` is called in the handler when all was copied. */
void ar_keep_when_terminated(void (*say)(void));
/* The directory; "": nothing is kept, live files stay where they are. */
const char *ar_keep_directory(void);
/* Copies, and removes what was copied if asked to. true: all of this rank's. */
bool ar_keep_files(bool removes);

// SPDX-License-Identifier: BSD-3-Clause
/*
 * spawning: how a Python that MPI_Comm_spawn starts finds the recording of the rank that called it.
 *
 * The launcher starts it, with its own environment and not with ours: Open MPI's can be told to add
 * a variable, MPICH's cannot. So while the call lasts, a note lies where such a Python looks for it:
 *
 *     <default live dir>/<job>/r<rank>-p<pid>-<start>.spawns
 *
 * Its first line is that of every note (note.h), its second what Open MPI calls this process, or "-"; the rest is
 * what a Python started by exec finds in a variable. The call returns when the new processes have come to MPI_Init, which is
 * after their start: the note is gone with it. A Python that has found it counts as a child of this
 * rank (family.h), whatever its rank in a world of its own is. No Python asks on another node.
 *
 * Threads: any; there is one note, from the first of several calls at the same time to the end of the last.
 */
#pragma once

#include "runtime/forking.h"
#include "runtime/identity.h"

/* NULL: children are not recorded. */
void ar_spawning_begin(const struct ar_identity *identity, const char *passed_on);
void ar_spawning_end(void);
void ar_spawning_forking(enum ar_fork_step step);

// SPDX-License-Identifier: BSD-3-Clause
/*
 * notefiles: the roll call of sites.h by files, where the launcher has no table of names.
 *
 * Each leader has one file that it alone writes, in a directory beside the output that is there for
 * this and for this job only. If the nodes share it they find each other; if not, none is found
 * in time, and that is the answer. Files grow by whole lines; a token is a number that its process
 * has made up.
 *
 *     rank 0            "open TOKEN"                    then reads files until they are of all ranks
 *     another leader    "here TOKEN OWN-TOKEN ranks"    once it has read rank 0's
 *     rank 0            "yes OWN-TOKEN OWN-TOKEN …"     of all that it has read
 *                       or removes its file             no
 *     another leader    waits for its own token there, or for the file to go
 *
 * No leader believes a line that does not repeat its token: a job that is run again under the same
 * number may find files of one that was killed. As in sites.h the answer is rank 0's alone. Another
 * leader gives up waiting for it only long after rank 0 has decided; and one that has answered
 * waits even if it does not know whether its answer could be written.
 *
 * On NFS a node may remember for a minute that a name is not there: so names are looked for by
 * listing the directory, opened anew each time, and a file is opened anew whenever it is read,
 * which is when NFS asks the server.
 *
 * No wait is without end, but for that of a file system which does not answer at all: it would hold
 * up the writing of the run as well.
 *
 * Nothing is left: a leader that has the answer removes its file, and the last one the directory. What a
 * kill leaves is of no consequence.
 *
 * Threads: one, in MPI_Init.
 */
#pragma once

#include "runtime/sites.h"

bool ar_notefiles_agree(const struct ar_site *site);
/* Removes this leader's file, when it is no longer needed. */
void ar_notefiles_leave(void);
/*
 * The lowest leader that is known to leave its files where this one does; its own rank if there is
 * no other.
 */
uint32_t ar_notefiles_first(void);
/* At rank 0: of how many ranks it has heard, on all nodes; 0: it was not asked for. */
uint32_t ar_notefiles_known(void);

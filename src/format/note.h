// SPDX-License-Identifier: BSD-3-Clause
/*
 * note: small files by which processes of a job speak to each other, in the directory of its live files or beside the
 * output. Each begins with eight bytes by which `allranks clean` tells it from a file of the user's that happens
 * to have such a name.
 *
 *     *.lock, ranks.lock       nothing else
 *     *.unrecorded             the same again for each process: several append at the same time
 *     verdict-*, *.verdict     'y' or 'n'
 *     *.spawns, leader-*       a newline and lines of text
 *
 * A process that is killed before it has written them leaves an empty file.
 */
#pragma once

#define AR_NOTE_MAGIC "ALLRNOTE"
#define AR_NOTE_MAGIC_BYTES 8

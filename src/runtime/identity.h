// SPDX-License-Identifier: BSD-3-Clause
/*
 * identity: who this process is, before MPI says so, and where its live file goes.
 *
 * The rank comes from the launcher's environment and is confirmed in MPI_Init. Ranks of one job
 * agree on its name, and so on the directory of their live files, without talking: the scheduler's
 * or launcher's job id, or, where there is none (hydra), the launcher's process on this node, by
 * pid and start time. A process without a launcher is a job of its own.
 *
 *     <live dir>/<job>/r<rank>-p<pid>-<start>.live
 *
 * The default live dir is /dev/shm/allranks-<uid>, or the same below $TMPDIR or /tmp.
 *
 * Directories are made with mode 0700 and used only if they are ours: /dev/shm and /tmp are shared
 * places.
 */
#pragma once

#include "base/status.h"

#include <stdint.h>

#define AR_PATH_BYTES 4096

struct ar_identity {
    uint32_t pid, parent_pid;
    uint64_t pid_start;
    uint32_t world_rank, world_size; /* AR_RANK_NONE and 0: no launcher said so */
    char host[64];
    char job[64];
    char job_dir[AR_PATH_BYTES];
    char live_path[AR_PATH_BYTES];
};

/* `live_dir` is NULL or empty for the default. The job's directory exists afterwards. */
AR_MUST_CHECK enum ar_status ar_identity_find(struct ar_identity *out, const char *live_dir,
                                              struct ar_error *err);
/* Removes the job's directory if it is empty. */
void ar_identity_leave(const struct ar_identity *identity);

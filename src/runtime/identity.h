// SPDX-License-Identifier: BSD-3-Clause
/*
 * identity: who this process is, before MPI says so, and where its live file goes.
 *
 * The rank comes from the launcher's environment and is confirmed in MPI_Init. Variables that stand
 * there for another reason are not believed: those of a shell that Slurm has started, or a rank that
 * is not below its size. Ranks of one job
 * agree on its name, and so on the directory of their live files, without talking: the scheduler's
 * or launcher's job id, or, where there is none (hydra), the launcher's process on this node, by
 * pid and start time. A process without a launcher is a job of its own.
 *
 *     <live dir>/<job>/r<rank>-p<pid>-<start>.live
 *     <live dir>/<job>/r<rank>-p<pid>-<start>.c<pid>-<start>.live       its children and theirs
 *
 * The default live dir is /dev/shm/allranks-<uid>, or the same below $TMPDIR or /tmp where that
 * is missing, not writable or full.
 *
 * Directories are made with mode 0700 and used only if they are ours: /dev/shm and /tmp are shared
 * places.
 */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define AR_PATH_BYTES 4096

struct ar_identity {
    uint32_t pid, parent_pid;
    uint64_t pid_start;
    uint64_t parent_start; /* 0: the parent is not recorded */
    /* The process that the user started, on this rank: itself, or an ancestor. */
    uint32_t root_pid;
    uint32_t root_rank; /* AR_RANK_NONE: it is none */
    uint64_t root_start;
    bool is_child;                   /* true also for what the root became by exec */
    uint32_t world_rank, world_size; /* AR_RANK_NONE and 0: no launcher said so */
    uint32_t local_size;             /* ranks on this node; 0: the launcher does not say */
    char host[64];
    char job[64];
    char job_dir[AR_PATH_BYTES];
    char stem[AR_PATH_BYTES]; /* the path of the root's live file without ".live" */
    char live_path[AR_PATH_BYTES];
};

/* `live_dir` is NULL or empty for the default. The job's directory exists afterwards. */
AR_MUST_CHECK enum ar_status ar_identity_find(struct ar_identity *out, const char *live_dir,
                                              struct ar_error *err);
/*
 * Moves `identity` from the live directory that was asked for to the default one, whose job's
 * directory exists afterwards; false: there is none. Files are not moved.
 */
bool ar_identity_default_place(struct ar_identity *identity);
/* In the child of a fork: from its parent's to its own. */
AR_MUST_CHECK enum ar_status ar_identity_fork(struct ar_identity *identity, struct ar_error *err);
/*
 * Of a Python that a recorded process has started, which passed the root's stem on. Makes nothing.
 * AR_BAD: it is no such name; AR_IO: there is no such directory, or it is not ours. Whether anybody
 * is still recorded there is ar_family_is_alive's to say.
 */
AR_MUST_CHECK enum ar_status ar_identity_join(struct ar_identity *out, const char *stem,
                                              struct ar_error *err);
/* The process that the user started, in whichever of its programs: the one that writes the run. */
bool ar_identity_is_root(const struct ar_identity *identity);
/* The same on all nodes of the job; 0 where the launcher gives it no name. */
uint64_t ar_identity_common_job(const struct ar_identity *identity);
/* Removes the job's directory if it is empty. */
void ar_identity_leave(const struct ar_identity *identity);

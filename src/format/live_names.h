// SPDX-License-Identifier: BSD-3-Clause
/*
 * live_names: the names of all files and directories that a recording makes, printed and parsed.
 *
 *     /dev/shm/allranks-1000/           the default home of live files; or below $TMPDIR, or /tmp
 *     DIRECTORY/NAME.live/              a home beside the output NAME, for live files that are kept
 *         pid100-7/                     a job: a process without a launcher, by pid and start,
 *         job2f31.0/  job-00…9f/        … the launcher's name for it, or its hash where that is long,
 *         slurm17.0/                    … a step of Slurm,
 *         launcher90-5[-spawned]/       … the launcher's process; a world that it was told to spawn
 *             [r3-]p100-7.live          PROCESS.live: of a root, with its rank if it has one
 *             [r3-]p100-7.c101-9.live   … of a child, below its root's name
 *             PROCESS-2.live            … where the name was taken
 *             PROCESS.allranks          a child that has ended
 *             PROCESS.allranks.PID-NS.part, PROCESS.live.part, PROCESS.allranks.part
 *                                       written or copied, but not to the end
 *             PROCESS.live.verdict, verdict-100-7
 *                                       a proposal, and the one that holds: rollcall.h
 *             PROCESS.lock, PROCESS.unrecorded, ranks.lock        family.h
 *             PROCESS.spawns            spawning.h
 *     DIRECTORY/.allranks-00…9f/        where nodes look for each other: notefiles.h
 *             leader-3-0000abcd
 *     DIRECTORY/NAME.PID-NS.part        a run file that is being written
 *
 * python/allranks/_live_names.py has the few of them that Python needs; tests/golden/live_names.txt holds
 * both to the same names.
 *
 * Printing returns false where the name does not fit, and has then written its beginning.
 * Signals: parsing and the questions about names are async-signal-safe, printing is not.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AR_LIVE_ENDING ".live"
#define AR_PART_ENDING ".part"

enum ar_live_name_kind {
    AR_NAME_OTHER, /* none of the recording's */
    AR_NAME_LIVE,
    AR_NAME_RUN,
    AR_NAME_PROPOSAL,
    AR_NAME_LOCK,
    AR_NAME_UNRECORDED,
    AR_NAME_SPAWNS,
    AR_NAME_PART,
    AR_NAME_VERDICT,
    AR_NAME_RANKS_LOCK,
    AR_NAME_LEADER,
};

/* What the name of a file in a job's directory says. */
struct ar_live_name {
    enum ar_live_name_kind kind;
    uint32_t rank;              /* of the root, or the leader; AR_RANK_NONE: it has none */
    uint32_t root_pid, pid;     /* 0: it is not about a process. `pid` is a child's own … */
    uint64_t root_start, start; /* … and so is `start`; of a root they are the root's */
    bool is_child;
    uint32_t kept_in; /* of a leader: see notefiles.h */
    size_t n_stem;    /* bytes of its root's name, r3-p100-7 */
};

/* ---- homes and jobs ---------------------------------------------------------------------------- */

#define AR_N_LIVE_PLACES 3

/* Where a home may be, best first; NULL: there is no such place, or it is another one's. */
const char *ar_live_place(unsigned number);
/* The user's home for live files in it. */
bool ar_live_name_home(char *path, size_t n_path, const char *place);
/* Has its last part such a name? */
bool ar_live_name_is_home(const char *path);

bool ar_live_name_job_of_process(char *name, size_t n_name, uint32_t pid, uint64_t start);
/* Whatever else than letters, digits, '-' and '.' is in it becomes '_'. */
bool ar_live_name_job_called(char *name, size_t n_name, const char *called);
bool ar_live_name_job_of_slurm(char *name, size_t n_name, const char *job, const char *step);
bool ar_live_name_job_of_launcher(char *name, size_t n_name, uint32_t pid, uint64_t start,
                                  bool is_spawned);
/* A name that no user gives to a directory of their own: one with a pid or with Slurm's numbers. */
bool ar_live_name_is_job(const char *name);
/* Is it another one on each node? */
bool ar_live_name_is_job_of_launcher(const char *name);

/* Where nodes look for each other, beside the output. */
bool ar_live_name_meeting(char *path, size_t n_path, const char *beside, uint64_t job);
bool ar_live_name_is_meeting(const char *name);

/* ---- files -------------------------------------------------------------------------------------- */

/* Of a root, without an ending: "r3-p100-7". */
bool ar_live_name_stem(char *name, size_t n_name, uint32_t rank, uint32_t pid, uint64_t start);
/* Of a child, without an ending: "r3-p100-7.c101-9". */
bool ar_live_name_child(char *name, size_t n_name, const char *stem, uint32_t pid, uint64_t start);
/* Adds the ending of that kind, which is one that begins with PROCESS and is no part. */
bool ar_live_name_file(char *path, size_t n_path, const char *process, enum ar_live_name_kind kind);
/* The same for the process of a live file. */
bool ar_live_name_beside(char *path, size_t n_path, const char *live_path,
                         enum ar_live_name_kind kind);
/* The live file's own name without an ending. */
bool ar_live_name_process(char *path, size_t n_path, const char *live_path);
/* Where it is taken: "r3-p100-7-2.live". */
bool ar_live_name_again(char *path, size_t n_path, const char *live_path, int n);
bool ar_live_name_verdict(char *path, size_t n_path, const char *job_dir, uint32_t pid,
                          uint64_t start);
bool ar_live_name_ranks_lock(char *path, size_t n_path, const char *job_dir);
bool ar_live_name_leader(char *name, size_t n_name, uint32_t rank, uint32_t kept_in);
/* For a run file that is to be at `path`. */
bool ar_live_name_part(char *part, size_t n_part, const char *path, uint32_t pid, uint64_t real_ns);

/* Of a file in a job's directory, or where nodes look for each other. false: it is AR_NAME_OTHER. */
bool ar_live_name_parse(const char *name, struct ar_live_name *out);
/* "/directory/r3-p1234-5678", exactly as it is printed. */
bool ar_live_name_parse_stem(const char *path, struct ar_live_name *out);
/* Has the root of this process a rank? "/directory/r3-p1234-5678-2" has. */
bool ar_live_name_is_of_rank(const char *process);
/*
 * Of a run file that is being written, and by which process. `is_certain`: with the nanosecond it was begun
 * in, so that no other program gives such a name.
 */
bool ar_live_name_parse_part(const char *name, uint32_t *pid, bool *is_certain);

/* By their endings alone: the user may have given any name to a copy. */
bool ar_live_name_is_live(const char *name);
bool ar_live_name_is_run(const char *name);

// SPDX-License-Identifier: BSD-3-Clause
/*
 * leftovers: what jobs have left in the directories of live files, and whether anybody still needs it.
 *
 *     <live dir>/<job>/ r0-p4711-815.live …     verdict-4711-815     …part
 *
 * A file is ours if its name is one that the runtime gives, it is a regular file of this user and it
 * begins as such a file does (note.h); a job is a directory of this user's that no other user can write to and
 * that holds such files. There, and where only we make directories, an empty file of such a name is ours, too. Whatever else lies there is not touched, and no link is followed: files are
 * looked at and removed relative to an open directory, and only if they are still the same ones.
 *
 * A process is known by host, pid and the time at which it was started. Of processes on other hosts
 * nothing is known but what they wrote.
 *
 *     struct ar_leftovers left = {0};
 *     if (ar_leftovers_find(&left, "/dev/shm/allranks-1000", &err) < 0) ...
 *     ar_leftovers_remove(&left.jobs[0], &n_bytes);
 *     ar_leftovers_free(&left);
 */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum ar_left_state {
    AR_LEFT_SILENT,    /* it ended without a word: killed, most likely */
    AR_LEFT_FINISHED,  /* it ended its recording in good order, and its process is gone */
    AR_LEFT_RUNNING,   /* its process is there */
    AR_LEFT_ELSEWHERE, /* of another host: not known */
    AR_N_LEFT_STATES
};

enum ar_left_kind {
    AR_LEFT_LIVE,
    AR_LEFT_RUN,  /* of a child that has ended */
    AR_LEFT_NOTE, /* of processes to each other: locks, verdicts and the like; see note.h */
    AR_LEFT_PART, /* a run file that was not written to its end */
};

struct ar_left_file {
    char name[256];
    enum ar_left_kind kind;
    enum ar_left_state state;
    bool has_header;  /* a live file: what follows is known */
    bool is_blank;    /* it was made, and nothing written into it */
    bool is_finished; /* it says so itself, wherever its process is */
    uint32_t pid, world_rank, world_size;
    uint64_t start_real_ns, latest_real_ns;
    char host[64], job[64];
    uint64_t n_bytes; /* that it takes */
    dev_t device;
    ino_t inode;
};

struct ar_left_job {
    char *path; /* its directory; of left-overs beside run files, theirs */
    struct ar_left_file *files;
    size_t n_files, cap_files;
    size_t n_processes, n_ranks;
    uint32_t world_size; /* 0: not known */
    enum ar_left_state state;
    bool is_job; /* the directory is the job's, and goes with the last file */
    uint64_t n_bytes;
    uint64_t start_real_ns, latest_real_ns; /* 0: not known */
    dev_t device;
    ino_t inode;
};

struct ar_leftovers {
    struct ar_left_job *jobs;
    size_t n_jobs, cap_jobs;
};

/* In words: "dead", "running" … */
const char *ar_left_state_name(enum ar_left_state state);

/*
 * What a live file says about its process; `directory` as in openat. false: it is not there, or not
 * a regular file. Without a header that can be read only the state is known.
 */
bool ar_left_look(int directory, const char *name, struct ar_left_file *out);

/* Adds the jobs in a directory, or the one that it is. It need not exist. */
AR_MUST_CHECK enum ar_status ar_leftovers_find(struct ar_leftovers *out, const char *path,
                                               struct ar_error *err);
/*
 * Adds what lies beside run files: unfinished ones that no process is writing any more, places where nodes looked for
 * each other, and jobs in NAME.live.
 */
AR_MUST_CHECK enum ar_status ar_leftovers_find_parts(struct ar_leftovers *out, const char *path,
                                                     struct ar_error *err);
/* Removes what is listed, and the directory if it is the job's and empty; how many bytes that was. */
size_t ar_leftovers_remove(const struct ar_left_job *job, uint64_t *n_bytes);
/* One file by its path, if it is still the one that was looked at. */
bool ar_left_remove(const char *path, const struct ar_left_file *file);
/* The directory of a job, if it is empty. */
void ar_left_remove_directory(const char *path);
void ar_leftovers_free(struct ar_leftovers *left);

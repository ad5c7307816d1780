// SPDX-License-Identifier: BSD-3-Clause
/*
 * load: anything that holds profiles, as one profile.
 *
 * A run file, a live file of a process that runs or was killed, or a directory of such files (and
 * directories of jobs in it); a pstats file, or a pattern ("cpu_*.prof") for the pstats files of
 * all ranks. What the user names on the command line. What a file is, is told by its contents. In a
 * directory, a live file that goes away meanwhile, or has nothing in it yet, is not there. Calls that were open
 * when a job was killed last until the last sign of life of any of its processes: see last_sign.h.
 *
 *     struct ar_profile p;
 *     if (ar_load(&p, "heat.allranks", &err) < 0) ...
 *     ar_profile_free(&p);
 */
#pragma once

#include "analysis/leftovers.h"
#include "format/profile.h"

/* Told of each file that is about to be read, and of the end, when all are; NULL: it is not needed. */
extern void (*ar_load_tell)(size_t n_read, size_t n_files);

/* Are the traces of live files wanted? All of their events are looked through for that. Of run files they always are there. */
extern bool ar_load_traces;

/* On failure there is nothing to free. */
AR_MUST_CHECK enum ar_status ar_load(struct ar_profile *out, const char *path,
                                     struct ar_error *err);
/* The same for callers that read metrics by rows: see format/rows.h. Those of a run file stay packed. */
AR_MUST_CHECK enum ar_status ar_load_packed(struct ar_profile *out, const char *path,
                                            struct ar_error *err);
/*
 * Everything that is named, by paths and patterns, as one run. Pstats files are numbered as ranks,
 * all of them together.
 */
AR_MUST_CHECK enum ar_status ar_load_all(struct ar_profile *out, char *const *names, size_t n,
                                         struct ar_error *err);
/*
 * About what was loaded without any trouble, for people: that a directory adds nothing; "" as a
 * rule.
 */
const char *ar_load_remark(void);

/*
 * The same where not everything need be sound: what can be read of each live file is taken, and
 * `finds` tells of each of them. A single run stays packed. Fails where there is nothing to look at, and without memory.
 */
struct ar_find {
    struct ar_left_file file; /* as it was before it was read */
    char *path;
    bool is_taken;
    uint64_t n_bytes_left_out; /* damage … */
    uint64_t n_paths_left_out; /* … and within what could be read */
    uint64_t n_bytes_read;
    char why[256]; /* it was not taken */
};

struct ar_finds {
    struct ar_find *items;
    size_t n, cap;
};

AR_MUST_CHECK enum ar_status ar_load_what_is_left(struct ar_profile *p, const char *path,
                                                  struct ar_finds *finds, struct ar_error *err);
void ar_finds_free(struct ar_finds *finds);

/*
 * Adds one process from its live file. If it runs on this machine, calls that are open are closed
 * now, and its state says so; otherwise at the newest stamp in the file.
 */
AR_MUST_CHECK enum ar_status ar_load_live(struct ar_profile *p, const char *path,
                                          struct ar_error *err);

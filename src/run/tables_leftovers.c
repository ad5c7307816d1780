// SPDX-License-Identifier: BSD-3-Clause
/* Tables of files that jobs have left: clean, clean_jobs. */
#include "run/cells.h"
#include "run/subjects.h"

/* ---- all together ----------------------------------------------------------------------------- */

#define CLEAN_COLUMNS(X)                                                                           \
    INTEGER(X, jobs, "", "that are listed", of->leftovers->n_rows)                                 \
    INTEGER(X, files_removed, "", "with --remove", of->leftovers->n_removed)                       \
    INTEGER(X, bytes_removed, "bytes", "with --remove", of->leftovers->removed_bytes)

static const struct ar_shown_column clean_columns[] = {CLEAN_COLUMNS(DESCRIBE)};

static union ar_cell clean_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { CLEAN_COLUMNS(NUMBER) };
    union ar_cell cell = {0};

    (void)row;
    switch (column) {
        CLEAN_COLUMNS(READ)
    }
    return cell;
}

const struct ar_shown_table ar_shown_table_clean = {
    .name = "clean",
    .key = "",
    .help = "what was listed and removed",
    .about = AR_ABOUT_LEFTOVERS,
    .columns = clean_columns,
    .n_columns = N_COLUMNS(clean_columns),
    .is_single = true,
    .n_rows = ar_one_row,
    .cell = clean_cell,
};

/* ---- jobs ------------------------------------------------------------------------------------- */

#define JOB_COLUMNS(X)                                                                             \
    TEXT(X, path, "directory of the job, or one with unfinished run files", plain_text(job->path)) \
    OPTIONAL_TEXT(X, host, "where it ran", plain_text(job->start_real_ns ? at->host : ""))         \
    OPTIONAL(X, start_real, "ns", "when its recording began, since 1970",                          \
             job->start_real_ns ? (int64_t)job->start_real_ns : -1)                                \
    INTEGER(X, latest_real, "ns", "when it was last written to, since 1970", job->latest_real_ns)  \
    INTEGER(X, processes, "", "that have left files", job->n_processes)                            \
    INTEGER(X, ranks, "", "of these", job->n_ranks)                                                \
    INTEGER(X, world_size, "", "of MPI_COMM_WORLD; 0: not known", job->world_size)                 \
    INTEGER(X, files, "", "that it has left", job->n_files)                                        \
    INTEGER(X, bytes, "bytes", "that they take", job->n_bytes)                                     \
    TEXT(                                                                                          \
        X, state,                                                                                  \
        "dead, running, elsewhere (on another host), unknown (it ended before it wrote its host)", \
        plain_text(at->state))                                                                     \
    OPTIONAL_TEXT(X, run_file, "that was made of it; none: no such file was found",                \
                  plain_text(at->run))                                                             \
    BOOLEAN(X, removed, "all of its files", at->is_removed)

static const struct ar_shown_column job_columns[] = {JOB_COLUMNS(DESCRIBE)};

static union ar_cell job_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { JOB_COLUMNS(NUMBER) };
    const struct ar_left_row *at = &of->leftovers->rows[row];
    const struct ar_left_job *job = at->job;
    union ar_cell cell = {0};

    switch (column) {
        JOB_COLUMNS(READ)
    }
    return cell;
}

static size_t n_jobs(const struct ar_subject *of)
{
    return of->leftovers->n_rows;
}

const struct ar_shown_table ar_shown_table_clean_jobs = {
    .name = "clean_jobs",
    .key = "path",
    .help = "jobs that have left files",
    .about = AR_ABOUT_LEFTOVERS,
    .columns = job_columns,
    .n_columns = N_COLUMNS(job_columns),
    .n_rows = n_jobs,
    .cell = job_cell,
};

// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/recording.h"

#include "base/file_system.h"
#include "format/live_names.h"
#include "runtime/after_run.h"
#include "runtime/closing_line.h"
#include "runtime/endings.h"
#include "runtime/family.h"
#include "runtime/livemap.h"
#include "runtime/output.h"
#include "runtime/own_files.h"
#include "runtime/process_hook.h"
#include "runtime/recording_state.h"
#include "runtime/source_table.h"
#include "runtime/spending.h"
#include "runtime/started.h"
#include "runtime/tracer.h"
#include "runtime/tree.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what is asked ----------------------------------------------------------------------------- */

const char *ar_recording_remote_file_system(void)
{
    return ar_remote_file_system_of(ar_recording.identity.job_dir);
}

const char *ar_recording_directory(void)
{
    return ar_recording.identity.job_dir;
}

const char *ar_recording_written(void)
{
    return ar_recording.written;
}

/* ---- fork -------------------------------------------------------------------------------------- */

static void before_fork(void)
{
    ar_sources_fork(AR_FORK_BEFORE);
}

static void in_parent(void)
{
    ar_sources_fork(AR_FORK_PARENT);
    ar_family_expect();
}

/* It may be about to exec: a file of its own is made only when Python goes on in it. */
static void in_child(void)
{
    ar_sources_fork(AR_FORK_CHILD);
    ar_recording.is_merged = ar_recording.is_given_up = false;
}

void ar_recording_forked(void)
{
    uint64_t begin = ar_ticks();
    struct ar_error err;

    ar_recording.written[0] = '\0'; /* that was the parent */
    if (ar_recording.finished || ar_live_base)
        return;
    if (ar_recording.with_children && ar_identity_fork(&ar_recording.identity, &err) == AR_OK &&
        ar_family_has_room(&ar_recording.identity) &&
        ar_livemap_adopt(&ar_recording.identity, ar_threads_forked_in(), &err) == AR_OK) {
        ar_family_begin(&ar_recording.identity);
        ar_threads_adopt();
        ar_trace_forked();
        ar_spent(AR_OVERHEAD_START, ar_ticks() - begin);
        return;
    }
    if (ar_recording.with_children)
        ar_family_count_lost(&ar_recording.identity);
    ar_livemap_forget();
    ar_recording.finished = true;
}

/* ---- the beginning ----------------------------------------------------------------------------- */

/* It may be hours until the run is written: the first rank says now what is wrong with its name. */
static void check_output(void)
{
    const struct ar_identity *identity = &ar_recording.identity;
    bool is_first = identity->world_rank == AR_RANK_NONE || identity->world_rank == 0;
    struct ar_error err;

    if (is_first && !identity->is_child && ar_output_check(identity, &err) < 0)
        ar_closing_say_error(err.text);
}

static enum ar_status find_identity(const struct ar_options *options, struct ar_error *err)
{
    if (!*options->stem)
        return ar_identity_find(&ar_recording.identity, options->live_dir, err);

    enum ar_status status = ar_identity_join(&ar_recording.identity, options->stem, err);

    if (status == AR_OK && !ar_family_is_alive(&ar_recording.identity))
        return ar_fail(err, AR_BAD, "%s: its recording is over", options->stem);
    if (status == AR_OK && !ar_family_has_room(&ar_recording.identity)) {
        ar_family_count_lost(&ar_recording.identity);
        status = ar_fail(err, AR_FULL, "%s: too many child processes", options->stem);
    }
    return status;
}

/* Children read the stem in the first line, and options in the others. */
static void pass_on(const char *children)
{
    char *variable = NULL;

    if (children &&
        asprintf(&variable, "ALLRANKS_CHILD=%s\n%s", ar_recording.identity.stem, children) > 0)
        ar_process_pass_on(variable);
    if (children)
        free(variable);
}

/* A trace that was not announced shares the room of all other measurements. */
static uint64_t bytes_of_live_file(const struct ar_options *options)
{
    bool is_announced = options->trace || options->trace_later;

    return options->n_bytes_max + (is_announced ? options->trace_limit : 0);
}

/* The user may have switched the trace of the job: what is asked of files that come later is in that of their root. */
static void follow_family(const struct ar_identity *identity)
{
    struct ar_live_header root;
    char path[AR_PATH_BYTES];

    if (identity->is_child && ar_live_name_file(path, sizeof path, identity->stem, AR_NAME_LIVE) &&
        ar_live_read_header(path, &root))
        ar_trace_follow(root.trace_wish);
}

static void end_at_exit(void)
{
    ar_end_at_exit();
    ar_after_run();
}

enum ar_status ar_recording_start(const struct ar_options *options, struct ar_error *err)
{
    enum ar_status status;

    ar_output_set(options->output, options->per_rank);
    ar_closing_start(options->quiet);
    ar_recording.keeps = options->keeps;
    ar_recording.with_children = options->children != NULL;
    ar_recording.merge_timeout_ns = options->merge_timeout_s * UINT64_C(1000000000);
    ar_clock_choose();
    status = find_identity(options, err);
    if (status == AR_OK)
        status = ar_livemap_create(&ar_recording.identity, bytes_of_live_file(options), err);
    if (status < 0)
        return status;
    if (!ar_thread_attach()) {
        ar_livemap_remove();
        return ar_fail(err, AR_FULL, "%s: no room for a first thread", ar_livemap_path());
    }
    check_output();
    ar_family_begin(&ar_recording.identity);
    ar_own_files_prepare_to_keep();
    ar_started_open();
    pass_on(options->children);
    pthread_atfork(before_fork, in_parent, in_child);
    atexit(end_at_exit);
    status = ar_sources_start(ar_source_table, options, err);
    follow_family(&ar_recording.identity);
    if (status < 0)
        ar_end_cancelled();
    return status;
}

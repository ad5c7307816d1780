// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/mpi_events.h"

#include "format/live_profile.h"
#include "format/profile.h"
#include "runtime/after_run.h"
#include "runtime/clock_offsets.h"
#include "runtime/closing_line.h"
#include "runtime/endings.h"
#include "runtime/family.h"
#include "runtime/finalize_merge.h"
#include "runtime/livemap.h"
#include "runtime/mpi_abi.h"
#include "runtime/mpi_comms.h"
#include "runtime/mpi_hook.h"
#include "runtime/mpi_requests.h"
#include "runtime/mpi_traffic.h"
#include "runtime/output.h"
#include "runtime/own_files.h"
#include "runtime/process_hook.h"
#include "runtime/pyframe.h"
#include "runtime/recording_state.h"
#include "runtime/rollcall.h"
#include "runtime/sites.h"
#include "runtime/spawning.h"
#include "runtime/tree.h"

/* ---- MPI_Init -------------------------------------------------------------------------------- */

/* Of a child's own world nothing is noted: it counts for the rank that has started it. */
static void confirm_rank(uint32_t rank, uint32_t size)
{
    struct ar_live_header *h = ar_live_header();

    h->rank_confirmed = 1;
    if (!ar_identity_is_root(&ar_recording.identity))
        return;
    h->world_rank = ar_recording.identity.world_rank = ar_recording.identity.root_rank = rank;
    h->world_size = ar_recording.identity.world_size = size;
}

static void compare_clocks(const struct ar_mpi_abi *abi, enum ar_clock_instant when)
{
    ar_clocks_compare(&abi->link, when, ar_rollcall_same_host,
                      &ar_live_header()->clock_links[when]);
}

/* All ranks do. A rank that has made the communicator has read what the others left for it. */
static void link_up(struct ar_mpi_abi *abi)
{
    bool is_open = abi->link.open() == AR_OK;

    ar_sites_leave(&abi->link);
    if (!is_open)
        return;
    ar_recording.linked = abi;
    compare_clocks(abi, AR_CLOCK_AT_INIT);
}

static void on_initialized(struct ar_mpi_abi *abi, struct ar_mpi_call *call)
{
    int rank, size;

    if (ar_recording_has_ended() || ar_live_header()->rank_confirmed ||
        abi->link.rank_and_size(&rank, &size) < 0)
        return;
    confirm_rank((uint32_t)rank, (uint32_t)size);
    ar_own_files_prepare_to_keep();
    if (ar_output_is_per_rank() || ar_recording.keeps)
        ar_livemap_vote(AR_VOTE_NO); /* ranks that would merge need not wait for this one */
    else if (!ar_recording.identity.is_child && size > 1 &&
             ar_rollcall(&ar_recording.identity, &abi->link, (uint32_t)rank, (uint32_t)size))
        link_up(abi);
    ar_mpi_all_have_come(call, AR_SYNC_START);
}

/* ---- MPI_Finalize ---------------------------------------------------------------------------- */

static struct ar_family merged_family; /* what of this rank's children is in the merge */

static bool has_one_file(void)
{
    return !ar_family_is_expected(&ar_recording.identity);
}

/* The lock is not held while other ranks are waited for. */
static enum ar_status children_profile(struct ar_profile *p, struct ar_error *err)
{
    bool expected = ar_family_is_expected(&ar_recording.identity);
    int lock = expected ? ar_family_lock(&ar_recording.identity) : -1;
    enum ar_status status = ar_own_family_profile(p, &merged_family, expected, lock, err);

    ar_family_unlock(lock);
    return status;
}

/* It waits in MPI_Finalize, and has told us that all is in its file. */
static enum ar_status read_rank(struct ar_profile *p, uint32_t rank, struct ar_error *err)
{
    struct ar_live live;
    enum ar_status status = ar_live_open(&live, ar_rollcall_path(rank), err);

    if (status < 0)
        return status;
    live.with_trace = true;
    status = ar_profile_add_live(p, &live, 0, err);
    ar_live_close(&live);
    return status;
}

/* Where the program goes on, the closing line comes at its end. */
static enum ar_status write_run_of_ranks(struct ar_profile *p, struct ar_error *err)
{
    enum ar_status status = ar_output_write(&ar_recording.identity, p, ar_recording.written, err);

    if (status == AR_OK && ar_recording.finished)
        ar_closing_say_written(ar_recording.written, p);
    return status;
}

static const struct ar_merge_steps merge_steps = {.may_be_read = has_one_file,
                                                  .own = children_profile,
                                                  .read = read_rank,
                                                  .write = write_run_of_ranks};

/* If the interpreter is there still, the program goes on, and so does the recording. */
static void pause_recording(bool goes_on)
{
    if (goes_on) {
        ar_own_file_stamp();
    } else {
        ar_end_hold_timers_back();
        ar_own_file_close();
    }
}

/*
 * The communicator is freed only where all ranks are known to do the same: that may be collective, and
 * MPI_Finalize does away with it in any case.
 */
static void after_merge(struct ar_mpi_abi *abi, bool goes_on)
{
    ar_recording.is_merged = true;
    abi->link.close();
    ar_family_remove(&merged_family);
    if (goes_on)
        return;
    ar_own_files_remove(merged_family.n_running);
    ar_after_run_if_signal();
    if (merged_family.n_running) /* those that ended meanwhile found no run to add themselves to */
        ar_end_family_if_last();
}

static void without_merge(const char *why, bool goes_on)
{
    ar_recording.is_given_up = true;
    if (!goes_on)
        ar_end_unmerged(why);
    else if (ar_closing_prints())
        ar_closing_say_where(why, ar_recording.identity.job_dir);
}

static void on_finalizing(struct ar_mpi_abi *abi, struct ar_mpi_call *call)
{
    struct ar_error err = {"out of memory"};
    bool goes_on = Py_IsInitialized();

    if (call)
        call->end = call->start; /* until all have come, all time is ours */
    if (ar_recording_has_ended() || ar_recording.linked != abi)
        return;

    enum ar_status status = ar_finalize_assemble(&abi->link, ar_recording.merge_timeout_ns, &err);

    if (status == AR_OK) {
        ar_mpi_all_have_come(call, AR_SYNC_END);
        compare_clocks(abi, AR_CLOCK_AT_FINALIZE);
    }
    pause_recording(goes_on);
    if (status == AR_OK)
        status = ar_finalize_merge(&merge_steps, &err);
    ar_recording.linked = NULL;
    if (status == AR_OK)
        after_merge(abi, goes_on);
    else
        without_merge(err.text, goes_on);
    ar_family_free(&merged_family);
}

/* ---- MPI_Comm_spawn -------------------------------------------------------------------------- */

/* Pythons that MPI starts are the launcher's children: they find us by a note. */
static void on_spawning(void)
{
    if (!ar_recording_is_open())
        return;
    ar_family_expect();
    ar_spawning_begin(&ar_recording.identity, ar_process_passed_on());
}

/* ---- the source -------------------------------------------------------------------------------- */

static enum ar_status start(const struct ar_options *options, struct ar_error *err)
{
    static const struct ar_mpi_events events = {
        .initialized = on_initialized,
        .finalizing = on_finalizing,
        .spawning = on_spawning,
        .spawned = ar_spawning_end,
    };

    (void)options, (void)err;
    ar_mpi_hook_start(&events, ar_process_wrapper);
    return AR_OK;
}

/* In the child MPI is not there, nor are the blocks of the live file that the thread has counted in. */
static void on_fork(enum ar_fork_step step)
{
    ar_spawning_forking(step);
    ar_mpi_hook_forking(step);
    ar_comms_forking(step);
    ar_requests_forking(step);
    if (step != AR_FORK_CHILD)
        return;
    ar_recording.linked = NULL;
    if (ar_self)
        ar_mpi_thread_end(ar_self);
}

const struct ar_source ar_source_mpi = {
    .name = "mpi",
    .start = start,
    .thread_ends = ar_mpi_thread_end,
    .fork = on_fork,
};

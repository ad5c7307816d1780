// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/endings.h"

#include "format/live_names.h"
#include "format/profile.h"
#include "runtime/closing_line.h"
#include "runtime/keep.h"
#include "runtime/livemap.h"
#include "runtime/output.h"
#include "runtime/own_files.h"
#include "runtime/recording_state.h"
#include "runtime/rollcall.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- the end of a process without MPI, or with --per-rank --------------------------------------- */

static void end_root(void)
{
    const struct ar_identity *identity = &ar_recording.identity;
    bool expected = ar_family_is_expected(identity);
    int lock = expected ? ar_family_lock(identity) : -1;
    struct ar_error err = {"out of memory"};
    struct ar_profile p = {0};
    struct ar_family family = {0};
    enum ar_status status;

    ar_own_file_close();
    status = ar_own_family_profile(&p, &family, expected, lock, &err);
    if (status == AR_OK)
        status = ar_output_write(identity, &p, ar_recording.written, &err);
    if (status == AR_OK) {
        ar_closing_say_written(ar_recording.written, &p);
        ar_family_remove(&family);
        ar_own_files_remove(family.n_running);
    } else {
        ar_closing_say_where(err.text, ar_recording.identity.job_dir);
    }
    ar_family_free(&family);
    ar_family_unlock(lock);
    ar_profile_free(&p);
}

/* ---- the end of a child ---------------------------------------------------------------------- */

/* In place of its live file: smaller, since the parent's names are not in it. */
static void convert_to_run_file(void)
{
    char path[AR_PATH_BYTES], written[AR_PATH_BYTES];
    struct ar_profile p = {0};
    struct ar_error err;

    ar_live_name_beside(path, sizeof path, ar_livemap_path(), AR_NAME_RUN);
    if (ar_own_profile(&p, &err) == AR_OK && ar_output_write_to(&p, path, written, &err) == AR_OK)
        ar_livemap_remove();
    ar_profile_free(&p);
}

/*
 * The last of the family: no other process will. A rank's run is that of all ranks, which no child can
 * write: if it is not there, the ranks have not merged, and the files stay.
 */
static void complete(int lock, bool says)
{
    const struct ar_identity *identity = &ar_recording.identity;
    bool is_shared = ar_family_root_is_rank(identity) && !ar_output_is_per_rank();
    int run_lock = is_shared ? ar_family_lock_ranks(identity) : lock;
    struct ar_family family = {0};
    struct ar_profile p = {0};
    struct ar_error err;
    enum ar_status status = run_lock >= 0 ? ar_profile_init(&p) : AR_IO;

    if (status == AR_OK)
        status = ar_family_gather(&family, identity, lock, "", &p);
    if (status == AR_OK)
        status = ar_output_add(identity, &p, ar_recording.written, &err);
    if (status == AR_BAD && !is_shared)
        status = ar_output_write(identity, &p, ar_recording.written, &err);
    if (status == AR_OK) {
        if (says)
            ar_closing_say_written(ar_recording.written, &p);
        ar_family_remove(&family);
        ar_own_files_remove(0);
    }
    ar_family_free(&family);
    ar_profile_free(&p);
    if (is_shared)
        ar_family_unlock(run_lock);
}

/*
 * A program that has become mpiexec is waited for by no process that could write the run: the last of
 * its ranks does. Other children of such a program leave it at their files, since each may be
 * followed by thousands.
 */
static void complete_if_last(int lock)
{
    const struct ar_identity *identity = &ar_recording.identity;
    bool is_alone = identity->world_rank != AR_RANK_NONE && !ar_family_root_is_rank(identity) &&
                    ar_family_root_is_lost(identity);

    if (lock >= 0 && (is_alone || ar_family_root_is_done(identity)) && !ar_family_runs(identity))
        complete(lock, is_alone);
}

void ar_end_family_if_last(void)
{
    int lock = ar_family_lock(&ar_recording.identity);

    complete_if_last(lock);
    ar_family_unlock(lock);
}

static void end_child(void)
{
    int lock = ar_family_lock(&ar_recording.identity);

    ar_own_file_close();
    convert_to_run_file();
    complete_if_last(lock);
    ar_family_unlock(lock);
}

/* ---- the end of ranks that are not merged ------------------------------------------------------ */

void ar_end_unmerged(const char *why)
{
    const char *directory = ar_own_files_keep();

    if (directory)
        ar_closing_say_where(why, directory);
}

/* It has been said where they are; if they are moved, that is said again. */
static void end_given_up(void)
{
    ar_own_file_close();
    if (*ar_keep_directory())
        ar_end_unmerged("the ranks were not merged");
}

static void end_kept(void)
{
    const char *directory = ar_keep_directory();

    ar_own_file_close();
    if (!*directory || !ar_keep_files(true)) {
        ar_end_unmerged("live files could not be copied to the output");
        return;
    }
    ar_own_family_leave();
    ar_closing_say_kept(directory);
}

/* ---- the end of a rank that went on after MPI_Finalize ---------------------------------------- */

/* All of another rank, or of this one: what it is called tells its files. */
static void act_for_rank(struct ar_identity *identity, uint32_t rank)
{
    ar_live_name_process(identity->stem, sizeof identity->stem, ar_rollcall_path(rank));
}

/* One rank and its children, as they are now. Its own file a process reads where it is. */
static enum ar_status member_profile(struct ar_profile *p, struct ar_family *family, uint32_t rank,
                                     struct ar_error *err)
{
    struct ar_identity member = ar_recording.identity;
    bool is_self = rank == ar_recording.identity.world_rank;
    enum ar_status status = is_self ? ar_own_profile(p, err) : ar_profile_init(p);

    act_for_rank(&member, rank);
    if (status == AR_OK)
        status = ar_family_gather(family, &member, -1, ar_livemap_path(), p);
    return status;
}

static enum ar_status gather_ranks(struct ar_profile *p, struct ar_family *family,
                                   struct ar_error *err)
{
    enum ar_status status = ar_profile_init(p);

    for (uint32_t rank = 0; status == AR_OK && rank < ar_rollcall_found(); rank++) {
        struct ar_profile one = {0};

        status = member_profile(&one, family, rank, err);
        if (status == AR_OK)
            status = ar_profile_merge(p, &one);
        ar_profile_free(&one);
    }
    return status;
}

static void leave_ranks(const struct ar_family *family)
{
    struct ar_identity member = ar_recording.identity;

    ar_family_remove(family);
    for (uint32_t rank = 0; rank < ar_rollcall_found() && family->n_running == 0; rank++) {
        act_for_rank(&member, rank);
        ar_family_leave(&member);
    }
    ar_own_files_remove(family->n_running);
}

/* The run that was written in MPI_Finalize, or another one if it has been moved away. */
static void complete_ranks(void)
{
    struct ar_error err = {"out of memory"};
    struct ar_family family = {0};
    struct ar_profile p = {0};
    enum ar_status status = gather_ranks(&p, &family, &err);

    if (status == AR_OK)
        status = ar_output_add(&ar_recording.identity, &p, ar_recording.written, &err);
    if (status == AR_BAD)
        status = ar_output_write(&ar_recording.identity, &p, ar_recording.written, &err);
    if (status == AR_OK) {
        ar_closing_say_written(ar_recording.written, &p);
        leave_ranks(&family);
    } else {
        ar_closing_say_where(err.text, ar_recording.identity.job_dir);
    }
    ar_family_free(&family);
    ar_profile_free(&p);
}

/*
 * No rank can see the files of all. They hold everything, from the beginning on, and take the place
 * of what is in the run.
 */
static void end_rank_of_site(void)
{
    ar_own_file_close();

    const char *directory = ar_own_files_keep();

    if (directory)
        ar_closing_say_up_to_finalize(ar_recording.written, directory);
}

/*
 * What was done after MPI_Finalize is in the live files: the last rank that ends adds all of them,
 * so that no rank waits and the run is read and written once.
 */
static void end_rank(void)
{
    if (!ar_rollcall_is_one_site()) {
        end_rank_of_site();
        return;
    }

    int lock = ar_family_lock_ranks(&ar_recording.identity);

    ar_own_file_close();
    if (lock >= 0 && ar_rollcall_others_ended(ar_recording.identity.world_rank))
        complete_ranks();
    ar_family_unlock(lock);
}

/* ---- the end of a rank that held no roll call ------------------------------------------------- */

/* MPI was not begun at all, or in a process that this one has started or become. */
static bool had_no_roll_call(void)
{
    return !ar_live_header()->rank_confirmed || ar_recording.identity.is_child;
}

/*
 * A short program may end before the launcher has started all the others, which are to be here.
 * None is older than a second when it is waited for.
 */
static void await_starting_ranks(uint32_t world_size)
{
    uint64_t until_ns = ar_live_header()->start.real_ns + UINT64_C(1000000000);
    struct timespec short_while = {.tv_nsec = 20000000};

    for (int i = 0; i < 50 && ar_recording.identity.local_size >= world_size &&
                    ar_clock_ns(CLOCK_REALTIME) < until_ns &&
                    ar_rollcall_at_end(&ar_recording.identity, world_size) < world_size;
         i++)
        nanosleep(&short_while, NULL);
}

/*
 * Where all ranks' files are, the last one that ends makes the run of them: no rank waits, and
 * none need have talked to another. Returns how many there are.
 */
static uint32_t end_as_last(uint32_t world_size)
{
    await_starting_ranks(world_size);

    int lock = ar_family_lock_ranks(&ar_recording.identity);
    uint32_t n_found = 0;

    ar_own_file_close();
    if (lock >= 0)
        n_found = ar_rollcall_at_end(&ar_recording.identity, world_size);
    if (n_found == world_size && ar_rollcall_others_ended(ar_recording.identity.world_rank))
        complete_ranks();
    ar_family_unlock(lock);
    return n_found;
}

static void end_without_roll_call(void)
{
    const struct ar_live_header *h = ar_live_header();
    uint32_t world_size = h->world_size;
    bool used_mpi = h->rank_confirmed;
    uint32_t n_found = end_as_last(world_size);
    char why[256];

    if (n_found == world_size)
        return;
    if (n_found)
        snprintf(why, sizeof why,
                 "%sonly %u of %u ranks were found here when this one ended, so they were not "
                 "merged",
                 used_mpi ? "" : "MPI_Init was not called, and ", n_found, world_size);
    else
        snprintf(why, sizeof why,
                 "the other ranks could not be told for sure when this one ended, "
                 "so they were not merged");
    ar_end_unmerged(why);
}

/* ---- which end it is -------------------------------------------------------------------------- */

/* false: there are other ranks, which are to be merged. */
static bool end_here(void)
{
    bool is_root = ar_identity_is_root(&ar_recording.identity);

    if (is_root && ar_recording.is_given_up)
        end_given_up();
    else if (is_root && ar_recording.is_merged)
        end_rank();
    else if (is_root && ar_recording.keeps && ar_live_header()->world_size > 1)
        end_kept();
    else if (is_root && ar_live_header()->world_size > 1 && !ar_output_is_per_rank())
        return false;
    else if (is_root)
        end_root();
    else
        end_child();
    return true;
}

static void say_why_not_merged(void)
{
    const struct ar_live_header *h = ar_live_header();
    uint32_t n_known = ar_rollcall_known();
    char why[256];

    if (ar_recording.linked)
        snprintf(why, sizeof why, "MPI_Finalize was not called, so the ranks were not merged");
    else if (ar_rollcall_found() == h->world_size || n_known == h->world_size)
        snprintf(why, sizeof why, "the ranks did not agree in time, so they were not merged");
    else
        snprintf(why, sizeof why,
                 "only %u of %u ranks were found%s, so they were not merged (are all run with "
                 "allranks? on several nodes, give an output or a --live-dir that they share)",
                 n_known ? n_known : ar_rollcall_found(), h->world_size, n_known ? "" : " here");
    ar_end_unmerged(why);
}

void ar_end_hold_timers_back(void)
{
    static const int signals[] = {SIGALRM, SIGVTALRM, SIGPROF, SIGUSR1, SIGUSR2, SIGIO};
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaddset(&set, signals[i]);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void ar_end_at_python_exit(bool says_nothing)
{
    if (ar_recording_has_ended())
        return;
    if (says_nothing)
        ar_closing_be_quiet();
    end_here();
}

void ar_end_cancelled(void)
{
    if (ar_recording_has_ended())
        return;
    ar_own_file_close();
    ar_own_files_remove(0);
}

void ar_end_at_exit(void)
{
    if (ar_recording_has_ended())
        return;
    ar_end_hold_timers_back();
    if (end_here())
        return;
    if (had_no_roll_call()) {
        end_without_roll_call();
        return;
    }
    ar_own_file_close();
    say_why_not_merged();
}

void ar_end_at_once(void)
{
    if (ar_recording_is_own())
        ar_end_at_exit();
}

void ar_end_already_saved(void)
{
    if (!ar_family_is_expected(&ar_recording.identity))
        ar_own_files_remove(0);
}

void ar_end_by_exec(bool replaced)
{
    if (!ar_recording_is_open())
        return;
    ar_livemap_stamp();
    __atomic_store_n(&ar_live_header()->state, replaced ? AR_LIVE_REPLACED : AR_LIVE_RUNNING,
                     __ATOMIC_RELEASE);
}

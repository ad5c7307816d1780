// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/own_files.h"

#include "format/live_profile.h"
#include "format/livefile.h"
#include "runtime/closing_line.h"
#include "runtime/keep.h"
#include "runtime/livemap.h"
#include "runtime/recording_state.h"
#include "runtime/rollcall.h"
#include "runtime/started.h"
#include "runtime/tree.h"

#include <time.h>

void ar_own_file_stamp(void)
{
    ar_started_write(ar_recording.identity.pid, ar_recording.identity.pid_start);
    ar_livemap_stamp();
}

void ar_own_file_close(void)
{
    ar_threads_stop();
    ar_own_file_stamp();
    __atomic_store_n(&ar_live_header()->state, AR_LIVE_FINISHED, __ATOMIC_RELEASE);
    ar_recording.finished = true;
}

/* Encoding, writing and removing take a fifth of the time of reading, which is over by now. */
#define END_PER_READING 1.2

static void note_end(struct ar_process *process, uint64_t reading_ns)
{
    uint64_t ns = (uint64_t)(END_PER_READING * (double)reading_ns);

    process->overheads_ns[AR_OVERHEAD_END] += ns;
    process->overhead_ns += ns;
}

enum ar_status ar_own_profile(struct ar_profile *p, struct ar_error *err)
{
    uint64_t begin_ns = ar_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    struct ar_live live;
    enum ar_status status = ar_profile_init(p);

    if (status == AR_OK)
        status =
            ar_live_in_place(&live, ar_live_base, ar_livemap_allocated(), ar_livemap_path(), err);
    if (status == AR_OK) {
        live.with_trace = ar_live_find_traces(&live, ar_livemap_path()) == AR_OK;
        status = ar_profile_add_live(p, &live, 0, err);
        ar_live_close(&live);
    }
    if (status == AR_OK && p->n_processes)
        note_end(&p->processes[p->n_processes - 1],
                 ar_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns);
    return status;
}

enum ar_status ar_own_family_profile(struct ar_profile *p, struct ar_family *family, bool expected,
                                     int lock, struct ar_error *err)
{
    enum ar_status status = ar_own_profile(p, err);

    if (status == AR_OK && expected)
        status = ar_family_gather(family, &ar_recording.identity, lock, ar_livemap_path(), p);
    return status;
}

void ar_own_files_prepare_to_keep(void)
{
    ar_keep_prepare(&ar_recording.identity, ar_recording.keeps);
    ar_closing_prepare_sigterm();
}

void ar_own_files_remove(size_t n_running)
{
    ar_livemap_remove();
    ar_rollcall_leave();
    if (n_running == 0)
        ar_family_leave(&ar_recording.identity);
    ar_identity_leave(&ar_recording.identity);
}

void ar_own_family_leave(void)
{
    if (ar_family_runs(&ar_recording.identity))
        return;
    ar_family_leave(&ar_recording.identity);
    ar_identity_leave(&ar_recording.identity);
}

const char *ar_own_files_keep(void)
{
    bool is_kept = ar_keep_files(true);

    if (is_kept)
        ar_own_family_leave();
    if (is_kept ? !ar_closing_prints_for_nodes() : !ar_closing_prints())
        return NULL;
    return is_kept ? ar_keep_directory() : ar_recording.identity.job_dir;
}

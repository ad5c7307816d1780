// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/recording.h"

#include "format/profile.h"
#include "format/runfile.h"
#include "runtime/c_numbers.h"
#include "runtime/finalize_merge.h"
#include "runtime/functions.h"
#include "runtime/identity.h"
#include "runtime/livemap.h"
#include "runtime/mpi_abi.h"
#include "runtime/mpi_hook.h"
#include "runtime/rollcall.h"
#include "runtime/tasks.h"
#include "runtime/tree.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    struct ar_identity identity;
    char output[AR_PATH_BYTES];
    bool quiet;
    bool finished;             /* written, or given up with a word: nothing is left to do at exit */
    struct ar_mpi_abi *linked; /* MPI on which all ranks can merge */
    dev_t stderr_device;
    ino_t stderr_inode;
} recording;

/* The program may have closed its stderr, and the number may be a file of its own by now. */
static bool stderr_is_as_it_was(void)
{
    struct stat st;

    return fstat(STDERR_FILENO, &st) == 0 && st.st_dev == recording.stderr_device &&
           st.st_ino == recording.stderr_inode;
}

/*
 * A reader of stderr that has gone, or a file that may not become larger, must not kill the program,
 * whatever it does with the signal.
 */
static void write_without_signal(const char *text, size_t n_bytes)
{
    struct timespec at_once = {0};
    sigset_t deadly, before;

    sigemptyset(&deadly);
    sigaddset(&deadly, SIGPIPE);
    sigaddset(&deadly, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &deadly, &before);
    if (write(STDERR_FILENO, text, n_bytes) < 0 && (errno == EPIPE || errno == EFBIG) &&
        !sigismember(&before, errno == EPIPE ? SIGPIPE : SIGXFSZ))
        sigtimedwait(&deadly, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* One line on stderr, in one write so that ranks do not mix. */
__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
    char line[4 * AR_PATH_BYTES];
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (n > (int)sizeof line - 1)
        n = (int)sizeof line - 1;
    if (n > 0 && stderr_is_as_it_was())
        write_without_signal(line, (size_t)n);
}

/* The first rank that is recorded speaks for all. */
static bool speaks(void)
{
    return recording.identity.world_rank == AR_RANK_NONE ||
           recording.identity.world_rank == ar_rollcall_first();
}

static void say_what_is_left(const char *why)
{
    if (speaks())
        say("allranks: %s; what was recorded can be had by: allranks merge %s -o %s\n", why,
            recording.identity.job_dir, recording.output);
}

static void say_written(const char *path, const struct ar_profile *p)
{
    if (recording.quiet)
        return;
    const char *name = strrchr(path, '/');
    char cwd[AR_PATH_BYTES];
    size_t n = name ? (size_t)(name - path) : 0;

    /* In the current directory the name alone is what the user types. */
    if (getcwd(cwd, sizeof cwd) && strlen(cwd) == n && strncmp(cwd, path, n) == 0)
        path = name + 1;
    say("allranks: %zu %s recorded in %s; see: allranks report %s\n", p->n_processes,
        p->n_processes == 1 ? "process" : "ranks", path, path);
}

/* ---- the end --------------------------------------------------------------------------------- */

/*
 * Stops this thread's events and makes the file final. Other threads may go on: what they add is
 * not read.
 */
static void close_live_file(void)
{
    ar_threads_stop();
    ar_livemap_stamp();
    __atomic_store_n(&ar_live_header()->state, AR_LIVE_FINISHED, __ATOMIC_RELEASE);
    recording.finished = true;
}

static enum ar_status own_profile(struct ar_profile *p, struct ar_error *err)
{
    struct ar_live live;
    enum ar_status status = ar_profile_init(p);

    if (status == AR_OK)
        status =
            ar_live_in_place(&live, ar_live_base, ar_livemap_allocated(), ar_livemap_path(), err);
    if (status == AR_OK) {
        status = ar_profile_add_live(p, &live, 0, err);
        ar_live_close(&live);
    }
    return status;
}

static enum ar_status write_run(struct ar_profile *p, struct ar_error *err)
{
    struct ar_bytes bytes = {0};
    char written[AR_PATH_BYTES];
    enum ar_status status = ar_run_encode(p, &bytes);

    if (status == AR_OK)
        status = ar_run_write(&bytes, recording.output, written, sizeof written, err);
    else
        ar_fail(err, status, "%s", ar_status_text(status));
    if (status == AR_OK)
        say_written(written, p);
    ar_bytes_free(&bytes);
    return status;
}

static void leave_nothing(void)
{
    ar_livemap_remove();
    ar_rollcall_leave();
    ar_identity_leave(&recording.identity);
}

static void end_alone(void)
{
    struct ar_error err = {"out of memory"};
    struct ar_profile p = {0};
    enum ar_status status;

    close_live_file();
    status = own_profile(&p, &err);
    if (status == AR_OK)
        status = write_run(&p, &err);
    if (status == AR_OK)
        leave_nothing();
    else
        say_what_is_left(err.text);
    ar_profile_free(&p);
}

static void say_why_not_merged(void)
{
    const struct ar_live_header *h = ar_live_header();
    char why[256];

    if (!h->rank_confirmed)
        snprintf(why, sizeof why, "MPI was not used, so the ranks were not merged");
    else if (recording.linked)
        snprintf(why, sizeof why, "MPI_Finalize was not called, so the ranks were not merged");
    else if (ar_rollcall_found() == h->world_size)
        snprintf(why, sizeof why, "the ranks did not agree in time, so they were not merged");
    else
        snprintf(why, sizeof why,
                 "only %u of %u ranks were found here, so they were not merged (are all run with "
                 "allranks? on several nodes, give a shared --live-dir)",
                 ar_rollcall_found(), h->world_size);
    say_what_is_left(why);
}

/*
 * A timer that the program had a handler for would kill it once the interpreter has put its
 * handlers away. That moment exists without us, but it is not for us to make it longer.
 */
static void hold_timers_back(void)
{
    static const int signals[] = {SIGALRM, SIGVTALRM, SIGPROF, SIGUSR1, SIGUSR2, SIGIO};
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaddset(&set, signals[i]);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void ar_recording_end_without_mpi(void)
{
    if (ar_live_base && !recording.finished && ar_live_header()->world_size <= 1)
        end_alone();
}

void ar_recording_cancel(void)
{
    if (!ar_live_base || recording.finished)
        return;
    close_live_file();
    leave_nothing();
}

/* What Python's own exit did not see: MPI that was not finalized, an exit from C. */
static void at_exit(void)
{
    if (!ar_live_base || recording.finished)
        return;
    hold_timers_back();
    if (ar_live_header()->world_size <= 1) {
        end_alone();
        return;
    }
    close_live_file();
    say_why_not_merged();
}

/* ---- MPI ------------------------------------------------------------------------------------- */

void ar_mpi_initialized(struct ar_mpi_abi *abi)
{
    int rank, size;

    if (!ar_live_base || recording.finished || ar_live_header()->rank_confirmed ||
        abi->link.rank_and_size(&rank, &size) < 0)
        return;

    struct ar_live_header *h = ar_live_header();

    h->world_rank = recording.identity.world_rank = (uint32_t)rank;
    h->world_size = recording.identity.world_size = (uint32_t)size;
    h->rank_confirmed = 1;
    if (size > 1 && ar_rollcall(&recording.identity, (uint32_t)rank, (uint32_t)size) &&
        abi->link.open() == AR_OK)
        recording.linked = abi;
}

void ar_mpi_finalizing(struct ar_mpi_abi *abi)
{
    struct ar_error err = {"a rank ended before the others could merge"};
    struct ar_profile p = {0};
    enum ar_status status;

    if (!ar_live_base || recording.finished || recording.linked != abi)
        return;
    if (Py_IsInitialized())
        ar_livemap_fact("ended",
                        "with MPI_Finalize; what the program did after it is not recorded");
    else
        hold_timers_back();
    close_live_file();
    status = own_profile(&p, &err);
    status = ar_finalize_merge(&abi->link, status == AR_OK ? &p : NULL, write_run, &err);
    abi->link.close();
    if (status == AR_OK)
        leave_nothing();
    else
        say_what_is_left(err.text);
    ar_profile_free(&p);
}

/* ---- the beginning --------------------------------------------------------------------------- */

static void in_forked_child(void)
{
    ar_livemap_forget();
    ar_threads_forget();
    ar_functions_forget();
    ar_c_numbers_forget();
    ar_tasks_forget();
    ar_tree_forget_marks();
    recording.finished = true;
}

static void remember_stderr(void)
{
    struct stat st;

    if (fstat(STDERR_FILENO, &st) == 0) {
        recording.stderr_device = st.st_dev;
        recording.stderr_inode = st.st_ino;
    }
}

enum ar_status ar_recording_start(const struct ar_options *options, struct ar_error *err)
{
    enum ar_status status;

    snprintf(recording.output, sizeof recording.output, "%s", options->output);
    recording.quiet = options->quiet;
    remember_stderr();
    ar_clock_choose();
    status = ar_identity_find(&recording.identity, options->live_dir, err);
    if (status == AR_OK)
        status = ar_livemap_create(&recording.identity, options->n_bytes_max, err);
    if (status < 0)
        return status;
    if (!ar_thread_attach()) {
        ar_livemap_remove();
        return ar_fail(err, AR_FULL, "%s: no room for a first thread", ar_livemap_path());
    }
    pthread_atfork(NULL, NULL, in_forked_child);
    atexit(at_exit);
    ar_mpi_hook_start();
    return AR_OK;
}

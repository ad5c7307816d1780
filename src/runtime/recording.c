// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/recording.h"

#include "format/profile.h"
#include "format/runfile.h"
#include "runtime/family.h"
#include "runtime/finalize_merge.h"
#include "runtime/functions.h"
#include "runtime/identity.h"
#include "runtime/livemap.h"
#include "runtime/mpi_abi.h"
#include "runtime/mpi_hook.h"
#include "runtime/process_hook.h"
#include "runtime/rollcall.h"
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
    bool with_children;
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
        say("allranks: %s; what was recorded can be had by: allranks recover %s -o %s\n", why,
            recording.identity.job_dir, recording.output);
}

/* "1 process", "4 ranks and 8 child processes, of which 1 still runs" */
static const char *who(const struct ar_profile *p, size_t n_running)
{
    static char text[160];
    size_t n_children = p->n_processes - p->n_roots;
    int n =
        snprintf(text, sizeof text, "%zu %s", p->n_roots, p->n_roots == 1 ? "process" : "ranks");

    if (n_children)
        n += snprintf(text + n, sizeof text - (size_t)n, " and %zu child process%s", n_children,
                      n_children == 1 ? "" : "es");
    if (n_running)
        snprintf(text + n, sizeof text - (size_t)n, " (%zu still running, to be added at %s end)",
                 n_running, n_running == 1 ? "its" : "their");
    return text;
}

static void say_written(const char *path, const struct ar_profile *p, size_t n_running)
{
    if (recording.quiet)
        return;
    const char *name = strrchr(path, '/');
    char cwd[AR_PATH_BYTES];
    size_t n = name ? (size_t)(name - path) : 0;

    /* In the current directory the name alone is what the user types. */
    if (getcwd(cwd, sizeof cwd) && strlen(cwd) == n && strncmp(cwd, path, n) == 0)
        path = name + 1;
    say("allranks: %s recorded in %s; see: allranks report %s\n", who(p, n_running), path, path);
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

/* With what its children have left, or have so far, if there may be any. */
static enum ar_status family_profile(struct ar_profile *p, struct ar_family *family, bool expected,
                                     int lock, struct ar_error *err)
{
    enum ar_status status = own_profile(p, err);

    if (status == AR_OK && expected)
        status = ar_family_gather(family, &recording.identity, lock, ar_livemap_path(), p);
    return status;
}

static enum ar_status encode(struct ar_profile *p, struct ar_bytes *bytes, struct ar_error *err)
{
    enum ar_status status = ar_run_encode(p, bytes);

    return status < 0 ? ar_fail(err, status, "%s", ar_status_text(status)) : status;
}

static enum ar_status write_run_to(struct ar_profile *p, const char *path, char *written,
                                   struct ar_error *err)
{
    struct ar_bytes bytes = {0};
    enum ar_status status = encode(p, &bytes, err);

    if (status == AR_OK)
        status = ar_run_write(&bytes, path, written, AR_PATH_BYTES, err);
    ar_bytes_free(&bytes);
    return status;
}

static enum ar_status write_run_of_ranks(struct ar_profile *p, struct ar_error *err)
{
    char written[AR_PATH_BYTES];
    enum ar_status status = write_run_to(p, recording.output, written, err);

    if (status == AR_OK)
        say_written(written, p, 0);
    return status;
}

/* Children that still run need the directory, and what is in it about the family. */
static void leave_nothing(size_t n_running)
{
    ar_livemap_remove();
    ar_rollcall_leave();
    if (n_running == 0)
        ar_family_leave(&recording.identity);
    ar_identity_leave(&recording.identity);
}

static void end_root(void)
{
    const struct ar_identity *identity = &recording.identity;
    bool expected = ar_family_is_expected(identity);
    int lock = expected ? ar_family_lock(identity) : -1;
    struct ar_error err = {"out of memory"};
    struct ar_profile p = {0};
    struct ar_family family = {0};
    char written[AR_PATH_BYTES];
    enum ar_status status;

    close_live_file();
    status = family_profile(&p, &family, expected, lock, &err);
    if (status == AR_OK)
        status = write_run_to(&p, recording.output, written, &err);
    if (status == AR_OK) {
        say_written(written, &p, family.n_running);
        ar_family_remove(&family);
        leave_nothing(family.n_running);
    } else {
        say_what_is_left(err.text);
    }
    ar_family_free(&family);
    ar_family_unlock(lock);
    ar_profile_free(&p);
}

/* ---- the end of a child ---------------------------------------------------------------------- */

/* In place of its live file: smaller, since the parent's names are not in it. */
static void become_run_file(void)
{
    char path[AR_PATH_BYTES], written[AR_PATH_BYTES];
    struct ar_profile p = {0};
    struct ar_error err;
    size_t n = strlen(ar_livemap_path()) - strlen(".live");

    snprintf(path, sizeof path, "%.*s.allranks", (int)n, ar_livemap_path());
    if (own_profile(&p, &err) == AR_OK && write_run_to(&p, path, written, &err) == AR_OK)
        ar_livemap_remove();
    ar_profile_free(&p);
}

/* The root wrote its run while others still ran: they are in it as they were then, or not yet. */
static enum ar_status add_to_run(const char *path, struct ar_profile *run, struct ar_profile *p,
                                 struct ar_error *err)
{
    struct ar_bytes bytes = {0};
    enum ar_status status = ar_profile_merge(run, p);

    if (status == AR_OK)
        status = encode(run, &bytes, err);
    if (status == AR_OK)
        status = ar_run_replace(&bytes, path, err);
    ar_bytes_free(&bytes);
    return status;
}

#define MAX_RUNS 100 /* of the same name: looking for ours among them has an end */

/* The file may have been moved, and another one may have its name: what is in it tells. */
static enum ar_status add_to_written(struct ar_profile *p, struct ar_error *err)
{
    char path[AR_PATH_BYTES];

    for (int n = 1; n < MAX_RUNS && ar_run_numbered(recording.output, n, path, sizeof path) &&
                    access(path, F_OK) == 0;
         n++) {
        struct ar_profile run;

        if (ar_run_read(&run, path, err) < 0)
            continue;

        bool is_ours = ar_family_wrote(&recording.identity, &run);
        enum ar_status status = is_ours ? add_to_run(path, &run, p, err) : AR_OK;

        ar_profile_free(&run);
        if (is_ours)
            return status;
    }
    return AR_BAD;
}

/* The last of the family: nobody else will. */
static void complete(int lock)
{
    const struct ar_identity *identity = &recording.identity;
    char written[AR_PATH_BYTES];
    struct ar_family family = {0};
    struct ar_profile p;
    struct ar_error err;
    enum ar_status status = ar_profile_init(&p);

    if (status == AR_OK)
        status = ar_family_gather(&family, identity, lock, "", &p);
    if (status == AR_OK && add_to_written(&p, &err) < 0)
        status = write_run_to(&p, recording.output, written, &err);
    if (status == AR_OK) {
        ar_family_remove(&family);
        leave_nothing(0);
    }
    ar_family_free(&family);
    ar_profile_free(&p);
}

static void end_child(void)
{
    const struct ar_identity *identity = &recording.identity;
    int lock = ar_family_lock(identity);

    close_live_file();
    become_run_file();
    if (lock >= 0 && !ar_family_root_is_rank(identity) && ar_family_root_is_done(identity) &&
        !ar_family_runs(identity))
        complete(lock);
    ar_family_unlock(lock);
}

static bool has_ended(void)
{
    return !ar_live_base || recording.finished;
}

/* false: there are other ranks, which are to be merged. */
static bool end_here(void)
{
    bool is_root = ar_identity_is_root(&recording.identity);

    if (is_root && ar_live_header()->world_size > 1)
        return false;
    if (is_root)
        end_root();
    else
        end_child();
    return true;
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
    if (!has_ended())
        end_here();
}

void ar_recording_cancel(void)
{
    if (has_ended())
        return;
    close_live_file();
    leave_nothing(0);
}

/* What Python's own exit did not see: MPI that was not finalized, an exit from C. */
static void at_exit(void)
{
    if (has_ended())
        return;
    hold_timers_back();
    if (end_here())
        return;
    close_live_file();
    say_why_not_merged();
}

/* After vfork this is the parent's memory, and not the parent. */
static bool is_this_process(void)
{
    return (uint32_t)getpid() == recording.identity.pid;
}

void ar_recording_ends_at_once(void)
{
    if (is_this_process())
        at_exit();
}

void ar_recording_is_replaced(bool replaced)
{
    if (has_ended() || !is_this_process())
        return;
    ar_livemap_stamp();
    __atomic_store_n(&ar_live_header()->state, replaced ? AR_LIVE_REPLACED : AR_LIVE_RUNNING,
                     __ATOMIC_RELEASE);
}

/* ---- MPI ------------------------------------------------------------------------------------- */

void ar_mpi_initialized(struct ar_mpi_abi *abi)
{
    int rank, size;

    if (has_ended() || ar_live_header()->rank_confirmed ||
        abi->link.rank_and_size(&rank, &size) < 0)
        return;

    struct ar_live_header *h = ar_live_header();

    h->world_rank = recording.identity.world_rank = (uint32_t)rank;
    h->world_size = recording.identity.world_size = (uint32_t)size;
    h->rank_confirmed = 1;
    if (!recording.identity.is_child && size > 1 &&
        ar_rollcall(&recording.identity, (uint32_t)rank, (uint32_t)size) &&
        abi->link.open() == AR_OK)
        recording.linked = abi;
}

/* Children of ranks never write a run: the lock is not held while other ranks are waited for. */
static enum ar_status children_profile(struct ar_profile *p, struct ar_family *family,
                                       struct ar_error *err)
{
    bool expected = ar_family_is_expected(&recording.identity);
    int lock = expected ? ar_family_lock(&recording.identity) : -1;
    enum ar_status status = family_profile(p, family, expected, lock, err);

    ar_family_unlock(lock);
    return status;
}

void ar_mpi_finalizing(struct ar_mpi_abi *abi)
{
    struct ar_error err = {"a rank ended before the others could merge"};
    struct ar_profile p = {0};
    struct ar_family family = {0};
    enum ar_status status;

    if (has_ended() || recording.linked != abi)
        return;
    if (Py_IsInitialized())
        ar_livemap_fact("ended",
                        "with MPI_Finalize; what the program did after it is not recorded");
    else
        hold_timers_back();
    close_live_file();
    status = children_profile(&p, &family, &err);
    status = ar_finalize_merge(&abi->link, status == AR_OK ? &p : NULL, write_run_of_ranks, &err);
    abi->link.close();
    if (status == AR_OK) {
        ar_family_remove(&family);
        leave_nothing(family.n_running);
    } else {
        say_what_is_left(err.text);
    }
    ar_family_free(&family);
    ar_profile_free(&p);
}

/* ---- the beginning --------------------------------------------------------------------------- */

/* The locks in the order in which they are taken one inside the other. */
static void forking(enum ar_fork_step step)
{
    ar_mpi_hook_forking(step);
    ar_functions_forking(step);
    ar_threads_forking(step);
    ar_tree_forking(step);
    ar_livemap_forking(step);
}

static void before_fork(void)
{
    forking(AR_FORK_BEFORE);
}

static void in_parent(void)
{
    forking(AR_FORK_PARENT);
    ar_family_expect();
}

/* It may be about to exec: a file of its own is made only when Python goes on in it. */
static void in_child(void)
{
    forking(AR_FORK_CHILD);
    recording.linked = NULL;
}

void ar_recording_forked(void)
{
    struct ar_error err;

    if (recording.finished || ar_live_base)
        return;
    if (recording.with_children && ar_identity_fork(&recording.identity, &err) == AR_OK &&
        ar_family_has_room(&recording.identity) &&
        ar_livemap_adopt(&recording.identity, ar_threads_forked_in(), &err) == AR_OK) {
        ar_family_begin(&recording.identity);
        ar_threads_adopt();
        return;
    }
    if (recording.with_children)
        ar_family_count_lost(&recording.identity);
    ar_livemap_forget();
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

static enum ar_status find_identity(const struct ar_options *options, struct ar_error *err)
{
    if (!*options->stem)
        return ar_identity_find(&recording.identity, options->live_dir, err);

    enum ar_status status = ar_identity_join(&recording.identity, options->stem, err);

    if (status == AR_OK && !ar_family_has_room(&recording.identity)) {
        ar_family_count_lost(&recording.identity);
        status = ar_fail(err, AR_FULL, "%s: too many child processes", options->stem);
    }
    return status;
}

/* Children read the stem in the first line, and options in the others. */
static void pass_on(const char *children)
{
    char *variable = NULL;

    if (children &&
        asprintf(&variable, "ALLRANKS_CHILD=%s\n%s", recording.identity.stem, children) > 0)
        ar_process_pass_on(variable);
    if (children)
        free(variable);
}

enum ar_status ar_recording_start(const struct ar_options *options, struct ar_error *err)
{
    enum ar_status status;

    snprintf(recording.output, sizeof recording.output, "%s", options->output);
    recording.quiet = options->quiet;
    recording.with_children = options->children != NULL;
    remember_stderr();
    ar_clock_choose();
    status = find_identity(options, err);
    if (status == AR_OK)
        status = ar_livemap_create(&recording.identity, options->n_bytes_max, err);
    if (status < 0)
        return status;
    if (!ar_thread_attach()) {
        ar_livemap_remove();
        return ar_fail(err, AR_FULL, "%s: no room for a first thread", ar_livemap_path());
    }
    ar_family_begin(&recording.identity);
    pass_on(options->children);
    pthread_atfork(before_fork, in_parent, in_child);
    atexit(at_exit);
    ar_mpi_hook_start();
    return AR_OK;
}

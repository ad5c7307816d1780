// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/recording.h"

#include "base/file_system.h"
#include "base/text.h"
#include "format/profile.h"
#include "runtime/clock_offsets.h"
#include "runtime/family.h"
#include "runtime/finalize_merge.h"
#include "runtime/functions.h"
#include "runtime/identity.h"
#include "runtime/keep.h"
#include "runtime/livemap.h"
#include "runtime/mpi_abi.h"
#include "runtime/mpi_comms.h"
#include "runtime/mpi_hook.h"
#include "runtime/mpi_requests.h"
#include "runtime/output.h"
#include "runtime/process_hook.h"
#include "runtime/rollcall.h"
#include "runtime/sites.h"
#include "runtime/spawning.h"
#include "runtime/spending.h"
#include "runtime/started.h"
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
    char written[AR_PATH_BYTES]; /* the run file, once there is one */
    bool quiet;
    bool with_children;
    bool keeps;           /* ranks are not to be merged */
    uint64_t patience_ns; /* with ranks that do not come to MPI_Finalize */
    bool finished;        /* written, or given up with a word: nothing is left to do at exit */
    bool is_merged;       /* MPI is over and the ranks' run is written, but the program goes on */
    bool is_given_up;     /* that could not be done, and has been said */
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

/* Paths in it are others' words: of them only what may be shown. The end of the line is ours. */
static size_t end_line(char *line, size_t n_line)
{
    size_t n = ar_text_make_displayable(line, strnlen(line, n_line - 2));

    line[n] = '\n';
    line[n + 1] = '\0';
    return n + 1;
}

/* One line on stderr, in one write so that ranks do not mix. */
__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
    char line[4 * AR_PATH_BYTES];
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (n > 0 && stderr_is_as_it_was())
        write_without_signal(line, end_line(line, sizeof line));
}

bool ar_recording_speaks(void)
{
    return recording.identity.world_rank == AR_RANK_NONE ||
           recording.identity.world_rank == ar_rollcall_first();
}

const char *ar_recording_remote_file_system(void)
{
    return ar_remote_file_system_of(recording.identity.job_dir);
}

const char *ar_recording_directory(void)
{
    return recording.identity.job_dir;
}

/* Of files that are beside the output, where those of other nodes may be, too. */
static bool speaks_for_nodes(void)
{
    return recording.identity.world_rank == ar_rollcall_first_known();
}

/* A path of a command that the user may copy, so never unquoted; `word` is of AR_PATH_BYTES. */
static const char *as_word(const char *path, char *word)
{
    return ar_text_quote(path, word, AR_PATH_BYTES) ? word : "...";
}

static void say_where(const char *why, const char *directory)
{
    char output[AR_PATH_BYTES], words[2][AR_PATH_BYTES];

    ar_output_name_elsewhere(&recording.identity, output);
    say("allranks: %s; what was recorded can be had by: allranks recover %s -o %s", why,
        as_word(directory, words[0]), as_word(output, words[1]));
}

/* Where it was. */
static void say_what_is_left(const char *why)
{
    say_where(why, recording.identity.job_dir);
}

/* ---- what is not merged ---------------------------------------------------------------------- */

/* Said in a signal handler, so it is written down before. */
static char sigterm_line[3 * AR_PATH_BYTES];

static void say_sigterm(void)
{
    if (speaks_for_nodes() && stderr_is_as_it_was())
        write_without_signal(sigterm_line, strlen(sigterm_line));
}

/* As soon as this rank is known, and again when MPI has said which it is. */
static void prepare_to_keep(void)
{
    char output[AR_PATH_BYTES], words[2][AR_PATH_BYTES];

    ar_keep_prepare(&recording.identity, recording.keeps);
    ar_output_name(&recording.identity, output);
    snprintf(sigterm_line, sizeof sigterm_line,
             "allranks: ended by SIGTERM; what was recorded can be had by: allranks recover %s -o "
             "%s",
             as_word(ar_keep_directory(), words[0]), as_word(output, words[1]));
    end_line(sigterm_line, sizeof sigterm_line);
    ar_keep_when_terminated(say_sigterm);
}

/* When the run was written. */
static size_t n_running_in(const struct ar_profile *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_processes; i++)
        n += p->processes[i].state == AR_PROCESS_RUNNING;
    return n;
}

/* "1 process", "4 ranks and 8 child processes (1 still running, to be added at its end)" */
static const char *who(const struct ar_profile *p)
{
    static char text[160];
    size_t n_children = p->n_processes - p->n_roots, n_running = n_running_in(p);
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

/* In the current directory the name alone is what the user types. */
static const char *as_typed(const char *path)
{
    const char *name = strrchr(path, '/');
    char cwd[AR_PATH_BYTES];
    size_t n = name ? (size_t)(name - path) : 0;

    return getcwd(cwd, sizeof cwd) && strlen(cwd) == n && strncmp(cwd, path, n) == 0 ? name + 1
                                                                                     : path;
}

static void say_written(const char *path, const struct ar_profile *p)
{
    char word[AR_PATH_BYTES];

    path = as_typed(path);
    if (recording.quiet)
        return;
    if (!ar_output_is_per_rank() || recording.identity.world_rank == AR_RANK_NONE)
        say("allranks: %s recorded in %s; see: allranks report %s", who(p), path,
            as_word(path, word));
    else if (ar_recording_speaks())
        say("allranks: rank %u recorded in %s, each rank in a file of its own; see: allranks "
            "report %s",
            recording.identity.world_rank, path, as_word(path, word));
}

/* ---- the end --------------------------------------------------------------------------------- */

/*
 * Stops this thread's events and makes the file final. Other threads may go on: what they add is
 * not read.
 */
static void close_live_file(void)
{
    ar_threads_stop();
    ar_started_write(recording.identity.pid, recording.identity.pid_start);
    ar_livemap_stamp();
    __atomic_store_n(&ar_live_header()->state, AR_LIVE_FINISHED, __ATOMIC_RELEASE);
    recording.finished = true;
}

/* Encoding, writing and removing take a fifth of the time of reading, which is over by now. */
#define END_PER_READING 1.2

static void note_end(struct ar_process *process, uint64_t reading_ns)
{
    uint64_t ns = (uint64_t)(END_PER_READING * (double)reading_ns);

    process->overheads_ns[AR_OVERHEAD_END] += ns;
    process->overhead_ns += ns;
}

static enum ar_status own_profile(struct ar_profile *p, struct ar_error *err)
{
    uint64_t begin_ns = ar_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    struct ar_live live;
    enum ar_status status = ar_profile_init(p);

    if (status == AR_OK)
        status =
            ar_live_in_place(&live, ar_live_base, ar_livemap_allocated(), ar_livemap_path(), err);
    if (status == AR_OK) {
        status = ar_profile_add_live(p, &live, 0, err);
        ar_live_close(&live);
    }
    if (status == AR_OK && p->n_processes)
        note_end(&p->processes[p->n_processes - 1],
                 ar_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns);
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

/* Where the program goes on, the closing line comes at its end. */
static enum ar_status write_run_of_ranks(struct ar_profile *p, struct ar_error *err)
{
    enum ar_status status = ar_output_write(&recording.identity, p, recording.written, err);

    if (status == AR_OK && recording.finished)
        say_written(recording.written, p);
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
    enum ar_status status;

    close_live_file();
    status = family_profile(&p, &family, expected, lock, &err);
    if (status == AR_OK)
        status = ar_output_write(identity, &p, recording.written, &err);
    if (status == AR_OK) {
        say_written(recording.written, &p);
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
    if (own_profile(&p, &err) == AR_OK && ar_output_write_to(&p, path, written, &err) == AR_OK)
        ar_livemap_remove();
    ar_profile_free(&p);
}

/*
 * The last of the family: no other process will. A rank's run is that of all ranks, which no child can
 * write: if it is not there, the ranks have not merged, and the files stay.
 */
static void complete(int lock, bool says)
{
    const struct ar_identity *identity = &recording.identity;
    bool is_shared = ar_family_root_is_rank(identity) && !ar_output_is_per_rank();
    int run_lock = is_shared ? ar_family_lock_ranks(identity) : lock;
    struct ar_family family = {0};
    struct ar_profile p = {0};
    struct ar_error err;
    enum ar_status status = run_lock >= 0 ? ar_profile_init(&p) : AR_IO;

    if (status == AR_OK)
        status = ar_family_gather(&family, identity, lock, "", &p);
    if (status == AR_OK)
        status = ar_output_add(identity, &p, recording.written, &err);
    if (status == AR_BAD && !is_shared)
        status = ar_output_write(identity, &p, recording.written, &err);
    if (status == AR_OK) {
        if (says)
            say_written(recording.written, &p);
        ar_family_remove(&family);
        leave_nothing(0);
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
    const struct ar_identity *identity = &recording.identity;
    bool is_alone = identity->world_rank != AR_RANK_NONE && !ar_family_root_is_rank(identity) &&
                    ar_family_root_is_lost(identity);

    if (lock >= 0 && (is_alone || ar_family_root_is_done(identity)) && !ar_family_runs(identity))
        complete(lock, is_alone);
}

static void end_child(void)
{
    int lock = ar_family_lock(&recording.identity);

    close_live_file();
    become_run_file();
    complete_if_last(lock);
    ar_family_unlock(lock);
}

/* ---- the end of ranks that are not merged ------------------------------------------------------ */

/* All of its files have been moved away. A child that still runs finds the directory as it is. */
static void leave_family(void)
{
    if (ar_family_runs(&recording.identity))
        return;
    ar_family_leave(&recording.identity);
    ar_identity_leave(&recording.identity);
}

/* The file is closed. Where this rank's are now; NULL: another one says where. */
static const char *leave_files(void)
{
    bool is_kept = ar_keep_files(true);

    if (is_kept)
        leave_family();
    if (is_kept ? !speaks_for_nodes() : !ar_recording_speaks())
        return NULL;
    return is_kept ? ar_keep_directory() : recording.identity.job_dir;
}

static void leave_unmerged(const char *why)
{
    const char *directory = leave_files();

    if (directory)
        say_where(why, directory);
}

/* It has been said where they were. */
static void end_given_up(void)
{
    close_live_file();
    if (*ar_keep_directory())
        leave_unmerged("the ranks were not merged");
}

static void end_kept(void)
{
    char output[AR_PATH_BYTES], words[2][AR_PATH_BYTES];
    const char *directory = ar_keep_directory();

    close_live_file();
    if (!*directory || !ar_keep_files(true)) {
        leave_unmerged("live files could not be copied to the output");
        return;
    }
    leave_family();
    ar_output_name(&recording.identity, output);
    if (!recording.quiet && speaks_for_nodes())
        say("allranks: %u ranks recorded in %s, each in a live file; to merge them: allranks merge "
            "%s -o %s",
            recording.identity.world_size, as_typed(directory),
            as_word(as_typed(directory), words[0]), as_word(as_typed(output), words[1]));
}

/* ---- the end of a rank that went on after MPI_Finalize ---------------------------------------- */

/* All of another rank, or of this one: what it is called tells its files. */
static void become_member(struct ar_identity *identity, uint32_t rank)
{
    const char *path = ar_rollcall_path(rank);

    snprintf(identity->stem, sizeof identity->stem, "%.*s", (int)(strlen(path) - strlen(".live")),
             path);
}

/* One rank and its children, as they are now. Its own file a process reads where it is. */
static enum ar_status member_profile(struct ar_profile *p, struct ar_family *family, uint32_t rank,
                                     struct ar_error *err)
{
    struct ar_identity member = recording.identity;
    bool is_self = rank == recording.identity.world_rank;
    enum ar_status status = is_self ? own_profile(p, err) : ar_profile_init(p);

    become_member(&member, rank);
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
    struct ar_identity member = recording.identity;

    ar_family_remove(family);
    for (uint32_t rank = 0; rank < ar_rollcall_found() && family->n_running == 0; rank++) {
        become_member(&member, rank);
        ar_family_leave(&member);
    }
    leave_nothing(family->n_running);
}

/* The run that was written in MPI_Finalize, or another one if it has been moved away. */
static void complete_ranks(void)
{
    struct ar_error err = {"out of memory"};
    struct ar_family family = {0};
    struct ar_profile p = {0};
    enum ar_status status = gather_ranks(&p, &family, &err);

    if (status == AR_OK)
        status = ar_output_add(&recording.identity, &p, recording.written, &err);
    if (status == AR_BAD)
        status = ar_output_write(&recording.identity, &p, recording.written, &err);
    if (status == AR_OK) {
        say_written(recording.written, &p);
        leave_ranks(&family);
    } else {
        say_what_is_left(err.text);
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
    char output[AR_PATH_BYTES], words[3][AR_PATH_BYTES];
    const char *run = *recording.written ? recording.written : output;

    ar_output_name(&recording.identity, output);
    close_live_file();

    const char *directory = leave_files();

    if (directory)
        say("allranks: the run up to MPI_Finalize is in %s; with what followed it is made by: "
            "allranks merge %s %s -o %s",
            as_typed(run), as_word(as_typed(run), words[0]), as_word(directory, words[1]),
            as_word(as_typed(output), words[2]));
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

    int lock = ar_family_lock_ranks(&recording.identity);

    close_live_file();
    if (lock >= 0 && ar_rollcall_others_ended(recording.identity.world_rank))
        complete_ranks();
    ar_family_unlock(lock);
}

/* ---- the end of a rank that held no roll call ------------------------------------------------- */

/* MPI was not begun at all, or in a process that this one has started or become. */
static bool had_no_roll_call(void)
{
    return !ar_live_header()->rank_confirmed || recording.identity.is_child;
}

/*
 * A short program may end before the launcher has started all the others, which are to be here.
 * None is older than a second when it is waited for.
 */
static void await_beginners(uint32_t world_size)
{
    uint64_t until_ns = ar_live_header()->start.real_ns + UINT64_C(1000000000);
    struct timespec short_while = {.tv_nsec = 20000000};

    for (int i = 0; i < 50 && recording.identity.local_size >= world_size &&
                    ar_clock_ns(CLOCK_REALTIME) < until_ns &&
                    ar_rollcall_at_end(&recording.identity, world_size) < world_size;
         i++)
        nanosleep(&short_while, NULL);
}

/*
 * Where all ranks' files are, the last one that ends makes the run of them: no rank waits, and
 * none need have talked to another. Returns how many there are.
 */
static uint32_t end_as_last(uint32_t world_size)
{
    await_beginners(world_size);

    int lock = ar_family_lock_ranks(&recording.identity);
    uint32_t n_found = 0;

    close_live_file();
    if (lock >= 0)
        n_found = ar_rollcall_at_end(&recording.identity, world_size);
    if (n_found == world_size && ar_rollcall_others_ended(recording.identity.world_rank))
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
    leave_unmerged(why);
}

static bool has_ended(void)
{
    return !ar_live_base || recording.finished;
}

/* false: there are other ranks, which are to be merged. */
static bool end_here(void)
{
    bool is_root = ar_identity_is_root(&recording.identity);

    if (is_root && recording.is_given_up)
        end_given_up();
    else if (is_root && recording.is_merged)
        end_rank();
    else if (is_root && recording.keeps && ar_live_header()->world_size > 1)
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

    if (recording.linked)
        snprintf(why, sizeof why, "MPI_Finalize was not called, so the ranks were not merged");
    else if (ar_rollcall_found() == h->world_size || n_known == h->world_size)
        snprintf(why, sizeof why, "the ranks did not agree in time, so they were not merged");
    else
        snprintf(why, sizeof why,
                 "only %u of %u ranks were found%s, so they were not merged (are all run with "
                 "allranks? on several nodes, give an output or a --live-dir that they share)",
                 n_known ? n_known : ar_rollcall_found(), h->world_size, n_known ? "" : " here");
    leave_unmerged(why);
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

void ar_recording_end_without_mpi(bool says_nothing)
{
    if (has_ended())
        return;
    recording.quiet |= says_nothing;
    end_here();
}

const char *ar_recording_written(void)
{
    return recording.written;
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
    if (had_no_roll_call()) {
        end_without_roll_call();
        return;
    }
    close_live_file();
    say_why_not_merged();
}

/* After vfork this is the parent's memory, and not the parent. */
static bool is_this_process(void)
{
    return (uint32_t)getpid() == recording.identity.pid;
}

bool ar_recording_is_open(void)
{
    return !has_ended() && is_this_process();
}

void ar_recording_is_elsewhere(void)
{
    if (!ar_family_is_expected(&recording.identity))
        leave_nothing(0);
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

/* Of a child's own world nothing is noted: it counts for the rank that has started it. */
static void confirm_rank(uint32_t rank, uint32_t size)
{
    struct ar_live_header *h = ar_live_header();

    h->rank_confirmed = 1;
    if (!ar_identity_is_root(&recording.identity))
        return;
    h->world_rank = recording.identity.world_rank = recording.identity.root_rank = rank;
    h->world_size = recording.identity.world_size = size;
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
    recording.linked = abi;
    compare_clocks(abi, AR_CLOCK_AT_INIT);
}

static void on_mpi_initialized(struct ar_mpi_abi *abi, struct ar_mpi_call *call)
{
    int rank, size;

    if (has_ended() || ar_live_header()->rank_confirmed ||
        abi->link.rank_and_size(&rank, &size) < 0)
        return;
    confirm_rank((uint32_t)rank, (uint32_t)size);
    prepare_to_keep();
    if (ar_output_is_per_rank() || recording.keeps)
        ar_livemap_vote(AR_VOTE_NO); /* ranks that would merge need not wait for this one */
    else if (!recording.identity.is_child && size > 1 &&
             ar_rollcall(&recording.identity, &abi->link, (uint32_t)rank, (uint32_t)size))
        link_up(abi);
    ar_mpi_all_have_come(call, AR_SYNC_START);
}

static struct ar_family merged_family; /* what of this rank's children is in the merge */

static bool has_one_file(void)
{
    return !ar_family_is_expected(&recording.identity);
}

/* The lock is not held while other ranks are waited for. */
static enum ar_status children_profile(struct ar_profile *p, struct ar_error *err)
{
    bool expected = ar_family_is_expected(&recording.identity);
    int lock = expected ? ar_family_lock(&recording.identity) : -1;
    enum ar_status status = family_profile(p, &merged_family, expected, lock, err);

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
    status = ar_profile_add_live(p, &live, 0, err);
    ar_live_close(&live);
    return status;
}

static const struct ar_merge_steps merge_steps = {.may_be_read = has_one_file,
                                                  .own = children_profile,
                                                  .read = read_rank,
                                                  .write = write_run_of_ranks};

/* Children that ended while the ranks were merging found no run to add themselves to. */
static void complete_children(void)
{
    int lock = ar_family_lock(&recording.identity);

    complete_if_last(lock);
    ar_family_unlock(lock);
}

/* If the interpreter is there still, the program goes on, and so does the recording. */
static void pause_recording(bool goes_on)
{
    if (goes_on) {
        ar_started_write(recording.identity.pid, recording.identity.pid_start);
        ar_livemap_stamp();
    } else {
        hold_timers_back();
        close_live_file();
    }
}

/*
 * The communicator is freed only where all ranks are known to do the same: that may be collective, and
 * MPI_Finalize does away with it in any case.
 */
static void on_mpi_finalizing(struct ar_mpi_abi *abi, struct ar_mpi_call *call)
{
    struct ar_error err = {"out of memory"};
    bool goes_on = Py_IsInitialized();

    if (call)
        call->end = call->start; /* until all have come, all time is ours */
    if (has_ended() || recording.linked != abi)
        return;

    enum ar_status status = ar_finalize_assemble(&abi->link, recording.patience_ns, &err);

    if (status == AR_OK) {
        ar_mpi_all_have_come(call, AR_SYNC_END);
        compare_clocks(abi, AR_CLOCK_AT_FINALIZE);
    }
    pause_recording(goes_on);
    if (status == AR_OK)
        status = ar_finalize_merge(&merge_steps, &err);
    recording.linked = NULL;
    recording.is_merged = status == AR_OK;
    recording.is_given_up = status < 0;
    if (status == AR_OK) {
        abi->link.close();
        ar_family_remove(&merged_family);
    } else if (!goes_on) {
        leave_unmerged(err.text);
    } else if (ar_recording_speaks()) {
        say_what_is_left(err.text);
    }
    if (status == AR_OK && !goes_on) {
        leave_nothing(merged_family.n_running);
        if (merged_family.n_running)
            complete_children();
    }
    ar_family_free(&merged_family);
}

/* Pythons that MPI starts are the launcher's children: they find us by a note. */
static void on_mpi_spawning(void)
{
    if (has_ended() || !is_this_process())
        return;
    ar_family_expect();
    ar_spawning_begin(&recording.identity, ar_process_passed_on());
}

static const struct ar_mpi_events mpi_events = {
    .initialized = on_mpi_initialized,
    .finalizing = on_mpi_finalizing,
    .spawning = on_mpi_spawning,
    .spawned = ar_spawning_end,
};

/* ---- the beginning --------------------------------------------------------------------------- */

/* The locks in the order in which they are taken one inside the other. */
static void forking(enum ar_fork_step step)
{
    ar_spawning_forking(step);
    ar_mpi_hook_forking(step);
    ar_comms_forking(step);
    ar_requests_forking(step);
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
    recording.is_merged = recording.is_given_up = false;
}

void ar_recording_forked(void)
{
    uint64_t begin = ar_ticks();
    struct ar_error err;

    if (recording.finished || ar_live_base)
        return;
    if (recording.with_children && ar_identity_fork(&recording.identity, &err) == AR_OK &&
        ar_family_has_room(&recording.identity) &&
        ar_livemap_adopt(&recording.identity, ar_threads_forked_in(), &err) == AR_OK) {
        ar_family_begin(&recording.identity);
        ar_threads_adopt();
        ar_spent(AR_OVERHEAD_START, ar_ticks() - begin);
        return;
    }
    if (recording.with_children)
        ar_family_count_lost(&recording.identity);
    ar_livemap_forget();
    recording.finished = true;
}

/* It may be hours until the run is written: the first rank says now what is wrong with its name. */
static void check_output(void)
{
    const struct ar_identity *identity = &recording.identity;
    bool is_first = identity->world_rank == AR_RANK_NONE || identity->world_rank == 0;
    struct ar_error err;

    if (is_first && !identity->is_child && ar_output_check(identity, &err) < 0)
        say("allranks: error: %s", err.text);
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

    if (status == AR_OK && !ar_family_is_alive(&recording.identity))
        return ar_fail(err, AR_BAD, "%s: its recording is over", options->stem);
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

    ar_output_set(options->output, options->per_rank);
    recording.quiet = options->quiet;
    recording.keeps = options->keeps;
    recording.with_children = options->children != NULL;
    recording.patience_ns = options->merge_timeout_s * UINT64_C(1000000000);
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
    check_output();
    ar_family_begin(&recording.identity);
    prepare_to_keep();
    ar_started_open();
    pass_on(options->children);
    pthread_atfork(before_fork, in_parent, in_child);
    atexit(at_exit);
    ar_mpi_hook_start(&mpi_events, ar_process_wrapper);
    return AR_OK;
}

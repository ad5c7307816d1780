// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/closing_line.h"

#include "base/text.h"
#include "format/profile.h"
#include "runtime/keep.h"
#include "runtime/livemap.h"
#include "runtime/output.h"
#include "runtime/recording_state.h"
#include "runtime/rollcall.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    bool quiet;
    dev_t stderr_device;
    ino_t stderr_inode;
} closing;

void ar_closing_start(bool quiet)
{
    struct stat st;

    closing.quiet = quiet;
    if (fstat(STDERR_FILENO, &st) == 0) {
        closing.stderr_device = st.st_dev;
        closing.stderr_inode = st.st_ino;
    }
}

void ar_closing_be_quiet(void)
{
    closing.quiet = true;
}

/* ---- one line -------------------------------------------------------------------------------- */

/* The program may have closed its stderr, and the number may be a file of its own by now. */
static bool stderr_is_as_it_was(void)
{
    struct stat st;

    return fstat(STDERR_FILENO, &st) == 0 && st.st_dev == closing.stderr_device &&
           st.st_ino == closing.stderr_inode;
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

/* ---- which rank prints ----------------------------------------------------------------------- */

bool ar_closing_prints(void)
{
    return ar_recording.identity.world_rank == AR_RANK_NONE ||
           ar_recording.identity.world_rank == ar_rollcall_first();
}

bool ar_closing_prints_for_nodes(void)
{
    return ar_recording.identity.world_rank == ar_rollcall_first_known();
}

/* ---- where the recording is ------------------------------------------------------------------- */

void ar_closing_say_error(const char *text)
{
    say("allranks: error: %s", text);
}

/* A path of a command that the user may copy, so never unquoted; `word` is of AR_PATH_BYTES. */
static const char *as_word(const char *path, char *word)
{
    return ar_text_quote(path, word, AR_PATH_BYTES) ? word : "...";
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

void ar_closing_say_where(const char *why, const char *directory)
{
    char output[AR_PATH_BYTES], words[2][AR_PATH_BYTES];

    ar_output_name_elsewhere(&ar_recording.identity, output);
    say("allranks: %s; what was recorded can be had by: allranks recover %s -o %s", why,
        as_word(directory, words[0]), as_word(output, words[1]));
}

void ar_closing_say_kept(const char *directory)
{
    char output[AR_PATH_BYTES], words[2][AR_PATH_BYTES];

    ar_output_name(&ar_recording.identity, output);
    if (!closing.quiet && ar_closing_prints_for_nodes())
        say("allranks: %u ranks recorded in %s, each in a live file%s; to merge them: allranks "
            "merge %s -o %s",
            ar_recording.identity.world_size, as_typed(directory),
            ar_live_header()->trace_state == AR_TRACE_IS_FULL ? " (the trace ends early)" : "",
            as_word(as_typed(directory), words[0]), as_word(as_typed(output), words[1]));
}

void ar_closing_say_up_to_finalize(const char *run, const char *directory)
{
    char output[AR_PATH_BYTES], words[3][AR_PATH_BYTES];

    ar_output_name(&ar_recording.identity, output);
    if (!*run)
        run = output;
    say("allranks: the run up to MPI_Finalize is in %s; with what followed it is made by: "
        "allranks merge %s %s -o %s",
        as_typed(run), as_word(as_typed(run), words[0]), as_word(directory, words[1]),
        as_word(as_typed(output), words[2]));
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
static const char *describe_processes(const struct ar_profile *p)
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

/* What the trace of the run lacks: a clause, or "". */
static const char *describe_trace(const struct ar_profile *p)
{
    static char text[160];
    const char *full = ar_profile_fact_text(p, AR_FACT_TRACE_FULL);
    const char *is_short = ar_profile_fact_text(p, AR_FACT_TRACE_SHORT);

    text[0] = '\0';
    if (*full)
        snprintf(text, sizeof text, " (the trace ends early: %.100s)", full);
    else if (*is_short)
        snprintf(text, sizeof text, " (of the trace %.100s)", is_short);
    return text;
}

void ar_closing_say_written(const char *path, const struct ar_profile *p)
{
    char word[AR_PATH_BYTES];

    path = as_typed(path);
    if (closing.quiet)
        return;
    if (!ar_output_is_per_rank() || ar_recording.identity.world_rank == AR_RANK_NONE)
        say("allranks: %s recorded in %s%s; see: allranks report %s", describe_processes(p), path,
            describe_trace(p), as_word(path, word));
    else if (ar_closing_prints())
        say("allranks: rank %u recorded in %s, each rank in a file of its own%s; see: allranks "
            "report %s",
            ar_recording.identity.world_rank, path, describe_trace(p), as_word(path, word));
}

/* ---- SIGTERM --------------------------------------------------------------------------------- */

/* Said in a signal handler, so it is written down before. */
static char sigterm_line[3 * AR_PATH_BYTES];

static void say_sigterm(void)
{
    if (ar_closing_prints_for_nodes() && stderr_is_as_it_was())
        write_without_signal(sigterm_line, strlen(sigterm_line));
}

void ar_closing_prepare_sigterm(void)
{
    char output[AR_PATH_BYTES], words[2][AR_PATH_BYTES];

    ar_output_name(&ar_recording.identity, output);
    snprintf(sigterm_line, sizeof sigterm_line,
             "allranks: ended by SIGTERM; what was recorded can be had by: allranks recover %s -o "
             "%s",
             as_word(ar_keep_directory(), words[0]), as_word(output, words[1]));
    end_line(sigterm_line, sizeof sigterm_line);
    ar_keep_when_terminated(say_sigterm);
}

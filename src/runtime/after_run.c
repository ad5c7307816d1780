// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/after_run.h"

#include "runtime/recording_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char **command; /* with room for the path, which comes last */
static size_t n_words_of_command;
static pid_t running; /* the command's; 0: it has not been started */
static bool ends_by_signal;

static void forget(void)
{
    for (size_t i = 0; command && i < n_words_of_command; i++)
        free(command[i]);
    free(command);
    command = NULL;
}

bool ar_after_run_set(const char *const *words, size_t n_words)
{
    forget();
    command = calloc(n_words + 2, sizeof *command);
    n_words_of_command = n_words;
    for (size_t i = 0; command && i < n_words; i++) {
        command[i] = strdup(words[i]);
        if (!command[i])
            forget();
    }
    return command != NULL;
}

/* After vfork nothing may be changed. Signals to the launcher's group are not for this process: it may be the end of the job. */
static _Noreturn void become_command(void)
{
    setsid();
    execve(command[0], command, environ);
    _exit(127);
}

static void start_command(void)
{
    if (!command || running || !*ar_recording.written || ar_recording.identity.is_child)
        return;
    command[n_words_of_command] = ar_recording.written;

    pid_t pid = vfork(); /* fork would run what others have registered for it */

    if (pid == 0)
        become_command(); /* NOLINT(clang-analyzer-unix.Vfork): setsid changes no memory */
    running = pid;
}

void ar_after_run_expect_signal(void)
{
    ends_by_signal = true;
}

void ar_after_run_if_signal(void)
{
    if (ends_by_signal)
        start_command();
}

void ar_after_run(void)
{
    int status;

    start_command();
    if (!running)
        return;
    while (running > 0 && waitpid(running, &status, 0) < 0 && errno == EINTR)
        continue;
    running = 0;
    forget();
}

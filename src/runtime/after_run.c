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

/* After vfork nothing may be changed. */
static _Noreturn void become_command(void)
{
    execve(command[0], command, environ);
    _exit(127);
}

void ar_after_run(void)
{
    int status;

    if (!command || !*ar_recording.written || ar_recording.identity.is_child)
        return;
    command[n_words_of_command] = ar_recording.written;

    pid_t pid = vfork(); /* fork would run what others have registered for it */

    if (pid == 0)
        become_command(); /* NOLINT(clang-analyzer-unix.Vfork): execve and _exit, nothing else */
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    forget();
}

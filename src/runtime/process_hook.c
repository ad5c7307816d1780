// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/process_hook.h"

#include "base/arena.h"
#include "runtime/after_run.h"
#include "runtime/endings.h"
#include "runtime/family.h"
#include "runtime/pyframe.h"
#include "runtime/started.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *passed_on; /* NAME=value */
static size_t n_name;   /* with its '=' */

void ar_process_pass_on(const char *variable)
{
    char *copy = variable ? strdup(variable) : NULL;
    char *equals = copy ? strchr(copy, '=') : NULL;

    free(passed_on);
    passed_on = equals ? copy : NULL;
    n_name = equals ? (size_t)(equals + 1 - copy) : 0;
    if (!equals) {
        free(copy);
        return;
    }
    *equals = '\0';
    setenv(copy, equals + 1, 1);
    *equals = '=';
}

const char *ar_process_passed_on(void)
{
    return passed_on ? passed_on + n_name : NULL;
}

static size_t count(char *const environment[])
{
    size_t n = 0;

    while (environment && environment[n])
        n++;
    return n;
}

static bool has_it(char *const environment[])
{
    for (; environment && *environment; environment++)
        if (strncmp(*environment, passed_on, n_name) == 0)
            return true;
    return false;
}

/*
 * With ours, where it is not there. After vfork this is the parent's memory, which no other code would
 * free: so it is kept for the next time.
 */
static char *const *with_ours(char *const environment[])
{
    static __thread char **extended __attribute__((tls_model("initial-exec")));
    static __thread size_t cap __attribute__((tls_model("initial-exec")));
    size_t n = count(environment);

    if (!passed_on || !environment || has_it(environment) ||
        ar_grow((void **)&extended, &cap, n + 2, sizeof *extended) < 0)
        return environment;
    memcpy(extended, environment, n * sizeof *extended);
    extended[n] = passed_on;
    extended[n + 1] = NULL;
    return extended;
}

static void our_exit(int status)
{
    ar_end_at_once();
    ar_after_run();
    _exit(status);
}

/* An unhandled KeyboardInterrupt: once the interpreter is gone, it ends the process by the signal, and no exit function runs. */
static int our_kill(pid_t pid, int number)
{
    if (number == SIGINT && pid == getpid() && !Py_IsInitialized()) {
        ar_end_at_once();
        ar_after_run();
    }
    return kill(pid, number);
}

/* In a child of fork or vfork its parent waits for it; a process that becomes another program is no child of a recorded one. */
static void before_exec(char *const arguments[])
{
    ar_family_expect();
    ar_started_note(arguments, (uint32_t)getppid());
    ar_end_by_exec(true);
}

static int after_failed_exec(void)
{
    int error = errno;

    ar_end_by_exec(false);
    errno = error;
    return -1;
}

static int our_execv(const char *path, char *const arguments[])
{
    before_exec(arguments);
    execv(path, arguments);
    return after_failed_exec();
}

static int our_execve(const char *path, char *const arguments[], char *const environment[])
{
    before_exec(arguments);
    execve(path, arguments, with_ours(environment));
    return after_failed_exec();
}

static int our_fexecve(int fd, char *const arguments[], char *const environment[])
{
    before_exec(arguments);
    fexecve(fd, arguments, with_ours(environment));
    return after_failed_exec();
}

static int our_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attributes, char *const arguments[],
                           char *const environment[])
{
    ar_family_expect();
    ar_started_note(arguments, (uint32_t)getpid());
    return posix_spawn(pid, path, actions, attributes, arguments, with_ours(environment));
}

static int our_posix_spawnp(pid_t *pid, const char *name, const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attributes, char *const arguments[],
                            char *const environment[])
{
    ar_family_expect();
    ar_started_note(arguments, (uint32_t)getpid());
    return posix_spawnp(pid, name, actions, attributes, arguments, with_ours(environment));
}

static int our_system(const char *command)
{
    ar_family_expect();
    ar_started_note_line(command, (uint32_t)getpid());
    return system(command); // NOLINT(cert-env33-c): it is the program's own call
}

void *ar_process_wrapper(const char *name)
{
    static const struct {
        const char *name;
        void *wrapper;
    } wrappers[] = {
        {"_exit", (void *)our_exit},
        {"execv", (void *)our_execv},
        {"execve", (void *)our_execve},
        {"fexecve", (void *)our_fexecve},
        {"kill", (void *)our_kill},
        {"posix_spawn", (void *)our_posix_spawn},
        {"posix_spawnp", (void *)our_posix_spawnp},
        {"system", (void *)our_system},
    };

    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
        if (strcmp(name, wrappers[i].name) == 0)
            return wrappers[i].wrapper;
    return NULL;
}

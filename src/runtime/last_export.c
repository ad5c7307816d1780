// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/last_export.h"

#include "runtime/endings.h"
#include "runtime/identity.h"
#include "runtime/livemap.h"
#include "runtime/recording_state.h"
#include "runtime/terminated.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static char program[AR_PATH_BYTES], target[AR_PATH_BYTES];

/* After vfork nothing may be changed. Signals to the launcher's group are not for this process. */
static _Noreturn void become_export(void)
{
    const char *const words[] = {
        program, "export", ar_livemap_path(), "-f", "pstats", "--quiet", "-o", target, NULL};

    setsid();
    execve(program, (char *const *)words, environ);
    _exit(127);
}

static bool export_live_file(void)
{
    int status = -1;
    pid_t pid = vfork(); /* fork would run what others have registered for it */

    if (pid == 0)
        become_export(); /* NOLINT(clang-analyzer-unix.Vfork): setsid changes no memory */
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool export_at_last(void)
{
    if (ar_recording_is_open() && export_live_file())
        ar_end_already_saved();
    return true;
}

bool ar_export_when_terminated(const char *program_path, const char *target_path)
{
    int n = snprintf(program, sizeof program, "%s", program_path);
    int m = snprintf(target, sizeof target, "%s", target_path);

    return n < (int)sizeof program && m < (int)sizeof target && ar_when_terminated(export_at_last);
}

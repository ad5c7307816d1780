// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/last_export.h"

#include "runtime/endings.h"
#include "runtime/identity.h"
#include "runtime/keep.h"
#include "runtime/livemap.h"
#include "runtime/recording_state.h"
#include "runtime/terminated.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    char program[AR_PATH_BYTES], target[AR_PATH_BYTES], format[16];
    bool keeps;
    pid_t pid;
} last;

/* After vfork nothing may be changed. Signals to the launcher's group are not for this process. */
static _Noreturn void become_export(void)
{
    const char *const words[] = {last.program, "export", ar_livemap_path(), "-f", last.format,
                                 "--quiet",    "-o",     last.target,       NULL};

    setsid();
    execve(last.program, (char *const *)words, environ);
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

/* A forked child leaves its live file to its parent, whose file has the same name. */
static bool export_at_last(void)
{
    if (!ar_recording_is_open() || getpid() != last.pid)
        return true;
    if (export_live_file() && !last.keeps)
        ar_end_already_saved();
    if (last.keeps)
        ar_keep_files(false);
    return true;
}

bool ar_export_when_terminated(const struct ar_last_export *wanted)
{
    int n = snprintf(last.program, sizeof last.program, "%s", wanted->program);
    int m = snprintf(last.target, sizeof last.target, "%s", wanted->target);
    int k = snprintf(last.format, sizeof last.format, "%s", wanted->format);

    last.keeps = wanted->keeps;
    last.pid = getpid();
    return n < (int)sizeof last.program && m < (int)sizeof last.target &&
           k < (int)sizeof last.format && ar_when_terminated(export_at_last);
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * process_hook: how this process ends without Python's exit, and how it starts others.
 *
 * Python's own calls of a few functions of the C library are redirected through import slots:
 *
 *     _exit                 os._exit, with which multiprocessing ends its workers: no exit function
 *                           runs, but the recording is to be closed
 *     kill                  how the interpreter ends itself after an unhandled KeyboardInterrupt
 *     execv, execve …       this process becomes another program; or, after vfork, a new one does
 *     posix_spawn, system   a new process
 *
 * Python children find the recording by an environment variable. It is not in os.environ, where the
 * program would see it; where it passes an environment of its own on, the variable is added.
 */
#pragma once

/* The function that stands for `name`, one of those above; NULL: it is none. */
void *ar_process_wrapper(const char *name);
/* What children find, as NAME=value; NULL: they are not to be recorded. */
void ar_process_pass_on(const char *variable);
/* Its value; NULL: there is none. */
const char *ar_process_passed_on(void);

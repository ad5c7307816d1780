// SPDX-License-Identifier: BSD-3-Clause
/*
 * room: how much memory and disk others have left, for code that could take all of it.
 *
 * What lies in /dev/shm is memory, of the machine and of the control group that wrote it. Where none is left the kernel kills a process, and
 * not necessarily the one that took it.
 *
 * Opens files below /proc and /sys, some microseconds each: not for every event. errno is preserved.
 */
#pragma once

#include <stdint.h>

/* Bytes that may be allocated before the machine, or the control group of this process, runs out; UINT64_MAX: not known. */
uint64_t ar_memory_left(void);
/* Bytes that the file system of that file has left for this user, and has in all; UINT64_MAX: not known. */
uint64_t ar_disk_left(const char *path, uint64_t *n_all);

// SPDX-License-Identifier: BSD-3-Clause
/*
 * process: what the kernel says about a process of this machine.
 *
 * A pid comes again, a pid together with the time at which its process was started does not.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ar_process_stat {
    char name[64];
    uint32_t parent;
    unsigned long long
        start; /* field 22 of /proc/PID/stat: clock ticks since the machine started */
};

/* false: there is no such process. */
bool ar_process_read(uint32_t pid, struct ar_process_stat *out);
/* 0 when there is no such process. */
uint64_t ar_process_start(uint32_t pid);
/* One that has ended, and is only waited for, does not run. */
bool ar_process_runs(uint32_t pid, uint64_t start);

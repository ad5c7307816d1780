// SPDX-License-Identifier: BSD-3-Clause
/* Whether a process runs, of which a live file tells. Where there is no operating system there are no processes. */
#include "format/livefile.h"

#ifdef __wasm__

bool ar_live_is_running(const struct ar_live_header *header)
{
    (void)header;
    return false;
}

#else

#include "base/process.h"

#include <string.h>
#include <unistd.h>

bool ar_live_is_running(const struct ar_live_header *header)
{
    char host[sizeof header->host] = "";

    return header->state == AR_LIVE_RUNNING && gethostname(host, sizeof host - 1) == 0 &&
           strncmp(host, header->host, sizeof host) == 0 &&
           ar_process_runs(header->pid, header->pid_start);
}

#endif

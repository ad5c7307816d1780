// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/recording_state.h"

#include "runtime/livemap.h"

#include <unistd.h>

struct ar_recording ar_recording;

bool ar_recording_has_ended(void)
{
    return !ar_live_base || ar_recording.finished;
}

bool ar_recording_is_own(void)
{
    return (uint32_t)getpid() == ar_recording.identity.pid;
}

bool ar_recording_is_open(void)
{
    return !ar_recording_has_ended() && ar_recording_is_own();
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_channels: the number of each message between two ranks, for traces.
 *
 * A channel is a communicator, a peer, a tag and a direction. Its messages are numbered from 1 whether the trace is on at the
 * moment or not, so that a send and its receive have the same number even where a trace has gaps. MPI delivers the messages of a
 * channel in the order of sends and of posted receives; receives are numbered as they complete, because only then their source is
 * known, and a reader of the trace puts them in the order in which they were posted.
 *
 * Where a message was missed, in a pause for example, every number after it would be wrong: from then on this process
 * has none.
 *
 * Threads: any, without a lock. Memory: fixed; messages of channels that find no room have no number.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Of the channel's next message; 0: not known. `comm` is the communicator's number in the live file. */
uint32_t ar_channel_next(bool is_out, uint32_t comm, uint32_t peer, int tag);
/* A message was not seen. */
void ar_channels_break(void);

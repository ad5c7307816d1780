// SPDX-License-Identifier: BSD-3-Clause
/*
 * terminated: the last thing that is done when SIGTERM comes, after which schedulers and launchers leave some
 * seconds.
 *
 * Of the signal's default action nothing is changed: our handler is set only where there is none, Python's own
 * table does not know of it, a handler of the program takes its place, and in the end the process ends by the
 * signal. It works wherever the program is, in MPI_Recv as well, where a handler in Python would wait for the call
 * to return.
 *
 * Threads: any; the first that gets the signal. A forked child has the handler too.
 */
#pragma once

#include <stdbool.h>

/*
 * Done in the handler, so by what a handler may use. false: another thread is at it already, and will send the signal
 * again when he is done.
 */
typedef bool ar_last_act(void);

/* Also in place of another act. false: the signal is not ours to have. */
bool ar_when_terminated(ar_last_act *act);
/* Unless there is another act already. */
bool ar_when_terminated_at_least(ar_last_act *act);

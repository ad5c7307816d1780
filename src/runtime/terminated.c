// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/terminated.h"

#include "runtime/livemap.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static ar_last_act *last_act; /* NULL: the handler is not set */

/*
 * The signal is blocked while this runs: raised again it ends the process as soon as we return. A rank that hangs has left
 * no stamp since it entered the call: this one says how long that was.
 */
static void on_sigterm(int number)
{
    struct sigaction by_default = {.sa_handler = SIG_DFL};
    int saved = errno;

    ar_livemap_stamp();
    if (__atomic_load_n(&last_act, __ATOMIC_ACQUIRE)()) {
        sigaction(number, &by_default, NULL);
        kill(getpid(), number);
    }
    errno = saved;
}

static bool set_handler(void)
{
    struct sigaction now, ours = {.sa_handler = on_sigterm, .sa_flags = SA_RESTART | SA_ONSTACK};

    return sigaction(SIGTERM, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
           now.sa_handler == SIG_DFL && sigaction(SIGTERM, &ours, NULL) == 0;
}

bool ar_when_terminated(ar_last_act *act)
{
    ar_last_act *before = __atomic_exchange_n(&last_act, act, __ATOMIC_ACQ_REL);

    if (before || set_handler())
        return true;
    __atomic_store_n(&last_act, NULL, __ATOMIC_RELEASE);
    return false;
}

bool ar_when_terminated_at_least(ar_last_act *act)
{
    return last_act || ar_when_terminated(act);
}

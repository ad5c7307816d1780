// SPDX-License-Identifier: BSD-3-Clause
/*
 * forking: what a module does when the process forks.
 *
 * Another thread may be inside a module at that moment, and does not exist in the child: so every
 * lock is taken before, in the order in which they are taken elsewhere, and given back after it in
 * both processes. What they guard is whole in the child then.
 */
#pragma once

#include <pthread.h>

enum ar_fork_step { AR_FORK_BEFORE, AR_FORK_PARENT, AR_FORK_CHILD };

static inline void ar_fork_lock(pthread_mutex_t *lock, enum ar_fork_step step)
{
    if (step == AR_FORK_BEFORE)
        pthread_mutex_lock(lock);
    else
        pthread_mutex_unlock(lock);
}

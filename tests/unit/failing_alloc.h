// SPDX-License-Identifier: BSD-3-Clause
/*
 * failing_alloc: makes memory run out at the n-th allocation.
 *
 * The program is linked with --wrap, so that malloc, calloc and realloc of all that is linked in
 * statically come here first; libc's own do not. From the chosen one on every allocation fails,
 * until alloc_restore.
 *
 *     for (size_t n = 0; !worked; n++) {
 *         alloc_fail_after(n);                // n succeed
 *         worked = try_it() == AR_OK;
 *         alloc_restore();
 *     }
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

void *__real_malloc(size_t n_bytes);
void *__real_calloc(size_t n, size_t n_bytes);
void *__real_realloc(void *old, size_t n_bytes);
void *__wrap_malloc(size_t n_bytes);
void *__wrap_calloc(size_t n, size_t n_bytes);
void *__wrap_realloc(void *old, size_t n_bytes);

static size_t n_allocs_left = SIZE_MAX;

static inline void alloc_fail_after(size_t n)
{
    n_allocs_left = n;
}

static inline void alloc_restore(void)
{
    n_allocs_left = SIZE_MAX;
}

static inline int alloc_takes_one(void)
{
    if (n_allocs_left == 0)
        return 0;
    if (n_allocs_left != SIZE_MAX)
        n_allocs_left--;
    return 1;
}

void *__wrap_malloc(size_t n_bytes)
{
    return alloc_takes_one() ? __real_malloc(n_bytes) : NULL;
}

void *__wrap_calloc(size_t n, size_t n_bytes)
{
    return alloc_takes_one() ? __real_calloc(n, n_bytes) : NULL;
}

void *__wrap_realloc(void *old, size_t n_bytes)
{
    return alloc_takes_one() ? __real_realloc(old, n_bytes) : NULL;
}

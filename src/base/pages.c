// SPDX-License-Identifier: BSD-3-Clause
#include "base/pages.h"

#ifdef __wasm__

void ar_pages_want_large(void *from, size_t n_bytes)
{
    (void)from, (void)n_bytes;
}

void ar_pages_give_back(const void *from, size_t n_bytes)
{
    (void)from, (void)n_bytes;
}

#else

#include <stdint.h>
#include <sys/mman.h>

void ar_pages_want_large(void *from, size_t n_bytes)
{
    madvise(from, n_bytes, MADV_HUGEPAGE);
}

void ar_pages_give_back(const void *from, size_t n_bytes)
{
    madvise((void *)(uintptr_t)from, n_bytes, MADV_DONTNEED);
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
/*
 * pages: advice to the kernel about pages of memory.
 *
 * Advice changes only what memory costs. A kernel may ignore it, and a build for WebAssembly has no kernel to advise.
 */
#pragma once

#include <stddef.h>

/* Asks for large pages from `from` on, which is aligned to one. */
void ar_pages_want_large(void *from, size_t n_bytes);
/*
 * Pages of a mapped file need not stay in memory; a later access reads them from the file. The call fails on a machine
 * whose pages are larger than the file's, and the pages stay.
 */
void ar_pages_give_back(const void *from, size_t n_bytes);

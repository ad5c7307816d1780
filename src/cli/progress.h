// SPDX-License-Identifier: BSD-3-Clause
/*
 * progress: a line on the terminal about work that takes more than a second.
 *
 * It is on standard error, only where that is a terminal, and is taken away again before anything else
 * is said; work that is done sooner says nothing.
 */
#pragma once

#include <stddef.h>

/* What is being done; NULL: nothing any more. */
void ar_progress(const char *what);
/* "reading 512 of 10,240 files"; as many as there are: nothing any more. For ar_load_tell. */
void ar_progress_files(size_t n_read, size_t n_files);

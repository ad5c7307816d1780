// SPDX-License-Identifier: BSD-3-Clause
/* file: a whole file in memory, or the rest of one. */
#pragma once

#include "base/status.h"

#include <stddef.h>
#include <sys/stat.h>

/*
 * `bytes` is the caller's to free, and NULL after a failure; `st` says how many there are, and
 * when they were written.
 */
AR_MUST_CHECK enum ar_status ar_file_read(const char *path, unsigned char **bytes, struct stat *st,
                                          struct ar_error *err);
/* As many bytes as are asked for, from where the file stands. */
AR_MUST_CHECK enum ar_status ar_file_read_on(int fd, void *bytes, size_t n_bytes, const char *path,
                                             struct ar_error *err);

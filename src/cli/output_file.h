// SPDX-License-Identifier: BSD-3-Clause
/*
 * output_file: a file that is written block by block, and has its name only when it is whole.
 *
 * A regular file, or none yet, is written without a name where the file system can (else under a temporary one), and takes the place of
 * the one that is there in the end. A link stays, and what it leads to is replaced. Pipes and devices take what they
 * can. "-" is standard output.
 *
 *     struct ar_output_file file;
 *     if (ar_output_file_open(&file, path, &err) < 0) ...
 *     status = ar_output_file_write(&file, bytes, n_bytes, &err);       // fits struct ar_sink
 *     status = ar_output_file_close(&file, status, &err);               // after a failure nothing is left
 */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct ar_output_file {
    const char *path; /* as the user gave it */
    char *real;       /* behind links */
    char *temporary;  /* its name now; NULL: it has none */
    int fd;           /* -1: standard output */
    bool is_replaced; /* in the end it takes the place of what is there */
};

AR_MUST_CHECK enum ar_status ar_output_file_open(struct ar_output_file *out, const char *path,
                                                 struct ar_error *err);
/* `file` is a struct ar_output_file. */
AR_MUST_CHECK enum ar_status ar_output_file_write(void *file, const void *bytes, size_t n_bytes,
                                                  struct ar_error *err);
/* `status`: whether all went well so far. */
AR_MUST_CHECK enum ar_status ar_output_file_close(struct ar_output_file *out, enum ar_status status,
                                                  struct ar_error *err);

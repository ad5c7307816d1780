// SPDX-License-Identifier: BSD-3-Clause
/*
 * source_lines: the text of a source file, line by line, where it is still there.
 *
 * A file is looked for under the name that the interpreter had for it, then beside the run file, and in the current directory.
 * One that was changed after the run began is not the one that ran: `is_newer`.
 *
 *     struct ar_source_lines source;
 *     if (ar_source_open(&source, "/home/ada/solver.py", "runs/heat.allranks", since_real_ns)) ...
 *     puts(ar_source_line(&source, 12));         // "" beyond its end
 *     ar_source_close(&source);
 */
#pragma once

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

struct ar_source_lines {
    struct ar_bytes text; /* each line ends with 0 */
    uint32_t *starts;     /* of lines, from 0 */
    uint32_t n;
    bool is_newer;
};

/* false: it is not there, is no text file of a sane size, or there is no memory; nothing is to be closed. */
bool ar_source_open(struct ar_source_lines *out, const char *name, const char *run_path,
                    uint64_t since_real_ns);
/* From 1 on; tabs are four blanks, other control characters '?'. */
const char *ar_source_line(const struct ar_source_lines *source, uint32_t line);
void ar_source_close(struct ar_source_lines *source);

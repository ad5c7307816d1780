// SPDX-License-Identifier: BSD-3-Clause
/* pstats_key: what pstats knows a function by, (file, first line, name), as pstats.h describes it. */
#pragma once

#include "format/profile.h"

/* What stands before a text, the text, what comes after it. */
struct ar_pstats_key {
    const char *file_before; /* "~" where there is no file */
    struct ar_str file;
    uint32_t line;
    const char *name_before, *name_after;
    struct ar_str name;
};

/* `is_read`: it was read from such a file. false: it is no function to pstats, as a thread is none. */
bool ar_pstats_key_of(const struct ar_profile *p, uint32_t function, bool is_read,
                      struct ar_pstats_key *out);

// SPDX-License-Identifier: BSD-3-Clause
#include "base/limits.h"

#include <sys/resource.h>

bool ar_file_may_have(uint64_t n_bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
           n_bytes <= limit.rlim_cur;
}

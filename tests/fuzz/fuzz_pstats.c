// SPDX-License-Identifier: BSD-3-Clause
/* Files of cProfile: Python's marshal format, in which a file may refer to itself. */
#include "exercise.h"
#include "import/pstats_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct ar_profile p;
    struct ar_error err;

    if (ar_pstats_decode(&p, bytes, n_bytes, "input", &err) == AR_OK) {
        exercise(&p);
        ar_profile_free(&p);
    }
    return 0;
}

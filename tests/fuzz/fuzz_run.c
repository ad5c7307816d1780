// SPDX-License-Identifier: BSD-3-Clause
/*
 * Run files. A checksum keeps out damage, not malice: sections of the input get the right one before it
 * is read, so that what lies behind it is reached.
 */
#include "exercise_traces.h"
#include "format/runfile_layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

#define ENTRY_OFFSET 8
#define ENTRY_N_STORED 16
#define ENTRY_CRC 32

static uint64_t word_at(const uint8_t *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof word);
    return word;
}

static void repair_checksums(uint8_t *bytes, size_t n_bytes)
{
    size_t n_left = n_bytes; /* sections that overlap are none of ours */

    for (size_t at = AR_RUN_HEADER_BYTES;
         n_bytes >= AR_RUN_ENTRY_BYTES && at <= n_bytes - AR_RUN_ENTRY_BYTES;
         at += AR_RUN_ENTRY_BYTES) {
        uint64_t offset = word_at(bytes + at + ENTRY_OFFSET);
        uint64_t n_stored = word_at(bytes + at + ENTRY_N_STORED);

        if (n_stored > n_left || offset > n_bytes - n_stored)
            return;

        uint32_t crc = ar_crc32(bytes + offset, n_stored);

        memcpy(bytes + at + ENTRY_CRC, &crc, sizeof crc);
        n_left -= n_stored;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    uint8_t *copy = malloc(n_bytes + 1);
    struct ar_profile p;
    struct ar_error err;

    must(copy != NULL);
    memcpy(copy, bytes, n_bytes);
    repair_checksums(copy, n_bytes);
    if (ar_run_decode(&p, copy, n_bytes, "input", &err) == AR_OK) {
        bulk_from(&p, copy, n_bytes);
        exercise(&p);
        exercise_traces(&p);
        ar_profile_free(&p);
    }
    free(copy);
    return 0;
}

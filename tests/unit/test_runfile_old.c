// SPDX-License-Identifier: BSD-3-Clause
/*
 * Files of every earlier version, as it wrote them (tests/golden), are read; and damaged ones are refused, or a profile. What
 * commands say of them is compared by tests/e2e/test_golden.py.
 */
#include "base/file.h"
#include "format/runfile.h"

#include "dice.h"
#include "sample_profile.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 16
#define ENTRY_BYTES 40

static struct ar_error error;
static unsigned char *file;
static size_t n_file;

static uint64_t get_number(const unsigned char *at, size_t n_bytes)
{
    uint64_t number = 0;

    for (size_t i = n_bytes; i-- > 0;)
        number = number << 8 | at[i];
    return number;
}

static void set_checksums_right(unsigned char *bytes)
{
    for (uint64_t i = 0, n = get_number(bytes + 12, 4); i < n; i++) {
        unsigned char *entry = bytes + HEAD_BYTES + i * ENTRY_BYTES;
        uint32_t crc = ar_crc32(bytes + get_number(entry + 8, 8), get_number(entry + 16, 8));

        memcpy(entry + 32, &crc, sizeof crc);
    }
}

/* Refused with a text that names the file, or a profile; never anything else. */
static bool is_judged(const unsigned char *bytes, size_t n_bytes, bool *is_refused)
{
    struct ar_profile p;

    memset(error.text, 0, sizeof error.text);
    *is_refused = ar_run_decode(&p, bytes, n_bytes, "x.allranks", &error) < 0;
    if (*is_refused)
        return strncmp(error.text, "x.allranks: ", 12) == 0;

    bool is_sound = sample_is_sound(&p);

    ar_profile_free(&p);
    return is_sound;
}

static void test_reading(uint32_t version)
{
    struct ar_profile p;

    tap_ok(get_number(file + 8, 4) == version, "a file of version %u", version);
    tap_ok(ar_run_decode(&p, file, n_file, "old", &error) == AR_OK && sample_is_sound(&p),
           "is read");
    tap_ok(p.n_processes == 3 && p.processes[1].world_rank == 1 && p.n_locations >= 3 &&
               p.metrics[AR_METRIC_TIME].n_values > 100,
           "with its ranks and values");
    tap_ok((p.n_comms > 0 && p.n_traffic > 0 && p.n_completed > 0) == (version > 3),
           "messages and requests: %zu, %zu", p.n_traffic, p.n_completed);
    tap_ok((p.processes[0].overheads_ns[0] > 0) == (version > 7), "why it cost what it did");
    tap_ok(p.n_unknown_sections == 0, "nothing in it is unknown");
    ar_profile_free(&p);
}

static void test_truncations(void)
{
    bool good = true, all_refused = true;

    for (size_t n = 0; n < n_file; n += 1 + n / 50) {
        unsigned char *copy = malloc(n ? n : 1);
        bool is_refused;

        memcpy(copy, file, n);
        good = good && is_judged(copy, n, &is_refused);
        all_refused = all_refused && is_refused;
        free(copy);
    }
    tap_ok(good && all_refused, "what is cut off is refused");
}

/* Several bytes at once, with good checksums. */
static void test_damage(void)
{
    struct dice d = {7};
    size_t body = HEAD_BYTES + (size_t)ENTRY_BYTES * file[12];
    unsigned char *copy = malloc(n_file);
    bool good = true, is_refused;

    for (int round = 0; round < 1500 && good; round++) {
        size_t at = body + dice_below(&d, (uint32_t)(n_file - body));

        memcpy(copy, file, n_file);
        for (uint32_t n = 1 + dice_below(&d, 10); n > 0 && at < n_file; n--)
            copy[at++] = (unsigned char)dice_below(&d, 256);
        set_checksums_right(copy);
        good = is_judged(copy, n_file, &is_refused);
    }
    tap_ok(good, "what is damaged is refused, or a profile");
    free(copy);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct stat st;

        if (ar_file_read(argv[i], &file, &st, &error) < 0) {
            tap_ok(false, "%s", error.text);
            continue;
        }
        n_file = (size_t)st.st_size;
        test_reading((uint32_t)i + 1);
        test_truncations();
        test_damage();
        free(file);
    }
    return tap_done();
}

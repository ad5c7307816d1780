// SPDX-License-Identifier: BSD-3-Clause
/* Requests that are open, and what they are. */
#include "export/otf2_requests.h"

#include "tap.h"

static void test_one(void)
{
    struct ar_otf2_requests open = {0};

    tap_ok(ar_otf2_requests_end(&open, 5) == AR_NO_ID, "what was not posted does not end");
    tap_ok(ar_otf2_requests_post(&open, 5, 7) == AR_OK &&
               ar_otf2_requests_post(&open, 6, 0) == AR_OK && open.n_open == 2,
           "two are open");
    tap_ok(ar_otf2_requests_end(&open, 5) == 7 && ar_otf2_requests_end(&open, 6) == 0 &&
               open.n_open == 0,
           "each ends with its operation");
    tap_ok(ar_otf2_requests_end(&open, 5) == AR_NO_ID, "once");
    tap_ok(ar_otf2_requests_post(&open, 5, 8) == AR_OK && ar_otf2_requests_end(&open, 5) == 8,
           "and its number may come again");
    tap_ok(ar_otf2_requests_post(&open, 0, 9) == AR_OK && ar_otf2_requests_end(&open, 0) == 9,
           "0, which is none, does no harm");
    ar_otf2_requests_free(&open);
}

/* A million, of which ten are open at a time, and one all along. */
static void test_many(void)
{
    struct ar_otf2_requests open = {0};
    size_t most_slots = 0;
    bool is_right = ar_otf2_requests_post(&open, 1, 1) == AR_OK;

    for (uint64_t i = 2; i < 1000000; i++) {
        is_right = is_right && ar_otf2_requests_post(&open, i, (uint32_t)i) == AR_OK;
        if (i > 12)
            is_right = is_right && ar_otf2_requests_end(&open, i - 10) == (uint32_t)(i - 10);
        if (open.operations.n_slots > most_slots)
            most_slots = open.operations.n_slots;
    }
    tap_ok(is_right && ar_otf2_requests_end(&open, 1) == 1, "a million end as they were posted");
    if (!tap_ok(most_slots <= 8192, "and take no more room than those that are open"))
        tap_note("%zu slots", most_slots);
    ar_otf2_requests_free(&open);
}

int main(void)
{
    test_one();
    test_many();
    return tap_done();
}

// SPDX-License-Identifier: BSD-3-Clause
/* Live files: what a process has left, or what somebody made of it. */
#include "analysis/validate.h"
#include "exercise_traces.h"
#include "format/live_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

/* Whatever it says, it says something. */
static void validate(const struct ar_live *live)
{
    struct ar_validated found;
    struct ar_error err;

    must(ar_validate(live, NULL, 0, &found, &err) != AR_NOMEM);
    must(ar_validate(live, live, 3000, &found, &err) != AR_NOMEM);
    must(found.n_at_rest <= found.n_threads);
}

/* Traces are read from the same bytes, where a command reads the file. */
static enum ar_status read_input(const struct ar_bulk_source *source, uint64_t id, void *to,
                                 size_t n, uint64_t at, struct ar_error *err)
{
    (void)id;
    if (at > source->n_bytes || n > source->n_bytes - at)
        return ar_fail(err, AR_BAD, "truncated");
    memcpy(to, source->memory + at, n);
    return AR_OK;
}

/* A mapping is aligned, and so is what malloc gives. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    uint8_t *mapped = malloc(n_bytes + 1);
    struct ar_profile p;
    struct ar_live live;
    struct ar_error err;

    must(mapped && ar_profile_init(&p) == AR_OK);
    memcpy(mapped, bytes, n_bytes);
    if (ar_live_from_bytes(&live, mapped, n_bytes, "input", &err) == AR_OK) {
        live.with_trace = true;
        live.trace_source =
            (struct ar_bulk_source){.memory = mapped, .n_bytes = n_bytes, .read = read_input};
        validate(&live);
        if (ar_profile_add_live(&p, &live, 0, &err) == AR_OK) {
            exercise(&p);
            exercise_traces(&p);
        }
        ar_live_close(&live);
    }
    ar_profile_free(&p);
    free(mapped);
    return 0;
}

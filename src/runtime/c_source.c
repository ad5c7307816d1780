// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/c_source.h"

#include "runtime/c_identity.h"
#include "runtime/c_scan.h"
#include "runtime/c_specials.h"
#include "runtime/c_stubs.h"
#include "runtime/recording.h"

const char *const ar_builtins_names[AR_N_BUILTINS] = {"none", "counted", "all"};

static struct {
    enum ar_builtins builtins;
    bool exact;
} chosen;

static enum ar_status start(const struct ar_options *options, struct ar_error *err)
{
    (void)err;
    chosen.builtins = options->builtins;
    chosen.exact = options->exact;
    ar_c_identity_keep();
    ar_c_calls_start(chosen.exact, chosen.builtins == AR_BUILTINS_ALL);
    ar_c_scan_start(chosen.builtins);
    if (chosen.builtins == AR_BUILTINS_ALL)
        ar_c_specials_begin();
    return AR_OK;
}

/* Stubs stay, and pass calls on. */
static void stop(enum ar_source_end why)
{
    (void)why;
    ar_c_specials_end();
}

static void describe(ar_fact_fn *fact)
{
    fact("builtins", ar_builtins_names[chosen.builtins]);
    if (chosen.exact)
        fact("exact", "yes");
}

const struct ar_source ar_source_c = {
    .name = "c",
    .start = start,
    .stop = stop,
    .fork = ar_c_stubs_forking,
    .describe = describe,
};

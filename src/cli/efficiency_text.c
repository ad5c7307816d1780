// SPDX-License-Identifier: BSD-3-Clause
#include "cli/efficiency_text.h"

#include <stdio.h>

const char *ar_show_efficiency(const struct ar_efficiency *e)
{
    static char text[192];
    int n = snprintf(text, sizeof text,
                     "parallel efficiency %.0f %% = load balance %.0f %% x communication %.0f %%",
                     100 * e->parallel, 100 * e->load_balance, 100 * e->communication);

    if (e->is_split && n > 0 && (size_t)n < sizeof text)
        snprintf(text + n, sizeof text - (size_t)n, " (serialisation %.0f %% x transfer %.0f %%)",
                 100 * e->serialisation, 100 * e->transfer);
    return text;
}

static void put_if(struct ar_json *j, const char *key, bool is_known, double value)
{
    if (is_known)
        ar_json_number(j, key, value);
    else
        ar_json_null(j, key);
}

void ar_json_efficiency(struct ar_json *j, const char *key, const struct ar_efficiency *e)
{
    if (e->wall_ns <= 0) {
        ar_json_null(j, key);
        return;
    }
    ar_json_open(j, key, '{');
    ar_json_number(j, "wall_ns", e->wall_ns);
    ar_json_number(j, "mean_computing_ns", e->mean_computing_ns);
    ar_json_number(j, "max_computing_ns", e->max_computing_ns);
    ar_json_number(j, "parallel_efficiency", e->parallel);
    ar_json_number(j, "load_balance", e->load_balance);
    ar_json_number(j, "communication_efficiency", e->communication);
    put_if(j, "serialisation_efficiency", e->is_split, e->serialisation);
    put_if(j, "transfer_efficiency", e->is_split, e->transfer);
    ar_json_close(j, '}');
}

// SPDX-License-Identifier: BSD-3-Clause
#include "cli/efficiency_text.h"

#include <stdio.h>

const char *ar_show_efficiency(const struct ar_efficiency *e)
{
    static char text[192];
    int n = snprintf(text, sizeof text, "efficiency %.0f %% = load balance %.0f %% x ",
                     100 * e->parallel, 100 * e->load_balance);

    if (e->is_split)
        snprintf(text + n, sizeof text - (size_t)n, "serialisation %.0f %% x transfer %.0f %%",
                 100 * e->serialisation, 100 * e->transfer);
    else
        snprintf(text + n, sizeof text - (size_t)n, "communication %.0f %%",
                 100 * e->communication);
    return text;
}

void ar_json_efficiency(struct ar_json *j, const char *key, const struct ar_efficiency *e)
{
    if (e->wall_ns <= 0) {
        ar_json_null(j, key);
        return;
    }
    ar_json_open(j, key, '{');
    ar_json_number(j, "wall_ns", e->wall_ns);
    ar_json_number(j, "counted_ns", e->counted_ns);
    ar_json_number(j, "mean_computing_ns", e->mean_computing_ns);
    ar_json_number(j, "max_computing_ns", e->max_computing_ns);
    ar_json_number(j, "parallel_efficiency", e->parallel);
    ar_json_number(j, "load_balance", e->load_balance);
    ar_json_number(j, "communication_efficiency", e->communication);
    ar_json_number(j, "serialisation_efficiency", e->serialisation);
    ar_json_number(j, "transfer_efficiency", e->transfer);
    ar_json_close(j, '}');
}

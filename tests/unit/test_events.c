// SPDX-License-Identifier: BSD-3-Clause
#include "counters/events.h"

#include "tap.h"

#include <string.h>

static bool is_found(const char *asked, const char *name)
{
    const struct ar_event *event = ar_event_find(asked);

    return event && strcmp(event->name, name) == 0;
}

int main(void)
{
    tap_ok(is_found("page-faults", "page-faults") && is_found("perf::PAGE-FAULTS", "page-faults") &&
               is_found("Page_Faults", "page-faults"),
           "a name in any spelling, and with PAPI's prefix");
    tap_ok(is_found("PAPI_TOT_INS", "instructions") && is_found("papi_tot_cyc", "cycles"),
           "presets of PAPI that are the same");
    tap_ok(!ar_event_find("") && !ar_event_find("page") && !ar_event_find("page-faultsx") &&
               !ar_event_find("perf::PAPI_TOT_INS") && !ar_event_find("PAPI_L1_DCM"),
           "nothing else");
    for (const struct ar_event *a = ar_events; a->name; a++)
        tap_ok(ar_event_find(a->name) == a && *a->unit && *a->help &&
                   (!a->preset || ar_event_find(a->preset) == a),
               "%s is found by its own names", a->name);
    return tap_done();
}

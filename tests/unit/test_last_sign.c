// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/last_sign.h"
#include "tap.h"

#include <string.h>

#define S 1000000000ull

/* Started at 100 s by its host's clock, with two ticks per nanosecond; its own newest stamp is 1 s later. */
static struct ar_live_header killed_on(const char *host)
{
    struct ar_live_header h = {.state = AR_LIVE_RUNNING,
                               .start = {50 * S, 100 * S, 5000 * S},
                               .latest = {52 * S, 101 * S, 5001 * S}};

    strcpy(h.host, host);
    return h;
}

static struct ar_sign sign_at(const char *host, uint64_t mono_ns, uint64_t real_ns)
{
    struct ar_sign sign = {.mono_ns = mono_ns, .real_ns = real_ns};

    strcpy(sign.host, host);
    return sign;
}

static uint64_t ns_after_start(const struct ar_signs *signs, const struct ar_live_header *h)
{
    uint64_t ticks = ar_signs_ticks(signs, h);

    return ticks ? (ticks - h->start.ticks) / 2 : 0;
}

static void test_hosts(void)
{
    struct ar_sign own = sign_at("a", 106 * S, 5006 * S), other = sign_at("b", 907 * S, 5007 * S);
    struct ar_signs signs = {.items = &own, .n = 1, .n_silent = 2};
    struct ar_live_header h = killed_on("a");

    tap_ok(ns_after_start(&signs, &h) == 6 * S, "until the last sign on the same host");
    signs.items = &other;
    tap_ok(ns_after_start(&signs, &h) == 7 * S, "on another host: by the time of day");
    other.is_linked = true;
    other.offset_ns = -799 * (int64_t)S;
    h.clock_links[AR_CLOCK_AT_INIT] = (struct ar_clock_link){.at_ns = 1, .offset_ns = 3 * S};
    tap_ok(ns_after_start(&signs, &h) == 5 * S, "by offsets of clocks where they were measured");
}

static void test_who_was_killed(void)
{
    struct ar_sign own = sign_at("a", 106 * S, 5006 * S);
    struct ar_signs signs = {.items = &own, .n = 1, .n_silent = 1};
    struct ar_live_header h = killed_on("a");

    tap_ok(ar_signs_ticks(&signs, &h) == 0, "one that ended alone ended by itself");
    signs.n_silent = 2;
    signs.n_running = 1;
    tap_ok(ar_signs_ticks(&signs, &h) == 0, "a job that runs was not killed");
    signs.n_running = 0;
    h.is_child = 1;
    tap_ok(ar_signs_ticks(&signs, &h) == 0, "a child may have ended at any time");
    h.is_child = 0;
    h.state = AR_LIVE_FINISHED;
    tap_ok(ar_signs_ticks(&signs, &h) == 0, "in one that has finished nothing is open");
}

int main(void)
{
    test_hosts();
    test_who_was_killed();
    return tap_done();
}

// SPDX-License-Identifier: BSD-3-Clause
/* What has changed between two looks at a job, and since it started: see look.h. */
#include "analysis/look.h"

/* Estimates are made anew at each look, and may come to less than before. */
static uint64_t growth(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static struct ar_share share_in(const struct ar_look *look, uint32_t function)
{
    return function < look->n_shares ? look->shares[function] : (struct ar_share){0};
}

static void add_share(const struct ar_watched *from, uint32_t function, bool since_start,
                      struct ar_share *sum)
{
    struct ar_share now = share_in(&from->now, function), before = {0};

    if (!since_start)
        before = share_in(&from->before, function);

    sum->n_calls += growth(now.n_calls, before.n_calls);
    sum->time_ns += growth(now.time_ns, before.time_ns);
    sum->self_ns += growth(now.self_ns, before.self_ns);
    /* The error of a difference is at most that of both. */
    ar_doubt_add(&sum->time_doubt, now.time_doubt);
    ar_doubt_add(&sum->time_doubt, before.time_doubt);
    ar_doubt_add(&sum->self_doubt, now.self_doubt);
    ar_doubt_add(&sum->self_doubt, before.self_doubt);
}

struct ar_share ar_watch_share(const struct ar_watch *w, uint32_t process, uint32_t function,
                               bool since_start)
{
    struct ar_share sum = {0};

    for (size_t i = 0; i < w->n_processes; i++)
        if (process == AR_NO_ID || process == i)
            add_share(&w->processes[i], function, since_start, &sum);
    return sum;
}

uint64_t ar_watch_span_ns(const struct ar_watch *w, uint32_t process, bool since_start)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < w->n_processes; i++)
        if (process == AR_NO_ID || process == i)
            sum += growth(w->processes[i].now.wall_ns,
                          since_start ? 0 : w->processes[i].before.wall_ns);
    return sum;
}

uint64_t ar_watch_mpi_ns(const struct ar_watch *w, uint32_t process, bool since_start)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < w->n_processes; i++)
        if (process == AR_NO_ID || process == i)
            sum +=
                growth(w->processes[i].now.mpi_ns, since_start ? 0 : w->processes[i].before.mpi_ns);
    return sum;
}

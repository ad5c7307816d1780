// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/sources.h"

#include "runtime/livemap.h"
#include "runtime/tree.h"

#include <stdio.h>

static struct {
    const struct ar_source *const *all;
    size_t n;        /* that were started */
    uint64_t absent; /* a bit for each of those that cannot be had here */
} sources;

/* NULL: it is not here. */
static const struct ar_source *running(size_t i)
{
    return sources.absent >> i & 1 ? NULL : sources.all[i];
}

static void thread_starts(struct ar_thread *t)
{
    for (size_t i = 0; i < sources.n; i++)
        if (running(i) && running(i)->thread_starts)
            running(i)->thread_starts(t);
}

static void thread_ends(struct ar_thread *t)
{
    for (size_t i = 0; i < sources.n; i++)
        if (running(i) && running(i)->thread_ends)
            running(i)->thread_ends(t);
}

static void say_absent(const struct ar_source *source, const char *why)
{
    char text[sizeof((struct ar_error *)0)->text + 32];

    snprintf(text, sizeof text, "not recorded: %s", why);
    ar_livemap_fact(source->name, text);
}

static enum ar_status start(size_t i, const struct ar_options *options, struct ar_error *err)
{
    const struct ar_source *source = sources.all[i];
    enum ar_status status = source->start ? source->start(options, err) : AR_OK;

    if (status == AR_UNSUPPORTED) {
        sources.absent |= UINT64_C(1) << i;
        say_absent(source, err->text);
        status = AR_OK;
    } else if (status == AR_OK && source->thread_starts && ar_self) {
        source->thread_starts(ar_self);
    }
    return status;
}

/* From the last to the first: facts about what was asked for come before those about how it is done. */
static void describe(void)
{
    for (size_t i = sources.n; i-- > 0;)
        if (running(i) && running(i)->describe)
            running(i)->describe(ar_livemap_fact);
}

enum ar_status ar_sources_start(const struct ar_source *const *all,
                                const struct ar_options *options, struct ar_error *err)
{
    enum ar_status status = AR_OK;

    sources.all = all;
    sources.n = sources.absent = 0;
    ar_thread_starts = thread_starts;
    ar_thread_ends = thread_ends;
    while (all[sources.n] && (status = start(sources.n, options, err)) == AR_OK)
        sources.n++;
    if (status == AR_OK)
        describe();
    else
        ar_sources_stop(AR_SOURCE_CANCELLED);
    return status;
}

void ar_sources_stop(enum ar_source_end why)
{
    for (size_t i = sources.n; i-- > 0;)
        if (running(i) && running(i)->stop)
            running(i)->stop(why);
}

void ar_sources_fork(enum ar_fork_step step)
{
    for (size_t i = 0; i < sources.n; i++)
        if (running(i) && running(i)->fork)
            running(i)->fork(step);
}

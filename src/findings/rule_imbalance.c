// SPDX-License-Identifier: BSD-3-Clause
/*
 * imbalance: ranks do the same work, and some have more of it than others.
 *
 * Fires where ranks wait in a collective operation for a function that several ranks call, and that takes one of them
 * a tenth longer than the mean, so that the difference is worth a sentence: what differs by less is a machine's
 * noise. Where ranks are late in turns, and in all take the same time, it is none.
 * Says how long the slowest rank takes and the mean, and who waited for that.
 */
#include "analysis/imbalance.h"
#include "findings/findings.h"
#include "findings/words.h"

#include <stdio.h>
#include <stdlib.h>

#define ALL_OF_IT 0.9

struct uneven {
    uint32_t slowest;
    size_t n_ranks; /* that call it */
    double max_ns, mean_ns;
};

static struct uneven look_at(struct ar_evidence *e, uint32_t function)
{
    struct ar_busy_time *times = ar_times_in(e, function);
    struct uneven u = {0};

    for (uint32_t i = 0; times && i < e->p->n_roots; i++) {
        u.mean_ns += times[i].ns / (double)e->p->n_roots;
        u.n_ranks += times[i].n_calls > 0;
        if (times[i].ns > u.max_ns) {
            u.max_ns = times[i].ns;
            u.slowest = i;
        }
    }
    free(times);
    return u;
}

/* "for it at a.py:5 Barrier"; "at a.py:5 Barrier, 40.0 % of that for it", where the rank was late for other reasons, too. */
static const char *show_where(const struct ar_evidence *e, const struct ar_story *story)
{
    char *text = ar_text_buffer();
    const char *line = ar_show_line(e->p, story->site->place);
    const char *operation = ar_show_operation(e->p, story->site->node);
    const char *more = story->n_sites > 1 ? " and elsewhere" : "";
    double share = story->reason.ns / story->here_ns;

    if (share >= ALL_OF_IT)
        snprintf(text, AR_TEXT_BYTES, "for it at %s %s%s", line, operation, more);
    else
        snprintf(text, AR_TEXT_BYTES, "at %s %s%s, %s of that for it", line, operation, more,
                 ar_show_share(share));
    return text;
}

/* ", and only 20 of 32 ranks do it", where that is so: the others count in the average with nothing. */
static const char *show_workers(const struct ar_evidence *e, const struct uneven *u)
{
    char *text = ar_text_buffer();

    text[0] = '\0';
    if (u->n_ranks < e->p->n_roots)
        snprintf(text, AR_TEXT_BYTES, ", and only %zu of %zu ranks do it", u->n_ranks,
                 e->p->n_roots);
    return text;
}

/* ", waiting for a child process (gcc -c x.c)", where that is what the function does. */
static const char *show_child(const struct ar_evidence *e, const struct ar_story *story,
                              const struct uneven *u)
{
    char *text = ar_text_buffer();

    text[0] = '\0';
    if (e->children.is_wait[story->function])
        snprintf(text, AR_TEXT_BYTES, ", waiting for %s", ar_show_child(&e->children, u->slowest));
    return text;
}

static void tell(struct ar_evidence *e, struct ar_story *story, const struct uneven *u)
{
    struct ar_finding *f = ar_finding_add(e, "imbalance", story->waited_ns);

    if (!f)
        return;
    f->place = ar_place_of_function(e->p, story->function);
    ar_finding_say(
        e, f, "%s takes %s on %s and %s on average%s%s; the other ranks waited %s in all (%s) %s",
        ar_show_culprit(e, story->function), ar_show_duration(u->max_ns),
        ar_show_process(e->p, u->slowest), ar_show_duration(u->mean_ns), show_workers(e, u),
        show_child(e, story, u), ar_show_duration(story->waited_ns),
        ar_show_share(story->waited_ns / e->all_ns), show_where(e, story));
    ar_finding_show(e, f, "ranks", ar_show_function_line(e->p, story->function));
    ar_finding_about(e, f, &u->slowest, 1);
    story->is_told = true;
}

void ar_rule_imbalance(struct ar_evidence *e)
{
    for (size_t i = 0; i < e->n_stories; i++) {
        struct ar_story *story = &e->stories[i];

        if (story->is_told || story->is_rest || ar_is_point_to_point(story) ||
            !ar_is_code(e->p, story->function))
            continue;

        struct uneven u = look_at(e, story->function);

        if (u.n_ranks > 1 && u.max_ns >= AR_UNEVEN_FACTOR * u.mean_ns &&
            ar_is_worth_saying(e, (u.max_ns - u.mean_ns) * (double)e->p->n_roots))
            tell(e, story, &u);
    }
}

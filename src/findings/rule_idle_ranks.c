// SPDX-License-Identifier: BSD-3-Clause
/*
 * idle_ranks: ranks that have nothing to do, ever, while several others work.
 *
 * Work is what a rank computes, without its imports. Fires where ranks have less than a tenth of the most that
 * one has, at least two others have more, and what the work would gain if all shared it is worth a
 * sentence. A tenth, since every rank has a setup and an output; two, since all ranks but one
 * are idle in a serial phase, which has a rule of its own.
 * Says which ranks, how long the others worked on average, and how many ranks do the work that was waited for, if that is
 * one function. Waits for that function are reported with it. Waits of idle ranks for other causes are
 * sentences of their own, and their time is not counted here as well.
 */
#include "findings/findings.h"
#include "findings/wait_words.h"
#include "findings/words.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST_WORK 0.1
#define FEWEST_BUSY 2
#define LEAST_IDLE_SHARE 0.8
#define MOST_COMMAND_BYTES 60 /* a longer list of ranks is no help on a screen */

struct idle {
    bool *is_idle; /* by root */
    uint32_t *processes;
    size_t n;
    double busy_ns, waited_ns; /* work of the others, and waits of these */
    uint32_t work;             /* function that only others do; AR_NO_ID: not known */
    size_t n_workers;          /* ranks that do it */
    bool is_shared;            /* the others do a little of it, too */
};

static double work_of(const struct ar_evidence *e, size_t i)
{
    double ns = e->w->times[i].computing_ns - e->importing_ns[i];

    return ns > 0 ? ns : 0;
}

static void divide(const struct ar_evidence *e, struct idle *idle)
{
    double most_ns = 0;

    for (size_t i = 0; i < e->p->n_roots; i++)
        most_ns = work_of(e, i) > most_ns ? work_of(e, i) : most_ns;
    for (uint32_t i = 0; i < e->p->n_roots; i++) {
        idle->is_idle[i] = work_of(e, i) < MOST_WORK * most_ns;
        if (idle->is_idle[i])
            idle->processes[idle->n++] = i;
        else
            idle->busy_ns += work_of(e, i);
    }
}

/* Of a wait, what idle ranks have of it: as `allranks waits --ranks` adds it up. */
static double idle_share_ns(const struct idle *idle, const struct ar_wait_site *site)
{
    double ns = 0;

    for (size_t i = 0; i < site->n_waiting; i++)
        if (idle->is_idle[site->waiting[i].process])
            ns += site->waiting[i].ns;
    return ns;
}

static void add_waits(const struct ar_evidence *e, struct idle *idle)
{
    for (size_t i = 0; i < e->w->n_sites; i++)
        idle->waited_ns += idle_share_ns(idle, &e->w->sites[i]);
}

/* Those that work wait a little for each other, too. */
static bool do_idle_wait(const struct idle *idle, const struct ar_wait_site *site)
{
    return idle_share_ns(idle, site) >= LEAST_IDLE_SHARE * site->waited_ns;
}

/* Finds out who does a function; false: it is no work that several ranks do and idle ones do not. */
static bool is_work_of_others(struct ar_evidence *e, struct idle *idle, uint32_t function)
{
    struct ar_busy_time *times = ar_times_in(e, function);
    double most_ns = 0;
    bool is_theirs = times != NULL;

    idle->n_workers = 0;
    idle->is_shared = false;
    for (size_t i = 0; times && i < e->p->n_roots; i++)
        most_ns = times[i].ns > most_ns ? times[i].ns : most_ns;
    for (size_t i = 0; times && i < e->p->n_roots; i++) {
        bool works = times[i].ns >= MOST_WORK * most_ns;

        idle->n_workers += works;
        idle->is_shared = idle->is_shared || (!works && times[i].n_calls);
        is_theirs = is_theirs && !(works && idle->is_idle[i]);
    }
    free(times);
    return is_theirs && idle->n_workers >= FEWEST_BUSY;
}

/* Stories come the largest first. */
static void find_work(struct ar_evidence *e, struct idle *idle)
{
    idle->work = AR_NO_ID;
    for (size_t i = 0; i < e->n_stories && idle->work == AR_NO_ID; i++) {
        const struct ar_story *story = &e->stories[i];

        if (ar_is_code(e->p, story->function) && do_idle_wait(idle, story->site) &&
            is_work_of_others(e, idle, story->function))
            idle->work = story->function;
    }
}

/* It names no other cause than this finding does. */
static bool is_covered(const struct idle *idle, const struct ar_story *story)
{
    return do_idle_wait(idle, story->site) &&
           (story->function == AR_NO_ID || story->function == idle->work);
}

/* What idle ranks waited, without what other sentences count. */
static double uncounted_ns(const struct ar_evidence *e, const struct idle *idle)
{
    double ns = idle->waited_ns;

    for (size_t i = 0; i < e->n_stories; i++) {
        const struct ar_story *story = &e->stories[i];

        if (story->is_told || !is_covered(idle, story))
            ns -= story->waited_ns * idle_share_ns(idle, story->site) / story->site->waited_ns;
    }
    return ns > 0 ? ns : 0;
}

static void cover_stories(struct ar_evidence *e, const struct idle *idle)
{
    for (size_t i = 0; i < e->n_stories; i++)
        e->stories[i].is_told |= is_covered(idle, &e->stories[i]);
}

/* "only 20 of 32 ranks do halo.py:51 exchange; " */
static const char *show_work(const struct ar_evidence *e, const struct idle *idle)
{
    char *text = ar_text_buffer();

    text[0] = '\0';
    if (idle->work != AR_NO_ID)
        snprintf(text, AR_TEXT_BYTES, "only %zu of %zu ranks do %s%s; ", idle->n_workers,
                 e->p->n_roots, idle->is_shared ? "more than a little of " : "",
                 ar_show_culprit(e, idle->work));
    return text;
}

/* "waits --ranks 2,5": what they waited for; without the ranks where they have no numbers. */
static const char *show_command(const struct ar_evidence *e, const struct idle *idle)
{
    char *text = ar_text_buffer();
    int n = snprintf(text, AR_TEXT_BYTES, "waits --ranks ");

    for (size_t i = 0; i < idle->n; i++) {
        uint32_t rank = e->p->processes[idle->processes[i]].world_rank;

        if (rank == AR_RANK_NONE || n > MOST_COMMAND_BYTES)
            return "waits";
        n += snprintf(text + n, AR_TEXT_BYTES - (size_t)n, "%s%u", i ? "," : "", rank);
    }
    return text;
}

static void tell(struct ar_evidence *e, const struct idle *idle)
{
    size_t n_busy = e->p->n_roots - idle->n;
    double mean_ns = idle->busy_ns / (double)n_busy, won_ns = mean_ns * (double)idle->n;
    double left_ns = uncounted_ns(e, idle);
    struct ar_finding *f;

    won_ns = won_ns < left_ns ? won_ns : left_ns;
    if (!ar_is_worth_saying(e, won_ns))
        return;
    f = ar_finding_add(e, "idle_ranks", won_ns);
    if (!f)
        return;
    ar_finding_say(e, f, "%s%s did nothing but wait, %s in all (%s), while %s worked %s on average",
                   show_work(e, idle), ar_show_ranks(e->p, idle->processes, idle->n),
                   ar_show_duration(idle->waited_ns), ar_show_share(idle->waited_ns / e->all_ns),
                   ar_show_items(n_busy, "other", "others"), ar_show_duration(mean_ns));
    ar_finding_show(e, f, show_command(e, idle), "");
    ar_finding_about(e, f, idle->processes, idle->n);
    f->place = ar_place_of_function(e->p, idle->work);
    cover_stories(e, idle);
}

void ar_rule_idle_ranks(struct ar_evidence *e)
{
    struct idle idle = {.is_idle = calloc(e->p->n_roots + 1, sizeof *idle.is_idle),
                        .processes = malloc((e->p->n_roots + 1) * sizeof *idle.processes)};

    if (idle.is_idle && idle.processes) {
        divide(e, &idle);
        add_waits(e, &idle);
        find_work(e, &idle);
        if (idle.n && e->p->n_roots >= idle.n + FEWEST_BUSY)
            tell(e, &idle);
    } else {
        e->bad = true;
    }
    free(idle.is_idle);
    free(idle.processes);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "findings/findings.h"

#include "analysis/imbalance.h"
#include "analysis/names.h"
#include "findings/wait_words.h"
#include "findings/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The special before the general: what one has told the next ones leave alone. */
static void (*const rules[])(struct ar_evidence *e) = {
    ar_rule_io_on_one_rank, ar_rule_pickling,         ar_rule_small_messages,
    ar_rule_idle_ranks,     ar_rule_slow_node,        ar_rule_late_sender,
    ar_rule_late_receiver,  ar_rule_serial_phase,     ar_rule_imbalance,
    ar_rule_wait,           ar_rule_polling,          ar_rule_no_overlap,
    ar_rule_imports,        ar_rule_oversubscription, ar_rule_overhead,
};

bool ar_is_worth_saying(const struct ar_evidence *e, double ns)
{
    return ns > 0 && ns >= AR_WORTH_SAYING * e->all_ns;
}

/* ---- a finding -------------------------------------------------------------------------------- */

struct ar_finding *ar_finding_add(struct ar_evidence *e, const char *rule, double won_ns)
{
    struct ar_findings *f = e->out;

    if (ar_grow((void **)&f->items, &f->cap, f->n + 1, sizeof *f->items) < 0) {
        e->bad = true;
        return NULL;
    }
    f->items[f->n] = (struct ar_finding){
        .rule = rule,
        .won_ns = won_ns < e->all_ns ? won_ns : e->all_ns,
        .place = {.function = AR_NO_ID},
    };
    return &f->items[f->n++];
}

void ar_finding_say(struct ar_evidence *e, struct ar_finding *f, const char *fmt, ...)
{
    va_list ap;

    if (!f)
        return;
    free(f->text);
    va_start(ap, fmt);
    if (vasprintf(&f->text, fmt, ap) < 0) {
        f->text = NULL;
        e->bad = true;
    }
    va_end(ap);
}

void ar_finding_show(struct ar_evidence *e, struct ar_finding *f, const char *command,
                     const char *after)
{
    struct ar_bytes text = {0};

    if (!f)
        return;
    ar_put_words(&text, "allranks ");
    ar_put_words(&text, command);
    ar_put_words(&text, " ");
    ar_put_shell_word(&text, e->path);
    ar_put_words(&text, *after ? " " : "");
    if (*after)
        ar_put_shell_word(&text, after);
    ar_bytes_u8(&text, 0);
    e->bad |= text.bad;
    free(f->command);
    f->command = text.bad ? NULL : (char *)text.data;
    if (text.bad)
        ar_bytes_free(&text);
}

static int in_order(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

void ar_finding_about(struct ar_evidence *e, struct ar_finding *f, const uint32_t *processes,
                      size_t n)
{
    if (!f)
        return;
    free(f->processes);
    f->n_processes = 0;
    f->processes = malloc((n + 1) * sizeof *f->processes);
    if (!f->processes) {
        e->bad = true;
        return;
    }
    memcpy(f->processes, processes, n * sizeof *processes);
    f->n_processes = n;
    qsort(f->processes, n, sizeof *f->processes, in_order);
}

struct ar_place ar_place_of_function(const struct ar_profile *p, uint32_t function)
{
    if (function == AR_NO_ID || !p->functions[function].first_line)
        return (struct ar_place){.function = AR_NO_ID};
    return (struct ar_place){.function = function, .line = p->functions[function].first_line};
}

const char *ar_show_function_line(const struct ar_profile *p, uint32_t function)
{
    const char *line = ar_show_line(p, ar_place_of_function(p, function));

    return *line ? line : ar_function_name(p, function);
}

/* " (hot line 25)"; "" where it is not known. */
static const char *show_hot_line(const struct ar_evidence *e, uint32_t function)
{
    char *text = ar_text_buffer();
    const struct ar_hot_line *line;

    text[0] = '\0';
    if (!e->hot_lines || !ar_hot_line_is_known(e->hot_lines, function))
        return text;
    line = &e->hot_lines->by_function[function];
    snprintf(text, AR_TEXT_BYTES, " (hot line%s %s)", line->first == line->last ? "" : "s",
             ar_show_hot_line(e->hot_lines, function));
    return text;
}

const char *ar_show_culprit(const struct ar_evidence *e, uint32_t function)
{
    const struct ar_profile *p = e->p;
    char *text = ar_text_buffer();
    const char *line = ar_show_line(p, ar_place_of_function(p, function));

    if (ar_is_top_level(p, function))
        snprintf(text, AR_TEXT_BYTES, "the top level of %s%s",
                 ar_file_name(ar_strtab_text(&p->strings, p->functions[function].file)),
                 show_hot_line(e, function));
    else
        snprintf(text, AR_TEXT_BYTES, "%s %s%s",
                 *line ? line : ar_function_kind_name(p->functions[function].kind),
                 ar_function_name(p, function), show_hot_line(e, function));
    return text;
}

bool ar_is_code(const struct ar_profile *p, uint32_t function)
{
    if (function == AR_NO_ID)
        return false;

    uint32_t kind = p->functions[function].kind;

    return kind == AR_FUNCTION_PYTHON || kind == AR_FUNCTION_REGION || kind == AR_FUNCTION_TASK;
}

const char *ar_function_name(const struct ar_profile *p, uint32_t function)
{
    if (p->functions[function].kind == AR_FUNCTION_PYTHON)
        return ar_plain_name(p, function, ar_text_buffer());
    return ar_strtab_text(&p->strings, p->functions[function].name);
}

/* ---- waits ------------------------------------------------------------------------------------ */

bool ar_is_point_to_point(const struct ar_story *story)
{
    return story->site->class == AR_WAIT_LATE_SENDER || story->site->class == AR_WAIT_LATE_RECEIVER;
}

#define MOST_OF_IT 0.5

static bool is_worth_telling(const struct ar_evidence *e, double waited_ns)
{
    return ar_is_worth_saying(e, waited_ns) && waited_ns >= AR_UNEVEN_NS * (double)e->p->n_roots;
}

/* What a line has of a story. */
struct part {
    size_t site, story;
    double ns;
};

struct gathering {
    struct ar_evidence *e;
    struct part *parts;
    size_t n, cap, cap_stories;
};

static uint32_t only_one(const struct ar_wait_share *late, size_t n, double ns)
{
    return ar_n_main_shares(late, n, ns, AR_MOST_LATE) == 1 ? late->process : AR_NO_ID;
}

static bool is_the_same(const struct ar_story *a, const struct ar_story *b)
{
    return a->function == b->function && a->late == b->late &&
           a->reason.indirect == b->reason.indirect &&
           (a->site->class == b->site->class ||
            (!ar_is_point_to_point(a) && !ar_is_point_to_point(b)));
}

static size_t add_story(struct gathering *g, struct ar_story story)
{
    struct ar_evidence *e = g->e;
    size_t k = 0;

    while (k < e->n_stories && (story.is_rest || !is_the_same(&e->stories[k], &story)))
        k++;
    if (k < e->n_stories) {
        struct ar_story *same = &e->stories[k];

        story.waited_ns += same->waited_ns;
        story.n_sites += same->n_sites;
        if (story.here_ns <= same->here_ns) {
            story.site = same->site;
            story.number = same->number;
            story.reason = same->reason;
            story.here_ns = same->here_ns;
        }
        *same = story;
        return k;
    }
    if (ar_grow((void **)&e->stories, &g->cap_stories, k + 1, sizeof *e->stories) < 0) {
        e->bad = true;
        return 0;
    }
    e->stories[e->n_stories++] = story;
    return k;
}

static uint32_t only_one_of(const struct ar_wait_reason *reason)
{
    return only_one(reason->late, reason->n_late, reason->ns);
}

/*
 * A line at which ranks meet in every step has many reasons: one rank writes files now and then, another has more work.
 * What one rank is to blame for is a story, of which its largest reason is named; what all were late for in turns is one if it
 * is most of the wait.
 */
static bool is_story(const struct ar_wait_site *site, const struct ar_wait_reason *reason)
{
    return reason->function != AR_NO_ID &&
           (only_one_of(reason) != AR_NO_ID || reason->ns >= MOST_OF_IT * site->waited_ns);
}

/* With all other reasons that the same rank is to blame for; 0: one that is larger has it already. */
static double story_ns(const struct ar_wait_reasons *reasons, size_t k)
{
    uint32_t late = only_one_of(&reasons->items[k]);
    double ns = reasons->items[k].ns;

    for (size_t i = 0; i < reasons->n && late != AR_NO_ID; i++) {
        const struct ar_wait_reason *other = &reasons->items[i];

        if (i == k || other->function == AR_NO_ID || only_one_of(other) != late)
            continue;
        if (i < k)
            return 0;
        ns += other->ns;
    }
    return ns;
}

/* What is nearly all of the wait is all of it. */
static void add_reason(struct gathering *g, size_t i, const struct ar_wait_reason *reason,
                       double ns)
{
    const struct ar_wait_site *site = &g->e->w->sites[i];
    struct ar_story story = {.site = site,
                             .number = i + 1,
                             .reason = *reason,
                             .function = reason->function,
                             .late = only_one_of(reason),
                             .waited_ns = ns,
                             .n_sites = 1};

    if (ns >= AR_MOST_LATE * site->waited_ns)
        story.waited_ns = site->waited_ns;
    story.here_ns = story.waited_ns;
    if (ar_grow((void **)&g->parts, &g->cap, g->n + 1, sizeof *g->parts) < 0)
        g->e->bad = true;
    else
        g->parts[g->n++] = (struct part){i, add_story(g, story), story.waited_ns};
}

static void add_reasons(struct gathering *g, size_t i)
{
    const struct ar_wait_site *site = &g->e->w->sites[i];
    struct ar_wait_reasons *reasons = &g->e->reasons[i];

    if (ar_reasons_build(reasons, g->e->p, site) < 0)
        g->e->bad = true;
    for (size_t k = 0; k < reasons->n && ar_is_worth_saying(g->e, 10 * reasons->items[k].ns); k++) {
        double ns = is_story(site, &reasons->items[k]) ? story_ns(reasons, k) : 0;

        if (ns > 0)
            add_reason(g, i, &reasons->items[k], ns);
    }
}

static bool is_worthy(const struct gathering *g, const struct part *part)
{
    return is_worth_telling(g->e, g->e->stories[part->story].waited_ns);
}

/* The largest reason that no story is told of; NULL: none. */
static const struct ar_wait_reason *largest_left(const struct gathering *g, size_t i)
{
    const struct ar_wait_reasons *reasons = &g->e->reasons[i];

    for (size_t k = 0; k < reasons->n; k++) {
        const struct ar_wait_reason *reason = &reasons->items[k];
        bool is_left = reason->function != AR_NO_ID;

        for (size_t m = 0; m < g->n && is_left; m++) {
            const struct ar_story *story = &g->e->stories[g->parts[m].story];

            is_left = g->parts[m].site != i || !is_worthy(g, &g->parts[m]) ||
                      (story->late == AR_NO_ID ? story->function != reason->function
                                               : story->late != only_one_of(reason));
        }
        if (is_left)
            return reason;
    }
    return NULL;
}

/* What is left of a line when its reasons are told, if that is most of it: much of little, or not known. */
static void add_rest(struct gathering *g, size_t i)
{
    const struct ar_wait_site *site = &g->e->w->sites[i];
    const struct ar_wait_reason *reason = largest_left(g, i);
    struct ar_story rest = {.site = site,
                            .number = i + 1,
                            .function = AR_NO_ID,
                            .late = only_one(site->late, site->n_late, site->waited_ns),
                            .waited_ns = site->waited_ns,
                            .n_sites = 1,
                            .is_rest = true};

    for (size_t k = 0; k < g->n; k++)
        if (g->parts[k].site == i && is_worthy(g, &g->parts[k]))
            rest.waited_ns -= g->parts[k].ns;
    rest.here_ns = rest.waited_ns;
    if (reason)
        rest.reason = *reason;
    if (reason && reason->ns >= MOST_OF_IT * rest.here_ns)
        rest.function = reason->function;
    if (is_worth_telling(g->e, rest.waited_ns) && rest.waited_ns > MOST_OF_IT * site->waited_ns)
        add_story(g, rest);
}

static int longer_story_first(const void *a, const void *b)
{
    const struct ar_story *x = a, *y = b;

    if (x->waited_ns != y->waited_ns)
        return x->waited_ns < y->waited_ns ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

static void keep_the_worthy(struct ar_evidence *e)
{
    size_t n = 0;

    for (size_t i = 0; i < e->n_stories; i++)
        if (is_worth_telling(e, e->stories[i].waited_ns))
            e->stories[n++] = e->stories[i];
    e->n_stories = n;
    if (n)
        qsort(e->stories, n, sizeof *e->stories, longer_story_first);
}

/* Sites come the largest first, and a tenth of what is worth a sentence says nothing to anybody: they are few. */
static enum ar_status find_stories(struct ar_evidence *e)
{
    struct gathering g = {.e = e};
    size_t n = 0;

    while (n < e->w->n_sites && e->w->sites[n].n &&
           ar_is_worth_saying(e, 10 * e->w->sites[n].waited_ns))
        n++;
    e->reasons = calloc(n + 1, sizeof *e->reasons);
    if (!e->reasons)
        return AR_NOMEM;
    e->n_reasons = n;
    for (size_t i = 0; i < n && !e->bad; i++)
        add_reasons(&g, i);
    for (size_t i = 0; i < n && !e->bad; i++)
        add_rest(&g, i);
    keep_the_worthy(e);
    free(g.parts);
    return e->bad ? AR_NOMEM : AR_OK;
}

/* Of the line that has most of it. */
static void put_story(struct ar_bytes *text, const struct ar_evidence *e,
                      const struct ar_story *story)
{
    struct ar_wait_words words = {.p = e->p, .children = &e->children, .all_ns = e->all_ns};

    if (story->is_rest)
        ar_put_part_of_wait(text, &words, story->site, story->here_ns,
                            story->reason.n_late ? &story->reason : NULL);
    else
        ar_put_wait_for(text, &words, story->site, story->here_ns, &story->reason);
}

/* The command shows all waits of the line: where the sentence is about a part of them, it names both. */
static void put_more(struct ar_bytes *text, const struct ar_story *story)
{
    if (story->here_ns < AR_MOST_LATE * story->site->waited_ns) {
        ar_put_words(text, "; all waits at this line: ");
        ar_put_words(text, ar_show_duration(story->site->waited_ns));
    }
    if (story->n_sites > 1) {
        ar_put_words(text, "; ");
        ar_put_words(text, ar_show_duration(story->waited_ns - story->here_ns));
        ar_put_words(text, " at other lines");
    }
}

/* Who was late: those that were in it, or all that it is known of. */
static size_t late_ranks(const struct ar_story *story, const struct ar_wait_share **late)
{
    const struct ar_wait_site *site = story->site;

    *late = story->is_rest ? site->late : story->reason.late;
    return story->is_rest
               ? ar_n_main_shares(*late, site->n_late, site->waited_ns, AR_MOST_LATE)
               : ar_n_main_shares(*late, story->reason.n_late, story->reason.ns, AR_MOST_LATE);
}

void ar_tell_story(struct ar_evidence *e, struct ar_story *story, const char *rule,
                   struct ar_place place, const char *more)
{
    const struct ar_wait_share *shares;
    size_t n_late = late_ranks(story, &shares);
    struct ar_finding *f = ar_finding_add(e, rule, story->waited_ns);
    uint32_t *late = malloc((n_late + 1) * sizeof *late);
    struct ar_bytes text = {0};
    char number[32];

    for (size_t i = 0; i < n_late && late; i++)
        late[i] = shares[i].process;
    put_story(&text, e, story);
    ar_put_words(&text, more);
    put_more(&text, story);
    ar_bytes_u8(&text, 0);
    snprintf(number, sizeof number, "%zu", story->number);
    if (f && late && !text.bad) {
        ar_finding_say(e, f, "%s", (const char *)text.data);
        ar_finding_show(e, f, "waits", number);
        ar_finding_about(e, f, late, n_late);
        f->place = place;
    } else {
        e->bad = true;
    }
    story->is_told = true;
    ar_bytes_free(&text);
    free(late);
}

struct ar_busy_time *ar_times_in(struct ar_evidence *e, uint32_t function)
{
    const struct ar_profile *p = e->p;
    struct ar_busy_time *times = calloc(p->n_roots + 1, sizeof *times);
    struct ar_rows calls;

    if (!times || ar_rows_open(&calls, p, AR_METRIC_CALLS) < 0) {
        free(times);
        e->bad = true;
        return NULL;
    }
    ar_own_time_get(&e->own, function);
    for (size_t i = 0; i < p->n_roots; i++)
        times[i].ns = (double)e->own.by_root[i];
    for (uint32_t node = e->own.first[function]; node != AR_NO_ID; node = e->own.next[node]) {
        struct ar_row row = ar_rows_get(&calls, node);

        for (size_t i = 0; i < row.n && e->own.owner[node] == node; i++)
            times[ar_profile_root(p, row.values[i].location)].n_calls += row.values[i].value;
    }
    ar_rows_close(&calls);
    return times;
}

bool ar_is_same_place(struct ar_place a, struct ar_place b)
{
    return a.function == b.function && a.line == b.line;
}

bool ar_is_moving_known(struct ar_evidence *e)
{
    return e->w->n_calls && 10 * (e->w->n_unresolved + e->w->n_lost) <= e->w->n_calls &&
           !ar_do_ranks_share(e);
}

double ar_waited_at(const struct ar_evidence *e, struct ar_place place)
{
    double ns = 0;

    for (size_t i = 0; i < e->w->n_sites; i++)
        if (ar_is_same_place(e->w->sites[i].place, place))
            ns += e->w->sites[i].waited_ns;
    return ns;
}

double ar_moving_ns(const struct ar_evidence *e, const struct ar_mpi_row *row)
{
    double in_mpi_ns = row->is_operation ? (double)row->parts.mpi_ns : row->time.sum;

    return in_mpi_ns - ar_waited_at(e, ar_place_of_call(e->p, row->node));
}

const char *ar_show_similar(const struct ar_evidence *e, size_t n_lines, double all_ns)
{
    char *text = ar_text_buffer();

    text[0] = '\0';
    if (n_lines > 1)
        snprintf(text, AR_TEXT_BYTES, ", with %s %s (%s)",
                 ar_show_items(n_lines - 1, "similar line", "similar lines"),
                 ar_show_duration(all_ns), ar_show_share(all_ns / e->all_ns));
    return text;
}

/* ---- imports and messages --------------------------------------------------------------------- */

static bool is_kind(const struct ar_profile *p, uint32_t node, enum ar_function_kind kind)
{
    return p->functions[p->nodes[node].function].kind == (uint32_t)kind;
}

static bool is_below(const struct ar_profile *p, uint32_t node, enum ar_function_kind kind)
{
    for (node = p->nodes[node].parent; node != AR_NO_ID; node = p->nodes[node].parent)
        if (is_kind(p, node, kind))
            return true;
    return false;
}

bool ar_is_outer_import(const struct ar_profile *p, uint32_t node)
{
    return is_kind(p, node, AR_FUNCTION_IMPORT) && !is_below(p, node, AR_FUNCTION_IMPORT);
}

static enum ar_status find_imports(struct ar_evidence *e)
{
    const struct ar_profile *p = e->p;

    e->importing_ns = calloc(p->n_roots + 1, sizeof *e->importing_ns);
    if (!e->importing_ns)
        return AR_NOMEM;
    for (uint32_t node = 1; node < p->n_nodes; node++) {
        bool is_mpi = is_kind(p, node, AR_FUNCTION_MPI) && is_below(p, node, AR_FUNCTION_IMPORT) &&
                      !is_below(p, node, AR_FUNCTION_MPI);

        if (!is_mpi && !ar_is_outer_import(p, node))
            continue;

        struct ar_row row = ar_rows_get(&e->own.selves.times, node);

        for (size_t i = 0; i < row.n; i++)
            e->importing_ns[ar_profile_root(p, row.values[i].location)] +=
                (is_mpi ? -1 : 1) * (double)row.values[i].value;
    }
    return AR_OK;
}

bool ar_is_message(const struct ar_evidence *e, const struct ar_mpi_row *row)
{
    const char *name =
        ar_strtab_text(&e->p->strings, e->p->functions[e->p->nodes[row->node].function].name);
    static const char *const methods[] = {"Send",     "Recv",  "Sendrecv", "Ssend",
                                          "Bsend",    "Rsend", "send",     "recv",
                                          "sendrecv", "ssend", "bsend",    "Sendrecv_replace"};
    const char *dot = strrchr(name, '.');

    if (!row->is_operation)
        return strcmp(ar_mpi_class_of(name).name, "p2p") == 0;
    for (size_t i = 0; dot && i < sizeof methods / sizeof *methods; i++)
        if (strcmp(dot + 1, methods[i]) == 0)
            return true;
    return false;
}

/* ---- all of them ------------------------------------------------------------------------------ */

static int most_first(const void *a, const void *b)
{
    double x = ((const struct ar_finding *)a)->won_ns, y = ((const struct ar_finding *)b)->won_ns;

    return (x < y) - (x > y);
}

static void free_finding(struct ar_finding *f)
{
    free(f->text);
    free(f->command);
    free(f->processes);
}

static void keep_the_first(struct ar_findings *f)
{
    if (f->n)
        qsort(f->items, f->n, sizeof *f->items, most_first);
    while (f->n > AR_MOST_FINDINGS)
        free_finding(&f->items[--f->n]);
}

static enum ar_status gather(struct ar_evidence *e, const struct ar_mpi *m)
{
    if (ar_own_time_open(&e->own, e->p, e->t) < 0 ||
        ar_child_waits_build(&e->children, e->p, e->t) < 0 ||
        ar_mpi_table(m, AR_MPI_BY_PATH, &e->out->calls, &e->out->n_calls) < 0 ||
        ar_mpi_requests(m, &e->requests, &e->n_requests) < 0)
        return AR_NOMEM;
    return find_imports(e) < 0 ? AR_NOMEM : find_stories(e);
}

/* Of caller pairs neither paths nor waits are known, and every rule is about one of these. */
enum ar_status ar_findings_find(struct ar_findings *out, struct ar_profile *p,
                                const struct ar_mpi *m, const struct ar_waits *w,
                                const struct ar_hot_lines *hot_lines, const char *path)
{
    struct ar_evidence e = {
        .p = p, .t = m->t, .w = w, .hot_lines = hot_lines, .path = path, .out = out};
    enum ar_status status;

    *out = (struct ar_findings){0};
    for (size_t i = 0; i < p->n_roots; i++)
        e.all_ns += (double)p->processes[i].wall_ns;
    if (ar_profile_of_pairs(p) || e.all_ns <= 0)
        return AR_OK;
    status = gather(&e, m);
    if (status == AR_OK)
        status = ar_efficiency_of_run(&out->efficiency, p, w);
    for (size_t i = 0; i < sizeof rules / sizeof *rules && status == AR_OK && !e.bad; i++)
        rules[i](&e);
    if (e.bad)
        status = AR_NOMEM;
    if (status == AR_OK)
        keep_the_first(out);
    else
        ar_findings_free(out);
    ar_own_time_close(&e.own);
    ar_child_waits_free(&e.children);
    for (size_t i = 0; i < e.n_reasons; i++)
        ar_reasons_free(&e.reasons[i]);
    free(e.reasons);
    free(e.stories);
    free(e.requests);
    free(e.importing_ns);
    return status;
}

void ar_findings_free(struct ar_findings *f)
{
    for (size_t i = 0; i < f->n; i++)
        free_finding(&f->items[i]);
    free(f->items);
    free(f->calls);
    *f = (struct ar_findings){0};
}

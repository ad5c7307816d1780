// SPDX-License-Identifier: BSD-3-Clause
#include "findings/wait_words.h"

#include "base/text.h"
#include "findings/words.h"

#include <stdlib.h>
#include <string.h>

/* A reason that is not known says less than one that is, if that has a good part of it. */
#define LEAST_KNOWN 0.25
#define MOST_INDIRECT 0.1
/* From there on a reason is all of it: what is left is noise. */
#define ALL_OF_IT 0.9

void ar_put_words(struct ar_bytes *out, const char *text)
{
    ar_bytes_put(out, text, strlen(text));
}

static bool is_plain(const char *word)
{
    return *word &&
           word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                             "_-+=:,./@%")] == '\0';
}

void ar_put_shell_word(struct ar_bytes *out, const char *word)
{
    if (is_plain(word)) {
        ar_put_words(out, word);
        return;
    }
    ar_bytes_u8(out, '\'');
    for (; *word; word++)
        if (*word == '\'')
            ar_put_words(out, "'\\''");
        else
            ar_bytes_u8(out, (uint8_t)*word);
    ar_bytes_u8(out, '\'');
}

size_t ar_n_main_shares(const struct ar_wait_share *shares, size_t n, double all_ns, double part)
{
    double sum = 0;
    size_t i = 0;

    while (i < n && (i == 0 || sum < part * all_ns))
        sum += shares[i++].ns;
    return i;
}

uint32_t ar_to_blame(const struct ar_profile *p, uint32_t node)
{
    while (p->functions[p->nodes[node].function].kind == AR_FUNCTION_BUILTIN &&
           p->nodes[node].parent != AR_NO_ID)
        node = p->nodes[node].parent;
    return node;
}

/* ---- reasons ---------------------------------------------------------------------------------- */

struct charged {
    uint32_t function;
    struct ar_wait_cause cause;
};

static uint32_t function_of(const struct ar_profile *p, uint32_t node)
{
    return node == AR_NO_ID ? AR_NO_ID : p->nodes[ar_to_blame(p, node)].function;
}

static int by_function(const void *a, const void *b)
{
    const struct charged *x = a, *y = b;

    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    if (x->cause.process != y->cause.process)
        return x->cause.process < y->cause.process ? -1 : 1;
    if (x->cause.indirect != y->cause.indirect)
        return x->cause.indirect ? 1 : -1;
    return (x->cause.ns < y->cause.ns) - (x->cause.ns > y->cause.ns);
}

/* By function, process and way; of several nodes the one that has most. */
static struct charged *charge(const struct ar_profile *p, const struct ar_wait_site *site,
                              size_t *n)
{
    struct charged *items = malloc((site->n_causes + 1) * sizeof *items);
    size_t n_merged = 0;

    if (!items)
        return NULL;
    for (size_t i = 0; i < site->n_causes; i++)
        items[i] = (struct charged){function_of(p, site->causes[i].node), site->causes[i]};
    qsort(items, site->n_causes, sizeof *items, by_function);
    for (size_t i = 0; i < site->n_causes; i++) {
        struct charged *last = n_merged ? &items[n_merged - 1] : NULL;

        if (last && last->function == items[i].function &&
            last->cause.process == items[i].cause.process &&
            last->cause.indirect == items[i].cause.indirect)
            last->cause.ns += items[i].cause.ns;
        else
            items[n_merged++] = items[i];
    }
    *n = n_merged;
    return items;
}

static int larger_cause_first(const void *a, const void *b)
{
    double x = ((const struct ar_wait_cause *)a)->ns, y = ((const struct ar_wait_cause *)b)->ns;

    return (x < y) - (x > y);
}

struct ar_wait_cause *ar_merged_causes(const struct ar_profile *p, const struct ar_wait_site *site,
                                       size_t *n)
{
    struct charged *items = charge(p, site, n);
    struct ar_wait_cause *causes = items ? malloc((*n + 1) * sizeof *causes) : NULL;

    for (size_t i = 0; causes && i < *n; i++)
        causes[i] = items[i].cause;
    if (causes && *n)
        qsort(causes, *n, sizeof *causes, larger_cause_first);
    free(items);
    return causes;
}

static int larger_share_first(const void *a, const void *b)
{
    const struct ar_wait_share *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    return (x->process > y->process) - (x->process < y->process);
}

/* Of items that are in order of processes: what each has of that function. */
static struct ar_wait_reason add_up(const struct charged *items, size_t n,
                                    struct ar_wait_share *shares)
{
    struct ar_wait_reason reason = {
        .function = items->function, .node = items->cause.node, .late = shares};
    double indirect_ns = 0, largest_ns = 0;

    for (size_t i = 0; i < n; i++) {
        const struct ar_wait_cause *cause = &items[i].cause;

        if (reason.n_late == 0 || shares[reason.n_late - 1].process != cause->process)
            shares[reason.n_late++] = (struct ar_wait_share){.process = cause->process};
        shares[reason.n_late - 1].ns += cause->ns;
        reason.ns += cause->ns;
        indirect_ns += cause->indirect ? cause->ns : 0;
        if (cause->ns > largest_ns) {
            largest_ns = cause->ns;
            reason.node = cause->node;
        }
    }
    reason.indirect = indirect_ns > MOST_INDIRECT * reason.ns;
    qsort(shares, reason.n_late, sizeof *shares, larger_share_first);
    return reason;
}

static int larger_reason_first(const void *a, const void *b)
{
    const struct ar_wait_reason *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    return (x->function > y->function) - (x->function < y->function);
}

enum ar_status ar_reasons_build(struct ar_wait_reasons *out, const struct ar_profile *p,
                                const struct ar_wait_site *site)
{
    size_t n = 0, n_shares = 0;
    struct charged *items = charge(p, site, &n);

    *out = (struct ar_wait_reasons){0};
    out->items = malloc((n + 1) * sizeof *out->items);
    out->shares = malloc((n + 1) * sizeof *out->shares);
    if (!items || !out->items || !out->shares) {
        free(items);
        ar_reasons_free(out);
        return AR_NOMEM;
    }
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && items[end].function == items[i].function;)
            end++;
        out->items[out->n] = add_up(&items[i], end - i, out->shares + n_shares);
        n_shares += out->items[out->n++].n_late;
    }
    if (out->n)
        qsort(out->items, out->n, sizeof *out->items, larger_reason_first);
    free(items);
    return AR_OK;
}

void ar_reasons_free(struct ar_wait_reasons *r)
{
    free(r->items);
    free(r->shares);
    *r = (struct ar_wait_reasons){0};
}

/* ---- a function ------------------------------------------------------------------------------- */

static const char *name_of(const struct ar_profile *p, uint32_t node)
{
    return ar_strtab_text(&p->strings, p->functions[p->nodes[node].function].name);
}

/* Modules of Python itself and what is installed beside them: files that few of its users have written. */
static bool is_installed(const struct ar_profile *p, uint32_t node)
{
    static const char *const parts[] = {"/site-packages/", "/dist-packages/", "/lib/python3"};
    const char *file = ar_strtab_text(&p->strings, p->functions[p->nodes[node].function].file);

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(file, parts[i]))
            return true;
    return ar_starts_with(file, "<frozen");
}

/* The function of the program that has called installed code; nothing where all is installed, or none of it. */
static void put_caller(struct ar_bytes *out, const struct ar_profile *p, uint32_t node)
{
    if (!is_installed(p, node))
        return;
    while (node != AR_NO_ID && (p->functions[p->nodes[node].function].kind != AR_FUNCTION_PYTHON ||
                                is_installed(p, node)))
        node = p->nodes[node].parent;
    if (node == AR_NO_ID)
        return;
    ar_put_words(out, " (from ");
    ar_put_words(out, ar_show_place(p, node));
    ar_put_words(out, " ");
    ar_put_words(out, name_of(p, node));
    ar_put_words(out, ")");
}

void ar_put_cause(struct ar_bytes *out, const struct ar_profile *p, uint32_t node)
{
    if (node == AR_NO_ID) {
        ar_put_words(out, "what is not known");
        return;
    }
    node = ar_to_blame(p, node);

    const char *place = ar_show_place(p, node), *name = name_of(p, node);

    ar_put_words(out, place);
    ar_put_words(out, *place && *name ? " " : "");
    ar_put_words(out, *place || *name ? name : "code outside of Python functions");
    put_caller(out, p, node);
}

/* ---- a wait ----------------------------------------------------------------------------------- */

struct ranks {
    uint32_t *processes;
    size_t n;
};

static struct ranks ranks_of(const struct ar_wait_share *shares, size_t n, double all_ns,
                             double part)
{
    struct ranks r = {.n = ar_n_main_shares(shares, n, all_ns, part)};

    r.processes = malloc((r.n + 1) * sizeof *r.processes);
    for (size_t i = 0; i < r.n && r.processes; i++)
        r.processes[i] = shares[i].process;
    return r;
}

static bool has(const struct ranks *r, uint32_t process)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->processes[i] == process)
            return true;
    return false;
}

/* Nobody waits for himself. */
static void take_out(struct ranks *r, uint32_t process)
{
    size_t n = 0;

    if (r->n < 2)
        return;
    for (size_t i = 0; i < r->n; i++)
        if (r->processes[i] != process)
            r->processes[n++] = r->processes[i];
    r->n = n;
}

static bool are_the_same(const struct ranks *a, const struct ranks *b)
{
    bool same = a->n == b->n && a->n > 1;

    for (size_t i = 0; i < a->n && same; i++)
        same = has(b, a->processes[i]);
    return same;
}

static void put_where(struct ar_bytes *out, const struct ar_profile *p,
                      const struct ar_wait_site *site)
{
    const char *place = ar_show_place(p, site->node);

    ar_put_words(out, *place ? " at " : " in ");
    ar_put_words(out, place);
    ar_put_words(out, *place ? " " : "");
    ar_put_words(out, ar_show_operation(p, site->node));
}

static void put_waiting(struct ar_bytes *out, const struct ar_profile *p,
                        const struct ar_wait_site *site, const struct ranks *waiting, double ns,
                        double all_ns)
{
    ar_put_words(out, ar_show_ranks(p, waiting->processes, waiting->n));
    ar_put_words(out, " waited ");
    ar_put_words(out, ar_show_duration(ns));
    ar_put_words(out, " (");
    ar_put_words(out, ar_show_share(ns / all_ns));
    ar_put_words(out, ")");
    put_where(out, p, site);
}

static void put_late(struct ar_bytes *out, const struct ar_profile *p, const struct ranks *late,
                     bool are_mutual)
{
    ar_put_words(out, " for ");
    ar_put_words(out, are_mutual ? "each other" : ar_show_ranks(p, late->processes, late->n));
}

/* "62.3 % of it", "it" */
static void put_part(struct ar_bytes *out, double share)
{
    if (share < ALL_OF_IT) {
        ar_put_words(out, ar_show_share(share));
        ar_put_words(out, " of ");
    }
    ar_put_words(out, "it");
}

static void put_calls(struct ar_bytes *out, const struct ar_wait_site *site)
{
    if (site->n < 2)
        return;
    ar_put_words(out, ", in ");
    ar_put_words(out, ar_show_items(site->n, "call", "calls"));
}

/* Who was in it is said again only where that is somebody else than those who were late. */
static void put_reason(struct ar_bytes *out, const struct ar_profile *p,
                       const struct ar_wait_reason *reason, double share, const struct ranks *late,
                       bool are_mutual)
{
    if (reason->indirect && !are_mutual) {
        struct ranks who = ranks_of(reason->late, reason->n_late, reason->ns, AR_MOST_LATE);

        ar_put_words(out, ", ");
        if (share < ALL_OF_IT) {
            put_part(out, share);
            ar_put_words(out, " ");
        }
        ar_put_words(out, "because of ");
        ar_put_words(out, who.processes ? ar_show_ranks(p, who.processes, who.n) : "");
        free(who.processes);
    } else if (are_mutual) {
        ar_put_words(out, "; ");
        put_part(out, share);
        ar_put_words(out, " was spent");
    } else {
        ar_put_words(out, late->n == 1 ? ", which spent " : ", who spent ");
        put_part(out, share);
    }
    ar_put_words(out, " in ");
    ar_put_cause(out, p, reason->node);
}

/* Where no reason has a good part of it, how often says more than a reason that has little. */
void ar_put_part_of_wait(struct ar_bytes *out, const struct ar_profile *p,
                         const struct ar_wait_site *site, double ns,
                         const struct ar_wait_reason *reason, double all_ns)
{
    struct ranks late = ranks_of(site->late, site->n_late, site->waited_ns, AR_MOST_LATE);
    struct ranks waiting =
        ranks_of(site->waiting, site->n_waiting, site->waited_ns, AR_MOST_WAITING);

    if (late.processes && waiting.processes) {
        bool are_mutual = are_the_same(&late, &waiting);

        if (late.n == 1)
            take_out(&waiting, late.processes[0]);
        put_waiting(out, p, site, &waiting, ns, all_ns);
        put_late(out, p, &late, are_mutual);
        if (reason && reason->ns >= LEAST_KNOWN * ns)
            put_reason(out, p, reason, reason->ns / ns, &late, are_mutual);
        else
            put_calls(out, site);
    } else {
        out->bad = true;
    }
    free(late.processes);
    free(waiting.processes);
}

void ar_put_wait(struct ar_bytes *out, const struct ar_profile *p, const struct ar_wait_site *site,
                 double all_ns)
{
    struct ar_wait_reasons reasons;

    if (ar_reasons_build(&reasons, p, site) < 0) {
        out->bad = true;
        return;
    }

    size_t first_known = reasons.n && reasons.items[0].function == AR_NO_ID;

    ar_put_part_of_wait(out, p, site, site->waited_ns,
                        first_known < reasons.n ? &reasons.items[first_known] : NULL, all_ns);
    ar_reasons_free(&reasons);
}

/* Where one rank is to blame it is what others waited for, directly or not. */
static void put_wait_for_one(struct ar_bytes *out, const struct ar_profile *p,
                             const struct ar_wait_site *site, double ns,
                             const struct ar_wait_reason *reason, double all_ns)
{
    struct ranks waiting =
        ranks_of(site->waiting, site->n_waiting, site->waited_ns, AR_MOST_WAITING);

    if (!waiting.processes) {
        out->bad = true;
        return;
    }
    take_out(&waiting, reason->late->process);
    put_waiting(out, p, site, &waiting, ns, all_ns);
    ar_put_words(out, reason->indirect ? " because of " : " for ");
    ar_put_words(out, ar_show_process(p, reason->late->process));
    ar_put_words(out, ", which spent ");
    put_part(out, reason->ns / ns);
    ar_put_words(out, " in ");
    ar_put_cause(out, p, reason->node);
    free(waiting.processes);
}

void ar_put_wait_for(struct ar_bytes *out, const struct ar_profile *p,
                     const struct ar_wait_site *site, double ns,
                     const struct ar_wait_reason *reason, double all_ns)
{
    if (ar_n_main_shares(reason->late, reason->n_late, reason->ns, AR_MOST_LATE) == 1)
        put_wait_for_one(out, p, site, ns, reason, all_ns);
    else
        ar_put_part_of_wait(out, p, site, ns, reason, all_ns);
}

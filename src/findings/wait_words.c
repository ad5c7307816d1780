// SPDX-License-Identifier: BSD-3-Clause
#include "findings/wait_words.h"

#include "analysis/names.h"
#include "base/text.h"
#include "findings/words.h"

#include <stdlib.h>
#include <string.h>

/* A reason that is not known says less than one that is, if that has a good part of it. */
#define LEAST_KNOWN 0.25
/* From there on a reason is all of it: what is left is noise. */
#define ALL_OF_IT 0.9
/* What is not known is said from there on. */
#define LEAST_DOUBT 0.05
#define MOST_IN_DOUBT 0.5

void ar_put_words(struct ar_bytes *out, const char *text)
{
    ar_bytes_put(out, text, strlen(text));
}

void ar_put_shell_word(struct ar_bytes *out, const char *word)
{
    size_t n_most = 4 * strlen(word) + 4; /* a byte becomes four at most */
    char *quoted = malloc(n_most);

    if (quoted && ar_text_quote(word, quoted, n_most))
        ar_put_words(out, quoted);
    else
        out->bad = true;
    free(quoted);
}

/* ---- a function ------------------------------------------------------------------------------- */

/* "solver.py:61 solve"; "the top level of heat.py"; "region assemble". */
static void put_function(struct ar_bytes *out, const struct ar_profile *p, uint32_t node)
{
    uint32_t function = p->nodes[node].function;
    const char *place = ar_show_place(p, node);
    const char *name = ar_plain_name(p, function, ar_text_buffer());

    if (ar_is_top_level(p, function)) {
        ar_put_words(out, "the top level of ");
        ar_put_words(out, ar_file_name(ar_strtab_text(&p->strings, p->functions[function].file)));
        return;
    }
    ar_put_words(out, place);
    ar_put_words(out, *place && *name ? " " : "");
    ar_put_words(out, *place || *name ? name : "code outside of Python functions");
}

bool ar_is_installed(const struct ar_profile *p, uint32_t function)
{
    static const char *const parts[] = {"/site-packages/", "/dist-packages/", "/lib/python3"};
    const char *file = ar_strtab_text(&p->strings, p->functions[function].file);

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(file, parts[i]))
            return true;
    return ar_starts_with(file, "<frozen");
}

/* The function of the program that has called installed code; AR_NO_ID where all is installed. */
static uint32_t users_own(const struct ar_profile *p, uint32_t node)
{
    while (node != AR_NO_ID && (p->functions[p->nodes[node].function].kind != AR_FUNCTION_PYTHON ||
                                ar_is_installed(p, p->nodes[node].function)))
        node = p->nodes[node].parent;
    return node;
}

static void put_caller(struct ar_bytes *out, const struct ar_profile *p, uint32_t node)
{
    uint32_t caller = users_own(p, node);

    if (!ar_is_installed(p, p->nodes[node].function) || caller == AR_NO_ID)
        return;
    ar_put_words(out, " (from ");
    put_function(out, p, caller);
    ar_put_words(out, ")");
}

/* Which function of Python's library waits is of no interest. */
static void put_child_wait(struct ar_bytes *out, const struct ar_wait_words *w, uint32_t node,
                           uint32_t process)
{
    uint32_t caller = users_own(w->p, node);

    ar_put_words(out, "waiting for ");
    ar_put_words(out, ar_show_child(w->children, process));
    if (caller != AR_NO_ID) {
        ar_put_words(out, " in ");
        put_function(out, w->p, caller);
    }
}

static bool is_child_wait(const struct ar_wait_words *w, uint32_t node, bool with_callees)
{
    return w->children->is_wait[w->p->nodes[node].function] && !with_callees;
}

void ar_put_cause(struct ar_bytes *out, const struct ar_wait_words *w, uint32_t node,
                  bool with_callees, uint32_t process)
{
    if (node == AR_NO_ID) {
        ar_put_words(out, "what is not known");
        return;
    }
    node = ar_to_blame(w->p, node);
    if (is_child_wait(w, node, with_callees)) {
        put_child_wait(out, w, node, process);
        return;
    }
    put_function(out, w->p, node);
    ar_put_words(out, with_callees ? " and the functions it calls" : "");
    put_caller(out, w->p, node);
}

/* "spent it in solver.py:61 solve", "spent it waiting for a child process". */
static void put_spent(struct ar_bytes *out, const struct ar_wait_words *w,
                      const struct ar_wait_reason *reason, uint32_t process)
{
    bool is_wait = reason->node != AR_NO_ID &&
                   is_child_wait(w, ar_to_blame(w->p, reason->node), reason->with_callees);

    ar_put_words(out, is_wait ? " " : " in ");
    ar_put_cause(out, w, reason->node, reason->with_callees, process);
}

/* The rank that a reason is about; AR_NO_ID: several. */
static uint32_t only_rank(const struct ar_wait_reason *reason)
{
    bool is_one = ar_n_main_shares(reason->late, reason->n_late, reason->ns, AR_MOST_LATE) == 1;

    return is_one ? reason->late->process : AR_NO_ID;
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

/* No rank waits for itself. */
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

static void put_waiting(struct ar_bytes *out, const struct ar_wait_words *w,
                        const struct ar_wait_site *site, const struct ranks *waiting, double ns)
{
    ar_put_words(out, ar_show_ranks(w->p, waiting->processes, waiting->n));
    ar_put_words(out, " waited ");
    ar_put_words(out, ar_show_duration(ns));
    ar_put_words(out, " (");
    ar_put_words(out, ar_show_share(ns / w->all_ns));
    ar_put_words(out, ")");
    put_where(out, w->p, site);
}

static void put_late(struct ar_bytes *out, const struct ar_profile *p, const struct ranks *late,
                     bool are_mutual)
{
    ar_put_words(out, " for ");
    ar_put_words(out, are_mutual ? "each other" : ar_show_ranks(p, late->processes, late->n));
}

/* "62.3 % of it", "it"; "at least" where some of the rest may be the same. */
static void put_part(struct ar_bytes *out, const struct ar_wait_site *site, double share)
{
    if (share < ALL_OF_IT) {
        ar_put_words(out, ar_unknown_share(site) >= LEAST_DOUBT ? "at least " : "");
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

/* The ranks that were in it are named again only where they are other ranks than the late ones. */
static void put_reason(struct ar_bytes *out, const struct ar_wait_words *w,
                       const struct ar_wait_site *site, const struct ar_wait_reason *reason,
                       double share, const struct ranks *late, bool are_mutual)
{
    if (reason->indirect && !are_mutual) {
        struct ranks who = ranks_of(reason->late, reason->n_late, reason->ns, AR_MOST_LATE);

        ar_put_words(out, ", ");
        if (share < ALL_OF_IT) {
            put_part(out, site, share);
            ar_put_words(out, " ");
        }
        ar_put_words(out, "because of ");
        ar_put_words(out, who.processes ? ar_show_ranks(w->p, who.processes, who.n) : "");
        free(who.processes);
    } else if (are_mutual) {
        ar_put_words(out, "; ");
        put_part(out, site, share);
        ar_put_words(out, " was spent");
    } else {
        ar_put_words(out, late->n == 1 ? ", which spent " : ", who spent ");
        put_part(out, site, share);
    }
    put_spent(out, w, reason, only_rank(reason));
}

/* Where no reason has a good part of it, how often says more than a reason that has little. */
void ar_put_part_of_wait(struct ar_bytes *out, const struct ar_wait_words *w,
                         const struct ar_wait_site *site, double ns,
                         const struct ar_wait_reason *reason)
{
    struct ranks late = ranks_of(site->late, site->n_late, site->waited_ns, AR_MOST_LATE);
    struct ranks waiting =
        ranks_of(site->waiting, site->n_waiting, site->waited_ns, AR_MOST_WAITING);

    if (late.processes && waiting.processes) {
        bool are_mutual = are_the_same(&late, &waiting);
        bool has_reason = reason && reason->ns >= LEAST_KNOWN * ns;

        if (late.n == 1)
            take_out(&waiting, late.processes[0]);
        put_waiting(out, w, site, &waiting, ns);
        put_late(out, w->p, &late, are_mutual);
        if (has_reason)
            put_reason(out, w, site, reason, reason->ns / ns, &late, are_mutual);
        else
            put_calls(out, site);
        if (ar_unknown_share(site) >= MOST_IN_DOUBT)
            ar_put_words(out, has_reason ? "; the rest is not known" : "; the reason is not known");
        else if (!has_reason)
            ar_put_words(out, "; no function has a quarter of it");
    } else {
        out->bad = true;
    }
    free(late.processes);
    free(waiting.processes);
}

void ar_put_wait(struct ar_bytes *out, const struct ar_wait_words *w,
                 const struct ar_wait_site *site)
{
    struct ar_wait_reasons reasons;

    if (ar_reasons_build(&reasons, w->p, site) < 0) {
        out->bad = true;
        return;
    }

    size_t first_known = reasons.n && reasons.items[0].function == AR_NO_ID;

    ar_put_part_of_wait(out, w, site, site->waited_ns,
                        first_known < reasons.n ? &reasons.items[first_known] : NULL);
    ar_reasons_free(&reasons);
}

/* Where one rank is to blame it is what others waited for, directly or not. */
static void put_wait_for_one(struct ar_bytes *out, const struct ar_wait_words *w,
                             const struct ar_wait_site *site, double ns,
                             const struct ar_wait_reason *reason)
{
    struct ranks waiting =
        ranks_of(site->waiting, site->n_waiting, site->waited_ns, AR_MOST_WAITING);

    if (!waiting.processes) {
        out->bad = true;
        return;
    }
    take_out(&waiting, reason->late->process);
    put_waiting(out, w, site, &waiting, ns);
    ar_put_words(out, reason->indirect ? " because of " : " for ");
    ar_put_words(out, ar_show_process(w->p, reason->late->process));
    ar_put_words(out, ", which spent ");
    put_part(out, site, reason->ns / ns);
    put_spent(out, w, reason, reason->late->process);
    free(waiting.processes);
}

void ar_put_wait_for(struct ar_bytes *out, const struct ar_wait_words *w,
                     const struct ar_wait_site *site, double ns,
                     const struct ar_wait_reason *reason)
{
    if (only_rank(reason) != AR_NO_ID)
        put_wait_for_one(out, w, site, ns, reason);
    else
        ar_put_part_of_wait(out, w, site, ns, reason);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "findings/wait_words.h"

#include "findings/words.h"

#include <stdlib.h>
#include <string.h>

void ar_put_words(struct ar_bytes *out, const char *text)
{
    ar_bytes_put(out, text, strlen(text));
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

void ar_put_cause(struct ar_bytes *out, const struct ar_profile *p, uint32_t node)
{
    if (node == AR_NO_ID) {
        ar_put_words(out, "something that was not recorded");
        return;
    }
    node = ar_to_blame(p, node);
    ar_put_words(out, ar_show_place(p, node));
    ar_put_words(out, " ");
    ar_put_words(out, ar_strtab_text(&p->strings, p->functions[p->nodes[node].function].name));
}

static uint32_t function_of(const struct ar_profile *p, const struct ar_wait_cause *cause)
{
    return cause->node == AR_NO_ID ? AR_NO_ID : p->nodes[ar_to_blame(p, cause->node)].function;
}

struct ar_wait_cause ar_main_cause(const struct ar_profile *p, const struct ar_wait_site *site)
{
    struct ar_wait_cause best = {.node = AR_NO_ID};

    for (size_t i = 0; i < site->n_causes; i++) {
        struct ar_wait_cause sum = site->causes[i];

        if (site->causes[i].ns * (double)(site->n_causes - i) < best.ns)
            break; /* what is left is less, even together */
        for (size_t k = i + 1; k < site->n_causes; k++)
            if (function_of(p, &site->causes[k]) == function_of(p, &sum) &&
                site->causes[k].indirect == sum.indirect) {
                sum.ns += site->causes[k].ns;
                if (site->causes[k].process != sum.process)
                    sum.process = AR_NO_ID;
            }
        if (sum.ns > best.ns)
            best = sum;
    }
    return best;
}

static const char *show_shares(const struct ar_profile *p, const struct ar_wait_share *shares,
                               size_t n)
{
    uint32_t *processes = malloc((n + 1) * sizeof *processes);
    const char *text = "";

    if (processes) {
        for (size_t i = 0; i < n; i++)
            processes[i] = shares[i].process;
        text = ar_show_ranks(p, processes, n);
    }
    free(processes);
    return text;
}

static void put_cause_of_wait(struct ar_bytes *out, const struct ar_profile *p,
                              const struct ar_wait_site *site, size_t n_late)
{
    const struct ar_wait_cause cause = ar_main_cause(p, site);

    if (cause.ns <= 0)
        return;
    if (cause.indirect) {
        ar_put_words(out, n_late == 1 ? ", which had waited for " : ", who had waited for ");
        ar_put_words(out, cause.process == AR_NO_ID ? "others" : ar_show_process(p, cause.process));
        ar_put_words(out, " in ");
        ar_put_cause(out, p, cause.node);
        return;
    }
    ar_put_words(out, n_late == 1 ? ", which spent " : ", who spent ");
    if (cause.ns < 0.9 * site->waited_ns) {
        ar_put_words(out, ar_show_share(cause.ns / site->waited_ns));
        ar_put_words(out, " of ");
    }
    ar_put_words(out, "it in ");
    ar_put_cause(out, p, cause.node);
}

void ar_put_wait(struct ar_bytes *out, const struct ar_profile *p, const struct ar_wait_site *site,
                 double all_ns)
{
    size_t n_late = ar_n_main_shares(site->late, site->n_late, site->waited_ns, AR_MOST_LATE);
    size_t n_waiting =
        ar_n_main_shares(site->waiting, site->n_waiting, site->waited_ns, AR_MOST_WAITING);

    ar_put_words(out, show_shares(p, site->waiting, n_waiting));
    ar_put_words(out, " waited ");
    ar_put_words(out, ar_show_duration(site->waited_ns));
    ar_put_words(out, " (");
    ar_put_words(out, ar_show_share(site->waited_ns / all_ns));
    ar_put_words(out, ") at ");
    ar_put_words(out, ar_show_place(p, site->node));
    ar_put_words(out, " ");
    ar_put_words(out, ar_show_operation(p, site->node));
    ar_put_words(out, " for ");
    ar_put_words(out, show_shares(p, site->late, n_late));
    put_cause_of_wait(out, p, site, n_late);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/own_time.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static bool passes_on(const struct ar_profile *p, const struct ar_function *f)
{
    static const char *const names[] = {"_wrapfunc", "_wrapit", "_wrapreduction",
                                        "_wrapreduction_any_all"};
    const char *file = ar_strtab_text(&p->strings, f->file);
    const char *name = ar_strtab_text(&p->strings, f->name);

    if (strcmp(file, "<__array_function__ internals>") == 0)
        return true;
    if (ar_ends_with(file, "core/overrides.py"))
        return strstr(file, "/numpy/") != NULL;
    if (!ar_ends_with(file, "core/fromnumeric.py"))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

bool ar_is_callers_own(const struct ar_profile *p, uint32_t node)
{
    const struct ar_function *f = &p->functions[p->nodes[node].function];

    return f->kind == AR_FUNCTION_BUILTIN || f->kind == AR_FUNCTION_UNASSIGNED ||
           (f->kind == AR_FUNCTION_PYTHON && passes_on(p, f));
}

/* Parents come first, so that each finds its parent's answer. */
static void list_nodes(struct ar_own_time *own)
{
    const struct ar_profile *p = own->p;

    memset(own->first, 0xff, (p->n_functions + 1) * sizeof *own->first);
    for (uint32_t node = 0; node < p->n_nodes; node++) {
        uint32_t parent = p->nodes[node].parent;

        own->owner[node] =
            ar_is_callers_own(p, node) && parent != AR_NO_ID ? own->owner[parent] : node;

        uint32_t function = p->nodes[own->owner[node]].function;

        own->next[node] = own->first[function];
        own->first[function] = node;
    }
}

enum ar_status ar_own_time_open(struct ar_own_time *out, const struct ar_profile *p,
                                const struct ar_totals *t)
{
    *out = (struct ar_own_time){.p = p,
                                .owner = malloc((p->n_nodes + 1) * sizeof *out->owner),
                                .first = malloc((p->n_functions + 1) * sizeof *out->first),
                                .next = malloc((p->n_nodes + 1) * sizeof *out->next),
                                .by_root = calloc(p->n_roots + 1, sizeof *out->by_root)};
    if (!out->owner || !out->first || !out->next || !out->by_root ||
        ar_selves_open(&out->selves, t, p) < 0) {
        ar_own_time_close(out);
        return AR_NOMEM;
    }
    list_nodes(out);
    return AR_OK;
}

struct ar_spread ar_own_time_get(struct ar_own_time *own, uint32_t function)
{
    const struct ar_totals *t = own->selves.t;
    struct ar_spreading spreading = {0};
    struct ar_doubt doubt = {0};

    memset(own->by_root, 0, own->p->n_roots * sizeof *own->by_root);
    for (uint32_t node = own->first[function]; node != AR_NO_ID; node = own->next[node]) {
        struct ar_row row = ar_selves_get(&own->selves, node);

        for (size_t i = 0; i < row.n; i++)
            own->by_root[ar_profile_root(own->p, row.values[i].location)] += row.values[i].value;
        /* What is taken off for C is added again: only the doubt of the whole is left. */
        if (own->owner[node] == node)
            ar_doubt_add(&doubt, t->time[node].doubt);
    }
    for (uint32_t i = 0; i < own->p->n_roots; i++)
        ar_spread_add(&spreading, own->by_root[i], i);

    struct ar_spread spread = ar_spread_end(&spreading);

    spread.doubt = doubt;
    return spread;
}

void ar_own_time_close(struct ar_own_time *own)
{
    ar_selves_close(&own->selves);
    free(own->owner);
    free(own->first);
    free(own->next);
    free(own->by_root);
    *own = (struct ar_own_time){0};
}

// SPDX-License-Identifier: BSD-3-Clause
#include "run/places.h"

#include <stdlib.h>

static uint32_t kind_of(const struct ar_profile *p, uint32_t node)
{
    return p->functions[p->nodes[node].function].kind;
}

/*
 * A call stands on a line of the Python function that is nearest above. Below "(import)" that is the line that imports,
 * below a method of mpi4py its own, and so it is below other functions in C where no line is known.
 */
static void find_place(struct ar_places *places, const struct ar_profile *p, uint32_t i)
{
    uint32_t parent = p->nodes[i].parent;
    uint32_t kind = kind_of(p, parent);
    bool is_parents = kind == AR_FUNCTION_IMPORT || kind == AR_FUNCTION_OPERATION ||
                      (kind == AR_FUNCTION_BUILTIN && !p->nodes[i].line) ||
                      places->site[parent] != parent;

    places->depth[i] = places->depth[parent] + 1;
    if (kind == AR_FUNCTION_PYTHON) {
        places->caller[i] = parent;
        places->site[i] = i;
    } else {
        places->caller[i] = places->caller[parent];
        places->site[i] = is_parents ? places->site[parent] : i;
    }
}

enum ar_status ar_places_find(struct ar_places *out, const struct ar_profile *p)
{
    *out = (struct ar_places){
        .depth = calloc(p->n_nodes + 1, sizeof *out->depth),
        .caller = calloc(p->n_nodes + 1, sizeof *out->caller),
        .site = calloc(p->n_nodes + 1, sizeof *out->site),
    };
    if (!out->depth || !out->caller || !out->site) {
        ar_places_free(out);
        return AR_NOMEM;
    }
    out->caller[0] = AR_NO_ID;
    for (uint32_t i = 1; i < p->n_nodes; i++)
        find_place(out, p, i);
    return AR_OK;
}

void ar_places_free(struct ar_places *places)
{
    free(places->depth);
    free(places->caller);
    free(places->site);
    *places = (struct ar_places){0};
}

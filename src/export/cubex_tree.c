// SPDX-License-Identifier: BSD-3-Clause
#include "export/cubex_tree.h"

#include <stdlib.h>
#include <string.h>

/* Which nodes there are, and how they hang together; 0 ends a list, as the root is no child. */
struct links {
    bool *is_in;
    uint32_t *first_child, *next_sibling;
};

static void free_links(struct links *links)
{
    free(links->is_in);
    free(links->first_child);
    free(links->next_sibling);
}

/* Parents come first: from the last node on, each has decided before its parent is asked. */
static enum ar_status link_nodes(struct links *links, const struct ar_profile *p,
                                 const bool *has_values)
{
    links->is_in = calloc(p->n_nodes + 1, sizeof *links->is_in);
    links->first_child = calloc(p->n_nodes + 1, sizeof *links->first_child);
    links->next_sibling = calloc(p->n_nodes + 1, sizeof *links->next_sibling);
    if (!links->is_in || !links->first_child || !links->next_sibling)
        return AR_NOMEM;
    links->is_in[0] = true;
    for (uint32_t node = (uint32_t)p->n_nodes; node-- > 1;) {
        uint32_t parent = p->nodes[node].parent;

        links->is_in[node] |= has_values[node];
        if (!links->is_in[node])
            continue;
        links->is_in[parent] = true;
        links->next_sibling[node] = links->first_child[parent];
        links->first_child[parent] = node;
    }
    return AR_OK;
}

/* Without recursion: trees of recursive programs are hundreds of thousands deep. */
static void list_deep(struct ar_cubex_tree *tree, const struct ar_profile *p,
                      const struct links *links)
{
    uint32_t node = 0;

    for (;;) {
        tree->deep[tree->n++] = node;
        if (links->first_child[node]) {
            node = links->first_child[node];
            continue;
        }
        while (node && !links->next_sibling[node])
            node = p->nodes[node].parent;
        if (!node)
            return;
        node = links->next_sibling[node];
    }
}

static void list_wide(struct ar_cubex_tree *tree, const struct links *links)
{
    uint32_t n = 0;

    tree->wide[n++] = 0;
    for (uint32_t i = 0; i < tree->n; i++)
        for (uint32_t child = links->first_child[tree->deep[i]]; child;
             child = links->next_sibling[child])
            tree->wide[n++] = child;
}

static void number_regions(struct ar_cubex_tree *tree, const struct ar_profile *p)
{
    memset(tree->region_of, 0xff, p->n_functions * sizeof *tree->region_of);
    for (uint32_t i = 1; i < tree->n; i++)
        tree->region_of[p->nodes[tree->deep[i]].function] = 0;
    tree->n_regions = 1;
    for (size_t f = 0; f < p->n_functions; f++)
        if (tree->region_of[f] != AR_NO_ID)
            tree->region_of[f] = tree->n_regions++;
}

enum ar_status ar_cubex_tree_build(struct ar_cubex_tree *out, const struct ar_profile *p,
                                   const bool *has_values)
{
    struct links links = {0};
    enum ar_status status = link_nodes(&links, p, has_values);

    *out = (struct ar_cubex_tree){0};
    out->deep = calloc(p->n_nodes + 1, sizeof *out->deep);
    out->wide = calloc(p->n_nodes + 1, sizeof *out->wide);
    out->region_of = malloc((p->n_functions + 1) * sizeof *out->region_of);
    if (!out->deep || !out->wide || !out->region_of)
        status = AR_NOMEM;
    if (status == AR_OK) {
        list_deep(out, p, &links);
        list_wide(out, &links);
        number_regions(out, p);
    } else {
        ar_cubex_tree_free(out);
    }
    free_links(&links);
    return status;
}

void ar_cubex_tree_free(struct ar_cubex_tree *tree)
{
    free(tree->deep);
    free(tree->wide);
    free(tree->region_of);
    *tree = (struct ar_cubex_tree){0};
}

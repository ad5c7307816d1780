// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report.h"
#include "cli/screen.h"

#include <stdlib.h>

/* ---- the tree --------------------------------------------------------------------------------- */

static void put_node(const struct ar_report *r, uint32_t node, size_t depth, void *context)
{
    struct ar_sheet *sheet = context;
    uint32_t parent = r->p->nodes[node].parent;

    ar_sheet_integer(sheet, node);
    ar_sheet_integer(sheet, parent);
    ar_sheet_integer(sheet, depth);
    ar_sheet_function(sheet, r->p, r->p->nodes[node].function);
    ar_sheet_text(sheet, ar_show_place(r->p, node));
    ar_sheet_integer(sheet, r->is_hot[node]);
    ar_sheet_integer(sheet, r->t->n_calls[node]);
    ar_sheet_spread(sheet, r->p, &r->t->time[node]);
    ar_sheet_spread(sheet, r->p, &r->t->self[node]);
    ar_sheet_end_row(sheet);
}

static int print_tree(const struct ar_report *r)
{
    struct ar_sheet sheet = {0};

    ar_sheet_head(&sheet, "node,parent,depth," AR_SHEET_FUNCTION
                          ",place,hot,calls," AR_SHEET_SPREAD("time") "," AR_SHEET_SPREAD("self"));
    ar_report_walk(r, r->fits ? 0 : r->n_rows, put_node, &sheet);
    return ar_sheet_print(&sheet);
}

/* ---- functions -------------------------------------------------------------------------------- */

static void put_functions(const struct ar_report *r, const struct ar_by_function *f,
                          const uint32_t *functions, size_t n, struct ar_sheet *sheet)
{
    ar_sheet_head(sheet,
                  AR_SHEET_FUNCTION ",calls," AR_SHEET_SPREAD("time") "," AR_SHEET_SPREAD("self"));
    size_t n_most = r->fits || !r->n_rows ? n : r->n_rows, n_shown = 0;

    for (size_t i = 0; i < n && n_shown < n_most; i++) {
        const struct ar_function_sums *s = &f->sums[functions[i]];

        if ((double)s->time.max < r->min_share * r->t->mean_wall_ns)
            continue;
        n_shown++;
        ar_sheet_function(sheet, r->p, functions[i]);
        ar_sheet_integer(sheet, s->n_calls);
        ar_sheet_spread(sheet, r->p, &s->time);
        ar_sheet_spread(sheet, r->p, &s->self);
        ar_sheet_end_row(sheet);
    }
}

static int print_functions(const struct ar_report *r)
{
    const struct ar_by_function *f = ar_run_functions(r->run, r->form);
    struct ar_sheet sheet = {0};
    uint32_t *functions = NULL;
    size_t n;
    int status;

    if (!f || ar_report_list(r, f, AR_SORT_SELF, &functions, &n) < 0) {
        status = ar_complain("out of memory");
    } else {
        put_functions(r, f, functions, n, &sheet);
        status = ar_sheet_print(&sheet);
    }
    free(functions);
    return status;
}

int ar_report_sheet(struct ar_report *r)
{
    return r->functions || r->t->of_pairs ? print_functions(r) : print_tree(r);
}

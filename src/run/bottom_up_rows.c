// SPDX-License-Identifier: BSD-3-Clause
#include "run/bottom_up_rows.h"

#include "run/parts.h"

#include <stdlib.h>

double ar_bottom_up_whole(const struct ar_totals *t, const struct ar_level *top)
{
    double ns = 0;

    for (size_t i = 0; i < top->n_rows; i++)
        ns += top->rows[i].self_ns;
    return ns > t->mean_wall_ns ? ns : t->mean_wall_ns;
}

struct walk {
    struct ar_bottom_up b;
    double whole_ns, least_ns;
    uint32_t n_levels;
    struct ar_bottom_up_row *rows;
    size_t n, cap;
};

static enum ar_status add_level(struct walk *w, const struct ar_level *level, uint32_t parent,
                                uint32_t depth);

static enum ar_status add_callers(struct walk *w, const struct ar_bottom_row *row, uint32_t id,
                                  uint32_t depth)
{
    struct ar_level callers;
    enum ar_status status = ar_bottom_up_below(&w->b, row, &callers);

    if (status == AR_OK)
        status = add_level(w, &callers, id, depth);
    ar_level_free(&callers);
    w->rows[id].n_below = (uint32_t)(w->n - id - 1);
    return status;
}

static enum ar_status add_level(struct walk *w, const struct ar_level *level, uint32_t parent,
                                uint32_t depth)
{
    enum ar_status status = AR_OK;

    for (size_t i = 0; i < level->n_rows && status == AR_OK; i++) {
        const struct ar_bottom_row *row = &level->rows[i];
        uint32_t id = (uint32_t)w->n;

        if (row->self_ns < w->least_ns)
            continue;
        if (ar_grow((void **)&w->rows, &w->cap, w->n + 1, sizeof *w->rows) < 0)
            return AR_NOMEM;
        w->rows[w->n++] = (struct ar_bottom_up_row){
            .parent = parent,
            .depth = depth,
            .function = row->function,
            .n_calls = row->n_calls,
            .share = w->whole_ns > 0 ? row->self_ns / w->whole_ns : 0,
            .self = ar_bottom_up_spread(&w->b, row),
        };
        if (depth + 1 < w->n_levels)
            status = add_callers(w, row, id, depth + 1);
    }
    return status;
}

static enum ar_status walk_up(struct ar_run *run, struct ar_form *f)
{
    size_t n_levels = run->choice.bottom_up_levels;
    struct walk w = {.n_levels = AR_BOTTOM_UP_LEVELS};
    struct ar_level top;
    enum ar_status status = ar_bottom_up_open(&w.b, f->p, &f->totals, &top);

    if (status < 0)
        return status;
    if (n_levels && n_levels < AR_BOTTOM_UP_LEVELS)
        w.n_levels = (uint32_t)n_levels;
    w.whole_ns = ar_bottom_up_whole(&f->totals, &top);
    w.least_ns = run->choice.bottom_up_share * w.whole_ns;
    status = ar_grow((void **)&w.rows, &w.cap, 1, sizeof *w.rows);
    if (status == AR_OK)
        status = add_level(&w, &top, AR_NO_ID, 0);
    ar_level_free(&top);
    ar_bottom_up_close(&w.b);
    if (status < 0) {
        free(w.rows);
        return status;
    }
    f->bottom_up = w.rows;
    f->n_bottom_up = w.n;
    return AR_OK;
}

const struct ar_bottom_up_row *ar_run_bottom_up(struct ar_run *run, size_t *n)
{
    struct ar_form *f =
        ar_run_totals(run, run->choice.form) ? ar_run_form(run, run->choice.form) : NULL;

    *n = 0;
    if (!f || (!f->bottom_up && walk_up(run, f) < 0))
        return NULL;
    *n = f->n_bottom_up;
    return f->bottom_up;
}

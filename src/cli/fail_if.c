// SPDX-License-Identifier: BSD-3-Clause
#include "cli/fail_if.h"

#include "analysis/mpi_class.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- reading -------------------------------------------------------------------------------- */

static const char *skip_blanks(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

/* What follows the words, if it begins with them; or else all of it. */
static const char *skip_words(const char *at, const char *words, bool *found)
{
    *found = ar_starts_with(at, words) && isspace((unsigned char)at[strlen(words)]);
    return *found ? skip_blanks(at + strlen(words)) : at;
}

static bool parse_amount(struct ar_fail_if *f, const char *at)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"%", 0}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}};
    char *end;
    double number = strtod(skip_blanks(at), &end);
    size_t n_unit;

    if (end == skip_blanks(at) || !isfinite(number) || number < 0)
        return false;
    at = skip_blanks(end);
    n_unit = strcspn(at, " \t\r\n");
    if (*skip_blanks(at + n_unit))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].name) == n_unit && strncmp(at, units[i].name, n_unit) == 0) {
            f->is_share = i == 0;
            f->amount = f->is_share ? number / 100 : number * units[i].ns;
            return true;
        }
    return false;
}

/* Names may have '>' in them, as <module> has: it is the last one that compares. */
enum ar_status ar_fail_if_parse(struct ar_fail_if *out, const char *text, struct ar_error *err)
{
    const char *compares = strrchr(text, '>'), *at = skip_blanks(text);
    size_t n;

    *out = (struct ar_fail_if){.text = text, .what = AR_FAIL_FUNCTION};
    if (!compares)
        return ar_fail(err, AR_BAD, "no '>' in it");
    if (!parse_amount(out, compares + 1))
        return ar_fail(err, AR_BAD, "after '>' a number and one of %% s ms us is needed");
    at = skip_words(at, "self of", &out->self);
    at = skip_words(at, "region", &out->region);
    for (n = at < compares ? (size_t)(compares - at) : 0; n && isspace((unsigned char)at[n - 1]);)
        n--;
    if (n == 0 || n >= sizeof out->name)
        return ar_fail(err, AR_BAD, "before '>' total, mpi or a function is needed");
    memcpy(out->name, at, n);
    if (!out->self && !out->region && strcmp(out->name, "total") == 0)
        out->what = AR_FAIL_TOTAL;
    if (!out->self && !out->region && strcmp(out->name, "mpi") == 0)
        out->what = AR_FAIL_MPI;
    return AR_OK;
}

/* ---- checking ------------------------------------------------------------------------------- */

/* By how many times the amount it grew; what was not there before grew endlessly. */
static double excess(const struct ar_fail_if *f, const struct ar_change *change)
{
    double grown = ar_change_ns(change), least = f->is_share ? f->amount * change->base : f->amount;

    if (grown <= least)
        return 0;
    return least > 0 ? grown / least : INFINITY;
}

static void consider(const struct ar_fail_if *f, struct ar_fail_verdict *v,
                     const struct ar_change *change, const struct ar_diff_row *row)
{
    bool exceeds = excess(f, change) > 0, holds = exceeds && change->counts;

    v->n_fit++;
    v->is_noise = v->is_noise || (exceeds && !change->counts);
    if (v->n_fit > 1 && (v->holds > holds ||
                         (v->holds == holds && ar_change_ns(&v->change) >= ar_change_ns(change))))
        return;
    v->holds = holds;
    v->change = *change;
    v->row = row;
}

static bool fits(const struct ar_fail_if *f, const struct ar_wanted *wanted,
                 const struct ar_profile *p, const struct ar_function *function)
{
    const char *name = ar_strtab_text(&p->strings, function->name);

    if (f->region && function->kind != AR_FUNCTION_REGION)
        return false;
    if (function->kind == AR_FUNCTION_MPI)
        name = ar_mpi_class_of(name).function;
    return ar_wanted_name(wanted, name) ||
           (ar_starts_with(name, "MPI_") && ar_wanted_name(wanted, name + 4)) ||
           ar_wanted_place(wanted, ar_strtab_text(&p->strings, function->file),
                           function->first_line);
}

/* One that has moved is meant by the line of either side. */
static bool fits_in_any(const struct ar_fail_if *f, const struct ar_wanted *wanted,
                        const struct ar_diff *d, uint32_t row)
{
    for (size_t run = 0; run < d->n_runs; run++) {
        uint32_t id = ar_common_id(&d->functions.common, run, row);
        const struct ar_profile *p = &d->runs[run].p;

        if (id != AR_NO_ID && fits(f, wanted, p, &p->functions[id]))
            return true;
    }
    return false;
}

static void check_functions(const struct ar_fail_if *f, const struct ar_diff *d,
                            struct ar_fail_verdict *v)
{
    struct ar_wanted wanted = ar_wanted_parse(f->name);

    for (size_t i = 0; i < d->functions.n_rows; i++) {
        const struct ar_diff_row *row = &d->functions.rows[i];

        if (fits_in_any(f, &wanted, d, row->row))
            consider(f, v, f->self ? &row->self : &row->time, row);
    }
}

struct ar_fail_verdict ar_fail_if_check(const struct ar_fail_if *f, const struct ar_diff *d)
{
    struct ar_fail_verdict v = {0};

    if (f->what == AR_FAIL_FUNCTION)
        check_functions(f, d, &v);
    else
        consider(f, &v, f->what == AR_FAIL_TOTAL ? &d->total : &d->mpi, NULL);
    v.is_noise = v.is_noise && !v.holds;
    return v;
}

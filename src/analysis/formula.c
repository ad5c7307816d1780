// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/formula.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Depth of parentheses and minuses: the parser calls itself. */
#define DEEPEST 32

struct parsing {
    struct ar_formula *out;
    const char *at;
    ar_formula_names *number_of;
    void *context;
    struct ar_error *err;
    int depth;
};

static enum ar_status add(struct parsing *p, struct ar_formula_step step)
{
    if (p->out->n == AR_FORMULA_STEPS)
        return ar_fail(p->err, AR_BAD, "more than %d numbers, names and operations",
                       AR_FORMULA_STEPS);
    p->out->steps[p->out->n++] = step;
    return AR_OK;
}

static char next(struct parsing *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
    return *p->at;
}

static bool is_in_name(char c)
{
    return isalnum((unsigned char)c) || c & '\x80' || (c && strchr("_.:-", c));
}

/* Of "page-faults-minor-faults" the first known name that ends before a minus, the longest first. */
static enum ar_status parse_name(struct parsing *p)
{
    size_t n_all = 0, n;
    int number = -1;

    while (is_in_name(p->at[n_all]))
        n_all++;
    for (n = n_all; n; n--)
        if ((n == n_all || p->at[n] == '-') && (number = p->number_of(p->at, n, p->context)) >= 0)
            break;
    if (number < 0)
        return ar_fail(p->err, AR_UNSUPPORTED, "no metric %.*s in it",
                       (int)(n_all < 60 ? n_all : 60), p->at);
    p->at += n;
    return add(p, (struct ar_formula_step){.what = 'x', .number = (unsigned)number});
}

static enum ar_status parse_number(struct parsing *p)
{
    char *end;
    double constant = strtod(p->at, &end);

    if (end == p->at)
        return ar_fail(p->err, AR_BAD, "a number or name is missing before \"%.20s\"", p->at);
    p->at = end;
    return add(p, (struct ar_formula_step){.what = '0', .constant = constant});
}

static enum ar_status parse_sum(struct parsing *p);

static enum ar_status parse_inside(struct parsing *p)
{
    enum ar_status status;

    p->at++;
    status = parse_sum(p);
    if (status == AR_OK && next(p) != ')')
        status = ar_fail(p->err, AR_BAD, "a ) is missing before \"%.20s\"", p->at);
    p->at += status == AR_OK;
    return status;
}

static enum ar_status parse_factor(struct parsing *p)
{
    char c = next(p);
    enum ar_status status;

    if (isdigit((unsigned char)c) || c == '.')
        return parse_number(p);
    if (isalpha((unsigned char)c) || c == '_' || c & '\x80')
        return parse_name(p);
    if (c != '(' && c != '-')
        return ar_fail(p->err, AR_BAD,
                       c ? "a number or name is missing before \"%.20s\""
                         : "a number or name is missing at its end%s",
                       p->at);
    if (++p->depth > DEEPEST)
        return ar_fail(p->err, AR_BAD, "more than %d parentheses inside each other", DEEPEST);
    if (c == '(') {
        status = parse_inside(p);
    } else {
        p->at++;
        status = parse_factor(p);
        if (status == AR_OK)
            status = add(p, (struct ar_formula_step){.what = '~'});
    }
    p->depth--;
    return status;
}

static enum ar_status parse_chain(struct parsing *p, const char *operations,
                                  enum ar_status (*part)(struct parsing *p))
{
    enum ar_status status = part(p);

    while (status == AR_OK && next(p) && strchr(operations, *p->at)) {
        char what = *p->at++;

        status = part(p);
        if (status == AR_OK)
            status = add(p, (struct ar_formula_step){.what = what});
    }
    return status;
}

static enum ar_status parse_product(struct parsing *p)
{
    return parse_chain(p, "*/", parse_factor);
}

static enum ar_status parse_sum(struct parsing *p)
{
    return parse_chain(p, "+-", parse_product);
}

enum ar_status ar_formula_parse(struct ar_formula *out, const char *text,
                                ar_formula_names *number_of, void *context, struct ar_error *err)
{
    struct parsing p = {
        .out = out, .at = text, .number_of = number_of, .context = context, .err = err};

    out->n = 0;

    enum ar_status status = parse_sum(&p);

    if (status == AR_OK && next(&p))
        return ar_fail(err, AR_BAD, "an operation is missing before \"%.20s\"", p.at);
    return status;
}

static double apply(char what, double a, double b)
{
    switch (what) {
    case '+':
        return a + b;
    case '-':
        return a - b;
    case '*':
        return a * b;
    default:
        return b == 0 ? NAN : a / b;
    }
}

double ar_formula_value(const struct ar_formula *f, const double *values)
{
    double stack[AR_FORMULA_STEPS] = {NAN};
    size_t n = 0;

    for (size_t i = 0; i < f->n; i++) {
        const struct ar_formula_step *step = &f->steps[i];

        if (step->what == '0') {
            stack[n++] = step->constant;
        } else if (step->what == 'x') {
            stack[n++] = values[step->number];
        } else if (step->what == '~') {
            stack[n - 1] = -stack[n - 1];
        } else {
            n--;
            stack[n - 1] = apply(step->what, stack[n - 1], stack[n]);
        }
    }
    return stack[0];
}

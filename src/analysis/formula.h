// SPDX-License-Identifier: BSD-3-Clause
/*
 * formula: arithmetic over values that have names, as in "cache-misses * 64 / time".
 *
 * + - * / and parentheses, numbers, and names of letters, digits, and _ . : - in between. A "-" may be part of a name or a minus: the
 * longest name that is known is taken. A division by 0 has no value (NAN).
 *
 * Life cycle: none, a formula owns nothing. Threads: read-only once parsed.
 *
 *     struct ar_formula f;
 *     if (ar_formula_parse(&f, "instructions / cycles", number_of, context, &err) < 0) ...
 *     double ipc = ar_formula_value(&f, values);             // values[number_of("cycles")] …
 */
#pragma once

#include "base/status.h"

#include <stddef.h>

#define AR_FORMULA_STEPS 64

/* One step of the stack machine: a number, a value, or an operation on what is on top. */
struct ar_formula_step {
    char what;       /* '0', 'x', or one of + - * / and ~, the minus before a value */
    unsigned number; /* of 'x' */
    double constant; /* of '0' */
};

struct ar_formula {
    struct ar_formula_step steps[AR_FORMULA_STEPS];
    size_t n;
};

/* The number of the value that has this name, or -1. */
typedef int ar_formula_names(const char *name, size_t n_name, void *context);

/* AR_BAD: the text says where it is no formula; AR_UNSUPPORTED: which name is not known. */
AR_MUST_CHECK enum ar_status ar_formula_parse(struct ar_formula *out, const char *text,
                                              ar_formula_names *number_of, void *context,
                                              struct ar_error *err);
double ar_formula_value(const struct ar_formula *f, const double *values);

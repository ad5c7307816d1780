// SPDX-License-Identifier: BSD-3-Clause
#include "cli/mpi_matrix.h"

#include "cli/mpi_text.h"
#include "cli/screen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NUMBERS 16
#define MOST_SQUARES 32 /* two columns each, and one line */
#define LABEL_COLUMNS 6
#define N_SHADES 8

struct matrix {
    enum ar_matrix_of of;
    uint32_t n_ranks;  /* the largest rank plus one */
    uint32_t per_cell; /* ranks */
    uint32_t n;        /* cells in a row */
    double *cells;     /* by row of the sender, then column of the receiver */
};

static double value_of(const struct ar_mpi_pair *pair, enum ar_matrix_of of)
{
    switch (of) {
    case AR_MATRIX_MESSAGES:
        return (double)pair->n;
    case AR_MATRIX_TIME:
        return (double)pair->ns;
    case AR_MATRIX_BYTES:
        break;
    }
    return (double)pair->n_bytes;
}

static bool fill(struct matrix *m, const struct ar_mpi_pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t largest = pairs[i].from > pairs[i].to ? pairs[i].from : pairs[i].to;

        if (largest >= m->n_ranks)
            m->n_ranks = largest + 1;
    }
    m->per_cell = m->n_ranks > MOST_NUMBERS ? (m->n_ranks - 1) / MOST_SQUARES + 1 : 1;
    m->n = (m->n_ranks + m->per_cell - 1) / m->per_cell;
    m->cells = calloc((size_t)m->n * m->n + 1, sizeof *m->cells);
    for (size_t i = 0; m->cells && i < n; i++)
        m->cells[(size_t)(pairs[i].from / m->per_cell) * m->n + pairs[i].to / m->per_cell] +=
            value_of(&pairs[i], m->of);
    return m->cells != NULL;
}

static void print_title(const struct matrix *m)
{
    static const char *const what[] = {"bytes from rank (line) to rank (column)",
                                       "messages from rank (line) to rank (column)",
                                       "milliseconds that a rank (line) spent with another "
                                       "(column)"};

    ar_print("\n%s%s%s", ar_bold(), what[m->of], ar_plain());
    if (m->per_cell > 1)
        ar_print(", %u ranks a square", m->per_cell);
    ar_print("\n");
}

/* ---- numbers ---------------------------------------------------------------------------------- */

static const char *show_value(const struct matrix *m, double value)
{
    if (value == 0)
        return ".";
    if (m->of != AR_MATRIX_TIME)
        return ar_show_short_bytes(value);
    return value < 1e6 ? "<1" : ar_show_short_bytes(value / 1e6);
}

static void print_numbers(const struct matrix *m)
{
    size_t width = m->n > 8 ? (80 - LABEL_COLUMNS) / m->n : 9;

    ar_print("%*s", LABEL_COLUMNS, "");
    for (uint32_t to = 0; to < m->n; to++)
        ar_print("%*u", (int)width, to);
    ar_print("\n");
    for (uint32_t from = 0; from < m->n; from++) {
        ar_print("%*u", LABEL_COLUMNS, from);
        for (uint32_t to = 0; to < m->n; to++)
            ar_print("%*s", (int)width, show_value(m, m->cells[(size_t)from * m->n + to]));
        ar_print("\n");
    }
}

/* ---- shades ----------------------------------------------------------------------------------- */

static const char shades[N_SHADES + 1] = ".:-=+*#@";

struct scale {
    double least, most; /* of those that are not 0 */
};

static struct scale scale_of(const struct matrix *m)
{
    struct scale s = {0};

    for (size_t i = 0; i < (size_t)m->n * m->n; i++) {
        double value = m->cells[i];

        if (value > 0 && (s.least == 0 || value < s.least))
            s.least = value;
        if (value > s.most)
            s.most = value;
    }
    return s;
}

/* Each shade is the same factor above the one before. */
static double factor_of(const struct scale *s)
{
    return s->most > s->least ? pow(s->most / s->least, 1.0 / N_SHADES) : 1;
}

static char shade_of(const struct scale *s, double value)
{
    double step = log(factor_of(s));
    int i = step > 0 ? (int)(log(value / s->least) / step) : N_SHADES - 1;

    return shades[i < 0 ? 0 : i >= N_SHADES ? N_SHADES - 1 : i];
}

/* From how much on there is each. */
static void print_legend(const struct matrix *m, const struct scale *s)
{
    double factor = factor_of(s), from = s->least;

    ar_print("%*s", LABEL_COLUMNS, "");
    if (factor == 1) {
        ar_print("%c %s\n", shades[N_SHADES - 1], show_value(m, s->most));
        return;
    }
    for (int i = 0; i < N_SHADES; i++, from *= factor)
        ar_print("%s%c %s", i ? "  " : "", shades[i], show_value(m, from));
    ar_print("\n");
}

static void print_shades(const struct matrix *m)
{
    struct scale s = scale_of(m);

    ar_print("%*s", LABEL_COLUMNS, "");
    for (uint32_t to = 0; to < m->n; to += 4)
        ar_print("%-8u", to * m->per_cell);
    ar_print("\n");
    for (uint32_t from = 0; from < m->n; from++) {
        ar_print("%*u ", LABEL_COLUMNS - 1, from * m->per_cell);
        for (uint32_t to = 0; to < m->n; to++) {
            double value = m->cells[(size_t)from * m->n + to];
            char shade = value > 0 ? shade_of(&s, value) : ' ';

            ar_print("%c%c", shade, shade);
        }
        ar_print("\n");
    }
    print_legend(m, &s);
}

int ar_print_matrix(const struct ar_mpi_pair *pairs, size_t n, enum ar_matrix_of of)
{
    struct matrix m = {.of = of};

    if (n == 0)
        return AR_EXIT_OK;
    if (!fill(&m, pairs, n))
        return ar_complain("out of memory");
    print_title(&m);
    if (m.n_ranks <= MOST_NUMBERS)
        print_numbers(&m);
    else
        print_shades(&m);
    free(m.cells);
    return AR_EXIT_OK;
}

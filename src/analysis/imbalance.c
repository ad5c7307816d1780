// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/imbalance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLEAR_SHARE 0.2  /* of the larger value: less than that is no difference worth a class */
#define CLEAR_TIMES 3    /* as wide as any gap that is no cut */
#define SMALL_SHARE 0.01 /* of the largest value: ranks that differ by so little are equal */

bool ar_is_uneven(const struct ar_spread *s)
{
    return (double)s->max >= AR_UNEVEN_FACTOR * s->mean && (double)s->max - s->mean >= AR_UNEVEN_NS;
}

struct ranked {
    uint64_t value;
    uint32_t rank;
};

static int smaller_first(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* ---- where to cut --------------------------------------------------------------------------- */

/* Between the sorted value `at` and the one before it. */
struct gap {
    double width;
    size_t at;
    bool is_clear;
};

/* The widest few, widest first: one more than can be cuts. */
struct gaps {
    struct gap items[AR_MOST_CLASSES];
    size_t n;
};

static void add_gap(struct gaps *gaps, struct gap gap)
{
    size_t at = gaps->n;

    if (gaps->n == AR_MOST_CLASSES && gap.width <= gaps->items[gaps->n - 1].width)
        return;
    if (gaps->n < AR_MOST_CLASSES)
        gaps->n++;
    else
        at--;
    for (; at > 0 && gaps->items[at - 1].width < gap.width; at--)
        gaps->items[at] = gaps->items[at - 1];
    gaps->items[at] = gap;
}

static struct gaps find_gaps(const struct ranked *sorted, size_t n)
{
    struct gaps gaps = {0};

    for (size_t i = 1; i < n; i++) {
        double width = (double)(sorted[i].value - sorted[i - 1].value);
        bool is_clear = width > CLEAR_SHARE * (double)sorted[i].value;

        add_gap(&gaps, (struct gap){width, i, is_clear});
    }
    return gaps;
}

/* How many of the widest gaps are cuts: as many as make the step to the next one the largest. */
static size_t count_cuts(const struct gaps *gaps, size_t n_most, double largest_value)
{
    double best = CLEAR_TIMES;
    size_t n_cuts = 0;

    for (size_t k = 1; k <= n_most && k <= gaps->n && gaps->items[k - 1].is_clear; k++) {
        double rest = k < gaps->n ? gaps->items[k].width : 0, least = SMALL_SHARE * largest_value;
        double step = gaps->items[k - 1].width / (rest > least ? rest : least);

        if (step >= best) {
            best = step;
            n_cuts = k;
        }
    }
    return n_cuts;
}

static size_t most_cuts(size_t n_values, size_t n_classes_left)
{
    size_t n_classes = n_values < 4 ? 2 : n_values / 2;

    if (n_values < 2)
        return 0;
    return (n_classes < n_classes_left ? n_classes : n_classes_left) - 1;
}

/* ---- classes -------------------------------------------------------------------------------- */

static void add_class(struct ar_imbalance *im, const struct ranked *first, size_t n)
{
    struct ar_rank_class class = {
        .least = first[0].value, .most = first[n - 1].value, .n_ranks = n};

    for (size_t i = 0; i < n; i++) {
        class.mean += (double)first[i].value / (double)n;
        im->class_of[first[i].rank] = (uint8_t)im->n_classes;
    }
    im->classes[im->n_classes++] = class;
}

static int later_first(const void *a, const void *b)
{
    const struct gap *x = a, *y = b;

    return (x->at < y->at) - (x->at > y->at);
}

/* From the end on, since those that have most come first. */
static void cut(struct ar_imbalance *im, const struct ranked *sorted, size_t n, size_t n_classes)
{
    struct gaps gaps = find_gaps(sorted, n);
    size_t n_cuts = count_cuts(&gaps, most_cuts(n, n_classes), n ? (double)sorted[n - 1].value : 0);

    qsort(gaps.items, n_cuts, sizeof *gaps.items, later_first);
    for (size_t i = 0; i < n_cuts; i++) {
        add_class(im, sorted + gaps.items[i].at, n - gaps.items[i].at);
        n = gaps.items[i].at;
    }
    if (n)
        add_class(im, sorted, n);
}

static void find_classes(struct ar_imbalance *im, const struct ranked *sorted, size_t n)
{
    size_t n_idle = 0;

    while (n_idle < n && sorted[n_idle].value == 0)
        n_idle++;
    cut(im, sorted + n_idle, n - n_idle, AR_MOST_CLASSES - (n_idle > 0));
    if (n_idle)
        add_class(im, sorted, n_idle);
}

enum ar_status ar_imbalance_build(struct ar_imbalance *out, const uint64_t *values, size_t n_ranks)
{
    struct ranked *sorted = malloc((n_ranks + 1) * sizeof *sorted);

    *out = (struct ar_imbalance){
        .n_ranks = n_ranks, .max_over_mean = 1, .class_of = calloc(n_ranks + 1, 1)};
    if (!sorted || !out->class_of) {
        free(sorted);
        ar_imbalance_free(out);
        return AR_NOMEM;
    }
    for (size_t i = 0; i < n_ranks; i++) {
        sorted[i] = (struct ranked){values[i], (uint32_t)i};
        out->mean += (double)values[i] / (double)n_ranks;
    }
    qsort(sorted, n_ranks, sizeof *sorted, smaller_first);
    find_classes(out, sorted, n_ranks);
    if (out->mean > 0)
        out->max_over_mean = (double)sorted[n_ranks - 1].value / out->mean;
    free(sorted);
    return AR_OK;
}

enum ar_status ar_imbalance_of_row(struct ar_imbalance *out, const struct ar_profile *p,
                                   struct ar_row row)
{
    uint64_t *values = calloc(p->n_roots + 1, sizeof *values);
    enum ar_status status;

    *out = (struct ar_imbalance){0};
    if (!values)
        return AR_NOMEM;
    for (size_t i = 0; i < row.n; i++)
        values[ar_profile_root(p, row.values[i].location)] += row.values[i].value;
    status = ar_imbalance_build(out, values, p->n_roots);
    free(values);
    return status;
}

void ar_imbalance_free(struct ar_imbalance *im)
{
    free(im->class_of);
    *im = (struct ar_imbalance){0};
}

size_t ar_imbalance_largest(const struct ar_imbalance *im)
{
    size_t largest = 0;

    for (size_t i = 1; i < im->n_classes; i++)
        if (im->classes[i].n_ranks > im->classes[largest].n_ranks)
            largest = i;
    return largest;
}

/* ---- sets of ranks in words ----------------------------------------------------------------- */

/* The same distance between all of them, if it is more than 1; or 0. */
static uint32_t stride_of(const uint32_t *ranks, size_t n)
{
    uint32_t stride = n > 2 ? ranks[1] - ranks[0] : 0;

    for (size_t i = 2; i < n && stride; i++)
        if (ranks[i] - ranks[i - 1] != stride)
            return 0;
    return stride > 1 ? stride : 0;
}

static const char *ending_of(uint32_t n)
{
    if (n / 10 % 10 == 1)
        return "th";
    return n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
}

static void put_stride(struct ar_bytes *out, const uint32_t *ranks, size_t n, uint32_t stride,
                       uint32_t n_all)
{
    char text[96], *at = text;
    uint32_t last = ranks[n - 1];

    at += snprintf(at, sizeof text, "every %u%s from %u", stride, ending_of(stride), ranks[0]);
    if ((uint64_t)last + stride < n_all)
        at += snprintf(at, sizeof text - (size_t)(at - text), " to %u", last);
    ar_bytes_put(out, text, (size_t)(at - text));
}

/* How many numbers from the first on follow each other. */
static size_t count_in_a_row(const uint32_t *ranks, size_t n)
{
    size_t end = 1;

    while (end < n && ranks[end] == ranks[end - 1] + 1)
        end++;
    return end;
}

void ar_rank_ranges_text(struct ar_bytes *out, const uint32_t *ranks, size_t n,
                         struct ar_range_style style)
{
    size_t start = out->n, n_ranges = 0;

    for (size_t i = 0, n_here; i < n; i += n_here, n_ranges++) {
        char text[40];
        int n_text = snprintf(text, sizeof text, "%s%u", i ? "," : "", ranks[i]);

        n_here = count_in_a_row(ranks + i, n - i);
        if (n_here > 1)
            n_text +=
                snprintf(text + n_text, sizeof text - (size_t)n_text,
                         n_here == 2 && style.splits_pairs ? ",%u" : "-%u", ranks[i + n_here - 1]);
        if (i && style.n_chars && out->n - start + (size_t)n_text > style.n_chars - 2) {
            ar_bytes_put(out, "..", 2);
            return;
        }
        if (style.n_ranges && n_ranges == style.n_ranges) {
            n_text = snprintf(text, sizeof text, " and %zu more", n - i);
            ar_bytes_put(out, text, (size_t)n_text);
            return;
        }
        ar_bytes_put(out, text, (size_t)n_text);
    }
}

void ar_rank_set_text(struct ar_bytes *out, const uint32_t *ranks, size_t n, uint32_t n_all,
                      size_t n_most)
{
    uint32_t stride = stride_of(ranks, n);

    if (stride)
        put_stride(out, ranks, n, stride, n_all);
    else
        ar_rank_ranges_text(out, ranks, n, (struct ar_range_style){.n_chars = n_most});
}

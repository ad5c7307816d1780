// SPDX-License-Identifier: BSD-3-Clause
#include "findings/words.h"

#include "analysis/imbalance.h"
#include "analysis/mpi_class.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_BUFFERS 16

char *ar_text_buffer(void)
{
    static char buffers[N_BUFFERS][AR_TEXT_BYTES];
    static int n;

    return buffers[n++ % N_BUFFERS];
}

const char *ar_show_time(double ns, double unit_ns)
{
    char *text = ar_text_buffer();
    double value = ns / unit_ns;
    int n_decimals = value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 9999.5 ? 1 : 0;

    snprintf(text, AR_TEXT_BYTES, "%.*f", n_decimals, value);
    return text;
}

const char *ar_show_duration(double ns)
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    char *text = ar_text_buffer();
    size_t i = 0;

    while (i < 3 && ns < units[i].ns)
        i++;
    double value = ns / units[i].ns;

    snprintf(text, AR_TEXT_BYTES,
             value < 9.995   ? "%.2f %s"
             : value < 999.5 ? "%.1f %s"
                             : "%.0f %s",
             value, units[i].unit);
    return text;
}

const char *ar_show_age(uint64_t ns)
{
    static const struct {
        double below_s, unit_s;
        const char *format;
    } forms[] = {{9.95, 1, "%.1f s"},
                 {600, 1, "%.0f s"},
                 {7200, 60, "%.0f min"},
                 {172800, 3600, "%.1f h"},
                 {1e300, 86400, "%.1f days"}};
    char *text = ar_text_buffer();
    double s = (double)ns / 1e9;
    size_t i = 0;

    while (s >= forms[i].below_s)
        i++;
    snprintf(text, AR_TEXT_BYTES, forms[i].format, s / forms[i].unit_s);
    return text;
}

const char *ar_show_bytes(uint64_t n)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    char *text = ar_text_buffer();
    double value = (double)n;
    size_t i = 0;

    for (; value >= 999.5 && i < sizeof units / sizeof *units - 1; i++)
        value /= 1000;
    snprintf(text, AR_TEXT_BYTES, i == 0 ? "%.0f %s" : "%.1f %s", value, units[i]);
    return text;
}

const char *ar_show_count(uint64_t n)
{
    char digits[32], *text = ar_text_buffer(), *to = text;
    int n_digits = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);

    for (int i = 0; i < n_digits; i++) {
        if (i && (n_digits - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return text;
}

const char *ar_show_items(uint64_t n, const char *one, const char *many)
{
    char *text = ar_text_buffer();
    char count[32];

    snprintf(count, sizeof count, "%s", ar_show_count(n));
    snprintf(text, AR_TEXT_BYTES, "%s %s", count, n == 1 ? one : many);
    return text;
}

const char *ar_show_share(double share)
{
    char *text = ar_text_buffer();

    if (share > 0 && share < 0.0005)
        snprintf(text, AR_TEXT_BYTES, "< 0.1 %%");
    else
        snprintf(text, AR_TEXT_BYTES, "%.1f %%", 100 * share);
    return text;
}

const char *ar_show_date(uint64_t real_ns)
{
    char *text = ar_text_buffer();
    time_t seconds = (time_t)(real_ns / 1000000000u);
    struct tm tm;

    if (!localtime_r(&seconds, &tm) || !strftime(text, AR_TEXT_BYTES, "%Y-%m-%d %H:%M:%S", &tm))
        snprintf(text, AR_TEXT_BYTES, "?");
    return text;
}

size_t ar_count_hosts(const struct ar_profile *p)
{
    bool *is_there = calloc(p->strings.n_strings + 1, sizeof *is_there);
    size_t n = 0;

    for (size_t i = 0; i < p->n_processes && is_there; i++) {
        n += !is_there[p->processes[i].host];
        is_there[p->processes[i].host] = true;
    }
    free(is_there);
    return n;
}

const char *ar_show_process(const struct ar_profile *p, uint32_t process)
{
    char *text = ar_text_buffer();
    const struct ar_process *which = &p->processes[process];

    if (which->root != process)
        snprintf(text, AR_TEXT_BYTES, "  child");
    else if (which->world_rank == AR_RANK_NONE)
        snprintf(text, AR_TEXT_BYTES, "process");
    else
        snprintf(text, AR_TEXT_BYTES, "rank %u", which->world_rank);
    return text;
}

const char *ar_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

const char *ar_show_line(const struct ar_profile *p, struct ar_place place)
{
    char *text = ar_text_buffer();

    *text = '\0';
    if (place.function != AR_NO_ID && place.line)
        snprintf(text, AR_TEXT_BYTES, "%s:%u", ar_file_name(ar_place_file(p, place)), place.line);
    return text;
}

static const char *kind_word(uint32_t kind)
{
    switch (kind) {
    case AR_FUNCTION_BUILTIN:
        return "C";
    case AR_FUNCTION_UNASSIGNED:
        return "unassigned";
    case AR_FUNCTION_REGION:
        return "region";
    case AR_FUNCTION_TASK:
        return "task";
    case AR_FUNCTION_PROCESS:
        return "child process";
    default:
        return "";
    }
}

static bool is_known_by_its_caller(const struct ar_function *function)
{
    return function->kind == AR_FUNCTION_MPI || function->kind == AR_FUNCTION_OPERATION ||
           function->kind == AR_FUNCTION_IMPORT;
}

const char *ar_show_place(const struct ar_profile *p, uint32_t node)
{
    const struct ar_function *function = &p->functions[p->nodes[node].function];
    struct ar_place place = {.function = p->nodes[node].function, .line = function->first_line};
    char *text = ar_text_buffer();

    if (is_known_by_its_caller(function))
        place = ar_place_of_call(p, node);
    if (*ar_place_file(p, place) && place.line)
        snprintf(text, AR_TEXT_BYTES, "%s:%u", ar_file_name(ar_place_file(p, place)), place.line);
    else
        snprintf(text, AR_TEXT_BYTES, "%s", kind_word(function->kind));
    return text;
}

const char *ar_show_operation(const struct ar_profile *p, uint32_t node)
{
    const struct ar_function *f = &p->functions[p->nodes[node].function];
    const char *name = ar_strtab_text(&p->strings, f->name);

    if (f->kind == AR_FUNCTION_OPERATION) {
        const char *dot = strrchr(name, '.');

        return dot ? dot + 1 : name;
    }
    name = ar_mpi_class_of(name).function;
    return strncmp(name, "MPI_", 4) == 0 ? name + 4 : name;
}

static int in_order(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

#define MOST_RANGES 4

/* The first few ranges of sorted numbers. */
static void put_ranges(char *text, size_t n_text, const uint32_t *ranks, size_t n)
{
    struct ar_bytes ranges = {0};

    ar_rank_ranges_text(&ranges, ranks, n,
                        (struct ar_range_style){.splits_pairs = true, .n_ranges = MOST_RANGES});
    if (!ranges.bad)
        snprintf(text, n_text, "ranks %.*s", (int)ranges.n, (const char *)ranges.data);
    ar_bytes_free(&ranges);
}

const char *ar_show_ranks(const struct ar_profile *p, const uint32_t *processes, size_t n)
{
    static char texts[4][160];
    static int turn;
    char *text = texts[turn++ % 4];
    uint32_t *ranks = malloc((n + 1) * sizeof *ranks);

    if (n == 1)
        snprintf(text, sizeof texts[0], "%s", ar_show_process(p, processes[0]));
    else
        snprintf(text, sizeof texts[0], "%zu ranks", n);
    if (ranks && n > 1) {
        for (size_t i = 0; i < n; i++)
            ranks[i] = p->processes[processes[i]].world_rank;
        qsort(ranks, n, sizeof *ranks, in_order);
        if (ranks[n - 1] != AR_RANK_NONE)
            put_ranges(text, sizeof texts[0], ranks, n);
    }
    free(ranks);
    return text;
}

const char *ar_show_hot_line(const struct ar_hot_lines *hot, uint32_t function)
{
    const struct ar_hot_line *line = &hot->by_function[function];
    char *text = ar_text_buffer();

    text[0] = '\0';
    if (!ar_hot_line_is_known(hot, function))
        return text;
    if (!line->last)
        snprintf(text, AR_TEXT_BYTES, "%u-end", line->first);
    else if (line->first == line->last)
        snprintf(text, AR_TEXT_BYTES, "%u", line->first);
    else
        snprintf(text, AR_TEXT_BYTES, "%u-%u", line->first, line->last);
    return text;
}

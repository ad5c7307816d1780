// SPDX-License-Identifier: BSD-3-Clause
#include "cli/screen.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define N_BUFFERS 16
#define BUFFER_BYTES 256

static char *next_buffer(void)
{
    static char buffers[N_BUFFERS][BUFFER_BYTES];
    static int n;

    return buffers[n++ % N_BUFFERS];
}

size_t ar_screen_columns(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 20)
        return 80;
    return size.ws_col;
}

int ar_complain(const char *fmt, ...)
{
    va_list ap;

    fflush(stdout);
    fprintf(stderr, "allranks: error: ");
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\n");
    return AR_EXIT_BAD;
}

/* getopt has moved on: what it refused is the word before. */
int ar_complain_option(int c, char **argv)
{
    const char *word = argv[optind - 1];

    if (c == ':')
        return ar_complain("%s needs a value (try: allranks %s --help)", word, argv[0]);
    return ar_complain("unknown option %s (try: allranks %s --help)", word, argv[0]);
}

static size_t character_bytes(const char *at, size_t n_left)
{
    size_t n = ar_utf8_length(at, n_left);

    return n ? n : 1;
}

size_t ar_count_characters(const char *text)
{
    size_t n = 0;

    for (size_t n_left = strlen(text); n_left; n++) {
        size_t step = character_bytes(text, n_left);

        text += step;
        n_left -= step;
    }
    return n;
}

static const char *skip_characters(const char *text, size_t n)
{
    for (; n && *text; n--)
        text += character_bytes(text, strlen(text));
    return text;
}

void ar_fit(struct ar_bytes *out, const char *text, size_t n_columns, enum ar_keep keep)
{
    size_t n = ar_count_characters(text);

    if (n > n_columns && keep == AR_KEEP_END && n_columns >= 2) {
        text = skip_characters(text, n - (n_columns - 2));
        ar_bytes_put(out, "..", 2);
        n_columns -= 2;
    }
    for (size_t i = 0; i < n_columns; i++) {
        size_t step = *text ? character_bytes(text, strlen(text)) : 0;
        bool printable = step > 1 || (step == 1 && (unsigned char)*text >= 0x20 && *text != 0x7f &&
                                      !(*text & 0x80));

        if (step == 0)
            ar_bytes_u8(out, ' ');
        else if (printable)
            ar_bytes_put(out, text, step);
        else
            ar_bytes_u8(out, '?');
        text += step;
    }
}

void ar_print_fit(const char *text, size_t n_columns, enum ar_keep keep)
{
    struct ar_bytes fitted = {0};

    ar_fit(&fitted, text, n_columns, keep);
    if (fitted.n)
        fwrite(fitted.data, 1, fitted.n, stdout);
    ar_bytes_free(&fitted);
}

const char *ar_show_time(double ns, double unit_ns)
{
    char *text = next_buffer();
    double value = ns / unit_ns;
    int n_decimals = value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 9999.5 ? 1 : 0;

    snprintf(text, BUFFER_BYTES, "%.*f", n_decimals, value);
    return text;
}

const char *ar_show_duration(double ns)
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    char *text = next_buffer();
    size_t i = 0;

    while (i < 3 && ns < units[i].ns)
        i++;
    double value = ns / units[i].ns;

    snprintf(text, BUFFER_BYTES,
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
    char *text = next_buffer();
    double s = (double)ns / 1e9;
    size_t i = 0;

    while (s >= forms[i].below_s)
        i++;
    snprintf(text, BUFFER_BYTES, forms[i].format, s / forms[i].unit_s);
    return text;
}

const char *ar_show_bytes(uint64_t n)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    char *text = next_buffer();
    double value = (double)n;
    size_t i = 0;

    for (; value >= 999.5 && i < sizeof units / sizeof *units - 1; i++)
        value /= 1000;
    snprintf(text, BUFFER_BYTES, i == 0 ? "%.0f %s" : "%.1f %s", value, units[i]);
    return text;
}

const char *ar_show_count(uint64_t n)
{
    char digits[32], *text = next_buffer(), *to = text;
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
    char *text = next_buffer();
    char count[32];

    snprintf(count, sizeof count, "%s", ar_show_count(n));
    snprintf(text, BUFFER_BYTES, "%s %s", count, n == 1 ? one : many);
    return text;
}

const char *ar_show_share(double share)
{
    char *text = next_buffer();

    if (share > 0 && share < 0.0005)
        snprintf(text, BUFFER_BYTES, "< 0.1 %%");
    else
        snprintf(text, BUFFER_BYTES, "%.1f %%", 100 * share);
    return text;
}

const char *ar_show_date(uint64_t real_ns)
{
    char *text = next_buffer();
    time_t seconds = (time_t)(real_ns / 1000000000u);
    struct tm tm;

    if (!localtime_r(&seconds, &tm) || !strftime(text, BUFFER_BYTES, "%Y-%m-%d %H:%M:%S", &tm))
        snprintf(text, BUFFER_BYTES, "?");
    return text;
}

size_t ar_count_hosts(const struct ar_profile *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_processes; i++) {
        size_t k = 0;

        while (k < i && p->processes[k].host != p->processes[i].host)
            k++;
        n += k == i;
    }
    return n;
}

const char *ar_show_process(const struct ar_profile *p, uint32_t process)
{
    char *text = next_buffer();
    const struct ar_process *which = &p->processes[process];

    if (which->world_rank == AR_RANK_NONE)
        snprintf(text, BUFFER_BYTES, "process %u", which->pid);
    else
        snprintf(text, BUFFER_BYTES, "rank %u", which->world_rank);
    return text;
}

const char *ar_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/*
 * The nearest node above whose function has a place of its own; imports have that of the line that
 * imports.
 */
static uint32_t calling_node(const struct ar_profile *p, uint32_t node)
{
    for (node = p->nodes[node].parent; node != AR_NO_ID; node = p->nodes[node].parent) {
        uint32_t kind = p->functions[p->nodes[node].function].kind;

        if (kind == AR_FUNCTION_PYTHON || kind == AR_FUNCTION_IMPORT)
            return node;
    }
    return AR_NO_ID;
}

static const char *kind_word(uint32_t kind)
{
    switch (kind) {
    case AR_FUNCTION_BUILTIN:
        return "C";
    case AR_FUNCTION_REGION:
        return "region";
    case AR_FUNCTION_TASK:
        return "task";
    default:
        return "";
    }
}

const char *ar_show_place(const struct ar_profile *p, uint32_t node)
{
    const struct ar_function *function = &p->functions[p->nodes[node].function];
    uint32_t line = function->first_line;
    char *text = next_buffer();

    snprintf(text, BUFFER_BYTES, "%s", kind_word(function->kind));
    while (function->kind == AR_FUNCTION_MPI || function->kind == AR_FUNCTION_IMPORT) {
        line = p->nodes[node].line;
        node = calling_node(p, node);
        if (node == AR_NO_ID)
            return text;
        function = &p->functions[p->nodes[node].function];
    }
    if (function->file && line)
        snprintf(text, BUFFER_BYTES, "%s:%u",
                 ar_file_name(ar_strtab_text(&p->strings, function->file)), line);
    return text;
}

/* If `text` begins with `start`, what comes after it, else NULL. */
static const char *after(const char *text, const char *start)
{
    size_t n = strlen(start);

    return strncmp(text, start, n) == 0 ? text + n : NULL;
}

/* "method 'append' of 'list' objects"; the parts are shown even if it ends in some other way. */
static const char *name_of_method(const char *quoted)
{
    const char *end = strchr(quoted, '\''), *type = end ? after(end, "' of '") : NULL;
    char *text = next_buffer();

    if (!type)
        return quoted;
    snprintf(text, BUFFER_BYTES, "%.*s.%.*s", (int)strcspn(type, "'"), type, (int)(end - quoted),
             quoted);
    return text;
}

static const char *name_of_builtin(const char *name)
{
    char *text = next_buffer();
    const char *rest;

    if ((rest = after(name, "built-in method builtins.")) ||
        (rest = after(name, "built-in method ")) || (rest = after(name, "type ")))
        return rest;
    if ((rest = after(name, "method '")))
        return name_of_method(rest);
    rest = after(name, "ufunc ");
    if (!rest)
        return name;
    snprintf(text, BUFFER_BYTES, "numpy.%s", rest);
    return text;
}

const char *ar_show_name(const struct ar_profile *p, uint32_t node, size_t n_columns)
{
    return ar_show_function(p, p->nodes[node].function, n_columns);
}

const char *ar_show_function(const struct ar_profile *p, uint32_t id, size_t n_columns)
{
    const struct ar_function *function = &p->functions[id];
    const char *name = ar_strtab_text(&p->strings, function->name);

    if (function->kind != AR_FUNCTION_BUILTIN)
        return name;
    name = name_of_builtin(name);
    for (const char *dot; ar_count_characters(name) > n_columns && (dot = strchr(name, '.'));)
        name = dot + 1;
    return name;
}

static bool wants_colour(void)
{
    static int wanted = -1;
    const char *no_color = getenv("NO_COLOR");

    if (wanted < 0)
        wanted = isatty(STDOUT_FILENO) && !(no_color && *no_color);
    return wanted;
}

const char *ar_bold(void)
{
    return wants_colour() ? "\033[1m" : "";
}

const char *ar_dim(void)
{
    return wants_colour() ? "\033[2m" : "";
}

const char *ar_plain(void)
{
    return wants_colour() ? "\033[0m" : "";
}

int ar_write_output(const char *path, const struct ar_bytes *bytes)
{
    bool to_stdout = strcmp(path, "-") == 0;
    FILE *file = to_stdout ? stdout : fopen(path, "wb");

    if (!file)
        return ar_complain("%s: %s", path, strerror(errno));

    bool failed = fwrite(bytes->data, 1, bytes->n, file) != bytes->n;

    failed |= (to_stdout ? fflush(file) : fclose(file)) != 0;
    return failed ? ar_complain("%s: %s", path, strerror(errno)) : AR_EXIT_OK;
}

void ar_stem(const char *path, char *stem, size_t n_stem)
{
    const char *name = ar_file_name(path), *dot = strrchr(name, '.');
    int n = dot && dot != name ? (int)(dot - name) : (int)strlen(name);

    snprintf(stem, n_stem, "%.*s", n, name);
}

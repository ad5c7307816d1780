// SPDX-License-Identifier: BSD-3-Clause
#include "cli/screen.h"

#include "analysis/names.h"
#include "analysis/place.h"
#include "cli/progress.h"
#include "export/pstats.h"
#include "format/runfile.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define N_BUFFERS 16
#define BUFFER_BYTES AR_NAME_BYTES

static char *next_buffer(void)
{
    static char buffers[N_BUFFERS][BUFFER_BYTES];
    static int n;

    return buffers[n++ % N_BUFFERS];
}

/* ---- text from files, and from the command line ----------------------------------------------- */

/* A byte that begins no character counts as one. */
static size_t character_bytes(const char *at)
{
    size_t n = ar_utf8_length(at, strnlen(at, 4));

    return n ? n : 1;
}

/*
 * Names come from files, and a terminal obeys what it is sent: no control characters, neither of ASCII
 * nor of Unicode (U+0080 to U+009F), nor those that turn the direction of text round (U+202A to U+202E,
 * U+2066 to U+2069).
 */
static bool is_printable(const char *at, size_t n_bytes)
{
    const unsigned char *c = (const unsigned char *)at;

    if (n_bytes == 1)
        return c[0] >= 0x20 && c[0] < 0x7f;
    if (n_bytes == 2)
        return c[0] != 0xc2 || c[1] >= 0xa0;
    if (n_bytes == 3 && c[0] == 0xe2)
        return !(c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae) &&
               !(c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9);
    return true;
}

static void print_character(FILE *to, const char *at, size_t n_bytes)
{
    if (is_printable(at, n_bytes))
        fwrite(at, 1, n_bytes, to);
    else
        putc('?', to);
}

void ar_print_text(FILE *to, const char *text)
{
    for (size_t n; *text; text += n) {
        n = character_bytes(text);
        print_character(to, text, n);
    }
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
    char text[8192];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fflush(stdout);
    fprintf(stderr, "allranks: error: ");
    ar_print_text(stderr, text);
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

int ar_complain_runs(int n, const char *usage)
{
    if (n > 1)
        return ar_complain("one run is needed, not %d (usage: allranks %s; a pattern for the files "
                           "of all ranks goes in quotes)",
                           n, usage);
    return ar_complain("one run is needed (usage: allranks %s)", usage);
}

/* ---- how wide a character is ------------------------------------------------------------------ */

static uint32_t code_of(const char *at, size_t n_bytes)
{
    const unsigned char *c = (const unsigned char *)at;
    uint32_t code = n_bytes == 1 ? c[0] : c[0] & (0x7fu >> n_bytes);

    for (size_t i = 1; i < n_bytes; i++)
        code = code << 6 | (c[i] & 0x3f);
    return code;
}

/*
 * East Asian characters and emoji take two columns, marks that combine none. libc knows that for the
 * locale's encoding only; names are UTF-8 in any of them. Blocks of Unicode, not single characters.
 */
static size_t character_columns(const char *at, size_t n_bytes)
{
    static const struct {
        uint32_t first, last;
        size_t n_columns;
    } blocks[] = {{0x300, 0x36f, 0},     {0x1100, 0x115f, 2},   {0x200b, 0x200f, 0},
                  {0x20d0, 0x20ff, 0},   {0x2e80, 0x303e, 2},   {0x3041, 0xa4cf, 2},
                  {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},   {0xfe00, 0xfe0f, 0},
                  {0xfe20, 0xfe2f, 0},   {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},
                  {0xffe0, 0xffe6, 2},   {0x1f300, 0x1f64f, 2}, {0x1f680, 0x1f6ff, 2},
                  {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2}};
    uint32_t code = code_of(at, n_bytes);

    if (!is_printable(at, n_bytes) || code < blocks[0].first)
        return 1;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks && code >= blocks[i].first; i++)
        if (code <= blocks[i].last)
            return blocks[i].n_columns;
    return 1;
}

size_t ar_count_columns(const char *text, size_t most)
{
    size_t n = 0;

    for (size_t step; *text && n < most; text += step) {
        step = character_bytes(text);
        n += character_columns(text, step);
    }
    return n;
}

/* At least so many of them. */
static const char *skip_columns(const char *text, size_t n)
{
    for (size_t step, done = 0; done < n && *text; text += step) {
        step = character_bytes(text);
        done += character_columns(text, step);
    }
    return text;
}

void ar_fit(struct ar_bytes *out, const char *text, size_t n_columns, enum ar_keep keep)
{
    size_t n = keep == AR_KEEP_END ? ar_count_columns(text, SIZE_MAX) : 0, used = 0;

    if (n > n_columns && n_columns >= 2) {
        text = skip_columns(text, n - (n_columns - 2));
        ar_bytes_put(out, "..", 2);
        n_columns -= 2;
    }
    while (*text) {
        size_t step = character_bytes(text), wide = character_columns(text, step);

        if (used + wide > n_columns)
            break;
        if (is_printable(text, step))
            ar_bytes_put(out, text, step);
        else
            ar_bytes_u8(out, '?');
        used += wide;
        text += step;
    }
    for (; used < n_columns; used++)
        ar_bytes_u8(out, ' ');
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
    char *text = next_buffer();
    const struct ar_process *which = &p->processes[process];

    if (which->root != process)
        snprintf(text, BUFFER_BYTES, "  child");
    else if (which->world_rank == AR_RANK_NONE)
        snprintf(text, BUFFER_BYTES, "process");
    else
        snprintf(text, BUFFER_BYTES, "rank %u", which->world_rank);
    return text;
}

const char *ar_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
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
    char *text = next_buffer();

    if (is_known_by_its_caller(function))
        place = ar_place_of_call(p, node);
    if (*ar_place_file(p, place) && place.line)
        snprintf(text, BUFFER_BYTES, "%s:%u", ar_file_name(ar_place_file(p, place)), place.line);
    else
        snprintf(text, BUFFER_BYTES, "%s", kind_word(function->kind));
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
    name = ar_plain_name(p, id, next_buffer());
    for (const char *dot;
         ar_count_columns(name, n_columns + 1) > n_columns && (dot = strchr(name, '.'));)
        name = dot + 1;
    return name;
}

/* "0.020 (3)", or in three digits "20.1 (10239)" where there is less room. */
static void show_extreme(const struct ar_process *process, uint64_t ns, double unit_ns,
                         bool name_rank, bool is_short, char *text, size_t n_text)
{
    char time[32];

    if (is_short && (double)ns / unit_ns >= 10)
        snprintf(time, sizeof time, "%.*f", (double)ns / unit_ns < 99.95, (double)ns / unit_ns);
    else
        snprintf(time, sizeof time, "%s", ar_show_time((double)ns, unit_ns));
    if (name_rank && process->world_rank != AR_RANK_NONE)
        snprintf(text, n_text, "%s (%u)", time, process->world_rank);
    else
        snprintf(text, n_text, "%s", time);
}

#define RANGE_COLUMNS 19
#define LEAST_COLUMNS 9

/* The rank that has least goes first, then digits, then the least itself. */
void ar_print_range(const struct ar_profile *p, const struct ar_spread *s, double unit_ns)
{
    bool differ = (double)(s->max - s->min) > 0.1 * (double)s->max &&
                  (double)(s->max - s->min) >= unit_ns / 1000; /* it can be seen */
    char least[64] = "", most[64] = "";

    if (p->n_roots < 2)
        return;
    for (int form = 0; form < 3; form++) {
        show_extreme(&p->processes[s->min_process], s->min, unit_ns, differ && form == 0, form == 2,
                     least, sizeof least);
        show_extreme(&p->processes[s->max_process], s->max, unit_ns, differ, form == 2, most,
                     sizeof most);
        if (strlen(least) + 1 + strlen(most) <= RANGE_COLUMNS)
            break;
    }
    if (strlen(least) + 1 + strlen(most) > RANGE_COLUMNS)
        snprintf(least, sizeof least, "..");

    size_t room = RANGE_COLUMNS - 1 - (strlen(most) < RANGE_COLUMNS ? strlen(most) : 0);

    printf(" %*s-%s", (int)(room < LEAST_COLUMNS ? room : LEAST_COLUMNS), least, most);
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

/* A pipe, a device or a link is not to be replaced. */
static bool is_plain_or_missing(const char *path)
{
    struct stat st;

    return lstat(path, &st) < 0 ? errno == ENOENT : S_ISREG(st.st_mode);
}

/* A file has its name only when it is whole: who writes it may be killed, as may who reads it. */
int ar_write_output(const char *path, const struct ar_bytes *bytes)
{
    struct ar_error err;

    if (strcmp(path, "-") != 0 && is_plain_or_missing(path))
        return ar_run_replace(bytes, path, &err) < 0 ? ar_complain("%s", err.text) : AR_EXIT_OK;

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

static bool wants_pstats(const char *output)
{
    const char *dot = strrchr(output, '.');

    return dot && (strcmp(dot, ".prof") == 0 || strcmp(dot, ".pstats") == 0);
}

static enum ar_status encode(struct ar_profile *p, const char *output, struct ar_bytes *bytes,
                             struct ar_error *err)
{
    struct ar_pstats_choice all = {0};

    if (wants_pstats(output))
        return ar_pstats_encode(p, &all, bytes, err);
    return ar_run_encode(p, bytes) < 0 ? ar_fail(err, AR_NOMEM, "out of memory") : AR_OK;
}

static void say_what_was_written(const struct ar_profile *p, const char *path)
{
    fprintf(stderr, "allranks: %s in ", ar_show_items(p->n_processes, "process", "processes"));
    ar_print_text(stderr, path);
    fprintf(stderr, "; see: allranks report ");
    ar_print_text(stderr, path);
    fprintf(stderr, "\n");
}

int ar_write_run(struct ar_profile *p, const char *path)
{
    struct ar_bytes bytes = {0};
    struct ar_error err;
    char written[4096];
    enum ar_status encoded, status = AR_OK;

    ar_progress("putting the run together");
    encoded = encode(p, path, &bytes, &err);
    ar_progress("writing");
    if (encoded >= 0)
        status = ar_run_write(&bytes, path, written, sizeof written, &err);
    ar_progress(NULL);
    ar_bytes_free(&bytes);
    if (encoded < 0)
        return ar_complain("%s: %s", path, err.text);
    if (status < 0)
        return ar_complain("%s", err.text);
    say_what_was_written(p, written);
    return AR_EXIT_OK;
}

static const char *program_name(const char *program)
{
    const char *slash = strrchr(program, '/');

    return slash && slash[1] ? slash + 1 : program;
}

void ar_default_output(const struct ar_profile *p, char *name, size_t n_name)
{
    const char *program = ar_profile_fact_text(p, "program");
    char plain[1024];

    snprintf(plain, sizeof plain, "%s", program);
    for (size_t n = strlen(plain); n > 1 && plain[n - 1] == '/'; n--)
        plain[n - 1] = '\0';

    const char *stem = program_name(plain), *dot = strrchr(stem, '.');
    int n_stem = dot && dot > stem ? (int)(dot - stem) : (int)strlen(stem);

    if (strncmp(program, "-m ", 3) == 0)
        snprintf(name, n_name, "%s.allranks", program + 3);
    else if (strncmp(program, "-c ", 3) == 0)
        snprintf(name, n_name, "command.allranks");
    else if (strcmp(program, "-") == 0)
        snprintf(name, n_name, "stdin.allranks");
    else if (n_stem == 0)
        snprintf(name, n_name, "recovered.allranks");
    else
        snprintf(name, n_name, "%.*s.allranks", n_stem, stem);
}

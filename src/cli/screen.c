// SPDX-License-Identifier: BSD-3-Clause
#include "cli/screen.h"

#include "analysis/names.h"
#include "cli/progress.h"
#include "export/pstats.h"
#include "format/runfile.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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
    name = ar_plain_name(p, id, ar_text_buffer());
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

/* Returns how many columns it takes. */
static size_t print_part(const char *text, size_t n_bytes, bool is_shown)
{
    size_t n_columns = 0;

    for (size_t done = 0, n; done < n_bytes; done += n) {
        n = character_bytes(text + done);
        n_columns += character_columns(text + done, n);
        if (is_shown)
            print_character(stdout, text + done, n);
    }
    return n_columns;
}

/* "38.2 %", "1.10 s": a figure and its unit stay together. */
static bool is_within_figure(const char *text, size_t at)
{
    static const char *const units[] = {"%", "s", "ms", "us", "ns", "B", "kB", "MB", "GB"};
    const char *unit = text + at + 1;
    size_t n = strcspn(unit, " ,;:.)");

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i]) == n && strncmp(units[i], unit, n) == 0)
            return at && isdigit((unsigned char)text[at - 1]);
    return false;
}

/* How many bytes of it go on a line: up to the last space that does, or what there is room for. */
static size_t line_bytes(const char *text, size_t n_room)
{
    size_t n = 0;

    for (size_t used = 0, step; text[n]; n += step) {
        step = character_bytes(text + n);
        used += character_columns(text + n, step);
        if (used > n_room)
            break;
    }

    if (text[n])
        for (size_t k = n; k > n / 2; k--)
            if (text[k] == ' ' && !is_within_figure(text, k))
                return k;
    return n;
}

static size_t wrap(const char *text, size_t n_columns, size_t indent, size_t *n_last, bool is_shown)
{
    size_t n_lines = 0, n_room = n_columns > indent + 20 ? n_columns - indent : 20;

    while (*text) {
        size_t n = line_bytes(text, n_room);

        if (n_lines++ && is_shown)
            printf("\n%*s", (int)indent, "");
        *n_last = indent + print_part(text, n, is_shown);
        text += n;
        while (*text == ' ')
            text++;
    }
    return n_lines;
}

size_t ar_count_wrapped(const char *text, size_t n_columns, size_t indent, size_t *n_last)
{
    return wrap(text, n_columns, indent, n_last, false);
}

size_t ar_print_wrapped(const char *text, size_t n_columns, size_t indent, size_t *n_last)
{
    size_t end, n_lines = wrap(text, n_columns, indent, n_last ? n_last : &end, true);

    if (!n_last)
        printf("\n");
    return n_lines;
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

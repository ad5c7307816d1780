// SPDX-License-Identifier: BSD-3-Clause
#include "cli/screen.h"

#include "analysis/names.h"
#include "base/text.h"
#include "cli/progress.h"
#include "export/exporters.h"
#include "format/livefile.h"
#include "format/runfile.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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
    ar_note("allranks: error: %s\n", text);
    return AR_EXIT_BAD;
}

int ar_complain_of(const char *path, const struct ar_error *err)
{
    size_t n = strlen(path);

    if (strncmp(err->text, path, n) == 0 && err->text[n] == ':')
        return ar_complain("%s", err->text);
    return ar_complain("%s: %s", path, err->text);
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

/* ---- text in columns --------------------------------------------------------------------------- */

static size_t character_bytes(const char *at)
{
    return ar_text_step(at, strnlen(at, 4));
}

size_t ar_count_columns(const char *text, size_t most)
{
    size_t n = 0;

    for (size_t step; *text && n < most; text += step) {
        step = character_bytes(text);
        n += ar_character_columns(text, step);
    }
    return n;
}

/* At least so many of them. */
static const char *skip_columns(const char *text, size_t n)
{
    for (size_t step, done = 0; done < n && *text; text += step) {
        step = character_bytes(text);
        done += ar_character_columns(text, step);
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
        size_t step = character_bytes(text), wide = ar_character_columns(text, step);

        if (used + wide > n_columns)
            break;
        ar_text_put(out, text, step);
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
    ar_print_bytes(&fitted);
    ar_bytes_free(&fitted);
}

const char *ar_show_name(const struct ar_profile *p, uint32_t node, size_t n_columns)
{
    return ar_show_function(p, p->nodes[node].function, n_columns);
}

const char *ar_show_function(const struct ar_profile *p, uint32_t id, size_t n_columns)
{
    const struct ar_function *function = &p->functions[id];
    const char *full = ar_strtab_text(&p->strings, function->name), *name;

    if (function->kind == AR_FUNCTION_MPI)
        return full;
    name = ar_plain_name(p, id, ar_text_buffer());
    if (name == full && function->kind != AR_FUNCTION_BUILTIN)
        return full;
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

static void put_mark(char *text, size_t n_text)
{
    memmove(text + 1, text, strnlen(text, n_text - 2) + 1);
    text[0] = '~';
    text[n_text - 1] = '\0';
}

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
        if (s->doubt.marks & AR_MARK_ESTIMATED)
            put_mark(least, sizeof least);
        if (strlen(least) + 1 + strlen(most) <= RANGE_COLUMNS)
            break;
    }
    if (strlen(least) + 1 + strlen(most) > RANGE_COLUMNS)
        snprintf(least, sizeof least, "..");

    size_t room = RANGE_COLUMNS - 1 - (strlen(most) < RANGE_COLUMNS ? strlen(most) : 0);

    ar_print(" %*s-%s", (int)(room < LEAST_COLUMNS ? room : LEAST_COLUMNS), least, most);
}

void ar_print_most(const struct ar_profile *p, const struct ar_spread *s, double unit_ns)
{
    char most[64] = "";

    if (s->max)
        show_extreme(&p->processes[s->max_process], s->max, unit_ns, s->max != s->min, false, most,
                     sizeof most);
    ar_print(" %12s", most);
}

/* Returns how many columns it takes. */
static size_t print_part(const char *text, size_t n_bytes, bool is_shown)
{
    size_t n_columns = 0;

    for (size_t done = 0, n; done < n_bytes; done += n) {
        n = character_bytes(text + done);
        n_columns += ar_character_columns(text + done, n);
    }
    if (is_shown && n_bytes)
        ar_print("%.*s", (int)n_bytes, text);
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
        used += ar_character_columns(text + n, step);
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
            ar_print("\n%*s", (int)indent, "");
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
        ar_print("\n");
    return n_lines;
}

bool ar_is_replaceable(const char *path)
{
    struct stat st;

    return lstat(path, &st) < 0 ? errno == ENOENT : S_ISREG(st.st_mode);
}

/* A pipe or a device takes what it can. */
static int write_on(const char *path, const struct ar_bytes *bytes)
{
    FILE *file = fopen(path, "wb");

    if (!file)
        return ar_complain("%s: %s", path, strerror(errno));

    bool failed = bytes->n && fwrite(bytes->data, 1, bytes->n, file) != bytes->n;
    int error = errno;

    if (fclose(file) != 0 && !failed) {
        failed = true;
        error = errno;
    }
    return failed ? ar_complain("%s: %s", path, strerror(error)) : AR_EXIT_OK;
}

static int replace(const char *path, const struct ar_bytes *bytes)
{
    struct ar_error err;

    return ar_run_replace(bytes, NULL, path, &err) < 0 ? ar_complain("%s", err.text) : AR_EXIT_OK;
}

bool ar_is_recording(const char *path)
{
    char magic[8] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return false;

    ssize_t n = pread(fd, magic, sizeof magic, 0);

    close(fd);
    return n == sizeof magic && (memcmp(magic, AR_RUN_MAGIC, sizeof magic) == 0 ||
                                 memcmp(magic, AR_LIVE_MAGIC, sizeof magic) == 0);
}

/* A file has its name only when it is whole: who writes it may be killed, as may who reads it. */
int ar_write_output(const char *path, const struct ar_bytes *bytes)
{
    if (strcmp(path, "-") == 0) {
        ar_print_bytes(bytes);
        return AR_EXIT_OK;
    }

    if (ar_is_recording(path))
        return ar_complain(AR_HOLDS_RECORDING, path);

    char *behind = realpath(path, NULL); /* of a link, which stays */
    const char *real = behind ? behind : path;
    int status = ar_is_replaceable(real) ? replace(real, bytes) : write_on(real, bytes);

    free(behind);
    return status;
}

void ar_stem(const char *path, char *stem, size_t n_stem)
{
    const char *name = ar_file_name(path), *dot = strrchr(name, '.');
    int n = dot && dot != name ? (int)(dot - name) : (int)strlen(name);

    snprintf(stem, n_stem, "%.*s", n, name);
}

static enum ar_status encode(struct ar_profile *p, const char *output, struct ar_bytes *bytes,
                             size_t *n_estimated, struct ar_error *err)
{
    const struct ar_exporter *exporter = ar_exporter_of_file(output);
    const struct ar_export_choice all = {0};

    if (exporter)
        return exporter->write(p, &all, bytes, n_estimated, err);
    return ar_run_encode(p, bytes) < 0 ? ar_fail(err, AR_NOMEM, "out of memory") : AR_OK;
}

/* Of another format, which may have no place to say that times are estimated. */
static void say_what_was_written(const struct ar_profile *p, const char *path, size_t n_estimated)
{
    char estimated[128] = "";

    if (n_estimated)
        snprintf(estimated, sizeof estimated, ", times of %s estimated",
                 ar_show_items(n_estimated, "function in C", "functions in C"));
    ar_note("allranks: %s in %s%s; see: allranks report %s\n",
            ar_show_items(p->n_processes, "process", "processes"), path, estimated, ar_quote(path));
}

int ar_write_run(struct ar_profile *p, const char *path)
{
    struct ar_bytes bytes = {0};
    struct ar_error err;
    char written[4096];
    enum ar_status encoded, status = AR_OK;
    size_t n_estimated = 0;
    const struct ar_exporter *exporter = ar_exporter_of_file(path);

    if (exporter && !exporter->write)
        return ar_complain("%s: a file for %s is made of a run file (name it .allranks, then: "
                           "allranks export RUN -f %s)",
                           path, exporter->name, exporter->name);
    ar_progress("putting the run together");
    encoded = encode(p, path, &bytes, &n_estimated, &err);
    ar_progress("writing");
    if (encoded >= 0)
        status =
            ar_run_write(&bytes, exporter ? NULL : &p->bulks, path, written, sizeof written, &err);
    ar_progress(NULL);
    ar_bytes_free(&bytes);
    if (encoded < 0)
        return ar_complain("%s: %s", path, err.text);
    if (status < 0)
        return ar_complain("%s", err.text);
    say_what_was_written(p, written, n_estimated);
    return AR_EXIT_OK;
}

const char *ar_quote(const char *word)
{
    static char rooms[2][2 * 4096];
    static int turn;

    turn = !turn;
    return ar_text_quote(word, rooms[turn], sizeof rooms[turn]) ? rooms[turn] : "...";
}

/* The longest that leaves room for the ending and the number of a file whose name is taken. */
#define MOST_NAME_BYTES (NAME_MAX - 32)

/* What a file says may not lead to another directory, nor be taken for an option or by a terminal. */
static bool is_file_name(const char *name)
{
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        if (*c < 0x20 || *c == 0x7f || *c == '/')
            return false;
    return *name && *name != '-' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
           strlen(name) <= MOST_NAME_BYTES;
}

/* The program's name without directories and ending; "": it has none. */
static void name_of_program(const char *program, char *name, size_t n_name)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s", program);

    for (; n > 1 && n < (int)sizeof path && path[n - 1] == '/'; n--)
        path[n - 1] = '\0';
    if (n < (int)sizeof path)
        ar_stem(path, name, n_name);
    else
        *name = '\0';
}

void ar_default_output(const struct ar_profile *p, char *name, size_t n_name)
{
    const char *program = ar_profile_fact_text(p, "program");
    char stem[1024];

    if (strncmp(program, "-m ", 3) == 0)
        snprintf(stem, sizeof stem, "%s", program + 3);
    else if (strncmp(program, "-c ", 3) == 0)
        snprintf(stem, sizeof stem, "command");
    else if (strcmp(program, "-") == 0)
        snprintf(stem, sizeof stem, "stdin");
    else
        name_of_program(program, stem, sizeof stem);
    snprintf(name, n_name, "%s.allranks", is_file_name(stem) ? stem : "recovered");
}

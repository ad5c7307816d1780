// SPDX-License-Identifier: BSD-3-Clause
#include "cli/printing.h"

#include "base/text.h"
#include "cli/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- styles ----------------------------------------------------------------------------------- */

/* Known by their addresses: a text from a file that holds the same bytes is not one of them. */
static const char bold[] = "\033[1m", dim[] = "\033[2m", plain[] = "\033[0m";

static bool is_style(const char *text)
{
    return text == bold || text == dim || text == plain;
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
    return wants_colour() ? bold : "";
}

const char *ar_dim(void)
{
    return wants_colour() ? dim : "";
}

const char *ar_plain(void)
{
    return wants_colour() ? plain : "";
}

/* ---- characters ------------------------------------------------------------------------------- */

/*
 * East Asian characters and emoji take two columns, marks that combine none. libc knows that for the
 * locale's encoding only; names are UTF-8 in any of them. Blocks of Unicode, not single characters.
 */
size_t ar_character_columns(const char *at, size_t n_bytes)
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
    uint32_t code = ar_text_code(at, n_bytes);

    if (!ar_text_is_displayable(at, n_bytes) || code < blocks[0].first)
        return 1;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks && code >= blocks[i].first; i++)
        if (code <= blocks[i].last)
            return blocks[i].n_columns;
    return 1;
}

/* ---- formats ---------------------------------------------------------------------------------- */

struct arguments {
    va_list list; /* in a struct, since a va_list may be an array, which functions cannot share */
};

/* One conversion, such as "%-*.3f". */
struct directive {
    char flags[8], length[3], conversion;
    int width, precision; /* precision -1: none */
};

static int take_number(const char **at, struct arguments *arguments)
{
    int number = 0;

    if (**at == '*') {
        (*at)++;
        return va_arg(arguments->list, int);
    }
    for (; **at >= '0' && **at <= '9'; (*at)++)
        number = number * 10 + (**at - '0');
    return number;
}

static void take_letters(const char **at, const char *letters, char *to, size_t n_to)
{
    size_t n = 0;

    for (; **at && strchr(letters, **at); (*at)++)
        if (n + 1 < n_to)
            to[n++] = **at;
    to[n] = '\0';
}

/* `*at` is behind the percent sign; then behind the conversion. */
static struct directive take_directive(const char **at, struct arguments *arguments)
{
    struct directive d = {.precision = -1};

    take_letters(at, "-+ #0", d.flags, sizeof d.flags);
    d.width = take_number(at, arguments);
    if (**at == '.') {
        (*at)++;
        d.precision = take_number(at, arguments);
    }
    take_letters(at, "lz", d.length, sizeof d.length);
    d.conversion = **at;
    *at += **at != '\0';
    return d;
}

static size_t put_spaces(struct ar_bytes *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ar_bytes_u8(out, ' ');
    return n;
}

static size_t put_text(struct ar_bytes *out, const struct directive *d, const char *text)
{
    size_t n_bytes = d->precision >= 0 ? strnlen(text, (size_t)d->precision) : strlen(text);
    size_t n_columns = 0, n_width = (size_t)(d->width < 0 ? -d->width : d->width);
    bool is_left = d->width < 0 || strchr(d->flags, '-');

    for (size_t at = 0, n; at < n_bytes; at += n) {
        n = ar_text_step(text + at, n_bytes - at);
        n_columns += ar_character_columns(text + at, n);
    }

    size_t n_padding = n_width > n_columns ? n_width - n_columns : 0;

    put_spaces(out, is_left ? 0 : n_padding);
    ar_text_put(out, text, n_bytes);
    put_spaces(out, is_left ? n_padding : 0);
    return n_columns + n_padding;
}

_Static_assert(sizeof(size_t) == sizeof(long) && sizeof(long) == sizeof(long long),
               "z, l and ll are taken for each other");

static size_t put_number(struct ar_bytes *out, const struct directive *d,
                         struct arguments *arguments)
{
    char form[24], text[512];
    int n;

    snprintf(form, sizeof form, "%%%s*.*%s%c", d->flags, d->length, d->conversion);
    if (strchr("feg", d->conversion))
        /* NOLINTNEXTLINE(bugprone-branch-clone): the types differ */
        n = snprintf(text, sizeof text, form, d->width, d->precision,
                     va_arg(arguments->list, double));
    else if (*d->length)
        n = snprintf(text, sizeof text, form, d->width, d->precision,
                     va_arg(arguments->list, size_t));
    else
        n = snprintf(text, sizeof text, form, d->width, d->precision,
                     va_arg(arguments->list, unsigned));
    if (n >= (int)sizeof text)
        n = (int)sizeof text - 1;
    ar_bytes_put(out, text, (size_t)n);
    return (size_t)n;
}

static size_t put_argument(struct ar_bytes *out, const struct directive *d,
                           struct arguments *arguments)
{
    char character[2] = {0};

    if (d->conversion == '%') {
        ar_bytes_u8(out, '%');
        return 1;
    }
    if (d->conversion == 'c') {
        *character = (char)va_arg(arguments->list, int);
        return put_text(out, d, character);
    }
    if (d->conversion != 's')
        return put_number(out, d, arguments);

    const char *text = va_arg(arguments->list, const char *);

    if (!is_style(text))
        return put_text(out, d, text);
    ar_bytes_put(out, text, strlen(text));
    return 0;
}

/* Returns how many columns it takes. */
static size_t put_formatted(struct ar_bytes *out, const char *fmt, struct arguments *arguments)
{
    size_t n_columns = 0;

    while (*fmt) {
        if (*fmt == '%') {
            fmt++;

            struct directive d = take_directive(&fmt, arguments);

            n_columns += put_argument(out, &d, arguments);
        } else {
            n_columns += *fmt != '\n';
            ar_bytes_u8(out, (uint8_t)*fmt++);
        }
    }
    return n_columns;
}

/* ---- streams ---------------------------------------------------------------------------------- */

/* Of the first write that failed: stdio remembers that one did, not why. */
static int stdout_errno;

static void write_bytes(FILE *to, const struct ar_bytes *bytes)
{
    errno = bytes->bad ? ENOMEM : 0;

    bool failed = bytes->bad || (bytes->n && fwrite(bytes->data, 1, bytes->n, to) != bytes->n);

    if (failed && to == stdout && !stdout_errno)
        stdout_errno = errno ? errno : EIO;
}

size_t ar_print(const char *fmt, ...)
{
    struct arguments arguments;
    struct ar_bytes text = {0};

    va_start(arguments.list, fmt);

    size_t n_columns = put_formatted(&text, fmt, &arguments);

    va_end(arguments.list);
    write_bytes(stdout, &text);
    ar_bytes_free(&text);
    return n_columns;
}

static void flush_stdout(void)
{
    if (fflush(stdout) != 0 && !stdout_errno)
        stdout_errno = errno;
}

void ar_note(const char *fmt, ...)
{
    struct arguments arguments;
    struct ar_bytes text = {0};

    va_start(arguments.list, fmt);
    put_formatted(&text, fmt, &arguments);
    va_end(arguments.list);
    flush_stdout();
    write_bytes(stderr, &text);
    ar_bytes_free(&text);
}

void ar_print_own(FILE *to, const char *text)
{
    struct ar_bytes bytes = {0};

    ar_bytes_put(&bytes, text, strlen(text));
    write_bytes(to, &bytes);
    ar_bytes_free(&bytes);
}

void ar_print_bytes(const struct ar_bytes *bytes)
{
    write_bytes(stdout, bytes);
}

/* Opened the wrong way round, so that using it fails as it would without; a program that we become does without. */
void ar_printing_begin(void)
{
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is a failed write */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY | O_CLOEXEC : O_RDONLY | O_CLOEXEC);
}

/* Closing tells what a server of files could not store. */
static void close_stdout(void)
{
    flush_stdout();
    if (ferror(stdout) && !stdout_errno)
        stdout_errno = EIO;
    if (fclose(stdout) != 0 && !stdout_errno)
        stdout_errno = errno;
}

/*
 * A reader of a pipe that has seen enough ends us by SIGPIPE, silently, as it ends any program. Where
 * that signal is ignored we are as silent.
 */
int ar_printing_end(int status)
{
    close_stdout();
    if (stdout_errno && stdout_errno != EPIPE && status != AR_EXIT_BAD)
        ar_note("allranks: error: standard output: %s (what was printed is not complete)\n",
                strerror(stdout_errno));
    return stdout_errno ? AR_EXIT_BAD : status;
}

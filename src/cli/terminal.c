// SPDX-License-Identifier: BSD-3-Clause
#include "cli/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define OTHER_SCREEN "\033[?1049h\033[?25l"
#define SCREEN_BACK "\033[?25h\033[?1049l"
#define TO_TOP "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_BELOW "\033[J"

static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH, SIGCONT};

#define N_WATCHED (sizeof watched / sizeof *watched)

static struct {
    bool is_open, has_keys, keys_ended;
    struct termios saved;
    sigset_t before; /* signals that were held back before we came */
    char typed[64];  /* read, but not handed out */
    size_t n_typed;
} terminal;

static volatile sig_atomic_t came_to_end, came_to_stop, came_resize;

static void note_signal(int number)
{
    if (number == SIGWINCH || number == SIGCONT)
        came_resize = 1;
    else if (number == SIGTSTP)
        came_to_stop = 1;
    else
        came_to_end = number;
}

static void write_all(const void *bytes, size_t n_bytes)
{
    const char *at = bytes;

    while (n_bytes) {
        ssize_t n = write(STDOUT_FILENO, at, n_bytes);

        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return; /* the terminal has gone: a signal says so */
        if (n > 0) {
            at += n;
            n_bytes -= (size_t)n;
        }
    }
}

static void take_screen(void)
{
    struct termios raw = terminal.saved;

    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    if (terminal.has_keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    write_all(OTHER_SCREEN, strlen(OTHER_SCREEN));
}

static void give_screen_back(void)
{
    write_all(SCREEN_BACK, strlen(SCREEN_BACK));
    if (terminal.has_keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &terminal.saved);
}

/* Held back but for while we wait: so none comes in the middle of anything, and none is missed. */
static void hold_signals(void)
{
    struct sigaction action = {.sa_handler = note_signal};
    sigset_t held;

    sigemptyset(&held);
    for (size_t i = 0; i < N_WATCHED; i++) {
        sigaddset(&held, watched[i]);
        sigaction(watched[i], &action, NULL);
    }
    sigprocmask(SIG_BLOCK, &held, &terminal.before);
}

bool ar_terminal_open(void)
{
    static bool is_registered;

    if (!isatty(STDOUT_FILENO))
        return false;
    terminal.has_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &terminal.saved) == 0;
    terminal.is_open = true;
    hold_signals();
    if (!is_registered)
        is_registered = atexit(ar_terminal_close) == 0;
    take_screen();
    return true;
}

void ar_terminal_close(void)
{
    if (!terminal.is_open)
        return;
    terminal.is_open = false;
    give_screen_back();
    for (size_t i = 0; i < N_WATCHED; i++)
        signal(watched[i], SIG_DFL);
    sigprocmask(SIG_SETMASK, &terminal.before, NULL);
}

void ar_terminal_die(void)
{
    int number = came_to_end;

    ar_terminal_close();
    raise(number);
    _exit(128 + number);
}

void ar_terminal_size(size_t *n_rows, size_t *n_columns)
{
    struct winsize size = {0};

    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    *n_rows = size.ws_row ? size.ws_row : 24;
    *n_columns = size.ws_col ? size.ws_col : 80;
}

/* In one piece, and line by line over what is there: nothing flickers. */
void ar_terminal_paint(const struct ar_bytes *text)
{
    struct ar_bytes out = {0};
    const unsigned char *at = text->data, *end = text->data + text->n;

    ar_bytes_put(&out, TO_TOP, strlen(TO_TOP));
    while (at < end) {
        const unsigned char *newline = memchr(at, '\n', (size_t)(end - at));
        const unsigned char *stop = newline ? newline : end;

        ar_bytes_put(&out, at, (size_t)(stop - at));
        ar_bytes_put(&out, CLEAR_LINE, strlen(CLEAR_LINE));
        at = newline ? newline + 1 : end;
        if (at < end)
            ar_bytes_put(&out, "\r\n", 2);
    }
    ar_bytes_put(&out, CLEAR_BELOW, strlen(CLEAR_BELOW));
    if (!out.bad)
        write_all(out.data, out.n);
    ar_bytes_free(&out);
}

/* ---- keys ------------------------------------------------------------------------------------- */

static void drop_typed(size_t n)
{
    terminal.n_typed -= n;
    memmove(terminal.typed, terminal.typed + n, terminal.n_typed);
}

/* What terminals send for keys that are no characters; longer ones are skipped as a whole. */
static int take_sequence(void)
{
    static const struct {
        const char *bytes;
        int key;
    } known[] = {{"\033[A", AR_KEY_UP},       {"\033OA", AR_KEY_UP},
                 {"\033[B", AR_KEY_DOWN},     {"\033OB", AR_KEY_DOWN},
                 {"\033[5~", AR_KEY_PAGE_UP}, {"\033[6~", AR_KEY_PAGE_DOWN},
                 {"\033[H", AR_KEY_HOME},     {"\033[1~", AR_KEY_HOME},
                 {"\033[F", AR_KEY_END},      {"\033[4~", AR_KEY_END}};
    size_t n = 2;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n_bytes = strlen(known[i].bytes);

        if (terminal.n_typed >= n_bytes && memcmp(terminal.typed, known[i].bytes, n_bytes) == 0) {
            drop_typed(n_bytes);
            return known[i].key;
        }
    }
    if (terminal.typed[1] == '[')
        while (n < terminal.n_typed && terminal.typed[n] < 0x40)
            n++;
    drop_typed(n < terminal.n_typed ? n + 1 : terminal.n_typed);
    return AR_KEY_OTHER;
}

static int take_key(void)
{
    int key = (unsigned char)terminal.typed[0];

    if (key == '\033' && terminal.n_typed > 1 &&
        (terminal.typed[1] == '[' || terminal.typed[1] == 'O'))
        return take_sequence();
    drop_typed(1);
    return key;
}

static int read_keys(void)
{
    ssize_t n = read(STDIN_FILENO, terminal.typed + terminal.n_typed,
                     sizeof terminal.typed - terminal.n_typed);

    if (n <= 0) {
        terminal.keys_ended = n == 0 || errno != EINTR;
        return AR_KEY_OTHER;
    }
    terminal.n_typed += (size_t)n;
    return take_key();
}

/* ---- waiting ---------------------------------------------------------------------------------- */

/* As any program: the screen is given back while we do not run. */
static void stop(void)
{
    came_to_stop = 0;
    give_screen_back();
    raise(SIGSTOP);
    take_screen();
    came_resize = 1;
}

/* AR_KEY_NONE: nothing has come. */
static int take_signal(void)
{
    if (came_to_end)
        return AR_KEY_SIGNAL;
    if (came_to_stop)
        stop();
    if (!came_resize)
        return AR_KEY_NONE;
    came_resize = 0;
    return AR_KEY_RESIZE;
}

int ar_terminal_wait(double seconds)
{
    struct timespec limit = {.tv_sec = (time_t)seconds};
    bool listens = terminal.has_keys && !terminal.keys_ended;
    struct pollfd input = {.fd = listens ? STDIN_FILENO : -1, .events = POLLIN};
    int key = take_signal();

    if (key)
        return key;
    if (terminal.n_typed)
        return take_key();
    limit.tv_nsec = (long)((seconds - (double)limit.tv_sec) * 1e9);

    int n = ppoll(&input, 1, &limit, &terminal.before);

    key = take_signal();
    if (key || n <= 0)
        return key;
    return read_keys();
}

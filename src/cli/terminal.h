// SPDX-License-Identifier: BSD-3-Clause
/*
 * terminal: a whole screen of text, and single keys, by plain ANSI sequences.
 *
 * While it is open, the screen is another one, so that what stood there comes back; the cursor is
 * hidden and keys arrive one by one, unechoed. However the command ends, ar_terminal_close puts all
 * of that back: it is registered with atexit, and signals that would end or stop the process are
 * held back and handed out by ar_terminal_wait, one after the other.
 *
 * Threads: one terminal, one thread.
 *
 *     if (!ar_terminal_open()) ...
 *     ar_terminal_paint(&text);
 *     int key = ar_terminal_wait(2.0);
 *     if (key == AR_KEY_SIGNAL) ar_terminal_die();
 *     ar_terminal_close();
 */
#pragma once

#include "base/bytes.h"

enum ar_key {
    AR_KEY_NONE = 0, /* the time is up */
    /* A byte that was typed is itself; of what is more than a byte: */
    AR_KEY_UP = 256,
    AR_KEY_DOWN,
    AR_KEY_PAGE_UP,
    AR_KEY_PAGE_DOWN,
    AR_KEY_HOME,
    AR_KEY_END,
    AR_KEY_OTHER,  /* a key that we have no use for */
    AR_KEY_RESIZE, /* the window has another size, or the screen is to be painted anew */
    AR_KEY_SIGNAL, /* the process is to end: ar_terminal_die */
};

/* false: standard output is no terminal. */
bool ar_terminal_open(void);
void ar_terminal_close(void);
/* 80 and 24 where the terminal does not say. */
void ar_terminal_size(size_t *n_rows, size_t *n_columns);
/* Puts text on the screen, lines of which end in '\n'; what was there before is gone. */
void ar_terminal_paint(const struct ar_bytes *text);
int ar_terminal_wait(double seconds);
/* Ends the process by the signal that came, so that its parent process sees that. */
void ar_terminal_die(void) __attribute__((noreturn));

// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/started.h"

#include "base/text.h"
#include "runtime/livemap.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum state { FREE, TAKEN, NOTED, WRITTEN };

struct command {
    uint32_t state; /* enum state; a child that dies while it writes leaves TAKEN */
    uint32_t starter;
    char text[AR_STARTED_BYTES];
};

/* Shared with all children: each takes the next free one. */
static struct page {
    uint32_t n_taken;
    struct command commands[AR_MOST_STARTED];
} * page;

_Static_assert(sizeof(struct page) <= 4096, "one page");

void ar_started_open(void)
{
    void *room;

    if (page)
        return;
    room = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    page = room == MAP_FAILED ? NULL : room;
}

static bool is_noted(const char *text, uint32_t starter)
{
    for (uint32_t i = 0; i < AR_MOST_STARTED; i++) {
        const struct command *c = &page->commands[i];

        if (__atomic_load_n(&c->state, __ATOMIC_ACQUIRE) >= NOTED && c->starter == starter &&
            strcmp(c->text, text) == 0)
            return true;
    }
    return false;
}

static void note(const char *text, uint32_t starter)
{
    uint32_t i;

    if (!*text || is_noted(text, starter) ||
        __atomic_load_n(&page->n_taken, __ATOMIC_RELAXED) >= AR_MOST_STARTED)
        return;
    i = __atomic_fetch_add(&page->n_taken, 1, __ATOMIC_RELAXED);
    if (i >= AR_MOST_STARTED)
        return;
    page->commands[i].state = TAKEN;
    page->commands[i].starter = starter;
    memcpy(page->commands[i].text, text, AR_STARTED_BYTES);
    __atomic_store_n(&page->commands[i].state, NOTED, __ATOMIC_RELEASE);
}

/* What does not fit ends in "..". */
static size_t add_word(char *text, size_t n, const char *word)
{
    for (; *word && n < AR_STARTED_BYTES - 1; word++)
        text[n++] = *word;
    if (*word)
        text[AR_STARTED_BYTES - 3] = text[AR_STARTED_BYTES - 2] = '.';
    return n;
}

void ar_started_note(char *const arguments[], uint32_t starter)
{
    char text[AR_STARTED_BYTES] = "";
    size_t n = 0;

    if (!page || !arguments || !arguments[0])
        return;
    n = add_word(text, n, ar_base_name(arguments[0]));
    for (size_t i = 1; arguments[i] && n < AR_STARTED_BYTES - 1; i++) {
        n = add_word(text, n, " ");
        n = add_word(text, n, arguments[i]);
    }
    note(text, starter);
}

void ar_started_note_line(const char *command, uint32_t starter)
{
    char text[AR_STARTED_BYTES] = "";

    if (!page || !command)
        return;
    add_word(text, 0, command);
    note(text, starter);
}

void ar_started_write(uint32_t pid, uint64_t pid_start)
{
    for (uint32_t i = 0; page && i < AR_MOST_STARTED; i++) {
        struct command *c = &page->commands[i];
        char value[AR_STARTED_BYTES + 48];

        if (__atomic_load_n(&c->state, __ATOMIC_ACQUIRE) != NOTED || c->starter != pid)
            continue;
        c->state = WRITTEN;
        snprintf(value, sizeof value, "%" PRIu32 "-%" PRIu64 " %.*s", pid, pid_start,
                 AR_STARTED_BYTES - 1, c->text);
        ar_livemap_fact("started", value);
    }
}

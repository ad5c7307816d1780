// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/trace_switch.h"

#include "base/arena.h"
#include "base/file.h"
#include "format/live_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define WISHES 256u /* that one byte can tell apart; 0 is none */
/* Another command holds the lock for microseconds. Whoever holds it longer is no command. */
#define LOCK_TRIES 100
#define LOCK_PAUSE_NS 1000000

/* ---- which processes --------------------------------------------------------------------------- */

static bool is_here(const struct ar_live_header *header)
{
    char host[sizeof header->host] = "";

    return gethostname(host, sizeof host - 1) == 0 && strncmp(host, header->host, sizeof host) == 0;
}

/* Of a process on another host only what its file says is known. */
static bool may_run(const struct ar_switch *item)
{
    return item->is_elsewhere ? item->header.state == AR_LIVE_RUNNING
                              : ar_live_is_running(&item->header);
}

static bool is_known(const struct ar_switches *s, const char *path)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->items[i].path, path) == 0)
            return true;
    return false;
}

static enum ar_status add(struct ar_switches *s, const char *path)
{
    struct ar_switch item = {.outcome = AR_SWITCH_KNOWN};

    if (is_known(s, path) || !ar_live_read_header(path, &item.header))
        return AR_OK;
    item.is_elsewhere = !is_here(&item.header);
    if (!may_run(&item))
        item.outcome = AR_SWITCH_ENDED;
    else if (item.header.version != AR_LIVE_VERSION)
        item.outcome = AR_SWITCH_OLD;
    item.path = strdup(path);
    if (!item.path || ar_grow((void **)&s->items, &s->cap, s->n + 1, sizeof *s->items) < 0) {
        free(item.path);
        return AR_NOMEM;
    }
    s->items[s->n++] = item;
    return AR_OK;
}

static enum ar_status add_directory(struct ar_switches *s, const char *directory, int n,
                                    struct dirent **entries)
{
    enum ar_status status = AR_OK;
    struct ar_error ignored;

    for (int i = 0; i < n; i++) {
        char path[PATH_BYTES];

        if (status == AR_OK && ar_live_name_is_live(entries[i]->d_name) &&
            snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name) <
                (int)sizeof path &&
            ar_file_check_found(path, &ignored) == AR_OK)
            status = add(s, path);
        free(entries[i]);
    }
    free(entries);
    return status;
}

enum ar_status ar_switches_find(struct ar_switches *s, const char *path, struct ar_error *err)
{
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, versionsort);
    enum ar_status status;

    if (n < 0 && errno != ENOTDIR)
        return ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
    status = n < 0 ? add(s, path) : add_directory(s, path, n, entries);
    return status < 0 ? ar_fail(err, status, "out of memory") : AR_OK;
}

/* ---- asking ------------------------------------------------------------------------------------ */

static void lock(int fd)
{
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};

    for (int i = 0; i < LOCK_TRIES && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK; i++)
        nanosleep(&pause, NULL);
}

/* Odd for on, another one than before, and not 0. Only the lowest byte changes. */
static uint32_t next_wish(uint32_t wish, bool on)
{
    uint32_t low = wish % WISHES;

    do
        low = (low + 1) % WISHES;
    while (low == 0 || low % 2 != (on ? 1 : 0));
    return wish - wish % WISHES + low;
}

static bool write_wish(int fd, uint32_t wish)
{
    unsigned char low = (unsigned char)(wish % WISHES);
    off_t at = offsetof(struct ar_live_header, trace_wish);

    return pwrite(fd, &low, 1, at) == 1;
}

/* The process that was found, still: its file may have been given to another one meanwhile. */
static bool read_again(int fd, struct ar_switch *item)
{
    struct ar_live_header header;

    if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        memcmp(header.magic, AR_LIVE_MAGIC, sizeof header.magic) != 0 ||
        header.pid != item->header.pid || header.pid_start != item->header.pid_start)
        return false;
    item->header = header;
    item->header.host[sizeof item->header.host - 1] = '\0';
    item->header.job[sizeof item->header.job - 1] = '\0';
    return true;
}

static enum ar_switch_outcome ask_open(struct ar_switch *item, int fd, bool on)
{
    uint32_t wish;

    if (!read_again(fd, item) || !may_run(item))
        return AR_SWITCH_ENDED;
    wish = next_wish(item->header.trace_wish, on);
    if (!write_wish(fd, wish))
        return errno == EPERM || errno == EROFS ? AR_SWITCH_FORBIDDEN : AR_SWITCH_UNABLE;
    item->wish = wish;
    return AR_SWITCH_WAITING;
}

/* Closing the file gives the lock back. */
static enum ar_switch_outcome ask(struct ar_switch *item, bool on)
{
    enum ar_switch_outcome outcome;
    int fd = ar_file_open(AT_FDCWD, item->path, O_RDWR | O_NOFOLLOW, NULL);

    if (fd < 0)
        return errno == EACCES || errno == EPERM || errno == EROFS ? AR_SWITCH_FORBIDDEN
               : errno == ENOENT                                   ? AR_SWITCH_ENDED
                                                                   : AR_SWITCH_UNABLE;
    lock(fd);
    outcome = ask_open(item, fd, on);
    close(fd);
    return outcome;
}

void ar_switches_ask(struct ar_switches *s, bool on)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->items[i].outcome == AR_SWITCH_KNOWN)
            s->items[i].outcome = (uint8_t)ask(&s->items[i], on);
}

/* ---- answers ----------------------------------------------------------------------------------- */

/* It has heard this wish, or that of a command which came after this one. */
static bool has_heard(const struct ar_switch *item)
{
    return item->header.trace_heard == item->wish || item->header.trace_wish != item->wish;
}

static void look(struct ar_switch *item)
{
    int fd = ar_file_open(AT_FDCWD, item->path, O_RDONLY | O_NOFOLLOW, NULL);
    bool is_there = fd >= 0 && read_again(fd, item);

    if (fd >= 0)
        close(fd);
    if (is_there && has_heard(item))
        item->outcome = AR_SWITCH_DONE;
    else if (!is_there || !may_run(item))
        item->outcome = AR_SWITCH_ENDED;
}

size_t ar_switches_look(struct ar_switches *s)
{
    size_t n_waiting = 0;

    for (size_t i = 0; i < s->n; i++) {
        if (s->items[i].outcome == AR_SWITCH_WAITING)
            look(&s->items[i]);
        n_waiting += s->items[i].outcome == AR_SWITCH_WAITING;
    }
    return n_waiting;
}

void ar_switches_free(struct ar_switches *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->items[i].path);
    free(s->items);
    *s = (struct ar_switches){0};
}

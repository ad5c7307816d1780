// SPDX-License-Identifier: BSD-3-Clause
/* A set across a fork: the child has to open its own, and is told of the fork more than once. Page faults, as in test_perf.c. */
#include "counters/counter_set.h"

#include "tap.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_PAGES 64

static void touch_pages(void)
{
    long page = sysconf(_SC_PAGESIZE);
    char *fresh = mmap(NULL, (size_t)page * N_PAGES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    madvise(fresh, (size_t)page * N_PAGES, MADV_NOHUGEPAGE);
    for (long i = 0; i < N_PAGES; i++)
        fresh[i * page] = 1;
    munmap(fresh, (size_t)page * N_PAGES);
}

/* 0, or the step that fails. */
static int check_in_child(struct ar_counter_set *of_parent, const struct ar_counter *counter)
{
    struct ar_counter_set set;
    struct ar_error err;
    uint64_t before, after;
    size_t which;

    ar_counter_set_forked();
    if (ar_counter_set_read(of_parent, &before))
        return 1;
    ar_counter_set_close(of_parent);
    if (ar_counter_set_open(&set, counter, 1, &which, &err) < 0)
        return 2;
    ar_counter_set_forked(); /* it was known already: what was opened since then stays */
    touch_pages();
    if (!ar_counter_set_read(&set, &before))
        return 3;
    touch_pages();
    if (!ar_counter_set_read(&set, &after) || after - before < N_PAGES ||
        after - before > N_PAGES + 4)
        return 4;
    ar_counter_set_close(&set);
    return 0;
}

int main(void)
{
    struct ar_counter counter;
    struct ar_counter_set set;
    struct ar_error err;
    uint64_t before, after;
    size_t which;

    if (ar_counter_find(&counter, "perf::PAGE-FAULTS", &err) < 0) {
        tap_note("page faults: %s", err.text);
        tap_ok(true, "nothing can be counted here");
        return tap_done();
    }
    tap_ok(ar_counter_set_open(&set, &counter, 1, &which, &err) == AR_OK, "page faults");
    touch_pages();
    tap_ok(ar_counter_set_read(&set, &before), "they are read");

    pid_t child = fork();
    int status = -1;

    if (child == 0)
        _exit(check_in_child(&set, &counter));
    waitpid(child, &status, 0);
    tap_ok(status == 0, "a child opens its own: %d", WEXITSTATUS(status));
    touch_pages();
    tap_ok(ar_counter_set_read(&set, &after) && after - before >= N_PAGES, "the parent's go on");
    ar_counter_set_close(&set);
    tap_ok(set.n == 0 && !ar_counter_set_read(&set, &after), "closed");
    return tap_done();
}

// SPDX-License-Identifier: BSD-3-Clause
#include "cli/who.h"

#include "sample_profile.h"
#include "tap.h"

static struct ar_profile profile;

static uint32_t add(uint32_t rank, uint32_t pid, uint32_t parent_pid)
{
    struct ar_process process = {.world_rank = rank,
                                 .pid = pid,
                                 .parent_pid = parent_pid,
                                 .start_real_ns = 100 + profile.n_processes};
    uint32_t id;

    sample_must(ar_profile_process(&profile, &process, &id));
    return id;
}

static void check_list(const uint32_t *processes, size_t n, const char *expected)
{
    struct ar_bytes text = {0};

    ar_who_list(&profile, processes, n, &text);
    if (!tap_ok(strcmp((const char *)text.data, expected) == 0, "\"%s\"", expected))
        tap_note("it is \"%s\"", (const char *)text.data);
    ar_bytes_free(&text);
}

#define CHECK_LIST(expected, ...)                                                                  \
    check_list((const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4,       \
               expected)

static void test_names(void)
{
    sample_start(&profile);
    uint32_t rank = add(3, 10, 0), child = add(AR_RANK_NONE, 11, 10);
    uint32_t grandchild = add(AR_RANK_NONE, 12, 11), alone = add(AR_RANK_NONE, 13, 99);

    tap_ok(strcmp(ar_who_name(&profile, rank), "rank 3") == 0, "a rank");
    tap_ok(strcmp(ar_who_name(&profile, child), "rank 3 child 11") == 0, "its child");
    tap_ok(strcmp(ar_who_name(&profile, grandchild), "rank 3 child 12") == 0, "and its child's");
    tap_ok(strcmp(ar_who_name(&profile, alone), "pid 13") == 0, "one whose parent is not known");
    tap_ok(strcmp(ar_who_count(&profile), "2 processes and 2 children") == 0, "all of them");
    CHECK_LIST("3,3 child 11,3 child 12,pid 13", rank, child, grandchild, alone);
    ar_profile_free(&profile);
}

/* A pid comes again: the parent was there before its child. */
static void test_pids_that_come_again(void)
{
    sample_start(&profile);
    add(1, 10, 0);
    add(2, 10, 0);
    uint32_t child = add(AR_RANK_NONE, 11, 10);

    add(4, 10, 0);
    tap_ok(strcmp(ar_who_name(&profile, child), "rank 2 child 11") == 0, "the youngest before it");
    ar_profile_free(&profile);
}

static void test_lists(void)
{
    sample_start(&profile);
    for (uint32_t i = 0; i < 10; i++)
        add(i, 100 + i, 0);
    tap_ok(strcmp(ar_who_count(&profile), "10 ranks") == 0, "ranks");
    CHECK_LIST("0-5,7", 0, 1, 2, 3, 4, 5, 7);
    CHECK_LIST("0", 0, 0, 0);
    CHECK_LIST("0,1", 0, 0, 1, 1);
    CHECK_LIST("0,2,4,5,7-9", 0, 2, 4, 5, 7, 8, 9);
    check_list(NULL, 0, "");
    ar_profile_free(&profile);
    sample_start(&profile);
    add(AR_RANK_NONE, 5, 0);
    add(AR_RANK_NONE, 6, 0);
    CHECK_LIST("pid 5,6", 0, 1);
    tap_ok(strcmp(ar_who_count(&profile), "2 processes") == 0, "no ranks");
    ar_profile_free(&profile);
}

int main(void)
{
    test_names();
    test_pids_that_come_again();
    test_lists();
    return tap_done();
}

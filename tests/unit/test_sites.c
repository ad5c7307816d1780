// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/sites.h"

#include "tap.h"

#include <stdlib.h>
#include <string.h>

/* A launcher's table of names, with what other ranks have written. */
static struct {
    char name[64], value[256];
} table[16];
static int n_notes, n_held;
static bool is_missing; /* this launcher has none */

static bool publish(const char *name, const char *value)
{
    if (is_missing)
        return false;
    snprintf(table[n_notes].name, sizeof table[n_notes].name, "%s", name);
    snprintf(table[n_notes].value, sizeof table[n_notes].value, "%s", value);
    n_notes++;
    return true;
}

static bool look_up(const char *name, char *value)
{
    for (int i = 0; i < n_notes; i++)
        if (strcmp(table[i].name, name) == 0) {
            snprintf(value, AR_MPI_PORT_BYTES, "%s", table[i].value);
            return true;
        }
    return false;
}

static void unpublish(const char *name, const char *value)
{
    (void)value;
    for (int i = 0; i < n_notes; i++)
        if (strcmp(table[i].name, name) == 0)
            table[i].name[0] = '\0';
}

static void hold_errors(bool hold)
{
    n_held += hold ? 1 : -1;
}

static const struct ar_mpi_link link_of_test = {
    .publish = publish, .look_up = look_up, .unpublish = unpublish, .hold_errors = hold_errors};

static void other_wrote(const char *what, const char *value)
{
    char name[64];

    snprintf(name, sizeof name, "allranks-%016x-%s", 7, what);
    publish(name, value);
}

static const char *verdict(void)
{
    static char value[AR_MPI_PORT_BYTES];

    return look_up("allranks-0000000000000007-verdict", value) ? value : "none";
}

static bool agree(const uint32_t *ranks, uint32_t n_ranks, bool is_able)
{
    struct ar_site site = {
        .ranks = ranks, .n_ranks = n_ranks, .world_size = 6, .job = 7, .is_able = is_able};

    return ar_sites_agree(&link_of_test, &site);
}

static void forget(void)
{
    ar_sites_leave(&link_of_test);
    n_notes = 0;
}

static void test_text(void)
{
    static const uint32_t ranks[] = {0, 1, 2, 3, 8, 12, 16, 30};
    struct ar_site site = {.ranks = ranks, .n_ranks = 8, .world_size = 31};
    uint8_t marks[31] = {0};
    char text[64], short_text[8];
    bool same = true;

    tap_ok(ar_site_write(&site, text, sizeof text), "written: %s", text);
    tap_ok(!ar_site_write(&site, short_text, sizeof short_text), "too long is said");
    tap_ok(ar_site_read(text, 0, marks, 31), "read");
    for (uint32_t rank = 0, i = 0; rank < 31; rank++) {
        same &= marks[rank] == (i < 8 && ranks[i] == rank);
        i += i < 8 && ranks[i] == rank;
    }
    tap_ok(same, "the same ranks");
}

static void test_text_that_is_none(void)
{
    static const char *const texts[] = {"",        "no",     "1:1:1;",          "0:1", "0:32:1;",
                                        "0:2:40;", "0:0:1;", "0:4000000000:1;", "x"};
    uint8_t marks[31];

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        memset(marks, 0, sizeof marks);
        tap_ok(!ar_site_read(texts[i], 0, marks, 31), "not ranks: \"%s\"", texts[i]);
    }
}

static void test_rank_0_decides(void)
{
    static const uint32_t first[] = {0, 1};

    other_wrote("2", "2:2:2;");
    other_wrote("3", "3:2:2;");
    tap_ok(agree(first, 2, true) && strcmp(verdict(), "yes") == 0, "all are covered");
    ar_sites_leave(&link_of_test);
    tap_ok(strcmp(verdict(), "none") == 0, "its notes are taken back");
    forget();
    other_wrote("2", "no");
    tap_ok(!agree(first, 2, true) && strcmp(verdict(), "no") == 0, "a site is not able");
    forget();
    tap_ok(!agree(first, 2, false) && strcmp(verdict(), "no") == 0, "its own is not");
    forget();
    other_wrote("2", "2:2:2;");
    tap_ok(!agree(first, 2, true) && strcmp(verdict(), "no") == 0, "one does not answer in time");
    forget();
}

static void test_others_follow(void)
{
    static const uint32_t second[] = {2, 4};
    char value[AR_MPI_PORT_BYTES] = "";

    other_wrote("open", "yes");
    other_wrote("verdict", "yes");
    tap_ok(agree(second, 2, true), "rank 0 says yes");
    tap_ok(look_up("allranks-0000000000000007-2", value) && strcmp(value, "2:2:2;") == 0,
           "its ranks are there: %s", value);
    forget();
    other_wrote("open", "yes");
    other_wrote("verdict", "no");
    tap_ok(!agree(second, 2, true), "rank 0 says no");
    forget();
    other_wrote("open", "yes");
    tap_ok(!agree(second, 2, false), "who is not able does not wait");
    forget();
    tap_ok(!agree(second, 2, true), "rank 0 is not recorded");
    forget();
    is_missing = true;
    tap_ok(!agree((const uint32_t[]){0}, 1, true), "no table");
    is_missing = false;
}

int main(void)
{
    setenv("MPI_LOCALNRANKS", "2", 1); /* as hydra says it */
    test_text();
    test_text_that_is_none();
    test_rank_0_decides();
    test_others_follow();
    tap_ok(n_held == 0, "errors are held back for as long as it takes only");
    return tap_done();
}

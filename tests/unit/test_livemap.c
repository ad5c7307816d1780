// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/livemap.h"

#include "runtime/identity.h"
#include "scratch.h"
#include "tap.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <time.h>

#define MIB ((uint64_t)1 << 20)

static struct ar_identity identity;
static struct ar_error error;

/* One live file a process: the one before is forgotten and removed. */
static enum ar_status create(uint64_t n_bytes_max)
{
    ar_livemap_forget();
    unlink(ar_livemap_path());
    unlink(identity.live_path);
    memset(error.text, 0, sizeof error.text);
    return ar_livemap_create(&identity, n_bytes_max, &error);
}

static struct stat stat_of(const char *path)
{
    struct stat st = {0};

    lstat(path, &st);
    return st;
}

/* What a reader sees: sound, and with so many bytes in use. */
static bool reads_back(uint64_t n_bytes_used)
{
    struct ar_live live;
    bool good =
        ar_live_open(&live, identity.live_path, &error) == AR_OK && live.n_bytes == n_bytes_used;

    ar_live_close(&live);
    return good;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void test_create(void)
{
    int n_open = scratch_count("/proc/self/fd", "");
    mode_t mask = umask(0);

    tap_ok(create(MIB + 100) == AR_OK, "a live file");
    umask(mask);

    const struct ar_live_header *h = ar_live_header();
    struct stat st = stat_of(identity.live_path);

    tap_ok(strcmp(ar_livemap_path(), identity.live_path) == 0, "where the identity says");
    tap_ok((st.st_mode & 07777) == 0600, "for us alone");
    tap_ok((uint64_t)st.st_blocks * 512 >= (uint64_t)st.st_size && st.st_size > 0,
           "allocated for real: %lld bytes", (long long)st.st_size);
    tap_ok(scratch_count("/proc/self/fd", "") == n_open, "no descriptor stays open");
    tap_ok(memcmp(h->magic, AR_LIVE_MAGIC, 8) == 0 && h->version == AR_LIVE_VERSION &&
               h->state == AR_LIVE_RUNNING && h->header_bytes == AR_LIVE_HEADER_BYTES &&
               h->n_bytes_used == AR_LIVE_HEADER_BYTES && h->n_bytes_max == MIB,
           "with a header");
    tap_ok(h->pid == identity.pid && h->pid_start == identity.pid_start &&
               h->world_rank == identity.world_rank && strcmp(h->host, identity.host) == 0 &&
               strcmp(h->job, identity.job) == 0,
           "that says who we are");
    tap_ok(h->start.ticks && h->start.mono_ns && h->start.real_ns, "and when");
    tap_ok(reads_back(AR_LIVE_HEADER_BYTES), "a reader reads it");
}

/* By its own pid: a program that starts another by exec is the same process. */
static void test_taken_name(void)
{
    tap_ok(create(MIB) == AR_OK, "created");
    ar_livemap_forget();
    tap_ok(ar_livemap_create(&identity, MIB, &error) == AR_OK, "created once more");
    tap_ok(strcmp(ar_livemap_path(), identity.live_path) != 0 &&
               access(ar_livemap_path(), R_OK) == 0,
           "under another name: %s", strrchr(ar_livemap_path(), '/') + 1);
    tap_ok(access(identity.live_path, R_OK) == 0, "the first is still there");
}

static void test_remove(void)
{
    tap_ok(create(MIB) == AR_OK, "created");
    ar_livemap_remove();
    tap_ok(access(identity.live_path, F_OK) != 0, "removed");
    ar_livemap_stamp();
    tap_ok(ar_live_header()->latest.ticks >= ar_live_header()->start.ticks, "still mapped");
}

static void test_too_small(void)
{
    tap_ok(create(64 << 10) == AR_IO && strstr(error.text, identity.live_path), "refused: %s",
           error.text);
    tap_ok(access(identity.live_path, F_OK) != 0 && !ar_live_base, "nothing is left");
}

/* Refused or avoided: what was there is as it was, and what is recorded goes to a file of ours. */
static bool leaves_alone(const char *planted)
{
    ino_t inode = stat_of(planted).st_ino;
    enum ar_status status = ar_livemap_create(&identity, MIB, &error);
    bool ours = status == AR_OK && strcmp(ar_livemap_path(), planted) != 0 &&
                S_ISREG(stat_of(ar_livemap_path()).st_mode) &&
                stat_of(ar_livemap_path()).st_uid == geteuid();
    bool good = stat_of(planted).st_ino == inode && (ours || (status == AR_IO && !ar_live_base));

    if (ours)
        unlink(ar_livemap_path());
    ar_livemap_forget();
    return good;
}

static void test_planted_links(void)
{
    char target[512];

    snprintf(target, sizeof target, "%s", scratch_path("target"));
    ar_livemap_forget();
    unlink(identity.live_path);
    tap_ok(symlink(target, identity.live_path) == 0, "a link to nowhere");
    tap_ok(leaves_alone(identity.live_path) && access(target, F_OK) != 0, "is not followed");
    scratch_write(target, "precious", 8);
    tap_ok(leaves_alone(identity.live_path) && scratch_holds(target, "precious", 8),
           "nor a link to a file");
    unlink(identity.live_path);
    tap_ok(link(target, identity.live_path) == 0 && leaves_alone(identity.live_path) &&
               scratch_holds(target, "precious", 8),
           "nor another name of one");
    unlink(target);
}

/* ---- extents --------------------------------------------------------------------------------- */

static bool is_zeroed(const struct ar_extent *e)
{
    const unsigned char *payload = (const unsigned char *)(e + 1);

    for (size_t i = 0; i < e->n_bytes - sizeof *e; i++)
        if (payload[i])
            return false;
    return true;
}

static void test_extents(void)
{
    tap_ok(create(MIB) == AR_OK, "created");

    struct ar_extent *a = ar_livemap_extent(AR_EXTENT_NODES, 3, 4096 - sizeof *a);
    struct ar_extent *b = ar_livemap_extent(AR_EXTENT_VALUES, 4, 4097 - sizeof *b);

    tap_ok(a && (unsigned char *)a == ar_live_base + 4096 && a->kind == AR_EXTENT_NODES &&
               a->owner == 3 && a->n_bytes == 4096 && a->n_bytes_used == sizeof *a,
           "one page");
    tap_ok(b && (unsigned char *)b == ar_live_base + 8192 && b->n_bytes == 8192 && is_zeroed(b),
           "one byte more is two");
    tap_ok(ar_live_header()->n_bytes_used == 16384 && reads_back(16384), "both can be read");
    tap_ok(ar_live_ptr(ar_live_ref(b)) == b && ar_live_ref(ar_live_base) == 0, "refs");
}

static void test_reserve_and_publish(void)
{
    tap_ok(create(MIB) == AR_OK, "created");

    struct ar_extent *e = ar_livemap_extent(AR_EXTENT_NODES, 0, 4096 - sizeof *e);
    unsigned char *first = ar_extent_reserve(e, 64);

    tap_ok(first == (unsigned char *)(e + 1) && e->n_bytes_used == 64, "reserved, not published");
    tap_ok(ar_extent_reserve(e, 64) == first, "until then it is the same");
    ar_extent_publish(e, 64);
    tap_ok(e->n_bytes_used == 128 && ar_extent_reserve(e, 64) == first + 64, "published");
    tap_ok(ar_extent_reserve(e, 4096 - 128) == first + 64, "all that is left");
    tap_ok(!ar_extent_reserve(e, 4096 - 120), "not more");
    tap_ok(!ar_extent_reserve(NULL, 8), "nothing of no extent");
}

static void test_full(void)
{
    uint64_t n_extents = 0, n_max = 904 << 10; /* no power of two */

    tap_ok(create(n_max) == AR_OK, "created");
    errno = 1234;
    for (struct ar_extent *e; (e = ar_livemap_extent(AR_EXTENT_NODES, 0, 5000)); n_extents++)
        if (!is_zeroed(e))
            break;
    tap_ok(n_extents == (n_max - 4096) / 8192, "%" PRIu64 " extents of two pages", n_extents);
    tap_ok(errno == 1234, "errno is preserved");
    tap_ok(ar_livemap_extent(AR_EXTENT_NODES, 0, 100) &&
               !ar_livemap_extent(AR_EXTENT_NODES, 0, 100),
           "the last page can still be had");
    tap_ok(ar_live_header()->n_bytes_used == n_max && reads_back(n_max),
           "a full file is a good file");
    tap_ok((uint64_t)stat_of(identity.live_path).st_size == n_max, "of the size that was allowed");
    tap_ok(!ar_livemap_extent(AR_EXTENT_NODES, 0, (size_t)1 << 40), "a huge one is refused");
}

/* The name leads somewhere else by now: that file is not ours to write. */
static void test_replaced_file(void)
{
    tap_ok(create(MIB) == AR_OK, "created");
    unlink(identity.live_path);
    scratch_write(identity.live_path, "another", 7);
    tap_ok(!ar_livemap_extent(AR_EXTENT_NODES, 0, 512 << 10), "it cannot grow");
    tap_ok(scratch_holds(identity.live_path, "another", 7), "the other file is as it was");
    tap_ok(ar_livemap_extent(AR_EXTENT_NODES, 0, 4000), "what is allocated can be had");
    unlink(identity.live_path);
    tap_ok(!ar_livemap_extent(AR_EXTENT_NODES, 0, 512 << 10), "nor when there is none");
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void limit(int what, rlim_t n_bytes)
{
    struct rlimit now;

    getrlimit(what, &now);
    now.rlim_cur = n_bytes;
    setrlimit(what, &now);
}

/* SIGXFSZ is on its default here, which would end the test. */
static void test_limited_file_size(void)
{
    tap_ok(create(MIB) == AR_OK, "created");
    limit(RLIMIT_FSIZE, 300 << 10);
    tap_ok(!ar_livemap_extent(AR_EXTENT_NODES, 0, 400 << 10), "no growth beyond the limit");
    tap_ok(ar_livemap_extent(AR_EXTENT_NODES, 0, 100 << 10), "what is allocated can be had");
    tap_ok(create(MIB) == AR_OK, "a file that is small enough");
    limit(RLIMIT_FSIZE, 100 << 10);
    tap_ok(create(MIB) == AR_IO && strstr(error.text, "no room"), "refused: %s", error.text);
    limit(RLIMIT_FSIZE, RLIM_INFINITY);
}

static void test_growth_is_tried_again(void)
{
    struct timespec while_later = {.tv_nsec = 150000000};
    char kept[AR_PATH_BYTES + 8];

    tap_ok(create(MIB) == AR_OK, "created");
    snprintf(kept, sizeof kept, "%s.kept", identity.live_path);
    rename(identity.live_path, kept);
    tap_ok(!ar_livemap_extent(AR_EXTENT_NODES, 0, 400 << 10), "no growth without the file");
    rename(kept, identity.live_path);
    tap_ok(!ar_livemap_extent(AR_EXTENT_NODES, 0, 400 << 10), "nor at once");
    nanosleep(&while_later, NULL);
    tap_ok(ar_livemap_extent(AR_EXTENT_NODES, 0, 400 << 10), "but later");
}

/* ---- records --------------------------------------------------------------------------------- */

static uint32_t add_function(const char *name, const char *file, const void *table,
                             uint32_t n_table)
{
    struct ar_record head = {.kind = AR_RECORD_FUNCTION,
                             .function_kind = AR_FUNCTION_PYTHON,
                             .first_line = 5,
                             .n_name = (uint32_t)strlen(name),
                             .n_file = (uint32_t)strlen(file),
                             .n_linetable = n_table};

    return ar_livemap_record(&head, name, file, table);
}

/* The n-th record that a reader finds, and its texts in a row. */
static bool record_is(const struct ar_live *live, size_t n, const char *texts, size_t n_bytes)
{
    for (const struct ar_extent *e = NULL; (e = ar_live_next(live, e, AR_EXTENT_RECORDS));)
        for (size_t at = sizeof *e; at < e->n_bytes_used;) {
            const struct ar_record *r = (const void *)((const unsigned char *)e + at);

            if (n-- == 0)
                return r->n_bytes % 8 == 0 && r->n_name + r->n_file + r->n_linetable == n_bytes &&
                       memcmp(r + 1, texts, n_bytes) == 0;
            at += r->n_bytes;
        }
    return false;
}

static void test_records(void)
{
    static char large[100000];
    struct ar_live live;

    memset(large, 'x', sizeof large);
    tap_ok(create(MIB) == AR_OK, "created");
    tap_ok(add_function("main", "heat.py", "\0\1\2", 3) == 1, "the first function is number 1");
    ar_livemap_fact("command", "python heat.py");
    tap_ok(add_function("", "", NULL, 0) == 2, "facts are not counted");
    tap_ok(add_function("large", "", large, sizeof large) == 3, "a large table");
    tap_ok(add_function("after", "it", NULL, 0) == 4, "and on");
    tap_ok(ar_live_open(&live, identity.live_path, &error) == AR_OK, "read");
    tap_ok(record_is(&live, 0, "mainheat.py\0\1\2", 14), "name, file, table");
    tap_ok(record_is(&live, 1, "commandpython heat.py", 21), "key, value");
    tap_ok(record_is(&live, 2, "", 0), "nothing");
    tap_ok(record_is(&live, 4, "afterit", 7) && !record_is(&live, 5, "", 0), "five in all");
    ar_live_close(&live);
}

static void test_records_in_a_full_file(void)
{
    uint32_t n_taken = 0;
    uint64_t n_used;

    tap_ok(create(MIB) == AR_OK, "created");
    while (ar_livemap_extent(AR_EXTENT_NODES, 0, 4000))
        ;
    errno = 1234;
    n_used = ar_live_header()->n_bytes_used;
    for (int i = 0; i < 10; i++)
        n_taken += add_function("f", "g", NULL, 0) != 0;
    ar_livemap_fact("key", "value");
    tap_ok(n_taken == 0, "no number where there is no room");
    tap_ok(errno == 1234 && ar_live_header()->n_bytes_used == n_used && reads_back(n_used),
           "things are as they were");
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void test_losses(void)
{
    tap_ok(create(MIB) == AR_OK, "created");
    ar_livemap_lost(AR_LOST_NODES, 3);
    ar_livemap_lost(AR_LOST_NODES, 4);
    ar_livemap_lost(AR_LOST_THREADS, 1);
    tap_ok(ar_live_header()->n_lost[AR_LOST_NODES] == 7 &&
               ar_live_header()->n_lost[AR_LOST_THREADS] == 1 &&
               ar_live_header()->n_lost[AR_LOST_FRAMES] == 0,
           "losses are counted");
}

static void test_forget(void)
{
    tap_ok(create(MIB) == AR_OK, "created");
    ar_livemap_forget();
    tap_ok(!ar_live_base, "forgotten");
    ar_livemap_lost(AR_LOST_NODES, 1);
    ar_livemap_stamp();
    ar_livemap_fact("key", "value");
    tap_ok(add_function("f", "g", NULL, 0) == 0, "nothing can be recorded");
    tap_ok(!ar_livemap_extent(AR_EXTENT_NODES, 0, 100), "nor taken");
    tap_ok(reads_back(AR_LIVE_HEADER_BYTES), "the file is as it was");
    ar_livemap_forget();
    tap_ok(create(MIB) == AR_OK && add_function("f", "g", NULL, 0) == 1,
           "functions of another file are numbered from 1 again");
}

int main(void)
{
    scratch_make();
    if (ar_identity_find(&identity, scratch_dir, &error) < 0) {
        printf("Bail out! %s\n", error.text);
        return 2;
    }
    test_records();
    test_create();
    test_taken_name();
    test_remove();
    test_too_small();
    test_planted_links();
    test_extents();
    test_reserve_and_publish();
    test_full();
    test_replaced_file();
    test_limited_file_size();
    test_growth_is_tried_again();
    test_records_in_a_full_file();
    test_losses();
    test_forget();
    scratch_remove();
    return tap_done();
}

// SPDX-License-Identifier: BSD-3-Clause
#include "format/livefile.h"

#include "live_image.h"
#include "scratch.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define N_ITEMS(array) (sizeof(array) / sizeof *(array))

static struct ar_error error;

/* Threads, records and two extents of nodes with another kind between them. */
static struct {
    size_t threads, records, nodes, stream, more_nodes;
    uint32_t root;
} at;

static void build(void)
{
    image_start();
    at.threads = image_extent(AR_EXTENT_THREADS, 0, 1);
    at.records = image_extent(AR_EXTENT_RECORDS, 0, 1);
    at.nodes = image_extent(AR_EXTENT_NODES, 0, 1);
    at.stream = image_extent(AR_EXTENT_STREAM, 0, 2);
    at.more_nodes = image_extent(AR_EXTENT_NODES, 0, 1);
    image_function(at.records, AR_FUNCTION_PYTHON, "main");
    at.root = image_node(at.nodes, 0, 0, -1000, 1);
    image_node(at.more_nodes, 1, at.root, 77, 1);
    image_node(at.more_nodes, 1, at.root, 78, 1);
    image_thread(at.threads, 0, at.root, "MainThread");
}

static enum ar_status read_image(struct ar_live *live)
{
    memset(error.text, 0, sizeof error.text);
    return ar_live_from_bytes(live, image.bytes, image.n_bytes, "x.live", &error);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void test_copy(void)
{
    struct ar_live live;

    build();
    tap_ok(read_image(&live) == AR_OK, "an image is read");
    tap_ok(live.n_bytes == image.n_bytes && live.header->pid == 4321, "with its header");
    image_node_at(at.root)->ticks = 5;
    image_header()->pid = 1;

    const struct ar_node *root = ar_live_at(&live, at.root);

    tap_ok(root && root->ticks == -1000 && live.header->pid == 4321, "it is a copy");
    ar_live_close(&live);
    tap_ok(!live.bytes && live.n_bytes == 0, "closed, it is empty");
    ar_live_close(&live);
}

static void test_extents(void)
{
    struct ar_live live;
    const struct ar_extent *e;

    build();
    tap_ok(read_image(&live) == AR_OK, "read");
    e = ar_live_next(&live, NULL, AR_EXTENT_NODES);
    tap_ok(e && (const unsigned char *)e - live.bytes == (ptrdiff_t)at.nodes, "the first nodes");
    tap_ok(e && ar_extent_count(e, sizeof(struct ar_node)) == 1, "one");
    e = ar_live_next(&live, e, AR_EXTENT_NODES);
    tap_ok(e && (const unsigned char *)e - live.bytes == (ptrdiff_t)at.more_nodes, "more of them");
    tap_ok(e && ar_extent_count(e, sizeof(struct ar_node)) == 2, "two");

    const struct ar_node *second = e ? ar_extent_item(e, 1, sizeof(struct ar_node)) : NULL;

    tap_ok(second && second->ticks == 78, "the second of them");
    tap_ok(!ar_live_next(&live, e, AR_EXTENT_NODES), "no more");
    tap_ok(!ar_live_next(&live, NULL, AR_EXTENT_VALUES), "none of a kind that there is not");
    e = ar_live_next(&live, NULL, AR_EXTENT_STREAM);
    tap_ok(e && ar_extent_count(e, 64) == 0 && !ar_live_next(&live, e, AR_EXTENT_STREAM),
           "an empty one");
    ar_live_close(&live);
}

static void test_refs(void)
{
    struct ar_live live;
    uint32_t header = AR_LIVE_HEADER_BYTES / AR_LIVE_REF_BYTES, end;

    build();
    end = (uint32_t)(image.n_bytes / AR_LIVE_REF_BYTES);
    tap_ok(read_image(&live) == AR_OK, "read");
    tap_ok(!ar_live_at(&live, 0) && !ar_live_at(&live, header - 1), "the header has no refs");
    tap_ok(ar_live_at(&live, header) == live.bytes + AR_LIVE_HEADER_BYTES, "the first");
    tap_ok(ar_live_at(&live, end - 1) == live.bytes + live.n_bytes - AR_LIVE_REF_BYTES, "the last");
    tap_ok(!ar_live_at(&live, end) && !ar_live_at(&live, UINT32_MAX), "beyond the end");
    ar_live_close(&live);
}

/* What lies beyond the used part of an extent is being written: it is not copied. */
static void test_unused_part(void)
{
    struct ar_live live;

    build();

    uint32_t half_written = image_node(at.nodes, 1, at.root, 99, 1);

    image_at(at.nodes)->n_bytes_used -= sizeof(struct ar_node);
    tap_ok(read_image(&live) == AR_OK, "read");

    const struct ar_node *node = ar_live_at(&live, half_written);

    tap_ok(node && node->key == 0 && node->ticks == 0, "what is not published yet is not copied");
    ar_live_close(&live);
    image_header()->n_bytes_used = at.more_nodes;
    tap_ok(read_image(&live) == AR_OK && live.n_bytes == at.more_nodes &&
               !ar_live_at(&live, (uint32_t)(at.more_nodes / AR_LIVE_REF_BYTES)),
           "nor is an extent that is not");
    ar_live_close(&live);
}

static void test_header_alone(void)
{
    struct ar_live live;

    image_start();
    tap_ok(read_image(&live) == AR_OK && live.n_bytes == AR_LIVE_HEADER_BYTES, "a header alone");
    tap_ok(!ar_live_next(&live, NULL, AR_EXTENT_THREADS), "has no extents");
    ar_live_close(&live);
}

static void test_long_texts(void)
{
    struct ar_live live;

    image_start();
    memset(image_header()->host, 'h', sizeof image_header()->host);
    memset(image_header()->job, 'j', sizeof image_header()->job);
    tap_ok(read_image(&live) == AR_OK && strlen(live.header->host) == 63 &&
               strlen(live.header->job) == 63,
           "texts without an end are ended");
    ar_live_close(&live);
}

/* ---- refusing -------------------------------------------------------------------------------- */

static void check_refused(enum ar_status expected, const char *text)
{
    struct ar_live live;
    enum ar_status status = read_image(&live);

    if (status == AR_OK)
        ar_live_close(&live);
    tap_ok(status == expected && strncmp(error.text, "x.live: ", 8) == 0 &&
               strstr(error.text, text) && !live.bytes,
           "refused: %s", error.text);
}

static void test_headers(void)
{
    build();
    image_header()->magic[7] = 'X';
    check_refused(AR_BAD, "not a live file of allranks");
    build();
    image_header()->version = 4;
    check_refused(AR_UNSUPPORTED, "version 4, this allranks reads versions 7 to 8");
    build();
    image_header()->header_bytes = 8192;
    check_refused(AR_BAD, "damaged");
    build();
    image_header()->n_bytes_used = image.n_bytes + AR_LIVE_PAGE_BYTES;
    check_refused(AR_BAD, "damaged");
    build();
    image_header()->n_bytes_used = UINT64_MAX;
    check_refused(AR_BAD, "damaged");
    build();
    image_header()->n_bytes_used = AR_LIVE_HEADER_BYTES - 1;
    check_refused(AR_BAD, "damaged");
    build();
    image.n_bytes = AR_LIVE_HEADER_BYTES - 1;
    check_refused(AR_BAD, "not a live file of allranks");
}

static void test_bad_extents(void)
{
    static const struct {
        uint64_t n_bytes, n_bytes_used;
    } cases[] = {
        {0, 64},
        {4096, 0},
        {4096, 63},
        {4096, 4097},
        {4097, 64},
        {64, 64},
        {1 << 20, 64},
        {UINT64_MAX, 64},
        {4096, UINT64_MAX},
        {(uint64_t)0 - 4096, 64},
        {3 * 4096, 64},
    };

    for (size_t i = 0; i < N_ITEMS(cases); i++) {
        build();
        image_at(at.more_nodes)->n_bytes = cases[i].n_bytes;
        image_at(at.more_nodes)->n_bytes_used = cases[i].n_bytes_used;
        check_refused(AR_BAD, "damaged live file, extent");
    }
}

/*
 * Each from memory of its own size. The file is cut before its end, so every one is to be refused.
 */
static void test_truncations(void)
{
    bool refused = true;

    build();
    for (size_t n = 0; n < image.n_bytes; n += n < 600 ? 1 : 61) {
        unsigned char *copy = malloc(n ? n : 1);
        struct ar_live live;

        memcpy(copy, image.bytes, n);
        refused = refused && ar_live_from_bytes(&live, copy, n, "x.live", NULL) == AR_BAD;
        free(copy);
    }
    tap_ok(refused, "truncations are refused");
}

/* The same, and the header says so. Where an extent ends the file is whole, elsewhere it is not. */
static void test_shorter_files(void)
{
    bool good = true;

    build();

    const size_t whole[] = {AR_LIVE_HEADER_BYTES, at.records,   at.nodes, at.stream,
                            at.more_nodes,        image.n_bytes};

    for (size_t n = AR_LIVE_HEADER_BYTES; n <= image.n_bytes; n += n % 4096 < 128 ? 1 : 48) {
        unsigned char *copy = malloc(n);
        struct ar_live live;
        bool expected = false;

        for (size_t i = 0; i < N_ITEMS(whole); i++)
            expected = expected || n == whole[i];
        memcpy(copy, image.bytes, n);
        ((struct ar_live_header *)copy)->n_bytes_used = n;
        good = good && (ar_live_from_bytes(&live, copy, n, "x.live", NULL) == AR_OK) == expected;
        ar_live_close(&live);
        free(copy);
    }
    tap_ok(good, "a file may end after any extent, not within one");
}

/* ---- files ----------------------------------------------------------------------------------- */

static void check_file_refused(const char *name, enum ar_status expected, const char *text)
{
    struct ar_live live;
    char path[512];

    snprintf(path, sizeof path, "%s", scratch_path(name));
    tap_ok(ar_live_open(&live, path, &error) == expected && strstr(error.text, text) &&
               strncmp(error.text, path, strlen(path)) == 0,
           "refused: %s", error.text);
}

static void test_in_place(void)
{
    size_t n = sizeof image.bytes;
    unsigned char *map = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct ar_live live;

    build();
    if (!tap_ok(map != MAP_FAILED, "mapped"))
        return;
    memcpy(map, image.bytes, n);
    tap_ok(ar_live_in_place(&live, map, n, "x.live", &error) == AR_OK && live.bytes == map &&
               live.n_bytes == image.n_bytes && live.header->pid == 4321,
           "read where it is, as far as it is used");
    for (const struct ar_extent *e = NULL; (e = ar_live_next(&live, e, AR_EXTENT_NODES));)
        ;
    tap_ok(memcmp(map, image.bytes, n) == 0, "what has been given back is still there");
    ((struct ar_node *)(uintptr_t)ar_live_at(&live, at.root))->ticks = 5;
    tap_ok(((struct ar_node *)(map + (size_t)at.root * AR_LIVE_REF_BYTES))->ticks == 5, "no copy");
    ar_live_close(&live);
    tap_ok(!live.bytes && map[0] == image.bytes[0], "closing it leaves the mapping");
    ((struct ar_extent *)(map + at.nodes))->n_bytes = 1;
    tap_ok(ar_live_in_place(&live, map, n, "x.live", &error) == AR_BAD && !live.bytes,
           "refused: %s", error.text);
    tap_ok(ar_live_in_place(&live, map, 100, "x.live", &error) == AR_BAD, "too short");
    munmap(map, n);
}

static void test_files(void)
{
    struct ar_live live;

    build();
    scratch_make();
    scratch_write(scratch_path("good.live"), image.bytes, image.n_bytes);
    tap_ok(ar_live_open(&live, scratch_path("good.live"), &error) == AR_OK &&
               live.n_bytes == image.n_bytes && memcmp(live.bytes, image.bytes, 4096) == 0,
           "a file is read");
    ar_live_close(&live);
    /* Space is allocated ahead of use. */
    scratch_write(scratch_path("ahead.live"), image.bytes, sizeof image.bytes);
    tap_ok(ar_live_open(&live, scratch_path("ahead.live"), &error) == AR_OK &&
               live.n_bytes == image.n_bytes,
           "as far as it is used");
    ar_live_close(&live);
    check_file_refused("none.live", AR_IO, "No such file");
    check_file_refused("", AR_BAD, "not a regular file");
    scratch_write(scratch_path("empty.live"), "", 0);
    check_file_refused("empty.live", AR_BAD, "not a live file");
    scratch_write(scratch_path("short.live"), image.bytes, AR_LIVE_HEADER_BYTES);
    check_file_refused("short.live", AR_BAD, "damaged");
    memset(image.bytes, 0, sizeof image.bytes);
    scratch_write(scratch_path("zeros.live"), image.bytes, 8192);
    check_file_refused("zeros.live", AR_BAD, "not a live file");
    scratch_remove();
}

/* ---- damage ---------------------------------------------------------------------------------- */

static enum ar_status salvage(struct ar_live *live, size_t n_bytes)
{
    scratch_write(scratch_path("damaged.live"), image.bytes, n_bytes);
    memset(error.text, 0, sizeof error.text);
    return ar_live_salvage(live, scratch_path("damaged.live"), &error);
}

static size_t n_nodes(const struct ar_live *live)
{
    size_t n = 0;

    for (const struct ar_extent *e = NULL; (e = ar_live_next(live, e, AR_EXTENT_NODES));)
        n += ar_extent_count(e, sizeof(struct ar_node));
    return n;
}

/* The extents that are whole, and of the one that is cut its whole pages. */
static void test_salvage_what_was_cut(void)
{
    struct ar_live live;

    build();
    tap_ok(salvage(&live, image.n_bytes) == AR_OK && live.n_bytes == image.n_bytes &&
               live.n_bytes_left_out == 0 && n_nodes(&live) == 3,
           "of a sound file everything");
    ar_live_close(&live);
    tap_ok(salvage(&live, at.more_nodes) == AR_OK && n_nodes(&live) == 1 &&
               live.n_bytes_left_out == image.n_bytes - at.more_nodes,
           "up to where it was cut");
    ar_live_close(&live);
    tap_ok(salvage(&live, at.stream + AR_LIVE_PAGE_BYTES + 100) == AR_OK &&
               live.n_bytes == at.stream + AR_LIVE_PAGE_BYTES &&
               ar_live_next(&live, NULL, AR_EXTENT_STREAM)->n_bytes == AR_LIVE_PAGE_BYTES,
           "within an extent: its first page");
    ar_live_close(&live);
    tap_ok(salvage(&live, AR_LIVE_HEADER_BYTES) == AR_OK && live.header->pid == 4321 &&
               n_nodes(&live) == 0,
           "the header alone");
    ar_live_close(&live);
    tap_ok(salvage(&live, AR_LIVE_HEADER_BYTES - 1) == AR_BAD, "less is nothing");
    ar_live_close(&live);
}

static void test_salvage_what_is_unsound(void)
{
    struct ar_live live;

    build();
    memset(image.bytes + at.stream, 0, AR_LIVE_PAGE_BYTES);
    tap_ok(salvage(&live, image.n_bytes) == AR_OK && live.n_bytes == at.stream &&
               live.n_bytes_left_out == image.n_bytes - at.stream && n_nodes(&live) == 1,
           "what comes before a bad extent");
    ar_live_close(&live);

    build();
    image_header()->n_bytes_used = 1;
    tap_ok(salvage(&live, image.n_bytes) == AR_OK && n_nodes(&live) == 3 &&
               live.n_bytes_left_out == 0,
           "a length that cannot be: all that is there");
    ar_live_close(&live);

    build();
    image_header()->version = AR_LIVE_VERSION + 1;
    tap_ok(salvage(&live, image.n_bytes) == AR_UNSUPPORTED, "not what we do not know");
    ar_live_close(&live);
}

static size_t n_record_bytes(const struct ar_live *live)
{
    size_t n = 0;

    for (const struct ar_extent *e = NULL; (e = ar_live_next(live, e, AR_EXTENT_RECORDS));)
        n += e->n_bytes_used - sizeof *e;
    return n;
}

/* Functions are known by their order: a gap would give the later ones the names of others. */
static void test_salvage_records(void)
{
    struct ar_live live;
    size_t more;

    build();
    more = image_extent(AR_EXTENT_RECORDS, 0, 1);
    image_function(at.records, AR_FUNCTION_PYTHON, "second");
    image_function(more, AR_FUNCTION_PYTHON, "third");
    tap_ok(salvage(&live, image.n_bytes) == AR_OK && live.n_bytes_left_out == 0, "three records");
    size_t n_all = n_record_bytes(&live);

    ar_live_close(&live);

    struct ar_record *first = (struct ar_record *)(image.bytes + at.records + 64);

    ((struct ar_record *)((unsigned char *)first + first->n_bytes))->n_bytes = 3;
    tap_ok(salvage(&live, image.n_bytes) == AR_OK && n_record_bytes(&live) == first->n_bytes &&
               live.n_bytes_left_out == n_all - first->n_bytes,
           "one is damaged: none after it is taken");
    ar_live_close(&live);
}

static void test_salvage_threads(void)
{
    struct ar_live live;

    build();
    image_thread(at.threads, 4000000, at.root, "damaged");
    tap_ok(salvage(&live, image.n_bytes) == AR_OK &&
               live.n_bytes_left_out == sizeof(struct ar_live_thread),
           "a thread with an impossible number is left out");
    ar_live_close(&live);
}

static void test_salvage(void)
{
    scratch_make();
    test_salvage_what_was_cut();
    test_salvage_what_is_unsound();
    test_salvage_records();
    test_salvage_threads();
    scratch_remove();
}

int main(void)
{
    test_copy();
    test_extents();
    test_refs();
    test_unused_part();
    test_header_alone();
    test_long_texts();
    test_headers();
    test_bad_extents();
    test_truncations();
    test_shorter_files();
    test_in_place();
    test_files();
    test_salvage();
    return tap_done();
}

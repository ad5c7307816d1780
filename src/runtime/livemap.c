// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/livemap.h"

#include "base/file.h"
#include "base/limits.h"
#include "format/live_names.h"
#include "runtime/identity.h"
#include "runtime/spending.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_BYTES ((uint64_t)256 << 10)
#define LARGEST_STEP_BYTES ((uint64_t)8 << 20)
#define RECORDS_BYTES ((size_t)32 << 10)
#define SMALLEST_PIECE_BYTES ((uint64_t)64 << 10)
#define MOST_INTERRUPTIONS 100
#define RETRY_NS ((uint64_t)100 * 1000000u)

unsigned char *ar_live_base;

static struct {
    pthread_mutex_t lock;
    char path[AR_PATH_BYTES];
    dev_t device;
    ino_t inode;
    uint64_t n_bytes_allocated;
    uint64_t n_bytes_max;
    uint64_t retry_ns; /* the file is not tried to be made larger before; 0: it may be */
    struct ar_extent *records;
    uint32_t n_functions, n_measures;
    /* When the process last forked; the parent's mapping, in the child. */
    unsigned char *parent;
    uint64_t parent_bytes, parent_records_bytes;
} map = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the file -------------------------------------------------------------------------------- */

/*
 * tmpfs and every disk file system of note do this immediately; where the call is not known it is
 * emulated by writes. A signal undoes what a call has done so far: a program with a fast timer would
 * wait for ever, so what was interrupted is tried again in smaller pieces.
 */
static bool allocate(int fd, uint64_t from, uint64_t n_bytes)
{
    uint64_t n_piece = n_bytes;

    if (!ar_file_may_have(from + n_bytes))
        return false;
    for (int n_interrupted = 0; n_bytes && n_interrupted < MOST_INTERRUPTIONS;) {
        if (n_piece > n_bytes)
            n_piece = n_bytes;
        int rc = posix_fallocate(fd, (off_t)from, (off_t)n_piece);

        if (rc == 0) {
            from += n_piece;
            n_bytes -= n_piece;
        } else if (rc == EINTR) {
            n_interrupted++;
            n_piece = n_piece > 2 * SMALLEST_PIECE_BYTES ? n_piece / 2 : SMALLEST_PIECE_BYTES;
        } else {
            return false;
        }
    }
    return n_bytes == 0;
}

static int reopen(void)
{
    struct stat st;
    int fd = ar_file_open(AT_FDCWD, map.path, O_RDWR | O_NOFOLLOW, &st);

    if (fd >= 0 && (st.st_dev != map.device || st.st_ino != map.inode)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool extend_to(uint64_t n_bytes)
{
    int fd = reopen();

    if (fd < 0)
        return false;

    bool grown = allocate(fd, map.n_bytes_allocated, n_bytes - map.n_bytes_allocated);

    close(fd);
    if (grown)
        map.n_bytes_allocated = n_bytes;
    return grown;
}

/*
 * What fails now may work later: descriptors are closed, files deleted. But every call of a path that
 * has no node asks, and must not pay for system calls each time.
 */
static bool grow_to(uint64_t n_bytes_needed)
{
    uint64_t n = map.n_bytes_allocated;

    if (n_bytes_needed > map.n_bytes_max)
        return false;
    if (map.retry_ns && ar_clock_ns(CLOCK_MONOTONIC) < map.retry_ns)
        return false;
    while (n < n_bytes_needed)
        n += n < LARGEST_STEP_BYTES ? n : LARGEST_STEP_BYTES;
    if (n > map.n_bytes_max)
        n = map.n_bytes_max;

    uint64_t begin = ar_ticks();
    /* Where there is no room for a large step there may be for a page. */
    bool grown = extend_to(n) || (n > n_bytes_needed && extend_to(n_bytes_needed));

    ar_spent(AR_OVERHEAD_PATHS, ar_ticks() - begin);
    map.retry_ns = grown ? 0 : ar_clock_ns(CLOCK_MONOTONIC) + RETRY_NS;
    return grown;
}

/* Address space that the program is short of is the program's. */
static uint64_t share_of_address_space(uint64_t n_bytes_max)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return n_bytes_max;

    uint64_t n_share = (limit.rlim_cur / 16) & ~(uint64_t)(AR_LIVE_PAGE_BYTES - 1);

    return n_bytes_max < n_share ? n_bytes_max : n_share;
}

/*
 * A small limit on address space is no reason not to record: what can be mapped is the file's
 * limit.
 */
static bool map_file(int fd, uint64_t n_bytes_max)
{
    for (; n_bytes_max >= FIRST_BYTES; n_bytes_max /= 2) {
        void *base =
            mmap(NULL, n_bytes_max, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

        if (base != MAP_FAILED) {
            map.n_bytes_max = n_bytes_max;
            ar_live_base = base;
            return true;
        }
    }
    return false;
}

static void fill_header(const struct ar_identity *identity, uint64_t n_bytes_used)
{
    struct ar_live_header *h = ar_live_header();

    h->version = AR_LIVE_VERSION;
    h->header_bytes = AR_LIVE_HEADER_BYTES;
    h->state = AR_LIVE_RUNNING;
    h->clock_kind = ar_clock_kind;
    h->n_bytes_used = n_bytes_used;
    h->n_bytes_max = map.n_bytes_max;
    h->pid = identity->pid;
    h->parent_pid = identity->parent_pid;
    h->pid_start = identity->pid_start;
    h->world_rank = identity->world_rank;
    h->world_size = identity->world_size;
    h->parent_start = identity->parent_start;
    h->root_pid = identity->root_pid;
    h->root_start = identity->root_start;
    h->is_child = identity->is_child;
    snprintf(h->host, sizeof h->host, "%s", identity->host);
    snprintf(h->job, sizeof h->job, "%s", identity->job);
    h->start = h->latest = ar_stamp_now();
    /* Last: without it the file is not taken for one of ours. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(h->magic, AR_LIVE_MAGIC, sizeof h->magic);
}

/* A program that starts another by exec keeps its pid and start: the name may be taken by itself. */
static int create_file(const char *path)
{
    int fd = -1;

    for (int n = 1; n < 1000 && fd < 0; n++) {
        if (n == 1)
            snprintf(map.path, sizeof map.path, "%s", path);
        else
            ar_live_name_again(map.path, sizeof map.path, path, n);
        fd = open(map.path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

enum ar_status ar_livemap_create(const struct ar_identity *identity, uint64_t n_bytes_max,
                                 struct ar_error *err)
{
    enum ar_status status = AR_OK;
    struct stat st = {0};

    n_bytes_max = share_of_address_space(n_bytes_max & ~(uint64_t)(AR_LIVE_PAGE_BYTES - 1));

    int fd = create_file(identity->live_path);

    if (fd < 0)
        return ar_fail(err, AR_IO, "%s: %s", map.path, strerror(errno));
    if (!allocate(fd, 0, FIRST_BYTES))
        status = ar_fail(err, AR_IO, "%s: no room for %llu KiB", map.path,
                         (unsigned long long)FIRST_BYTES >> 10);
    else if (fstat(fd, &st) < 0 || !map_file(fd, n_bytes_max))
        status = ar_fail(err, AR_IO, "%s: cannot be mapped: %s", map.path, strerror(errno));
    close(fd);
    if (status < 0) {
        unlink(map.path);
        return status;
    }
    map.device = st.st_dev;
    map.inode = st.st_ino;
    map.n_bytes_allocated = FIRST_BYTES;
    map.retry_ns = 0;
    fill_header(identity, AR_LIVE_HEADER_BYTES);
    return AR_OK;
}

uint64_t ar_livemap_allocated(void)
{
    pthread_mutex_lock(&map.lock);
    uint64_t n_bytes = map.n_bytes_allocated;
    pthread_mutex_unlock(&map.lock);
    return n_bytes;
}

const char *ar_livemap_path(void)
{
    return map.path;
}

void ar_livemap_remove(void)
{
    unlink(map.path);
}

void ar_livemap_forget(void)
{
    unsigned char *base = ar_live_base ? ar_live_base : map.parent;

    if (base)
        munmap(base, map.n_bytes_max);
    ar_live_base = map.parent = NULL;
    map.records = NULL;
    map.n_functions = map.n_measures = 0;
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* The parent goes on writing: what the child knows is what was there at this moment. */
void ar_livemap_forking(enum ar_fork_step step)
{
    ar_fork_lock(&map.lock, step);
    if (step == AR_FORK_BEFORE && ar_live_base) {
        map.parent_bytes = ar_live_header()->n_bytes_used;
        map.parent_records_bytes = map.records ? map.records->n_bytes_used : 0;
    }
    if (step == AR_FORK_CHILD && ar_live_base) {
        map.parent = ar_live_base;
        ar_live_base = NULL;
    }
}

static bool write_at(int fd, const void *bytes, size_t n_bytes, size_t at)
{
    const unsigned char *from = bytes;

    while (n_bytes) {
        ssize_t n = pwrite(fd, from, n_bytes, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        from += n;
        at += (size_t)n;
        n_bytes -= (size_t)n;
    }
    return true;
}

static const struct ar_extent *parents_extent(uint64_t at)
{
    return (const struct ar_extent *)(map.parent + at);
}

/* With room to be added to, where it is the last one. */
static bool copy_records(int fd, uint64_t at)
{
    struct ar_extent extent = *parents_extent(at);

    if (parents_extent(at) == map.records)
        extent.n_bytes_used = map.parent_records_bytes;
    return allocate(fd, at, extent.n_bytes) && write_at(fd, &extent, sizeof extent, at) &&
           write_at(fd, parents_extent(at) + 1, extent.n_bytes_used - sizeof extent,
                    at + sizeof extent);
}

static bool lies_in(const struct ar_node *node, uint64_t at)
{
    uint64_t offset = (uint64_t)((const unsigned char *)node - map.parent);

    return offset >= at && offset < at + parents_extent(at)->n_bytes;
}

static const struct ar_node *parents_node(uint32_t ref)
{
    return ref ? (const struct ar_node *)(map.parent + (size_t)ref * AR_LIVE_REF_BYTES) : NULL;
}

/* Nodes of the open path that lie in this extent: the innermost comes last in it. */
static bool copy_open_nodes(int fd, uint64_t at, const struct ar_node *innermost, bool *any)
{
    struct ar_extent extent = {
        .kind = AR_EXTENT_NODES, .n_bytes = parents_extent(at)->n_bytes, .n_bytes_used = 0};

    *any = false;
    for (const struct ar_node *node = innermost; node; node = parents_node(node->parent_ref)) {
        struct ar_node copy = {
            .key = node->key, .parent_ref = node->parent_ref, .flags = node->flags};
        uint64_t offset = (uint64_t)((const unsigned char *)node - map.parent);

        if (!lies_in(node, at))
            continue;
        if (!*any)
            extent.n_bytes_used = offset - at + sizeof copy;
        *any = true;
        if (!write_at(fd, &copy, sizeof copy, offset))
            return false;
    }
    return !*any || write_at(fd, &extent, sizeof extent, at);
}

static bool close_gap(int fd, uint64_t from, uint64_t to)
{
    struct ar_extent gone = {
        .kind = AR_EXTENT_GONE, .n_bytes = to - from, .n_bytes_used = sizeof gone};

    return from == to || write_at(fd, &gone, sizeof gone, from);
}

/* What is not copied is a hole in the file, which is not touched. */
static bool copy_extents(int fd, const struct ar_node *innermost)
{
    uint64_t gap = AR_LIVE_HEADER_BYTES, at = gap;

    for (uint64_t n_bytes; at < map.parent_bytes; at += n_bytes) {
        const struct ar_extent *extent = parents_extent(at);
        bool any = extent->kind == AR_EXTENT_RECORDS;

        n_bytes = extent->n_bytes;
        if (any && !copy_records(fd, at))
            return false;
        if (extent->kind == AR_EXTENT_NODES && !copy_open_nodes(fd, at, innermost, &any))
            return false;
        if (!any)
            continue;
        if (!close_gap(fd, gap, at))
            return false;
        gap = at + n_bytes;
    }
    return close_gap(fd, gap, at);
}

static bool fill_child_file(int fd, const struct ar_node *innermost)
{
    uint64_t n_bytes = map.parent_bytes + FIRST_BYTES;

    if (n_bytes > map.n_bytes_max)
        n_bytes = map.n_bytes_max;
    if (!ar_file_may_have(n_bytes) || !allocate(fd, 0, AR_LIVE_HEADER_BYTES) ||
        !copy_extents(fd, innermost) ||
        (n_bytes > map.parent_bytes && !allocate(fd, map.parent_bytes, n_bytes - map.parent_bytes)))
        return false;
    map.n_bytes_allocated = n_bytes;
    map.retry_ns = 0;
    return true;
}

static enum ar_status map_child_file(int fd, const struct ar_identity *identity,
                                     struct ar_error *err)
{
    struct ar_live_header parents = *(const struct ar_live_header *)map.parent;
    struct stat st;

    if (fstat(fd, &st) < 0 || mmap(map.parent, map.n_bytes_max, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0) == MAP_FAILED)
        return ar_fail(err, AR_IO, "%s: cannot be mapped: %s", map.path, strerror(errno));
    map.device = st.st_dev;
    map.inode = st.st_ino;
    ar_live_base = map.parent;
    map.parent = NULL;
    ar_live_header()->call_cost_ns = parents.call_cost_ns;
    ar_live_header()->c_call_cost_ns = parents.c_call_cost_ns;
    ar_live_header()->c_count_cost_ns = parents.c_count_cost_ns;
    fill_header(identity, map.parent_bytes);
    return AR_OK;
}

enum ar_status ar_livemap_adopt(const struct ar_identity *identity, const struct ar_node *innermost,
                                struct ar_error *err)
{
    enum ar_status status;

    if (!map.parent)
        return ar_fail(err, AR_IO, "nothing was recorded");

    int fd = create_file(identity->live_path);

    if (fd < 0)
        return ar_fail(err, AR_IO, "%s: %s", map.path, strerror(errno));
    if (fill_child_file(fd, innermost))
        status = map_child_file(fd, identity, err);
    else
        status = ar_fail(err, AR_IO, "%s: no room", map.path);
    close(fd);
    if (status < 0)
        unlink(map.path);
    return status;
}

/* ---- extents --------------------------------------------------------------------------------- */

static struct ar_extent *new_extent(enum ar_extent_kind kind, uint32_t owner, size_t n_payload)
{
    struct ar_live_header *h = ar_live_header();
    uint64_t at = h->n_bytes_used;
    uint64_t n_bytes = (n_payload + sizeof(struct ar_extent) + AR_LIVE_PAGE_BYTES - 1) &
                       ~(uint64_t)(AR_LIVE_PAGE_BYTES - 1);

    if (at + n_bytes > map.n_bytes_allocated && !grow_to(at + n_bytes))
        return NULL;

    struct ar_extent *extent = (struct ar_extent *)(ar_live_base + at);

    *extent = (struct ar_extent){
        .kind = kind, .owner = owner, .n_bytes = n_bytes, .n_bytes_used = sizeof *extent};
    __atomic_store_n(&h->n_bytes_used, at + n_bytes, __ATOMIC_RELEASE);
    return extent;
}

struct ar_extent *ar_livemap_extent(enum ar_extent_kind kind, uint32_t owner, size_t n_bytes)
{
    int saved_errno = errno;

    pthread_mutex_lock(&map.lock);
    struct ar_extent *extent = ar_live_base ? new_extent(kind, owner, n_bytes) : NULL;
    pthread_mutex_unlock(&map.lock);
    errno = saved_errno;
    return extent;
}

void *ar_extent_reserve(struct ar_extent *extent, size_t n_bytes)
{
    if (!extent || extent->n_bytes - extent->n_bytes_used < n_bytes)
        return NULL;
    return (unsigned char *)extent + extent->n_bytes_used;
}

void ar_extent_publish(struct ar_extent *extent, size_t n_bytes)
{
    __atomic_store_n(&extent->n_bytes_used, extent->n_bytes_used + n_bytes, __ATOMIC_RELEASE);
}

/* A thread that calls little takes a page; later extents grow with what it does. */
#define FIRST_EXTENT_BYTES ((size_t)4000)
#define LARGEST_EXTENT_BYTES ((size_t)256 << 10)

void *ar_extent_take(struct ar_extent **extent, enum ar_extent_kind kind, uint32_t owner,
                     size_t n_bytes)
{
    void *room = ar_extent_reserve(*extent, n_bytes);

    if (room)
        return room;

    size_t n = *extent ? 2 * (*extent)->n_bytes : FIRST_EXTENT_BYTES;
    struct ar_extent *next =
        ar_livemap_extent(kind, owner, n < LARGEST_EXTENT_BYTES ? n : LARGEST_EXTENT_BYTES);

    if (!next)
        next = ar_livemap_extent(kind, owner, n_bytes); /* the last pages of the file */
    if (!next)
        return NULL;
    *extent = next;
    return ar_extent_reserve(next, n_bytes);
}

/* ---- records --------------------------------------------------------------------------------- */

static struct ar_record *reserve_record(size_t n_bytes)
{
    struct ar_record *record = ar_extent_reserve(map.records, n_bytes);

    if (record)
        return record;

    struct ar_extent *extent =
        new_extent(AR_EXTENT_RECORDS, 0, n_bytes > RECORDS_BYTES ? n_bytes : RECORDS_BYTES);

    if (!extent)
        return NULL;
    map.records = extent;
    return ar_extent_reserve(extent, n_bytes);
}

static bool append_record(const struct ar_record *head, const char *name, const char *file,
                          const void *linetable)
{
    size_t n_text = (size_t)head->n_name + head->n_file + head->n_linetable;
    size_t n_bytes = (sizeof *head + n_text + 7) & ~(size_t)7;
    struct ar_record *record = n_bytes < UINT32_MAX / 2 ? reserve_record(n_bytes) : NULL;

    if (!record)
        return false;

    char *text = (char *)(record + 1);

    *record = *head;
    record->n_bytes = (uint32_t)n_bytes;
    if (head->n_name)
        memcpy(text, name, head->n_name);
    if (head->n_file)
        memcpy(text + head->n_name, file, head->n_file);
    if (linetable)
        memcpy(text + head->n_name + head->n_file, linetable, head->n_linetable);
    ar_extent_publish(map.records, n_bytes);
    return true;
}

static uint32_t next_number(uint8_t kind)
{
    if (kind == AR_RECORD_FUNCTION)
        return ++map.n_functions;
    return kind == AR_RECORD_MEASURE ? AR_FIRST_MEASURE + map.n_measures++ : 1;
}

uint32_t ar_livemap_record(const struct ar_record *head, const char *name, const char *file,
                           const void *linetable)
{
    int saved_errno = errno;
    uint32_t number = 0;

    pthread_mutex_lock(&map.lock);
    if (ar_live_base && append_record(head, name, file, linetable))
        number = next_number(head->kind);
    pthread_mutex_unlock(&map.lock);
    errno = saved_errno;
    return number;
}

void ar_livemap_fact(const char *key, const char *value)
{
    struct ar_record head = {
        .kind = AR_RECORD_FACT, .n_name = (uint32_t)strlen(key), .n_file = (uint32_t)strlen(value)};

    ar_livemap_record(&head, key, value, NULL);
}

/* A store is seen on this node immediately; on a network file system only when it is written back. */
void ar_livemap_vote(enum ar_live_vote vote)
{
    __atomic_store_n(&ar_live_header()->vote, vote, __ATOMIC_RELEASE);
    msync(ar_live_base, AR_LIVE_HEADER_BYTES, MS_SYNC);
}

void ar_livemap_lost(enum ar_live_loss what, uint64_t n)
{
    if (ar_live_base)
        __atomic_fetch_add(&ar_live_header()->n_lost[what], n, __ATOMIC_RELAXED);
}

/*
 * `start` and `latest` are not read together by code that depends on it: a torn stamp is off by the time
 * between two.
 */
void ar_livemap_stamp(void)
{
    if (ar_live_base)
        ar_live_header()->latest = ar_stamp_now();
}

// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/notefiles.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/idmap.h"
#include "base/limits.h"
#include "format/live_names.h"
#include "format/note.h"
#include "runtime/identity.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
#define OPEN_WITHIN_NS (3 * SECOND_NS)
/* Of "open"; for each node as long again as reading its file may take. */
#define ANSWERS_WITHIN_NS (3 * SECOND_NS)
#define READ_WITHIN_NS (SECOND_NS / 500)
#define LONGEST_ANSWERS_NS (30 * SECOND_NS)
/*
 * Longer than the minute for which NFS believes what it knows where it does not even ask when a
 * file is opened.
 */
#define PATIENCE_NS (LONGEST_ANSWERS_NS + 90 * SECOND_NS)
#define FIRST_PAUSE_NS 1000000
#define LONGEST_PAUSE_NS 50000000
#define LARGEST_FILE_BYTES (4 << 20)
#define NAME_BYTES 64
#define RANKS_BYTES 4096

static struct {
    char directory[AR_PATH_BYTES];
    char own[NAME_BYTES];    /* "": this leader has no file */
    char rank_0[NAME_BYTES]; /* "": rank 0's was not seen */
    uint32_t kept_in;
    uint64_t token;
    uint32_t first, n_known;
} notes;

/* ---- the directory --------------------------------------------------------------------------- */

/* -1: there is none, or it is not ours alone. */
static int open_directory(void)
{
    int fd = open(notes.directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Whose file is it, and does that one leave its live files where we do? */
static bool read_name(const char *name, uint32_t *rank, bool *is_like_us)
{
    struct ar_live_name parsed;

    if (!ar_live_name_parse(name, &parsed) || parsed.kind != AR_NAME_LEADER)
        return false;
    *rank = parsed.rank;
    *is_like_us = parsed.kept_in && parsed.kept_in == notes.kept_in;
    return true;
}

typedef void visitor(int directory, const char *name, uint32_t rank, void *context);

/* Rank 0's name is noted, and who is the lowest. false: they could not be listed. */
static bool each_leader(visitor *visit, void *context)
{
    int fd = open_directory();
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    uint32_t rank;
    bool is_like_us;

    if (!dir && fd >= 0)
        close(fd);
    if (!dir)
        return false;
    errno = 0;
    for (struct dirent *entry; (entry = readdir(dir)); errno = 0) {
        if (!read_name(entry->d_name, &rank, &is_like_us))
            continue;
        if (is_like_us && rank < notes.first)
            notes.first = rank;
        visit(dirfd(dir), entry->d_name, rank, context);
    }

    bool is_read = errno == 0;

    closedir(dir);
    return is_read;
}

/* ---- a file ---------------------------------------------------------------------------------- */

/* In one piece: half a line is not read. Closes the file. */
static bool write_line(int fd, const void *line, size_t n_bytes)
{
    struct stat st;
    bool is_written = fd >= 0 && fstat(fd, &st) == 0 &&
                      ar_file_may_have((uint64_t)st.st_size + n_bytes) &&
                      write(fd, line, n_bytes) == (ssize_t)n_bytes;

    return fd >= 0 && close(fd) == 0 && is_written;
}

/*
 * Several times, since a leader that has its answer removes a directory that is empty. An old file of
 * this name is a dead process's.
 */
static bool begin_file(uint32_t rank, const char *line)
{
    int fd = -1;

    ar_live_name_leader(notes.own, sizeof notes.own, rank, notes.kept_in);
    for (int i = 0; i < 4 && fd < 0; i++) {
        mkdir(notes.directory, 0700);

        int directory = open_directory();

        if (directory < 0)
            continue;
        unlinkat(directory, notes.own, 0);
        fd = openat(directory, notes.own, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                    0600);
        close(directory);
    }
    return write_line(fd, line, strlen(line));
}

static bool add_line(const void *line, size_t n_bytes)
{
    int directory = open_directory();
    int fd = directory < 0
                 ? -1
                 : ar_file_open(directory, notes.own, O_WRONLY | O_APPEND | O_NOFOLLOW, NULL);

    if (directory >= 0)
        close(directory);
    return write_line(fd, line, n_bytes);
}

/* The lines that are whole; NULL: there is none. */
static char *read_lines(int directory, const char *name)
{
    struct stat st;
    int fd = ar_file_open(directory, name, O_RDONLY | O_NOFOLLOW, &st);
    char *text = NULL;
    ssize_t n = 0;

    if (fd < 0)
        return NULL;
    if (st.st_uid == geteuid() && st.st_size <= LARGEST_FILE_BYTES)
        text = malloc((size_t)st.st_size + 1);
    if (text)
        n = read(fd, text, (size_t)st.st_size);
    close(fd);
    while (n > 0 && text[n - 1] != '\n')
        n--;
    if (n > 0) {
        text[n] = '\0';
        return text;
    }
    free(text);
    return NULL;
}

/* What follows this beginning in the last line that has it. */
static const char *last_line(const char *text, const char *beginning)
{
    const char *found = NULL;

    for (const char *at = text; *at; at = strchr(at, '\n') + 1)
        if (strncmp(at, beginning, strlen(beginning)) == 0)
            found = at + strlen(beginning);
    return found;
}

static void pause_longer(struct timespec *pause)
{
    nanosleep(pause, NULL);
    if (pause->tv_nsec < LONGEST_PAUSE_NS)
        pause->tv_nsec *= 2;
}

/* ---- rank 0 ---------------------------------------------------------------------------------- */

struct answers {
    const struct ar_site *site;
    uint8_t *marks;       /* a byte a rank, of those that are recorded */
    uint64_t n_accounted; /* ranks on nodes that have answered, recorded or not */
    bool all_able;
    struct ar_bytes yes; /* the line that says so to all of them */
};

static uint32_t ranks_at(const struct ar_site *site)
{
    return site->local_size > site->n_ranks ? site->local_size : site->n_ranks;
}

static uint64_t answers_within_ns(const struct ar_site *site)
{
    uint64_t n_nodes = site->world_size / ranks_at(site);
    uint64_t within_ns = ANSWERS_WITHIN_NS + n_nodes * READ_WITHIN_NS;

    return within_ns < LONGEST_ANSWERS_NS ? within_ns : LONGEST_ANSWERS_NS;
}

static void take_answer(struct answers *a, uint32_t rank, const char *line)
{
    unsigned long long token;
    unsigned n_local, is_able;
    char ranks[RANKS_BYTES] = "", word[24];

    if (sscanf(line, "%llx %u %u %4095[0-9:;]", &token, &n_local, &is_able, ranks) < 3)
        return;
    a->all_able &= ar_site_read(ranks, rank, a->marks, a->site->world_size) && is_able == 1;
    a->marks[rank] = 1;
    a->n_accounted += n_local;
    ar_bytes_put(&a->yes, word, (size_t)snprintf(word, sizeof word, " %016llx", token));
}

static void hear(int directory, const char *name, uint32_t rank, void *context)
{
    struct answers *a = context;
    char beginning[32];

    if (rank >= a->site->world_size || a->marks[rank])
        return;
    snprintf(beginning, sizeof beginning, "here %016llx ", (unsigned long long)notes.token);

    char *text = read_lines(directory, name);
    const char *line = text ? last_line(text, beginning) : NULL;

    if (line)
        take_answer(a, rank, line);
    free(text);
}

static uint32_t count_marks(const struct answers *a)
{
    uint32_t n = 0;

    for (uint32_t rank = 0; rank < a->site->world_size; rank++)
        n += a->marks[rank];
    return n;
}

/*
 * Until all nodes have answered. If two speak for the same rank, which we do not understand, there
 * are too few others.
 */
static bool hear_all(struct answers *a)
{
    uint64_t deadline_ns = ar_clock_ns(CLOCK_MONOTONIC) + answers_within_ns(a->site);
    struct timespec pause = {.tv_nsec = FIRST_PAUSE_NS};
    uint32_t world_size = a->site->world_size;

    while (a->n_accounted < world_size && ar_clock_ns(CLOCK_MONOTONIC) < deadline_ns) {
        each_leader(hear, a);
        if (a->n_accounted < world_size)
            pause_longer(&pause);
    }
    notes.n_known = count_marks(a);
    return a->all_able && a->n_accounted == world_size && notes.n_known == world_size &&
           ar_clock_ns(CLOCK_MONOTONIC) < deadline_ns;
}

/* A file system may say that it failed when others can read it already: what can be read holds. */
static bool say_yes(struct ar_bytes *line)
{
    ar_bytes_u8(line, '\n');
    if (line->bad || add_line(line->data, line->n))
        return !line->bad;

    int directory = open_directory();
    char *text = directory < 0 ? NULL : read_lines(directory, notes.own);
    bool is_there = text && last_line(text, "yes");

    free(text);
    if (directory >= 0)
        close(directory);
    return is_there;
}

static bool decide(const struct ar_site *site)
{
    struct answers a = {.site = site,
                        .marks = calloc(site->world_size, 1),
                        .n_accounted = ranks_at(site),
                        .all_able = site->is_able};
    char line[48];

    snprintf(line, sizeof line, AR_NOTE_MAGIC "\nopen %016llx\n", (unsigned long long)notes.token);
    for (uint32_t i = 0; a.marks && i < site->n_ranks; i++)
        a.marks[site->ranks[i]] = 1;
    ar_bytes_put(&a.yes, "yes", 3);

    bool is_yes = a.marks && begin_file(0, line) && hear_all(&a) && say_yes(&a.yes);

    ar_bytes_free(&a.yes);
    free(a.marks);
    return is_yes;
}

/* ---- the others ------------------------------------------------------------------------------ */

enum word { NOTHING_YET, IS_OPEN, IS_GONE, IS_YES };

static void look_for_rank_0(int directory, const char *name, uint32_t rank, void *context)
{
    (void)directory;
    if (rank != 0)
        return;
    snprintf(notes.rank_0, sizeof notes.rank_0, "%.63s", name);
    *(bool *)context = true;
}

static enum word word_in(const char *text, uint64_t *token)
{
    const char *open = last_line(text, "open "), *yes = last_line(text, "yes ");
    unsigned long long found;
    char own[24];

    snprintf(own, sizeof own, "%016llx", (unsigned long long)notes.token);
    if (yes && strstr(yes, own))
        return IS_YES;
    if (!open || sscanf(open, "%llx", &found) != 1)
        return NOTHING_YET;
    *token = found;
    return IS_OPEN;
}

/*
 * That a file cannot be read may have any reason: it is gone if it was listed once and is not any
 * more.
 */
static enum word read_rank_0(uint64_t *token)
{
    bool is_there = false;

    if (!*notes.rank_0)
        each_leader(look_for_rank_0, &is_there);
    if (!*notes.rank_0)
        return NOTHING_YET;

    int directory = open_directory();
    char *text = directory < 0 ? NULL : read_lines(directory, notes.rank_0);
    enum word word = text ? word_in(text, token) : NOTHING_YET;

    if (!text && each_leader(look_for_rank_0, &is_there) && !is_there)
        word = IS_GONE;
    free(text);
    if (directory >= 0)
        close(directory);
    return word;
}

/* How long to wait for what rank 0 says to it: if it will be no, only until it has been read. */
static uint64_t answer(const struct ar_site *site, uint64_t token)
{
    char ranks[RANKS_BYTES] = "", line[RANKS_BYTES + 96];
    bool is_able = ar_site_write(site, ranks, sizeof ranks) && site->is_able;
    int n =
        snprintf(line, sizeof line, "here %016llx %016llx %u %d %s\n", (unsigned long long)token,
                 (unsigned long long)notes.token, ranks_at(site), is_able, ranks);

    add_line(line, (size_t)n); /* if it is not there rank 0 will not say yes */
    return is_able ? PATIENCE_NS : answers_within_ns(site);
}

static bool follow(const struct ar_site *site)
{
    uint64_t deadline_ns = ar_clock_ns(CLOCK_MONOTONIC) + OPEN_WITHIN_NS, answered = 0, token = 0;
    struct timespec pause = {.tv_nsec = FIRST_PAUSE_NS};

    if (!begin_file(site->ranks[0], AR_NOTE_MAGIC "\n"))
        return false;
    while (ar_clock_ns(CLOCK_MONOTONIC) < deadline_ns) {
        enum word word = read_rank_0(&token);

        if (word == IS_YES || word == IS_GONE)
            return word == IS_YES;
        if (word == IS_OPEN && token != answered) {
            deadline_ns = ar_clock_ns(CLOCK_MONOTONIC) + answer(site, token);
            answered = token;
            pause.tv_nsec = FIRST_PAUSE_NS;
        }
        pause_longer(&pause);
    }
    return false;
}

/* ---- all ------------------------------------------------------------------------------------- */

/*
 * Slurm gives a job that it runs again the number it had, and two clusters may have the same
 * numbers.
 */
static uint64_t name_of_job(uint64_t job)
{
    static const char *const variables[] = {"SLURM_CLUSTER_NAME", "SLURM_RESTART_COUNT"};

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);

        job = ar_mix64(job ^ (value ? ar_hash_bytes(value, strlen(value)) : i));
    }
    return job;
}

static uint64_t make_token(const struct ar_site *site)
{
    uint64_t facts[] = {ar_clock_ns(CLOCK_REALTIME), ar_clock_ns(CLOCK_MONOTONIC),
                        (uint64_t)getpid(), site->ranks[0]};

    return ar_hash_bytes(facts, sizeof facts) | 1;
}

bool ar_notefiles_agree(const struct ar_site *site)
{
    notes.first = site->ranks[0];
    if (!*site->beside || !site->job ||
        !ar_live_name_meeting(notes.directory, sizeof notes.directory, site->beside,
                              name_of_job(site->job)))
        return false;
    notes.kept_in = site->kept_in;
    notes.token = make_token(site);

    bool is_yes = site->ranks[0] == 0 ? decide(site) : follow(site);

    if (!is_yes)
        ar_notefiles_leave();
    return is_yes;
}

void ar_notefiles_leave(void)
{
    int directory = *notes.own ? open_directory() : -1;

    if (directory < 0)
        return;
    unlinkat(directory, notes.own, 0);
    close(directory);
    rmdir(notes.directory);
    notes.own[0] = '\0';
}

uint32_t ar_notefiles_first(void)
{
    return notes.first;
}

uint32_t ar_notefiles_known(void)
{
    return notes.n_known;
}

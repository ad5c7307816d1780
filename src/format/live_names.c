// SPDX-License-Identifier: BSD-3-Clause
#include "format/live_names.h"

#include "base/idmap.h"
#include "base/text.h"
#include "format/livefile.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUN_ENDING ".allranks"
#define HOME "allranks-"
#define MEETING ".allranks-"
#define RANKS_LOCK "ranks.lock"
#define VERDICT "verdict-"
#define LEADER "leader-"
#define LAUNCHER "launcher"
#define SPAWNED "-spawned"
#define LONGEST_CALLED 40

/* Behind PROCESS. */
static const struct {
    const char *ending;
    enum ar_live_name_kind kind;
} endings[] = {
    {AR_LIVE_ENDING, AR_NAME_LIVE},
    {RUN_ENDING, AR_NAME_RUN},
    {AR_LIVE_ENDING ".verdict", AR_NAME_PROPOSAL},
    {".lock", AR_NAME_LOCK},
    {".unrecorded", AR_NAME_UNRECORDED},
    {".spawns", AR_NAME_SPAWNS},
    {AR_LIVE_ENDING AR_PART_ENDING, AR_NAME_PART},
    {RUN_ENDING AR_PART_ENDING, AR_NAME_PART},
};
#define N_ENDINGS (sizeof endings / sizeof *endings)

/* ---- printing ---------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static bool print(char *out, size_t n_out, const char *fmt,
                                                        ...)
{
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(out, n_out, fmt, ap);
    va_end(ap);
    return n >= 0 && (size_t)n < n_out;
}

const char *ar_live_place(unsigned number)
{
    const char *chosen = getenv("TMPDIR");

    if (number == 0)
        return "/dev/shm";
    if (number == 2)
        return "/tmp";
    /* a relative path would be another one after chdir, and in children */
    return chosen && chosen[0] == '/' && strcmp(chosen, "/tmp") != 0 ? chosen : NULL;
}

bool ar_live_name_home(char *path, size_t n_path, const char *place)
{
    return print(path, n_path, "%s/" HOME "%u", place, (unsigned)geteuid());
}

bool ar_live_name_job_of_process(char *name, size_t n_name, uint32_t pid, uint64_t start)
{
    return print(name, n_name, "pid%u-%llu", pid, (unsigned long long)start);
}

static bool clean(char *name, bool fits)
{
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '-' && *name != '.')
            *name = '_';
    return fits;
}

/* What tells jobs apart may stand at the end of a long name. */
bool ar_live_name_job_called(char *name, size_t n_name, const char *called)
{
    size_t n = strlen(called);

    if (n > LONGEST_CALLED)
        return print(name, n_name, "job-%016llx", (unsigned long long)ar_hash_bytes(called, n));
    return clean(name, print(name, n_name, "job%s", called));
}

bool ar_live_name_job_of_slurm(char *name, size_t n_name, const char *job, const char *step)
{
    return clean(name, print(name, n_name, "slurm%.24s.%.24s", job, step));
}

bool ar_live_name_job_of_launcher(char *name, size_t n_name, uint32_t pid, uint64_t start,
                                  bool is_spawned)
{
    return print(name, n_name, LAUNCHER "%u-%llu%s", pid, (unsigned long long)start,
                 is_spawned ? SPAWNED : "");
}

bool ar_live_name_meeting(char *path, size_t n_path, const char *beside, uint64_t job)
{
    return print(path, n_path, "%s/" MEETING "%016llx", beside, (unsigned long long)job);
}

bool ar_live_name_stem(char *name, size_t n_name, uint32_t rank, uint32_t pid, uint64_t start)
{
    if (rank == AR_RANK_NONE)
        return print(name, n_name, "p%u-%llu", pid, (unsigned long long)start);
    return print(name, n_name, "r%u-p%u-%llu", rank, pid, (unsigned long long)start);
}

bool ar_live_name_child(char *name, size_t n_name, const char *stem, uint32_t pid, uint64_t start)
{
    return print(name, n_name, "%s.c%u-%llu", stem, pid, (unsigned long long)start);
}

static const char *ending_of(enum ar_live_name_kind kind)
{
    size_t i = 0;

    while (i + 1 < N_ENDINGS && endings[i].kind != kind)
        i++;
    return endings[i].ending;
}

bool ar_live_name_file(char *path, size_t n_path, const char *process, enum ar_live_name_kind kind)
{
    return print(path, n_path, "%s%s", process, ending_of(kind));
}

static int n_process(const char *live_path)
{
    return (int)strlen(live_path) - (int)strlen(AR_LIVE_ENDING);
}

bool ar_live_name_beside(char *path, size_t n_path, const char *live_path,
                         enum ar_live_name_kind kind)
{
    return print(path, n_path, "%.*s%s", n_process(live_path), live_path, ending_of(kind));
}

bool ar_live_name_process(char *path, size_t n_path, const char *live_path)
{
    return print(path, n_path, "%.*s", n_process(live_path), live_path);
}

bool ar_live_name_again(char *path, size_t n_path, const char *live_path, int n)
{
    return print(path, n_path, "%.*s-%d" AR_LIVE_ENDING, n_process(live_path), live_path, n);
}

bool ar_live_name_verdict(char *path, size_t n_path, const char *job_dir, uint32_t pid,
                          uint64_t start)
{
    return print(path, n_path, "%s/" VERDICT "%u-%llu", job_dir, pid, (unsigned long long)start);
}

bool ar_live_name_ranks_lock(char *path, size_t n_path, const char *job_dir)
{
    return print(path, n_path, "%s/" RANKS_LOCK, job_dir);
}

bool ar_live_name_leader(char *name, size_t n_name, uint32_t rank, uint32_t kept_in)
{
    return print(name, n_name, LEADER "%u-%08x", rank, kept_in);
}

bool ar_live_name_part(char *part, size_t n_part, const char *path, uint32_t pid, uint64_t real_ns)
{
    return print(part, n_part, "%s.%u-%llx" AR_PART_ENDING, path, pid, (unsigned long long)real_ns);
}

/* ---- parsing ----------------------------------------------------------------------------------- */

/* Each of these steps over what it has found; false: it is something else. */

static bool skip(const char **at, const char *text)
{
    if (!ar_starts_with(*at, text))
        return false;
    *at += strlen(text);
    return true;
}

static bool read_number(const char **at, uint64_t most, uint64_t *number)
{
    const char *first = *at;

    for (*number = 0; **at >= '0' && **at <= '9'; ++*at) {
        uint64_t digit = (uint64_t)(**at - '0');

        if (*number > (most - digit) / 10)
            return false;
        *number = *number * 10 + digit;
    }
    return *at > first;
}

static bool read_u32(const char **at, uint32_t *number)
{
    uint64_t wide;
    bool is_number = read_number(at, UINT32_MAX, &wide);

    *number = (uint32_t)wide;
    return is_number;
}

/* "100-7": a process and when it was started. */
static bool read_pid(const char **at, uint32_t *pid, uint64_t *start)
{
    return read_u32(at, pid) && skip(at, "-") && read_number(at, UINT64_MAX, start);
}

/* Lower case, as we print them; returns how many. */
static size_t skip_hex(const char **at, uint64_t *number)
{
    const char *first = *at;

    for (*number = 0; **at && strchr("0123456789abcdef", **at); ++*at)
        *number = *number << 4 | (uint64_t)(**at <= '9' ? **at - '0' : **at - 'a' + 10);
    return (size_t)(*at - first);
}

/* "-2", where the name was taken; or nothing. */
static bool skip_again(const char **at)
{
    uint64_t n;

    return **at != '-' || (skip(at, "-") && read_number(at, UINT64_MAX, &n));
}

static bool read_stem(const char **at, struct ar_live_name *out)
{
    const char *first = *at;

    if (skip(at, "r") && !(read_u32(at, &out->rank) && skip(at, "-")))
        return false;
    if (!skip(at, "p") || !read_pid(at, &out->root_pid, &out->root_start))
        return false;
    out->pid = out->root_pid;
    out->start = out->root_start;
    out->n_stem = (size_t)(*at - first);
    return true;
}

static bool read_process(const char **at, struct ar_live_name *out)
{
    if (!read_stem(at, out) || !skip_again(at))
        return false;
    while (skip(at, ".c")) {
        out->is_child = true;
        if (!read_pid(at, &out->pid, &out->start) || !skip_again(at))
            return false;
    }
    return true;
}

/* ".77-18a9f….part" */
static bool is_part(const char *at, uint32_t *pid, bool *is_certain)
{
    uint64_t ns;
    size_t n_hex = skip(&at, ".") && read_u32(&at, pid) && skip(&at, "-") ? skip_hex(&at, &ns) : 0;

    *is_certain = n_hex >= 12 && n_hex <= 16;
    return n_hex && strcmp(at, AR_PART_ENDING) == 0;
}

static enum ar_live_name_kind kind_of_ending(const char *ending)
{
    uint32_t pid;
    bool is_certain;

    for (size_t i = 0; i < N_ENDINGS; i++)
        if (strcmp(ending, endings[i].ending) == 0)
            return endings[i].kind;
    return skip(&ending, RUN_ENDING) && is_part(ending, &pid, &is_certain) ? AR_NAME_PART
                                                                           : AR_NAME_OTHER;
}

static enum ar_live_name_kind parse_other(const char *name, struct ar_live_name *out)
{
    uint64_t hash;

    if (strcmp(name, RANKS_LOCK) == 0)
        return AR_NAME_RANKS_LOCK;
    if (skip(&name, VERDICT) && read_pid(&name, &out->pid, &out->start) && !*name)
        return AR_NAME_VERDICT;
    if (skip(&name, LEADER) && read_u32(&name, &out->rank) && skip(&name, "-") &&
        skip_hex(&name, &hash) == 8 && !*name) {
        out->kept_in = (uint32_t)hash;
        return AR_NAME_LEADER;
    }
    return AR_NAME_OTHER;
}

bool ar_live_name_parse(const char *name, struct ar_live_name *out)
{
    const char *at = name;

    *out = (struct ar_live_name){.rank = AR_RANK_NONE};
    if (read_process(&at, out)) {
        out->kind = kind_of_ending(at);
    } else {
        *out = (struct ar_live_name){.rank = AR_RANK_NONE};
        out->kind = parse_other(name, out);
    }
    return out->kind != AR_NAME_OTHER;
}

/* It comes from the environment, where anything may stand. */
bool ar_live_name_parse_stem(const char *path, struct ar_live_name *out)
{
    const char *at = ar_base_name(path), *first = at;
    char again[64];

    *out = (struct ar_live_name){.rank = AR_RANK_NONE};
    return read_stem(&at, out) && !*at &&
           ar_live_name_stem(again, sizeof again, out->rank, out->root_pid, out->root_start) &&
           strcmp(again, first) == 0;
}

bool ar_live_name_parse_part(const char *name, uint32_t *pid, bool *is_certain)
{
    for (; (name = strchr(name, '.')); name++)
        if (is_part(name, pid, is_certain))
            return true;
    return false;
}

bool ar_live_name_is_of_rank(const char *process)
{
    const char *at = ar_base_name(process);
    struct ar_live_name name = {.rank = AR_RANK_NONE};

    return read_process(&at, &name) && name.rank != AR_RANK_NONE;
}

/* ---- questions --------------------------------------------------------------------------------- */

bool ar_live_name_is_home(const char *path)
{
    const char *at = ar_base_name(path);
    uint32_t user;

    return skip(&at, HOME) && read_u32(&at, &user) && !*at && user == (uint32_t)geteuid();
}

bool ar_live_name_is_job(const char *name)
{
    const char *at = name;
    uint64_t start;
    uint32_t pid;

    if (skip(&at, "pid"))
        return read_pid(&at, &pid, &start) && !*at;
    if (skip(&at, LAUNCHER))
        return read_pid(&at, &pid, &start) && (!*at || strcmp(at, SPAWNED) == 0);
    return skip(&at, "slurm") && read_number(&at, UINT64_MAX, &start) && skip(&at, ".") &&
           read_number(&at, UINT64_MAX, &start) && !*at;
}

bool ar_live_name_is_job_of_launcher(const char *name)
{
    return ar_starts_with(name, LAUNCHER);
}

bool ar_live_name_is_meeting(const char *name)
{
    uint64_t job;

    return skip(&name, MEETING) && skip_hex(&name, &job) == 16 && !*name;
}

bool ar_live_name_is_live(const char *name)
{
    return ar_ends_with(name, AR_LIVE_ENDING);
}

bool ar_live_name_is_run(const char *name)
{
    return ar_ends_with(name, RUN_ENDING);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/rollcall.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/idmap.h"
#include "base/limits.h"
#include "base/process.h"
#include "base/text.h"
#include "format/live_names.h"
#include "format/livefile.h"
#include "format/note.h"
#include "runtime/keep.h"
#include "runtime/livemap.h"
#include "runtime/output.h"
#include "runtime/sites.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VOTES_WITHIN_NS ((uint64_t)20 * 1000000000u)
#define STARTED_WITHIN_NS ((uint64_t)10 * 1000000000u) /* the ranks of a job, of each other */
#define VERDICT_WITHIN_NS ((uint64_t)2 * 1000000000u)
#define NEIGHBOURS_WITHIN_NS ((uint64_t)3 * 1000000000u)
#define LEADER_WITHIN_NS ((uint64_t)150 * 1000000000u) /* it has limits of its own, all shorter */

struct member {
    char *path;
    uint32_t pid;
    uint64_t pid_start;
    bool same_host;
};

static struct {
    struct member *members; /* by rank */
    uint32_t n_ranks;
    bool ambiguous;
    uint64_t since_ns; /* who wrote after this may have ended; 0: none may */
    uint32_t first,
        n_known; /* as far as nodes have found each other; AR_RANK_NONE and 0: not known */
    char verdict[AR_PATH_BYTES + 64];
} roll;

static bool read_header(const char *path, struct ar_live_header *header)
{
    return ar_file_is_own(path) && ar_live_read_header(path, header) &&
           header->version == AR_LIVE_VERSION;
}

/*
 * Left-overs of a dead job that had the same name do not count: their processes are gone. Two
 * living files of one rank mean that we do not understand what is going on.
 */
static void note_member(const struct ar_identity *identity, const char *name)
{
    char path[AR_PATH_BYTES + 256];
    struct ar_live_header header;

    snprintf(path, sizeof path, "%s/%s", identity->job_dir, name);
    if (!read_header(path, &header) || header.is_child || header.world_rank >= roll.n_ranks)
        return;

    bool same_host = strncmp(header.host, identity->host, sizeof header.host) == 0;
    struct member *member = &roll.members[header.world_rank];

    if (same_host && ar_process_start(header.pid) != header.pid_start &&
        !(roll.since_ns && header.latest.real_ns >= roll.since_ns))
        return;
    if (member->path)
        roll.ambiguous = true;
    else
        *member = (struct member){strdup(path), header.pid, header.pid_start, same_host};
}

static bool all_present(const struct ar_identity *identity)
{
    DIR *dir = opendir(identity->job_dir);

    if (!dir)
        return false;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (ar_live_name_is_live(entry->d_name))
            note_member(identity, entry->d_name);
    closedir(dir);
    for (uint32_t rank = 0; rank < roll.n_ranks; rank++)
        if (!roll.members[rank].path)
            return false;
    return true;
}

/* One that is neither `none_yet` nor nothing; AR_VOTE_NO where none comes. */
static uint32_t vote_of(const struct member *member, uint32_t none_yet, uint64_t deadline_ns)
{
    struct timespec short_while = {.tv_nsec = 500000};
    struct ar_live_header header;

    while (read_header(member->path, &header)) {
        if (header.vote != AR_VOTE_NONE && header.vote != none_yet)
            return header.vote;
        if (ar_clock_ns(CLOCK_MONOTONIC) > deadline_ns ||
            (member->same_host && !ar_process_runs(member->pid, member->pid_start)))
            return AR_VOTE_NO;
        nanosleep(&short_while, NULL);
    }
    return AR_VOTE_NO;
}

/* All that were found. */
static bool all_vote(uint32_t vote, uint64_t within_ns)
{
    uint64_t deadline_ns = ar_clock_ns(CLOCK_MONOTONIC) + within_ns;

    for (uint32_t rank = 0; rank < roll.n_ranks; rank++)
        if (roll.members[rank].path &&
            vote_of(&roll.members[rank], AR_VOTE_NONE, deadline_ns) != vote)
            return false;
    return true;
}

#define VERDICT_BYTES (AR_NOTE_MAGIC_BYTES + 1)

/* 0: there is none. Anything else in its place is no yes. */
static char read_verdict(const char *path)
{
    char note[VERDICT_BYTES];
    int fd = ar_file_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, NULL);

    if (fd < 0)
        return errno == EINVAL ? 'n' : 0;

    bool is_whole = read(fd, note, sizeof note) == (ssize_t)sizeof note &&
                    memcmp(note, AR_NOTE_MAGIC, AR_NOTE_MAGIC_BYTES) == 0;

    close(fd);
    return is_whole ? note[AR_NOTE_MAGIC_BYTES] : 'n';
}

/* false: nothing can be written here. */
static bool post_verdict(const struct ar_identity *identity, char word)
{
    char own[AR_PATH_BYTES + 64], note[VERDICT_BYTES] = AR_NOTE_MAGIC;
    bool posted = false;

    note[AR_NOTE_MAGIC_BYTES] = word;
    ar_live_name_beside(own, sizeof own, identity->live_path, AR_NAME_PROPOSAL);
    int fd = ar_file_may_have(sizeof note)
                 ? open(own, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)
                 : -1;

    if (fd >= 0) {
        posted = write(fd, note, sizeof note) == (ssize_t)sizeof note &&
                 (link(own, roll.verdict) == 0 || errno == EEXIST);
        close(fd);
        unlink(own);
    }
    return posted;
}

/*
 * Named after rank 0's process, whom all who get here have found. Whole when it appears: a link,
 * which fails where the name exists; whether it is ours or another's, the one that is there holds.
 * Who cannot write waits a little for those who can: an answer of its own might differ from theirs.
 */
static bool agree(const struct ar_identity *identity, bool proposal)
{
    uint64_t deadline_ns = ar_clock_ns(CLOCK_MONOTONIC) + VERDICT_WITHIN_NS;
    struct timespec short_while = {.tv_nsec = 500000};
    char verdict;

    ar_live_name_verdict(roll.verdict, sizeof roll.verdict, identity->job_dir, roll.members[0].pid,
                         roll.members[0].pid_start);
    bool posted = post_verdict(identity, proposal ? 'y' : 'n');

    while (!(verdict = read_verdict(roll.verdict)) && !posted &&
           ar_clock_ns(CLOCK_MONOTONIC) < deadline_ns)
        nanosleep(&short_while, NULL);
    return verdict == 'y';
}

/* ---- where not all share the directory ------------------------------------------------------- */

static uint32_t list_found(uint32_t *ranks)
{
    uint32_t n = 0;

    for (uint32_t rank = 0; rank < roll.n_ranks; rank++)
        if (roll.members[rank].path)
            ranks[n++] = rank;
    return n;
}

static uint32_t short_hash(const char *text)
{
    return *text ? (uint32_t)ar_hash_bytes(text, strlen(text)) | 1 : 0;
}

static bool lead(const struct ar_identity *identity, const struct ar_mpi_link *link,
                 const uint32_t *ranks, uint32_t n_ranks)
{
    char beside[AR_PATH_BYTES];
    struct ar_site site = {.ranks = ranks,
                           .n_ranks = n_ranks,
                           .world_size = roll.n_ranks,
                           .local_size = identity->local_size,
                           .job = ar_identity_common_job(identity),
                           .is_able = n_ranks >= identity->local_size &&
                                      all_vote(AR_VOTE_HERE, NEIGHBOURS_WITHIN_NS),
                           .beside = beside,
                           .kept_in = short_hash(ar_keep_directory())};

    ar_output_directory(identity, beside);

    bool is_yes = ar_sites_agree(link, &site);

    roll.first = ar_sites_first(&site);
    roll.n_known = ar_sites_known();
    return is_yes;
}

/* The leader's word is in its file, and then in the files of all: not every one need see the same lowest. */
static bool agree_across_sites(const struct ar_identity *identity, const struct ar_mpi_link *link,
                               uint32_t world_rank)
{
    uint32_t *ranks = calloc(roll.n_ranks, sizeof *ranks);
    uint32_t n_ranks = ranks ? list_found(ranks) : 0;
    bool is_yes = false;

    ar_livemap_vote(n_ranks ? AR_VOTE_HERE : AR_VOTE_NO);
    if (n_ranks && ranks[0] == world_rank)
        is_yes = lead(identity, link, ranks, n_ranks);
    else if (n_ranks)
        is_yes = vote_of(&roll.members[ranks[0]], AR_VOTE_HERE,
                         ar_clock_ns(CLOCK_MONOTONIC) + LEADER_WITHIN_NS) == AR_VOTE_ALL;
    ar_livemap_vote(is_yes ? AR_VOTE_ALL : AR_VOTE_NO);
    free(ranks);
    return is_yes;
}

bool ar_rollcall(const struct ar_identity *identity, const struct ar_mpi_link *link,
                 uint32_t world_rank, uint32_t world_size)
{
    roll.n_ranks = world_size;
    roll.first = AR_RANK_NONE;
    roll.members = calloc(world_size, sizeof *roll.members);

    bool is_able = roll.members && world_rank < world_size;
    bool found = is_able && all_present(identity);

    if (is_able && !found && !roll.ambiguous && identity->local_size < world_size)
        return agree_across_sites(identity, link, world_rank);
    found = found && !roll.ambiguous;
    ar_livemap_vote(found ? AR_VOTE_YES : AR_VOTE_NO);
    return found && agree(identity, all_vote(AR_VOTE_YES, VOTES_WITHIN_NS));
}

/*
 * Of the process that was started: what it has become by exec began later than other ranks may have
 * ended.
 */
static uint64_t began_ns(const struct ar_identity *identity)
{
    char path[AR_PATH_BYTES];
    struct ar_live_header header;

    ar_live_name_file(path, sizeof path, identity->stem, AR_NAME_LIVE);
    return read_header(path, &header) ? header.start.real_ns : 0;
}

static void forget_members(void)
{
    for (uint32_t rank = 0; roll.members && rank < roll.n_ranks; rank++)
        free(roll.members[rank].path);
    free(roll.members);
    roll.members = NULL;
}

uint32_t ar_rollcall_at_end(const struct ar_identity *identity, uint32_t world_size)
{
    uint64_t began = began_ns(identity);

    if (began < STARTED_WITHIN_NS)
        return 0;
    forget_members();
    roll.n_ranks = world_size;
    roll.ambiguous = false;
    roll.first = AR_RANK_NONE;
    roll.since_ns = began - STARTED_WITHIN_NS;
    roll.members = calloc(world_size, sizeof *roll.members);

    bool found = roll.members && all_present(identity);
    uint32_t n_found = roll.ambiguous ? 0 : ar_rollcall_found();

    if (!found || roll.ambiguous)
        forget_members();
    return n_found;
}

void ar_rollcall_leave(void)
{
    if (*roll.verdict)
        unlink(roll.verdict);
}

uint32_t ar_rollcall_first(void)
{
    for (uint32_t rank = 0; roll.members && rank < roll.n_ranks; rank++)
        if (roll.members[rank].path)
            return rank;
    return 0;
}

uint32_t ar_rollcall_first_known(void)
{
    return roll.n_ranks && roll.first < ar_rollcall_first() ? roll.first : ar_rollcall_first();
}

uint32_t ar_rollcall_known(void)
{
    return roll.n_known;
}

uint32_t ar_rollcall_found(void)
{
    uint32_t n = 0;

    for (uint32_t rank = 0; roll.members && rank < roll.n_ranks; rank++)
        n += roll.members[rank].path != NULL;
    return n;
}

const char *ar_rollcall_path(uint32_t rank)
{
    return roll.members[rank].path;
}

bool ar_rollcall_is_one_site(void)
{
    return ar_rollcall_found() == roll.n_ranks;
}

static bool is_running(const struct member *member, const struct ar_live_header *header)
{
    return header->state == AR_LIVE_RUNNING &&
           (!member->same_host || ar_process_runs(header->pid, header->pid_start));
}

static bool is_of_what_it_became(const char *file, const char *own_file)
{
    struct ar_live_name name, own;

    return ar_live_name_parse(file, &name) && ar_live_name_parse(own_file, &own) &&
           name.kind == AR_NAME_LIVE && name.is_child && name.rank == own.rank &&
           name.root_pid == own.root_pid && name.root_start == own.root_start &&
           name.pid == own.pid && name.start == own.start;
}

/* By what it has become by exec, which has another file: "r3-p100-7.c100-7.live". */
static bool is_continued(const struct member *member)
{
    const char *name = strrchr(member->path, '/') + 1;
    char directory[AR_PATH_BYTES], path[AR_PATH_BYTES + 256];
    struct ar_live_header header;
    bool runs = false;

    snprintf(directory, sizeof directory, "%.*s", (int)(name - member->path), member->path);

    DIR *dir = opendir(directory);

    for (struct dirent *entry; dir && !runs && (entry = readdir(dir));) {
        snprintf(path, sizeof path, "%s%s", directory, entry->d_name);
        runs = is_of_what_it_became(entry->d_name, name) && read_header(path, &header) &&
               is_running(member, &header);
    }
    if (dir)
        closedir(dir);
    return runs;
}

static bool has_ended(const struct member *member)
{
    struct ar_live_header header;

    return !read_header(member->path, &header) || header.state == AR_LIVE_FINISHED ||
           (header.state == AR_LIVE_REPLACED && !is_continued(member)) ||
           (member->same_host && !ar_process_runs(member->pid, member->pid_start));
}

bool ar_rollcall_others_ended(uint32_t own_rank)
{
    for (uint32_t rank = 0; rank < roll.n_ranks; rank++)
        if (rank != own_rank && roll.members[rank].path && !has_ended(&roll.members[rank]))
            return false;
    return true;
}

bool ar_rollcall_alive(uint32_t rank)
{
    if (!roll.members || rank >= roll.n_ranks)
        return false;
    return !roll.members[rank].same_host ||
           ar_process_runs(roll.members[rank].pid, roll.members[rank].pid_start);
}

bool ar_rollcall_same_host(uint32_t rank)
{
    return roll.members && rank < roll.n_ranks && roll.members[rank].same_host;
}

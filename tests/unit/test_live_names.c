// SPDX-License-Identifier: BSD-3-Clause
#include "format/live_names.h"

#include "format/livefile.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const kinds[] = {
    [AR_NAME_OTHER] = "other",     [AR_NAME_LIVE] = "live",
    [AR_NAME_RUN] = "run",         [AR_NAME_PROPOSAL] = "proposal",
    [AR_NAME_LOCK] = "lock",       [AR_NAME_UNRECORDED] = "unrecorded",
    [AR_NAME_SPAWNS] = "spawns",   [AR_NAME_PART] = "part",
    [AR_NAME_VERDICT] = "verdict", [AR_NAME_RANKS_LOCK] = "ranks_lock",
    [AR_NAME_LEADER] = "leader",
};

struct line {
    char name[128], kind[16], rank[16];
    unsigned root_pid, pid;
    unsigned long long start;
};

static void test_line(const struct line *line)
{
    uint32_t rank = line->rank[0] == '-' ? AR_RANK_NONE : (uint32_t)strtoul(line->rank, NULL, 10);
    struct ar_live_name name;
    bool is_ours = ar_live_name_parse(line->name, &name);

    tap_ok(strcmp(kinds[name.kind], line->kind) == 0, "%s: %s", line->name, line->kind);
    tap_ok(is_ours == (name.kind != AR_NAME_OTHER), "and it is said so");
    if (is_ours)
        tap_ok(name.rank == rank && name.root_pid == line->root_pid && name.pid == line->pid &&
                   name.start == line->start,
               "and of which process it is");
}

/* The same list as that of tests/e2e/test_live_names.py. */
static void test_list(const char *path)
{
    FILE *list = fopen(path, "re");
    char text[256];
    size_t n = 0;

    while (list && fgets(text, sizeof text, list)) {
        struct line line = {.rank = "-"};

        if (text[0] == '#' || sscanf(text, "%127s %15s %15s %u %u %llu", line.name, line.kind,
                                     line.rank, &line.root_pid, &line.pid, &line.start) < 2)
            continue;
        test_line(&line);
        n++;
    }
    tap_ok(n > 50, "%s: names", path);
    if (list)
        fclose(list);
}

static bool is_parsed(const char *printed, enum ar_live_name_kind kind, uint32_t pid)
{
    const char *slash = strrchr(printed, '/');
    struct ar_live_name name;

    return ar_live_name_parse(slash ? slash + 1 : printed, &name) && name.kind == kind &&
           name.pid == pid;
}

static void test_files(void)
{
    static const enum ar_live_name_kind of_processes[] = {AR_NAME_LIVE,       AR_NAME_RUN,
                                                          AR_NAME_PROPOSAL,   AR_NAME_LOCK,
                                                          AR_NAME_UNRECORDED, AR_NAME_SPAWNS};
    char stem[64], child[64], path[128], live[128];

    ar_live_name_stem(stem, sizeof stem, 3, 100, 7);
    ar_live_name_child(child, sizeof child, stem, 101, 9);
    ar_live_name_file(live, sizeof live, child, AR_NAME_LIVE);
    for (size_t i = 0; i < sizeof of_processes / sizeof *of_processes; i++) {
        ar_live_name_file(path, sizeof path, stem, of_processes[i]);
        tap_ok(is_parsed(path, of_processes[i], 100), "%s is found again", path);
        ar_live_name_beside(path, sizeof path, live, of_processes[i]);
        tap_ok(is_parsed(path, of_processes[i], 101), "%s is found again", path);
    }
    ar_live_name_process(path, sizeof path, live);
    tap_ok(strcmp(path, child) == 0, "a live file without its ending is its process");
    ar_live_name_again(path, sizeof path, live, 2);
    tap_ok(is_parsed(path, AR_NAME_LIVE, 101), "%s is found again", path);
    ar_live_name_verdict(path, sizeof path, "/a/job", 100, 7);
    tap_ok(is_parsed(path, AR_NAME_VERDICT, 100), "%s is found again", path);
    ar_live_name_ranks_lock(path, sizeof path, "/a/job");
    tap_ok(is_parsed(path, AR_NAME_RANKS_LOCK, 0), "%s is found again", path);
    ar_live_name_leader(path, sizeof path, 3, 0xabcd);
    tap_ok(is_parsed(path, AR_NAME_LEADER, 0), "%s is found again", path);
    ar_live_name_beside(path, sizeof path, live, AR_NAME_RUN);
    ar_live_name_part(stem, sizeof stem, path, 77, UINT64_C(0x18a9f00000000000));
    tap_ok(is_parsed(stem, AR_NAME_PART, 101), "%s is found again", stem);
    tap_ok(!ar_live_name_file(path, 10, child, AR_NAME_LIVE),
           "a name that does not fit is no name");
}

static void test_stems(void)
{
    static const char *const good[] = {"/a/r3-p100-7", "/a.c/p100-7"};
    static const char *const bad[] = {"/a/p100-7.live", "/a/r03-p100-7", "/a/p0100-7", "/a/p100-7 ",
                                      "/a/p100-7-2",    "/a/p-1-7",      "/a/",        "/p100"};
    struct ar_live_name name;

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        tap_ok(ar_live_name_parse_stem(good[i], &name) && name.root_pid == 100 &&
                   name.root_start == 7 && name.rank == (i ? AR_RANK_NONE : 3),
               "%s is the name of a recording", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        tap_ok(!ar_live_name_parse_stem(bad[i], &name), "%s is none", bad[i]);
    tap_ok(ar_live_name_is_of_rank("/a/r3-p100-7") && ar_live_name_is_of_rank("/a/r3-p100-7-2"),
           "it tells a rank's, also where the name was taken");
    tap_ok(!ar_live_name_is_of_rank("/r3/p100-7") && !ar_live_name_is_of_rank("/a/results"),
           "from others");
}

static void test_parts(void)
{
    uint32_t pid;
    bool is_certain;

    tap_ok(ar_live_name_parse_part("heat.allranks.77-1f.part", &pid, &is_certain) && pid == 77 &&
               !is_certain,
           "a run file that is being written");
    tap_ok(ar_live_name_parse_part("a.1-2.77-18a9f0000000.part", &pid, &is_certain) && pid == 77 &&
               is_certain,
           "one that no other program makes");
    tap_ok(!ar_live_name_parse_part("heat.allranks.part", &pid, &is_certain) &&
               !ar_live_name_parse_part("heat.77-1f.part.gz", &pid, &is_certain),
           "others are not ours");
}

static void test_jobs(void)
{
    static const char *const others[] = {"job2f31",
                                         "pid100",
                                         "pid100-7x",
                                         "launcher90",
                                         "launcher90-5-spawn",
                                         "slurm17",
                                         "launcher90-5-spawned2",
                                         "slurm17.0.1",
                                         "results"};
    char name[64];

    ar_live_name_job_of_process(name, sizeof name, 100, 7);
    tap_ok(ar_live_name_is_job(name), "%s is a job", name);
    ar_live_name_job_of_slurm(name, sizeof name, "17", "0");
    tap_ok(ar_live_name_is_job(name) && !ar_live_name_is_job_of_launcher(name), "%s is", name);
    for (int is_spawned = 0; is_spawned < 2; is_spawned++) {
        ar_live_name_job_of_launcher(name, sizeof name, 90, 5, is_spawned);
        tap_ok(ar_live_name_is_job(name) && ar_live_name_is_job_of_launcher(name), "%s is", name);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        tap_ok(!ar_live_name_is_job(others[i]), "%s may be the user's", others[i]);
    ar_live_name_job_called(name, sizeof name, "prterun/node 1@2");
    tap_ok(strcmp(name, "jobprterun_node_1_2") == 0, "%s: a launcher's name becomes a file's",
           name);
    ar_live_name_job_called(name, sizeof name, "a name of more than forty characters is hashed");
    tap_ok(strlen(name) == strlen("job-0123456789abcdef"), "%s: a long one becomes short", name);
}

static void test_places(void)
{
    char path[128];

    setenv("TMPDIR", "/scratch", 1);
    tap_ok(strcmp(ar_live_place(1), "/scratch") == 0, "$TMPDIR is a place");
    setenv("TMPDIR", "scratch", 1);
    tap_ok(!ar_live_place(1), "unless it is another one after chdir");
    setenv("TMPDIR", "/tmp", 1);
    tap_ok(!ar_live_place(1) && strcmp(ar_live_place(2), "/tmp") == 0, "and none is there twice");
    ar_live_name_home(path, sizeof path, "/tmp");
    tap_ok(ar_live_name_is_home(path), "%s is a home", path);
    tap_ok(!ar_live_name_is_home("/tmp/allranks-") && !ar_live_name_is_home("/tmp/allranks-1x"),
           "others are not");
    ar_live_name_meeting(path, sizeof path, "/out", 0xab);
    tap_ok(ar_live_name_is_meeting(path + strlen("/out/")), "%s is a meeting place", path);
    tap_ok(!ar_live_name_is_meeting(".allranks-ab") && !ar_live_name_is_meeting(".allranks"),
           "others are not");
}

int main(int argc, char **argv)
{
    if (argc > 1)
        test_list(argv[1]);
    test_files();
    test_stems();
    test_parts();
    test_jobs();
    test_places();
    return tap_done();
}

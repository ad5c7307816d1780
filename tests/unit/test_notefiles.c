// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/notefiles.h"

#include "scratch.h"
#include "tap.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Leaders of up to three nodes, each a process: what each of them answers. */
struct leader {
    uint32_t ranks[2], n_ranks, local_size;
    bool is_able;
};

enum { NO, YES };

static const char *place;

static int answer_of(const struct leader *leader)
{
    struct ar_site site = {.ranks = leader->ranks,
                           .n_ranks = leader->n_ranks,
                           .world_size = 6,
                           .local_size = leader->local_size,
                           .job = 7,
                           .is_able = leader->is_able,
                           .beside = place,
                           .kept_in = 5};
    bool is_yes = ar_notefiles_agree(&site);

    if (is_yes)
        usleep(200000); /* as long as the communicator takes, at which all meet */
    ar_notefiles_leave();
    return (is_yes ? YES : NO) | (int)(ar_notefiles_first() << 1) |
           (int)(ar_notefiles_known() << 4);
}

/* The answers, each in three parts: yes or no, who speaks for it, of how many it knows. */
static void ask(const struct leader *leaders, int n, int *answers)
{
    pid_t pids[3];

    for (int i = 0; i < n; i++)
        if ((pids[i] = fork()) == 0)
            _exit(answer_of(&leaders[i]));
    for (int i = 0; i < n; i++) {
        waitpid(pids[i], &answers[i], 0);
        answers[i] = WEXITSTATUS(answers[i]);
    }
}

static bool all_say(const int *answers, int n, int what)
{
    for (int i = 0; i < n; i++)
        if ((answers[i] & 1) != what)
            return false;
    return true;
}

static bool nothing_is_left(void)
{
    return rmdir(place) == 0 && mkdir(place, 0700) == 0;
}

static const struct leader three[] = {
    {{0, 3}, 2, 2, true}, {{1, 4}, 2, 2, true}, {{2, 5}, 2, 2, true}};

static void test_all_are_recorded(void)
{
    int answers[3];

    ask(three, 3, answers);
    tap_ok(all_say(answers, 3, YES), "all say yes");
    tap_ok(answers[0] >> 4 == 6 && (answers[1] >> 1 & 7) == 0,
           "rank 0 knows all, and speaks for all");
    tap_ok(nothing_is_left(), "nothing is left");
}

static void test_one_is_not_able(void)
{
    struct leader leaders[] = {three[0], three[1], {{5}, 1, 2, false}};
    int answers[3];

    ask(leaders, 3, answers);
    tap_ok(all_say(answers, 3, NO) && answers[0] >> 4 == 5, "all say no, of five that are known");
    ask((const struct leader[]){{{0}, 1, 2, false}, three[1], three[2]}, 3, answers);
    tap_ok(all_say(answers, 3, NO) && answers[0] >> 4 == 5, "nor is rank 0's node");
    tap_ok(nothing_is_left(), "nothing is left");
}

static void test_a_rank_twice(void)
{
    struct leader leaders[] = {three[0], three[1], {{2, 4}, 2, 2, true}};
    int answers[3];

    ask(leaders, 3, answers);
    tap_ok(all_say(answers, 3, NO), "two nodes speak for the same rank");
}

static void test_rank_0_is_not_recorded(void)
{
    int answers[2];

    ask(three + 1, 2, answers);
    tap_ok(all_say(answers, 2, NO), "nobody waits for ever");
    tap_ok((answers[0] >> 1 & 7) == 1 && (answers[1] >> 1 & 7) == 1, "the lowest speaks for both");
    tap_ok(nothing_is_left(), "nothing is left");
}

/* The name of the directory that leaders make; NULL: there is none. */
static const char *their_directory(void)
{
    static char path[512];
    DIR *dir = opendir(place);
    bool found = false;

    for (const struct dirent *e; dir && !found && (e = readdir(dir));) {
        found = strncmp(e->d_name, ".allranks-", 10) == 0;
        snprintf(path, sizeof path, "%s/%s", place, e->d_name);
    }
    if (dir)
        closedir(dir);
    return found ? path : NULL;
}

/*
 * A leader that is killed while it waits leaves the directory; that is how the test knows its name.
 */
static void be_killed(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(answer_of(&three[1]));
    while (!their_directory())
        usleep(1000);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void leave_old(const char *name, const char *text)
{
    char path[640];

    snprintf(path, sizeof path, "%s/%s", their_directory(), name);
    scratch_write(path, text, strlen(text));
}

static void test_files_of_a_job_that_was_killed(void)
{
    int answers[3];

    be_killed();
    leave_old("leader-0-00000005", "open 0000000000000001\nyes 0000000000000003\n");
    leave_old("leader-2-00000005", "new\nhere 0000000000000001 0000000000000003 2 1 2:2:3;\n");
    ask(three, 2, answers);
    tap_ok(all_say(answers, 2, NO), "what rank 2 said then it does not say now");
    be_killed();
    leave_old("leader-0-00000005", "open 0000000000000001\nyes 0000000000000003\n");
    ask(three, 3, answers);
    tap_ok(all_say(answers, 3, YES) || all_say(answers, 3, NO), "all say the same");
    tap_ok(nothing_is_left(), "nothing is left");
}

static void test_no_such_place(void)
{
    int answers[1];

    place = "/proc/1";
    ask(three, 1, answers);
    tap_ok(all_say(answers, 1, NO), "where nothing can be written the answer is no");
}

int main(void)
{
    place = scratch_make();
    test_all_are_recorded();
    test_one_is_not_able();
    test_a_rank_twice();
    test_rank_0_is_not_recorded();
    test_files_of_a_job_that_was_killed();
    scratch_remove();
    test_no_such_place();
    return tap_done();
}

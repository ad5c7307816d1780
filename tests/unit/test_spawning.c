// SPDX-License-Identifier: BSD-3-Clause
/* Several threads of a process may be in MPI_Comm_spawn at once: the note is all of theirs. */
#include "runtime/spawning.h"

#include "scratch.h"
#include "tap.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static struct ar_identity identity;
static char note[AR_PATH_BYTES + 16];

static bool has_note(void)
{
    return access(note, F_OK) == 0;
}

static void begin(void)
{
    ar_spawning_begin(&identity, "/a/family");
}

static void test_one_inside_the_other(void)
{
    begin();
    tap_ok(has_note(), "a call leaves a note");
    begin();
    ar_spawning_end();
    tap_ok(has_note(), "which stays while another call is under way");
    ar_spawning_end();
    tap_ok(!has_note(), "and goes with the last");
    ar_spawning_end();
    begin();
    tap_ok(has_note(), "an end too many does no harm");
    ar_spawning_end();
}

static void test_without_children(void)
{
    ar_spawning_begin(&identity, NULL);
    tap_ok(!has_note(), "there is none where children are not recorded");
    ar_spawning_end();
}

static void test_fork(void)
{
    int status = -1;

    begin();
    ar_spawning_forking(AR_FORK_BEFORE);
    pid_t child = fork();

    if (child == 0) {
        ar_spawning_forking(AR_FORK_CHILD);
        ar_spawning_end();
        _exit(has_note() ? 0 : 1);
    }
    ar_spawning_forking(AR_FORK_PARENT);
    waitpid(child, &status, 0);
    tap_ok(status == 0 && has_note(), "a child leaves its parent's alone");
    ar_spawning_end();
    tap_ok(!has_note(), "the parent takes it away");
}

static void *spawn_often(void *context)
{
    (void)context;
    for (int i = 0; i < 200; i++) {
        begin();
        if (!has_note())
            return "missing";
        ar_spawning_end();
    }
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[4];
    void *wrong = NULL;

    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, spawn_often, NULL);
    for (int i = 0; i < 4; i++) {
        void *result = NULL;

        pthread_join(threads[i], &result);
        wrong = result ? result : wrong;
    }
    tap_ok(!wrong, "each of four threads finds the note in each of its calls");
    tap_ok(!has_note(), "and nothing is left");
}

int main(void)
{
    struct ar_identity place;
    struct ar_error err;

    scratch_make();
    if (!tap_ok(ar_identity_find(&identity, scratch_dir, &err) == AR_OK, "who we are"))
        return tap_done();
    place = identity;
    tap_ok(ar_identity_default_place(&place), "there is a default place");
    snprintf(note, sizeof note, "%s%s", place.job_dir, strrchr(identity.live_path, '/'));
    strcpy(strrchr(note, '.'), ".spawns");
    ar_identity_leave(&place);
    test_one_inside_the_other();
    test_without_children();
    test_fork();
    test_threads();
    ar_identity_leave(&identity);
    scratch_remove();
    return tap_done();
}

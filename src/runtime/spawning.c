// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/spawning.h"

#include "base/file.h"
#include "base/limits.h"
#include "format/live_names.h"
#include "format/note.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    uint32_t n_calls;         /* under way, in as many threads */
    struct ar_identity place; /* the same process, in the default live directory */
    char note[AR_PATH_BYTES]; /* "": there is none */
} spawning = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* As it is in OMPI_PARENT_PORT of those that it starts. */
static void name_in_job(char *name, size_t n_name)
{
    const char *job = getenv("PMIX_NAMESPACE"), *rank = getenv("PMIX_RANK");

    if (job && rank)
        snprintf(name, n_name, "%s.%s", job, rank);
    else
        snprintf(name, n_name, "-");
}

static bool write_note(const char *passed_on)
{
    char name[256];
    bool written = false;
    int fd = ar_file_open(AT_FDCWD, spawning.note, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, NULL);

    if (fd < 0)
        return false;
    name_in_job(name, sizeof name);
    if (ar_file_may_have(AR_NOTE_MAGIC_BYTES + strlen(name) + strlen(passed_on) + 2))
        written = dprintf(fd, AR_NOTE_MAGIC "\n%s\n%s", name, passed_on) > 0;
    close(fd);
    return written;
}

static void remove_note(void)
{
    if (!*spawning.note)
        return;
    unlink(spawning.note);
    ar_identity_leave(&spawning.place);
    spawning.note[0] = '\0';
}

static void leave_note(const struct ar_identity *identity, const char *passed_on)
{
    char name[AR_PATH_BYTES];

    spawning.place = *identity;
    if (!passed_on || !ar_identity_default_place(&spawning.place))
        return;
    ar_live_name_beside(name, sizeof name, strrchr(identity->live_path, '/'), AR_NAME_SPAWNS);
    snprintf(spawning.note, sizeof spawning.note, "%.3000s%.1000s", spawning.place.job_dir, name);
    if (!write_note(passed_on))
        remove_note();
}

void ar_spawning_begin(const struct ar_identity *identity, const char *passed_on)
{
    int saved_errno = errno;

    pthread_mutex_lock(&spawning.lock);
    if (spawning.n_calls++ == 0)
        leave_note(identity, passed_on);
    pthread_mutex_unlock(&spawning.lock);
    errno = saved_errno;
}

void ar_spawning_end(void)
{
    int saved_errno = errno;

    pthread_mutex_lock(&spawning.lock);
    if (spawning.n_calls && --spawning.n_calls == 0)
        remove_note();
    pthread_mutex_unlock(&spawning.lock);
    errno = saved_errno;
}

/* The calls under way are the parent's, and so is the note. */
void ar_spawning_forking(enum ar_fork_step step)
{
    if (step == AR_FORK_CHILD) {
        spawning.n_calls = 0;
        spawning.note[0] = '\0';
    }
    ar_fork_lock(&spawning.lock, step);
}

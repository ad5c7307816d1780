// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/spawning.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct ar_identity place; /* the same process, in the default live directory */
static char note[AR_PATH_BYTES];

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
    int fd = open(note, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return false;
    name_in_job(name, sizeof name);
    bool written = dprintf(fd, "%s\n%s", name, passed_on) > 0;

    close(fd);
    return written;
}

void ar_spawning_begin(const struct ar_identity *identity, const char *passed_on)
{
    int saved_errno = errno;

    place = *identity;
    if (passed_on && ar_identity_default_place(&place)) {
        const char *name = strrchr(identity->live_path, '/');

        snprintf(note, sizeof note, "%.3000s%.*s.spawns", place.job_dir,
                 (int)(strlen(name) - strlen(".live")), name);
        if (!write_note(passed_on))
            ar_spawning_end();
    }
    errno = saved_errno;
}

void ar_spawning_end(void)
{
    int saved_errno = errno;

    if (*note) {
        unlink(note);
        ar_identity_leave(&place);
    }
    note[0] = '\0';
    errno = saved_errno;
}

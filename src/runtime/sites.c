// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/sites.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND_NS UINT64_C(1000000000)
#define OPEN_WITHIN_NS (3 * SECOND_NS)
#define VERDICT_WITHIN_NS (3 * SECOND_NS) /* of "open" */
#define PATIENCE_NS (60 * SECOND_NS)      /* with the verdict */
#define FIRST_PAUSE_NS 200000
#define LONGEST_PAUSE_NS 20000000

#define YES "yes"
#define NO "no"

struct note {
    char name[64], value[AR_MPI_VALUE_BYTES];
};

static struct note written[2]; /* what this rank has left there */

/* ---- ranks as text --------------------------------------------------------------------------- */

/* How many ranks from the i-th on are equally far from each other. */
static uint32_t run_at(const struct ar_site *site, uint32_t i, uint32_t *stride)
{
    uint32_t n = 1;

    *stride = i + 1 < site->n_ranks ? site->ranks[i + 1] - site->ranks[i] : 1;
    while (i + n < site->n_ranks && site->ranks[i + n] - site->ranks[i + n - 1] == *stride)
        n++;
    return n;
}

bool ar_site_write(const struct ar_site *site, char *text, size_t n_text)
{
    size_t used = 0;

    for (uint32_t i = 0, n, stride; i < site->n_ranks; i += n) {
        n = run_at(site, i, &stride);
        used +=
            (size_t)snprintf(text + used, n_text - used, "%u:%u:%u;", site->ranks[i], n, stride);
        if (used >= n_text)
            return false;
    }
    return true;
}

bool ar_site_read(const char *text, uint32_t first, uint8_t *marks, uint32_t world_size)
{
    unsigned from, n, stride;
    int n_chars;

    for (bool is_first = true; *text; is_first = false, text += n_chars) {
        n_chars = 0;
        if (sscanf(text, "%u:%u:%u;%n", &from, &n, &stride, &n_chars) != 3 || n_chars == 0 ||
            stride == 0 || (is_first && from != first))
            return false;
        for (uint64_t rank = from; n; n--, rank += stride) {
            if (rank >= world_size)
                return false;
            marks[rank] = 1;
        }
    }
    return marks[first];
}

/* ---- notes ----------------------------------------------------------------------------------- */

static void name_note(struct note *note, uint64_t job, const char *what)
{
    snprintf(note->name, sizeof note->name, "allranks-%016llx-%s", (unsigned long long)job, what);
}

static void name_note_of(struct note *note, uint64_t job, uint32_t rank)
{
    char number[16];

    snprintf(number, sizeof number, "%u", rank);
    name_note(note, job, number);
}

static bool leave_note(const struct ar_mpi_link *link, struct note *note, const char *value)
{
    snprintf(note->value, sizeof note->value, "%s", value);
    return link->publish(note->name, note->value);
}

static void take_back(const struct ar_mpi_link *link, struct note *note)
{
    if (*note->value)
        link->unpublish(note->name, note->value);
    note->value[0] = '\0';
}

/* `gone`: a note without which there is nothing to wait for; NULL: none. */
static bool await_note(const struct ar_mpi_link *link, const char *name, const char *gone,
                       uint64_t deadline_ns, char *value)
{
    struct timespec pause = {.tv_nsec = FIRST_PAUSE_NS};

    while (!link->look_up(name, value)) {
        if (ar_clock_ns(CLOCK_MONOTONIC) > deadline_ns)
            return false;
        if (gone && pause.tv_nsec > LONGEST_PAUSE_NS / 2 && !link->look_up(gone, value))
            return link->look_up(name, value);
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < LONGEST_PAUSE_NS)
            pause.tv_nsec *= 2;
    }
    return true;
}

/* ---- rank 0 ---------------------------------------------------------------------------------- */

/* The lowest rank that is not covered leads its site, if it is in one. */
static bool find_all(const struct ar_mpi_link *link, const struct ar_site *site, uint8_t *marks,
                     uint64_t deadline_ns)
{
    char value[AR_MPI_PORT_BYTES];
    struct note note = {0};

    for (uint32_t i = 0; i < site->n_ranks; i++)
        marks[site->ranks[i]] = 1;
    for (uint32_t rank = 0; rank < site->world_size; rank++) {
        if (marks[rank])
            continue;
        name_note_of(&note, site->job, rank);
        if (!await_note(link, note.name, NULL, deadline_ns, value) ||
            !ar_site_read(value, rank, marks, site->world_size))
            return false;
    }
    return ar_clock_ns(CLOCK_MONOTONIC) < deadline_ns;
}

static bool decide(const struct ar_mpi_link *link, const struct ar_site *site)
{
    struct note *open = &written[0], *verdict = &written[1];
    uint64_t deadline_ns = ar_clock_ns(CLOCK_MONOTONIC) + VERDICT_WITHIN_NS;

    name_note(open, site->job, "open");
    name_note(verdict, site->job, "verdict");
    if (!leave_note(link, open, YES)) {
        open->value[0] = '\0';
        return false;
    }

    uint8_t *marks = calloc(site->world_size, 1);
    bool is_yes = marks && site->is_able && find_all(link, site, marks, deadline_ns);

    free(marks);
    if (leave_note(link, verdict, is_yes ? YES : NO))
        return is_yes;
    verdict->value[0] = '\0';
    take_back(link, open);
    return false;
}

/* ---- the others ------------------------------------------------------------------------------ */

static bool follow(const struct ar_mpi_link *link, const struct ar_site *site)
{
    struct note open = {0}, verdict = {0}, *own = &written[0];
    char value[AR_MPI_PORT_BYTES], ranks[AR_MPI_VALUE_BYTES];
    bool is_able = site->is_able && ar_site_write(site, ranks, sizeof ranks);

    name_note(&open, site->job, "open");
    name_note(&verdict, site->job, "verdict");
    name_note_of(own, site->job, site->ranks[0]);
    if (!await_note(link, open.name, NULL, ar_clock_ns(CLOCK_MONOTONIC) + OPEN_WITHIN_NS, value))
        return false;
    if (!leave_note(link, own, is_able ? ranks : NO) || !is_able)
        return false;
    return await_note(link, verdict.name, open.name, ar_clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS,
                      value) &&
           strcmp(value, YES) == 0;
}

/* By what their launchers give to all ranks; what Slurm started may have inherited it. */
static bool has_table(void)
{
    const char *namespace = getenv("PMIX_NAMESPACE");

    if (namespace && strncmp(namespace, "slurm.", 6) == 0)
        return false;
    return getenv("OMPI_COMM_WORLD_RANK") || getenv("MPI_LOCALNRANKS");
}

bool ar_sites_agree(const struct ar_mpi_link *link, const struct ar_site *site)
{
    if (!has_table())
        return false;
    link->hold_errors(true);

    bool is_yes = site->ranks[0] == 0 ? decide(link, site) : follow(link, site);

    link->hold_errors(false);
    return is_yes;
}

void ar_sites_leave(const struct ar_mpi_link *link)
{
    if (!*written[0].value && !*written[1].value)
        return;
    link->hold_errors(true);
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        take_back(link, &written[i]);
    link->hold_errors(false);
}

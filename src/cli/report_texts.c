// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report.h"
#include "cli/screen.h"
#include "export/pstats_text.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define RANK "{rank}"

/* A rank without a number is known by its place. */
static uint32_t number_of(const struct ar_profile *p, uint32_t root)
{
    uint32_t rank = p->processes[root].world_rank;

    return rank == AR_RANK_NONE ? root : rank;
}

static bool name_file(const char *form, uint32_t number, char *name, size_t n_name)
{
    const char *at = strstr(form, RANK);
    int n =
        at ? snprintf(name, n_name, "%.*s%u%s", (int)(at - form), form, number, at + strlen(RANK))
           : snprintf(name, n_name, "%s", form);

    return n >= 0 && (size_t)n < n_name;
}

/*
 * Under its name only when it is whole. Not through a disk's cache each, as a run is: there may be
 * thousands, and they can be made again.
 */
static int write_plain(const char *name, const struct ar_bytes *bytes)
{
    char part[4200];

    if (!ar_is_replaceable(name))
        return ar_write_output(name, bytes);
    snprintf(part, sizeof part, "%s.%d.part", name, (int)getpid());

    FILE *file = fopen(part, "wbx");
    bool failed = !file || fwrite(bytes->data, 1, bytes->n, file) != bytes->n;
    int error = errno;

    if ((file && fclose(file) != 0 && !failed) || (!failed && rename(part, name) < 0)) {
        failed = true;
        error = errno;
    }
    if (failed && file)
        unlink(part);
    return failed ? ar_complain("%s: %s", name, strerror(error)) : AR_EXIT_OK;
}

static int write_text(struct ar_report *r, struct ar_pstats_texts *texts, uint32_t root)
{
    struct ar_bytes bytes = {0};
    char name[4096];
    int status;

    if (!name_file(r->text, number_of(r->p, root), name, sizeof name))
        return ar_complain("%s: too long a name", r->text);
    if (ar_pstats_text_put(texts, root, &bytes) < 0)
        status = ar_complain("out of memory");
    else
        status = strcmp(name, "-") == 0 ? ar_write_output(name, &bytes) : write_plain(name, &bytes);
    ar_bytes_free(&bytes);
    return status;
}

static int write_texts(struct ar_report *r, struct ar_pstats_texts *texts)
{
    char name[4096];
    int status = AR_EXIT_OK;

    for (uint32_t i = 0; i < r->p->n_roots && status == AR_EXIT_OK; i++)
        status = write_text(r, texts, i);
    if (status != AR_EXIT_OK || strcmp(r->text, "-") == 0 ||
        !name_file(r->text, number_of(r->p, 0), name, sizeof name))
        return status;
    ar_note("allranks: wrote %s: %s%s\n", ar_show_items(r->p->n_roots, "file", "files"), name,
            r->p->n_roots > 1 ? " and so on" : "");
    return status;
}

int ar_report_texts(struct ar_report *r)
{
    struct ar_pstats_texts texts;
    enum ar_pstats_by by = r->sort == AR_SORT_SELF    ? AR_PSTATS_BY_TIME
                           : r->sort == AR_SORT_CALLS ? AR_PSTATS_BY_CALLS
                                                      : AR_PSTATS_BY_CUMULATIVE;
    int status;

    if (r->sort > AR_SORT_CALLS)
        return ar_complain("--per-rank-text: sorted by total, self or calls, as pstats can");
    if (r->p->n_roots > 1 && !strstr(r->text, RANK))
        return ar_complain(
            "--per-rank-text %s: of %s each needs a name of its own (cpu_{rank}.txt)", r->text,
            ar_show_items(r->p->n_roots, "rank", "ranks"));
    if (ar_pstats_texts_open(&texts, r->p, by) < 0)
        return ar_complain("out of memory");
    status = write_texts(r, &texts);
    ar_pstats_texts_close(&texts);
    return status;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "cli/check.h"

#include "analysis/load.h"
#include "analysis/validate.h"
#include "analysis/validate_trace.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/screen.h"
#include "format/live_names.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct checked {
    size_t n_files, n_runs;
    struct ar_validated sum;
};

static enum ar_status check_live(struct checked *all, const char *path, struct ar_error *err)
{
    struct ar_validated found;
    enum ar_status status = ar_validate_file(path, &found, err);

    if (status < 0)
        return status;
    all->n_files++;
    all->sum.n_nodes += found.n_nodes;
    all->sum.n_threads += found.n_threads;
    all->sum.n_at_rest += found.n_at_rest;
    return AR_OK;
}

static bool names_file(const struct ar_error *err, const char *path)
{
    size_t n = strlen(path);

    return strncmp(err->text, path, n) == 0 && err->text[n] == ':';
}

static enum ar_status check_run(struct checked *all, const char *path, struct ar_error *err)
{
    struct ar_profile p;
    enum ar_status status = ar_load(&p, path, err);

    struct ar_error what;

    if (status < 0)
        return status;
    if (ar_validate_run_traces(&p, &what) < 0)
        status = names_file(&what, path) ? ar_fail(err, AR_BAD, "%s", what.text)
                                         : ar_fail(err, AR_BAD, "%s: %s", path, what.text);
    else
        all->n_runs++;
    ar_profile_free(&p);
    return status;
}

static enum ar_status check_directory(struct checked *all, const char *path, int depth,
                                      struct ar_error *err);

/* What is in a directory may have gone again, or not have begun yet: that is no failure. */
static enum ar_status check_entry(struct checked *all, const char *path, int depth,
                                  struct ar_error *err)
{
    enum ar_status status = AR_OK;
    struct stat st;

    if (lstat(path, &st) < 0)
        return AR_OK;
    if (S_ISDIR(st.st_mode))
        return depth == 0 ? check_directory(all, path, depth + 1, err) : AR_OK;
    if (!ar_live_name_is_live(path) && !ar_live_name_is_run(path))
        return AR_OK;
    status = ar_file_check_found(path, err);
    if (status == AR_OK)
        status =
            ar_live_name_is_live(path) ? check_live(all, path, err) : check_run(all, path, err);
    return status < 0 && !ar_live_has_begun(path) ? AR_OK : status;
}

static enum ar_status check_directory(struct checked *all, const char *path, int depth,
                                      struct ar_error *err)
{
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, versionsort);
    enum ar_status status = AR_OK;

    if (n < 0)
        return depth && errno == ENOENT ? AR_OK
                                        : ar_fail(err, AR_IO, "%s: %s", path, strerror(errno));
    for (int i = 0; i < n; i++) {
        char full[8192];

        snprintf(full, sizeof full, "%s/%s", path, entries[i]->d_name);
        if (status == AR_OK && entries[i]->d_name[0] != '.')
            status = check_entry(all, full, depth, err);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static enum ar_status check_path(struct checked *all, const char *path, struct ar_error *err)
{
    struct stat st;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return check_directory(all, path, 0, err);
    return ar_live_has_magic(path) ? check_live(all, path, err) : check_run(all, path, err);
}

int ar_check(const char *path)
{
    struct checked all = {0};
    struct ar_error err;

    if (check_path(&all, path, &err) < 0)
        return ar_complain("%s", err.text);
    ar_print("sound      %s", ar_show_items(all.n_files, "live file", "live files"));
    if (all.n_files)
        ar_print(" (%s, %s of which %zu at rest)",
                 ar_show_items(all.sum.n_nodes, "call path", "call paths"),
                 ar_show_items(all.sum.n_threads, "thread", "threads"), all.sum.n_at_rest);
    ar_print(", %s\n", ar_show_items(all.n_runs, "run file", "run files"));
    return AR_EXIT_OK;
}

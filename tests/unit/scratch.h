// SPDX-License-Identifier: BSD-3-Clause
/*
 * scratch: a directory of the test's own, and what is in it.
 *
 *     const char *dir = scratch_make();
 *     open(scratch_path("x.allranks"), ...);       // dir/x.allranks; one name at a time
 *     scratch_remove();
 */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch_dir[64];

static inline const char *scratch_make(void)
{
    snprintf(scratch_dir, sizeof scratch_dir, "/tmp/allranks-test-XXXXXX");
    if (!mkdtemp(scratch_dir)) {
        perror(scratch_dir);
        exit(2);
    }
    return scratch_dir;
}

static inline const char *scratch_path(const char *name)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/%s", scratch_dir, name);
    return path;
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int type,
                                     struct FTW *where)
{
    (void)st, (void)type, (void)where;
    return remove(path);
}

static inline void scratch_remove(void)
{
    nftw(scratch_dir, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Number of entries in a directory of which the name contains `part`. */
static inline int scratch_count(const char *path, const char *part)
{
    DIR *dir = opendir(path);
    int n = 0;

    if (!dir)
        return -1;
    for (const struct dirent *e; (e = readdir(dir));)
        n += e->d_name[0] != '.' && strstr(e->d_name, part) != NULL;
    closedir(dir);
    return n;
}

static inline void scratch_write(const char *path, const void *bytes, size_t n_bytes)
{
    FILE *file = fopen(path, "wb");

    if (!file || fwrite(bytes, 1, n_bytes, file) != n_bytes || fclose(file) != 0) {
        perror(path);
        exit(2);
    }
}

static inline bool scratch_holds(const char *path, const void *bytes, size_t n_bytes)
{
    FILE *file = fopen(path, "rb");
    char *found = malloc(n_bytes + 1);
    bool same = file && fread(found, 1, n_bytes + 1, file) == n_bytes &&
                (n_bytes == 0 || memcmp(found, bytes, n_bytes) == 0);

    if (file)
        fclose(file);
    free(found);
    return same;
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * file: regular files, opened without waiting and read without mapping them.
 *
 * A directory of live files can hold anything under any name. Opening a FIFO waits for its writer, and a
 * device may react to being opened, so every file whose content is read is opened here. Nothing is mapped:
 * a file that another process shortens would end the reader by SIGBUS, and the reader may be a guest in
 * a Python of the user.
 *
 * ar_file_open may be called in a signal handler.
 *
 *     struct stat st;
 *     int fd = ar_file_open(AT_FDCWD, path, O_RDONLY, &st);
 *     if (fd < 0)
 *         return ar_file_refuse(path, err);
 */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * Opens a regular file; `directory` and `flags` are those of openat, files are created with mode 0600, `st`
 * may be NULL. -1: errno gives the reason, EINVAL if it is not a regular file.
 */
int ar_file_open(int directory, const char *path, int flags, struct stat *st);
/* The error of a failed ar_file_open. */
enum ar_status ar_file_refuse(const char *path, struct ar_error *err);
/* For a file that was found in a directory: fails if it is not a regular one, or a link to one. */
AR_MUST_CHECK enum ar_status ar_file_check_found(const char *path, struct ar_error *err);
/*
 * Is it a regular file that this user owns, and not a link to one? Asked about files that are found in a
 * directory and trusted because of their name.
 */
bool ar_file_is_own(const char *path);
/*
 * Is it a directory that this user owns and only this user can write to, and not a link to one? In the
 * default places another user can make a directory of any name first.
 */
bool ar_file_is_own_directory(const char *path);

/*
 * The whole file. `bytes` is the caller's to free, and NULL after a failure; `st` says how many bytes there
 * are, and when they were written.
 */
AR_MUST_CHECK enum ar_status ar_file_read(const char *path, unsigned char **bytes, struct stat *st,
                                          struct ar_error *err);
/* Exactly `n_bytes` from `offset` on. */
AR_MUST_CHECK enum ar_status ar_file_read_at(int fd, void *bytes, size_t n_bytes, uint64_t offset,
                                             const char *path, struct ar_error *err);
/*
 * The same into memory that is zero. Zeros in the file are not written to it: a hole of gigabytes takes no
 * memory. `skips_holes`: they are not read either; not for a file that another process writes through a
 * mapping, where file systems have been wrong about it. Returns how many bytes were written, or a status.
 */
AR_MUST_CHECK int64_t ar_file_read_sparse(int fd, void *zeros, size_t n_bytes, uint64_t offset,
                                          bool skips_holes, const char *path, struct ar_error *err);
/* Does less than half of its size lie on disk? */
bool ar_file_is_sparse(const struct stat *st, uint64_t n_bytes);

// SPDX-License-Identifier: BSD-3-Clause
/*
 * file_system: is a directory on a file system that another machine or process serves?
 *
 * There a file that is mapped may go away, or be cut off, while it is mapped: the next access is
 * answered with SIGBUS.
 */
#pragma once

#include <stdint.h>

/* "NFS" and the like, by statfs's f_type; NULL: a local one, or one that is not known. */
const char *ar_remote_file_system(uint32_t type);
/* The same for the file system that `path` is on. */
const char *ar_remote_file_system_of(const char *path);

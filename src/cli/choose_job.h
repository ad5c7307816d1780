// SPDX-License-Identifier: BSD-3-Clause
/* choose_job: which job is meant where nobody has named a directory. */
#pragma once

#include <stddef.h>

/* The only running job of this user, or an exit status after a list of those there are; -1: found. */
int ar_choose_job(const char *command, char *path, size_t n_path);

// SPDX-License-Identifier: BSD-3-Clause
/*
 * file_ranks: which rank each of several files is of, as far as their names tell.
 *
 * Where all names are the same but for one number, that is the rank: cpu_0.prof to cpu_11.prof, in
 * whatever order. Else ranks are given in the order of the files.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

void ar_file_ranks(char *const *paths, size_t n, uint32_t *ranks);

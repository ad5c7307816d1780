// SPDX-License-Identifier: BSD-3-Clause
/*
 * names: functions as people call them.
 *
 * cProfile knows functions in C by long names: here "len" is "built-in method builtins.len", and
 * "list.append" is "method 'append' of 'list' objects". MPI functions are known without the ending of
 * their large-count forms. The code of a package, `<module>` in `__init__.py`, has the package's name.
 *
 *     char room[AR_NAME_BYTES];
 *     puts(ar_plain_name(&profile, function, room));
 */
#pragma once

#include "format/profile.h"

#define AR_NAME_BYTES 256 /* what is longer is cut: a name may be as long as a file */

/* The code of a module that is no package: it is named after its file. */
bool ar_is_top_level(const struct ar_profile *p, uint32_t function);
/* In `room`, or as the profile has it, or a part of that. */
const char *ar_plain_name(const struct ar_profile *p, uint32_t function, char *room);

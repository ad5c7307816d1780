// SPDX-License-Identifier: BSD-3-Clause
/*
 * check: `allranks info --check`, whether all that is at a path holds together. A live file may be
 * written to meanwhile, begin or go away; see analysis/validate.h. A run file is checked by reading it.
 */
#pragma once

/* One line; returns an exit status. */
int ar_check(const char *path);

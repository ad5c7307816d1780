// SPDX-License-Identifier: BSD-3-Clause
/*
 * picklers: which calls below a method of mpi4py make bytes of objects, or objects of bytes.
 *
 * By default mpi4py calls pickle.dumps and pickle.loads, which are C functions. A program may set others
 * with MPI.pickle.__init__(dumps, loads): functions of any name, in Python as a rule. mpi4py calls them
 * directly, and most of its methods call no other Python function: there the method says what a function
 * is for. Reductions call their operation, too: there a function counts that is a pickler elsewhere, or
 * is named like one.
 *
 * Life cycle: an array that is the caller's to free().
 *
 *     uint8_t *kinds;
 *     if (ar_picklers_find(&kinds, &profile) < 0) ...
 *     if (ar_pickler_of(&profile, kinds, node) == AR_UNPICKLES) ...
 *     free(kinds);
 */
#pragma once

#include "format/profile.h"

enum ar_pickler { AR_NO_PICKLER, AR_PICKLES, AR_UNPICKLES };

/* By function, of those that were seen below methods. */
AR_MUST_CHECK enum ar_status ar_picklers_find(uint8_t **kinds, const struct ar_profile *p);
/* Of a call of its own: what a pickler calls in turn is in the pickler's time. */
enum ar_pickler ar_pickler_of(const struct ar_profile *p, const uint8_t *kinds, uint32_t node);

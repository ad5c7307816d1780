// SPDX-License-Identifier: BSD-3-Clause
/*
 * wait_names: what a wait was charged to, as names that a user can act on.
 *
 * A function that has a tenth of it or more is named, on whichever paths and processes. What is smaller goes up to its caller until a
 * tenth is together: "assemble and the functions it calls". The outermost function is named so only where more than a
 * few functions are in it, since it contains everything; otherwise each keeps its own name. What is not known has none.
 */
#pragma once

#include "analysis/wait_sums.h"

/* The charges of a site become its causes: a function and a process once each, the largest first. */
AR_MUST_CHECK enum ar_status ar_wait_name(const struct ar_call_paths *paths,
                                          const struct ar_site_charge *charges, size_t n,
                                          struct ar_wait_site *site);

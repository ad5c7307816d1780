// SPDX-License-Identifier: BSD-3-Clause
/*
 * select: a part of a run, as a run of its own.
 *
 *     ranks      "0-3,8": only these, with their children and threads; means are over them
 *     threads    by number or name: 0 is the main thread of each process
 *     regions    only what is done in regions of that name. They stand below the root, and below them what
 *                the function around them does there. The time of a rank is that in them, and what recording
 *                cost there is not known
 *     include    only functions that fit are shown, of Python and C; the time of others is counted in their callers.
 *                What else there is stays: MPI, regions, tasks, threads. A function in C without a name
 *                that fits belongs to who calls it
 *     exclude    functions that fit are not shown, of whatever kind; they are their callers'
 *
 * No time gets lost by include and exclude: that of a function which is not shown is its caller's self
 * time, and what it calls is called by its caller (as with pprof's -show and -hide, and as `allranks
 * run` has it). What MPI is called from there has the line of that call. Of caller pairs, which have
 * no call paths, such functions are left out, and their time is counted nowhere; regions cannot be had.
 *
 * The result is a profile like any other and shows rows of the one it was made of, which has to live
 * longer: see format/rows.h. Values are not copied, and those that are left out are never kept. It comes before
 * analysis/fold.h: folded nodes have no lines.
 *
 * Cost: linear in nodes and locations; with regions one pass over their times.
 *
 *     struct ar_selection only = {.ranks = "0-3"};
 *     struct ar_profile chosen;
 *     if (ar_select(&chosen, &whole, &only, &err) < 0) ...
 *     ar_profile_free(&chosen);
 */
#pragma once

#include "analysis/match.h"

#define AR_MOST_WORDS 64

/* What an option was given, as often as it was. */
struct ar_words {
    const char *items[AR_MOST_WORDS];
    size_t n;
};

struct ar_selection {
    const char *ranks, *thread; /* NULL: all */
    struct ar_words regions, include, exclude;
};

bool ar_selection_is_all(const struct ar_selection *s);
/*
 * `p` is put in order. AR_BAD: nothing fits, or it is no list of ranks. On failure there is nothing to
 * free.
 */
AR_MUST_CHECK enum ar_status ar_select(struct ar_profile *out, struct ar_profile *p,
                                       const struct ar_selection *s, struct ar_error *err);
/*
 * Marks the roots whose ranks are in a list; for callers that have to look at the others, too. AR_BAD: it says
 * nothing of that kind, or there are none of these.
 */
AR_MUST_CHECK enum ar_status ar_ranks_choose(const struct ar_profile *p, const char *list,
                                             bool *has_rank);

// SPDX-License-Identifier: BSD-3-Clause
/*
 * wait_sums: waits put together by the line they were at, by rank, and by cause.
 *
 * Life cycle: ar_wait_sums_open, any number of sites and additions, ar_wait_sums_take, ar_wait_sums_close.
 * Threads: one owner.
 */
#pragma once

#include "analysis/wait_trails.h"
#include "analysis/waits.h"

struct ar_wait_sums {
    const struct ar_profile *p;
    struct ar_idmap by_node, by_line; /* sites */
    uint64_t last_key;                /* the one that was asked for last */
    uint32_t last_site;
    struct ar_wait_site *sites;
    size_t n_sites, cap_sites;
    struct ar_site_shares {
        struct ar_wait_share *waiting, *late; /* by root */
    } * shares;                               /* by site */
    size_t cap_shares;
    struct ar_site_charge {
        uint32_t site, process, what; /* the last as in struct ar_piece */
        double ns, indirect_ns;
    } * charges; /* of all sites, in the order in which they came */
    size_t n_charges, cap_charges;
    struct ar_idmap charge_ids;
    uint32_t *recent;  /* those that were asked for lately, plus 1, by a quick hash */
    double *caused_ns; /* by root */
};

AR_MUST_CHECK enum ar_status ar_wait_sums_open(struct ar_wait_sums *out,
                                               const struct ar_profile *p);
void ar_wait_sums_close(struct ar_wait_sums *s);
/* The site of a wait of that class in a call; AR_NO_ID: no memory. */
uint32_t ar_wait_sums_site(struct ar_wait_sums *s, uint32_t node, enum ar_wait_class class,
                           bool nonblocking);
/* A process waited there for another one to come. */
void ar_wait_sums_add(struct ar_wait_sums *s, uint32_t site, uint32_t process, uint32_t late,
                      double ns);
/* Because of a piece of work; `is_indirect`: it is another's than that of the one that was waited for. */
AR_MUST_CHECK enum ar_status ar_wait_sums_charge(struct ar_wait_sums *s, uint32_t site,
                                                 const struct ar_piece *piece, bool is_indirect);
/* Because of all that is charged; pieces of no location are the late one's. */
AR_MUST_CHECK enum ar_status ar_wait_sums_charge_all(struct ar_wait_sums *s, uint32_t site,
                                                     uint32_t late_location,
                                                     const struct ar_stretch *charged);
/* The sites become those of `out`, with causes that are named. */
AR_MUST_CHECK enum ar_status
ar_wait_sums_take(struct ar_wait_sums *s, const struct ar_call_paths *paths, struct ar_waits *out);

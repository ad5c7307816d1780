// SPDX-License-Identifier: BSD-3-Clause
/*
 * otf2_names: the strings, parameters and counters of an archive, by number.
 *
 * They are met while events are written, by several threads, and defined afterwards, since an archive has its definitions in one file.
 *
 * Threads: any; each call takes the lock. Code that runs alone may look at the fields.
 */
#pragma once

#include "base/strtab.h"

#include <pthread.h>

struct ar_otf2_parameter {
    uint32_t name; /* a string */
    uint8_t type;  /* enum ar_trace_parameter_type */
};

/* Definitions of one kind; an item's place is its number. */
struct ar_otf2_parameters {
    struct ar_idmap ids;
    struct ar_otf2_parameter *items;
    size_t n, cap;
};

struct ar_otf2_names {
    pthread_mutex_t lock;
    struct ar_strtab strings; /* number 0 is "" */
    struct ar_otf2_parameters parameters, counters;
};

/* After a failure, too, it is to be freed. */
AR_MUST_CHECK enum ar_status ar_otf2_names_init(struct ar_otf2_names *names);
void ar_otf2_names_free(struct ar_otf2_names *names);

/* What is no UTF-8 becomes '?'; what is longer than a definition can be is cut. */
AR_MUST_CHECK enum ar_status ar_otf2_string(struct ar_otf2_names *names, const char *text, size_t n,
                                            uint32_t *id);
/* The number among the counters for AR_TRACE_COUNTER, among the parameters for all other types. */
AR_MUST_CHECK enum ar_status ar_otf2_parameter(struct ar_otf2_names *names, const char *name,
                                               size_t n_name, uint8_t type, uint32_t *id);

// SPDX-License-Identifier: BSD-3-Clause
/*
 * sample_profile: profiles made by hand, and whether a profile that came from elsewhere is one.
 *
 * What cannot fail but for memory ends the program if it does: a test that has not been set up has
 * nothing to say.
 *
 *     struct ar_profile p;
 *     sample_start(&p);
 *     uint32_t main_id = sample_node(&p, 0, sample_function(&p, AR_FUNCTION_PYTHON, "main", 1), 1);
 *     uint32_t here = sample_thread(&p, sample_rank(&p, 0), 0);
 *     sample_value(&p, AR_METRIC_TIME, main_id, here, 100);
 *     ar_profile_free(&p);
 */
#pragma once

#include "format/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void sample_must(enum ar_status status)
{
    if (status < 0) {
        printf("Bail out! no profile to test: %s\n", ar_status_text(status));
        exit(2);
    }
}

static inline void sample_start(struct ar_profile *p)
{
    sample_must(ar_profile_init(p));
}

static inline struct ar_str sample_str(const char *text)
{
    return (struct ar_str){text, strlen(text)};
}

static inline uint32_t sample_text(struct ar_profile *p, const char *text)
{
    uint32_t id;

    sample_must(ar_profile_string(p, sample_str(text), &id));
    return id;
}

static inline uint32_t sample_function_in(struct ar_profile *p, enum ar_function_kind kind,
                                          const char *name, const char *file, uint32_t first_line)
{
    struct ar_function f = {.kind = kind,
                            .name = sample_text(p, name),
                            .file = sample_text(p, file),
                            .first_line = first_line};
    uint32_t id;

    sample_must(ar_profile_function(p, f, &id));
    return id;
}

static inline uint32_t sample_function(struct ar_profile *p, enum ar_function_kind kind,
                                       const char *name, uint32_t first_line)
{
    return sample_function_in(p, kind, name, kind == AR_FUNCTION_PYTHON ? "a.py" : "", first_line);
}

static inline uint32_t sample_node(struct ar_profile *p, uint32_t parent, uint32_t function,
                                   uint32_t line)
{
    uint32_t id;

    sample_must(ar_profile_node(p, (struct ar_profile_node){parent, function, line}, &id));
    return id;
}

static inline uint32_t sample_rank(struct ar_profile *p, uint32_t world_rank)
{
    struct ar_process process = {.world_rank = world_rank, .pid = 1000 + world_rank};
    uint32_t id;

    sample_must(ar_profile_process(p, &process, &id));
    return id;
}

static inline uint32_t sample_thread(struct ar_profile *p, uint32_t process, uint32_t thread)
{
    struct ar_location location = {.process = process, .thread = thread};
    uint32_t id;

    sample_must(ar_profile_location(p, &location, &id));
    return id;
}

static inline void sample_value(struct ar_profile *p, enum ar_metric_id metric, uint32_t node,
                                uint32_t location, uint64_t value)
{
    sample_must(ar_profile_value(p, metric, (struct ar_value){node, location, value}));
}

static inline uint32_t sample_comm(struct ar_profile *p, uint64_t identity, const char *name,
                                   enum ar_comm_origin origin, uint32_t size, uint32_t parent)
{
    struct ar_comm comm = {.identity = identity,
                           .name = sample_text(p, name),
                           .origin = origin,
                           .size = size,
                           .parent = parent};
    uint32_t id;

    sample_must(ar_profile_comm(p, comm, &id));
    return id;
}

static inline void sample_member(struct ar_profile *p, uint32_t comm, uint32_t process,
                                 uint32_t rank, uint32_t n_calls)
{
    struct ar_member member = {
        .comm = comm, .process = process, .rank = AR_OWN_RANK(rank, 0), .n_calls = n_calls};

    sample_must(ar_profile_add_row(p, AR_TABLE_MEMBERS, &member));
}

static inline void sample_traffic(struct ar_profile *p, struct ar_traffic traffic)
{
    sample_must(ar_profile_add_row(p, AR_TABLE_MESSAGES, &traffic));
}

static inline void sample_completed(struct ar_profile *p, struct ar_completed completed)
{
    sample_must(ar_profile_add_row(p, AR_TABLE_REQUESTS, &completed));
}

static inline void sample_open_call(struct ar_profile *p, struct ar_open_call open)
{
    sample_must(ar_profile_add_row(p, AR_TABLE_OPEN_CALLS, &open));
}

static inline void sample_lose(struct ar_profile *p, uint32_t process, enum ar_live_loss what,
                               uint64_t n)
{
    sample_must(ar_profile_lose(p, process, what, n));
}

/* Nothing where there is none. */
static inline struct ar_open_call sample_open_call_of(const struct ar_profile *p, uint32_t location)
{
    const struct ar_open_call *open = ar_profile_open_call(p, location);

    return open ? *open : (struct ar_open_call){0};
}

/*
 * The value of a node at a location, combined over all entries as a reader would; 0 when there is
 * none.
 */
static inline uint64_t sample_find(const struct ar_profile *p, enum ar_metric_id metric,
                                   uint32_t node, uint32_t location)
{
    const struct ar_metric *m = &p->metrics[metric];
    uint64_t value = 0;
    bool found = false;

    for (size_t i = 0; i < m->n_values; i++)
        if (m->values[i].node == node && m->values[i].location == location) {
            value = found ? ar_combine((enum ar_combine)ar_metric_kinds[metric].combine, value,
                                       m->values[i].value)
                          : m->values[i].value;
            found = true;
        }
    return value;
}

/* "/main:1/solve:7": names and lines from the root, which is "". */
static inline void sample_path(const struct ar_profile *p, uint32_t node, char *path, size_t n_path)
{
    char below[1024] = "";

    for (; node != 0; node = p->nodes[node].parent) {
        char whole[1024];
        uint32_t name = p->functions[p->nodes[node].function].name;

        snprintf(whole, sizeof whole, "/%s:%u%s", ar_strtab_text(&p->strings, name),
                 p->nodes[node].line, below);
        memcpy(below, whole, sizeof below);
    }
    snprintf(path, n_path, "%s", below);
}

/* The node with that path, AR_NO_ID when there is none. */
static inline uint32_t sample_node_at(const struct ar_profile *p, const char *path)
{
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        char found[1024];

        sample_path(p, i, found, sizeof found);
        if (strcmp(found, path) == 0)
            return i;
    }
    return AR_NO_ID;
}

/* ---- is it a profile? ------------------------------------------------------------------------ */

static inline bool sample_tables_are_sound(const struct ar_profile *p)
{
    size_t n_strings = p->strings.n_strings;
    bool sound = true;

    for (size_t i = 0; i < p->n_facts; i++)
        sound = sound && p->facts[i].key < n_strings && p->facts[i].value < n_strings;
    for (size_t i = 0; i < p->n_functions; i++)
        sound = sound && p->functions[i].name < n_strings && p->functions[i].file < n_strings;
    for (size_t i = 0; i < p->n_processes; i++)
        sound = sound && p->processes[i].host < n_strings &&
                p->processes[i].state < AR_N_PROCESS_STATES;
    for (size_t i = 0; i < p->n_locations; i++)
        sound = sound && p->locations[i].process < p->n_processes &&
                p->locations[i].name < n_strings && p->locations[i].current <= p->n_nodes;
    for (size_t i = 0; i < p->n_open_calls; i++)
        sound = sound && p->open_calls[i].location < p->n_locations &&
                p->open_calls[i].kind < AR_N_SYNC_KINDS && p->open_calls[i].comm <= p->n_comms;
    return sound;
}

static inline bool sample_tree_is_sound(const struct ar_profile *p)
{
    bool sound = p->n_nodes > 0 && p->nodes[0].parent == AR_NO_ID;

    for (size_t i = 0; i < p->n_nodes; i++)
        sound =
            sound && p->nodes[i].function < p->n_functions && (i == 0 || p->nodes[i].parent < i);
    return sound;
}

static inline bool sample_in_order(const struct ar_value *a, const struct ar_value *b)
{
    return a->node < b->node || (a->node == b->node && a->location < b->location);
}

static inline bool sample_values_are_sound(const struct ar_profile *p)
{
    bool sound = true;

    for (int k = 0; k < AR_N_METRICS; k++) {
        const struct ar_metric *m = &p->metrics[k];

        for (size_t i = 0; i < m->n_values; i++)
            sound = sound && m->values[i].node < p->n_nodes &&
                    m->values[i].location < p->n_locations &&
                    (!m->sorted || i == 0 || sample_in_order(&m->values[i - 1], &m->values[i]));
    }
    return sound;
}

static inline bool sample_stream_is_sound(const struct ar_profile *p,
                                          const struct ar_stream *stream)
{
    struct ar_profile_part parts[AR_MOST_PARTS];
    struct ar_stream_cursor c;
    bool sound = stream->location < p->n_locations;

    sample_must(ar_stream_open(&c, stream));
    while (ar_stream_next(&c)) {
        sound = sound && c.sync.node < p->n_nodes && c.sync.posted <= p->n_nodes &&
                c.sync.comm <= p->n_comms && c.sync.enter_ns <= c.sync.exit_ns;
        if (c.sync.n_parts <= AR_MOST_PARTS)
            ar_stream_parts(&c, parts);
        for (uint32_t i = 0; i < c.sync.n_parts; i++)
            sound = sound && i < AR_MOST_PARTS &&
                    (parts[i].node < p->n_nodes || parts[i].node == AR_NO_ID);
    }
    ar_stream_close(&c);
    return sound;
}

static inline bool sample_messages_are_sound(const struct ar_profile *p)
{
    bool sound = true;

    for (size_t i = 0; i < p->n_comms; i++)
        sound = sound && p->comms[i].name < p->strings.n_strings && p->comms[i].parent <= i &&
                p->comms[i].made_at <= p->n_nodes && p->comms[i].is_hidden <= 1;
    for (size_t i = 0; i < p->n_members; i++)
        sound = sound && p->members[i].comm < p->n_comms && p->members[i].process < p->n_processes;
    for (size_t i = 0; i < p->n_traffic; i++)
        sound = sound && p->traffic[i].node < p->n_nodes &&
                p->traffic[i].location < p->n_locations && p->traffic[i].comm <= p->n_comms &&
                p->traffic[i].size_class < AR_N_SIZE_CLASSES;
    for (size_t i = 0; i < p->n_streams; i++)
        sound = sound && sample_stream_is_sound(p, &p->streams[i]);
    for (size_t i = 0; i < p->n_completed; i++)
        sound = sound && p->completed[i].node < p->n_nodes &&
                p->completed[i].location < p->n_locations && p->completed[i].posted < p->n_nodes;
    return sound;
}

static inline bool sample_is_sound(const struct ar_profile *p)
{
    return sample_tables_are_sound(p) && sample_tree_is_sound(p) && sample_values_are_sound(p) &&
           sample_messages_are_sound(p);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "format/dimensions.h"

#include "format/profile.h"

#define FIELD(TYPE, FIELD_NAME, ROLE, ...)                                                         \
    {                                                                                              \
        .column = {.name = #FIELD_NAME, .unit = "", .role = AR_ROLE_##ROLE, __VA_ARGS__},          \
        .offset = offsetof(TYPE, FIELD_NAME), .n_bytes = sizeof(((TYPE *)0)->FIELD_NAME)           \
    }
#define DIMENSION(FIELDS, TYPE)                                                                    \
    {                                                                                              \
        .fields = (FIELDS), .n_fields = sizeof(FIELDS) / sizeof *(FIELDS),                         \
        .item_bytes = sizeof(TYPE)                                                                 \
    }

static const struct ar_field fact_fields[] = {
    FIELD(struct ar_fact, key, STRING),
    FIELD(struct ar_fact, value, STRING),
};

static const struct ar_field function_fields[] = {
    FIELD(struct ar_function, kind, NUMBER),   FIELD(struct ar_function, name, STRING),
    FIELD(struct ar_function, file, STRING),   FIELD(struct ar_function, first_line, NUMBER),
    FIELD(struct ar_function, module, STRING),
};

/* Parents come before them, as distances. */
static const struct ar_field node_fields[] = {
    FIELD(struct ar_profile_node, function, FUNCTION),
    FIELD(struct ar_profile_node, line, NUMBER),
};

#define CLOCK_LINK(INSTANT)                                                                        \
    FIELD(struct ar_process, clock_links[INSTANT].at_ns, NUMBER),                                  \
        FIELD(struct ar_process, clock_links[INSTANT].offset_ns, NUMBER,                           \
              .flags = AR_COLUMN_PLAIN),                                                           \
        FIELD(struct ar_process, clock_links[INSTANT].error_ns, NUMBER)
#define OVERHEAD(REASON) FIELD(struct ar_process, overheads_ns[AR_OVERHEAD_##REASON], NUMBER)

static const struct ar_field process_fields[] = {
    FIELD(struct ar_process, world_rank, NUMBER, .shift = AR_RANK_SHIFT),
    FIELD(struct ar_process, world_size, NUMBER),
    FIELD(struct ar_process, host, STRING),
    FIELD(struct ar_process, pid, NUMBER),
    FIELD(struct ar_process, state, NUMBER, .limit = AR_N_PROCESS_STATES),
    FIELD(struct ar_process, start_real_ns, NUMBER),
    FIELD(struct ar_process, wall_ns, NUMBER),
    FIELD(struct ar_process, overhead_ns, NUMBER),
    FIELD(struct ar_process, command, STRING),
    FIELD(struct ar_process, pid_start, NUMBER),
    FIELD(struct ar_process, parent_pid, NUMBER),
    FIELD(struct ar_process, root_pid, NUMBER),
    FIELD(struct ar_process, root_start, NUMBER),
    FIELD(struct ar_process, start_mono_ns, NUMBER),
    CLOCK_LINK(AR_CLOCK_AT_INIT),
    CLOCK_LINK(AR_CLOCK_AT_FINALIZE),
    OVERHEAD(START),
    OVERHEAD(IMPORTS),
    OVERHEAD(PATHS),
    OVERHEAD(PYTHON),
    OVERHEAD(C),
    OVERHEAD(MPI),
    OVERHEAD(END),
};

static const struct ar_field location_fields[] = {
    FIELD(struct ar_location, process, PROCESS),
    FIELD(struct ar_location, thread, NUMBER),
    FIELD(struct ar_location, name, STRING),
    FIELD(struct ar_location, current, NODE, .flags = AR_COLUMN_OPTIONAL),
    FIELD(struct ar_location, latest_real_ns, NUMBER),
};

/* Those that are made of others come after them, which is looked at afterwards. */
static const struct ar_field comm_fields[] = {
    FIELD(struct ar_comm, identity, NUMBER, .flags = AR_COLUMN_PLAIN),
    FIELD(struct ar_comm, name, STRING),
    FIELD(struct ar_comm, origin, NUMBER),
    FIELD(struct ar_comm, size, NUMBER),
    FIELD(struct ar_comm, remote_size, NUMBER),
    FIELD(struct ar_comm, parent, NUMBER),
    FIELD(struct ar_comm, made_at, NODE, .flags = AR_COLUMN_OPTIONAL),
    FIELD(struct ar_comm, is_hidden, NUMBER, .limit = 2),
};

const struct ar_dimension ar_facts_dimension = DIMENSION(fact_fields, struct ar_fact),
                          ar_functions_dimension = DIMENSION(function_fields, struct ar_function),
                          ar_nodes_dimension = DIMENSION(node_fields, struct ar_profile_node),
                          ar_processes_dimension = DIMENSION(process_fields, struct ar_process),
                          ar_locations_dimension = DIMENSION(location_fields, struct ar_location),
                          ar_comms_dimension = DIMENSION(comm_fields, struct ar_comm);

static struct ar_column_place place_of(const struct ar_dimension *d, const struct ar_field *field,
                                       void *items, size_t n)
{
    return (struct ar_column_place){.at = items ? (char *)items + field->offset : NULL,
                                    .step = d->item_bytes,
                                    .n = n,
                                    .n_bytes = field->n_bytes};
}

void ar_dimension_put(const struct ar_dimension *d, const void *items, size_t n,
                      struct ar_bytes *out)
{
    for (size_t i = 0; i < d->n_fields; i++)
        ar_column_put(&d->fields[i].column, place_of(d, &d->fields[i], (void *)items, n), out);
}

void ar_dimension_get(const struct ar_dimension *d, void *items, size_t n, size_t n_columns,
                      struct ar_cursor *in, const struct ar_role_limits *limits)
{
    for (size_t i = 0; i < d->n_fields && i < n_columns; i++)
        ar_column_get(&d->fields[i].column, place_of(d, &d->fields[i], items, n), in, limits);
}

size_t ar_dimension_least(const struct ar_dimension *d, size_t n_columns)
{
    size_t n_bytes = 0;

    for (size_t i = 0; i < n_columns; i++)
        n_bytes += i < d->n_fields ? ar_column_least(&d->fields[i].column) : 1;
    return n_bytes;
}

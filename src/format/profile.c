// SPDX-License-Identifier: BSD-3-Clause
#include "format/profile.h"

#include <stdlib.h>
#include <string.h>

const char *ar_function_kind_name(uint32_t kind)
{
    static const char *const names[] = {
        [AR_FUNCTION_PYTHON] = "python",       [AR_FUNCTION_MPI] = "mpi",
        [AR_FUNCTION_THREAD] = "thread",       [AR_FUNCTION_BUILTIN] = "builtin",
        [AR_FUNCTION_REGION] = "region",       [AR_FUNCTION_IMPORT] = "import",
        [AR_FUNCTION_TASK] = "task",           [AR_FUNCTION_PROCESS] = "process",
        [AR_FUNCTION_OPERATION] = "operation", [AR_FUNCTION_UNASSIGNED] = "unassigned",
    };

    return kind < sizeof names / sizeof *names && names[kind] ? names[kind] : "other";
}

bool ar_function_is_pause(const struct ar_profile *p, uint32_t function)
{
    const struct ar_function *f = &p->functions[function];

    return f->kind == AR_FUNCTION_REGION &&
           strcmp(ar_strtab_text(&p->strings, f->name), AR_PAUSED_NAME) == 0;
}

const char *ar_process_state_name(uint32_t state)
{
    static const char *const names[AR_N_PROCESS_STATES] = {
        [AR_PROCESS_SILENT] = "silent",
        [AR_PROCESS_FINISHED] = "finished",
        [AR_PROCESS_RUNNING] = "running",
        [AR_PROCESS_REPLACED] = "replaced",
    };

    return state < AR_N_PROCESS_STATES ? names[state] : "unknown";
}

enum ar_status ar_profile_string(struct ar_profile *p, struct ar_str s, uint32_t *id)
{
    return ar_strtab_put(&p->strings, s.text, s.n_bytes, id);
}

static bool same_fact(const struct ar_fact *a, const struct ar_fact *b)
{
    return a->key == b->key && a->value == b->value;
}

/* There are a dozen of them, but a file may say that there are a million. */
static enum ar_status add_fact(struct ar_profile *p, struct ar_fact fact)
{
    uint64_t key = ar_pair_key(fact.key, fact.value);

    for (;; key++) {
        uint32_t found = ar_idmap_get(&p->fact_ids, key ? key : 1, AR_NO_ID);

        if (found == AR_NO_ID)
            break;
        if (same_fact(&p->facts[found], &fact))
            return AR_OK;
    }
    if (ar_grow((void **)&p->facts, &p->cap_facts, p->n_facts + 1, sizeof *p->facts) < 0 ||
        ar_idmap_put(&p->fact_ids, key ? key : 1, (uint32_t)p->n_facts) < 0)
        return AR_NOMEM;
    p->facts[p->n_facts++] = fact;
    return AR_OK;
}

enum ar_status ar_profile_fact(struct ar_profile *p, struct ar_str key, struct ar_str value)
{
    struct ar_fact fact;
    enum ar_status status = ar_profile_string(p, key, &fact.key);

    if (status == AR_OK)
        status = ar_profile_string(p, value, &fact.value);
    return status == AR_OK ? add_fact(p, fact) : status;
}

static bool same_function(const struct ar_function *a, const struct ar_function *b)
{
    return a->kind == b->kind && a->name == b->name && a->file == b->file &&
           a->first_line == b->first_line;
}

enum ar_status ar_profile_function(struct ar_profile *p, struct ar_function function, uint32_t *id)
{
    uint64_t key = ar_pair_key(ar_pair_key(function.name, function.file),
                               ar_pair_key(function.first_line, function.kind));

    for (;; key++) {
        uint32_t found = ar_idmap_get(&p->function_ids, key ? key : 1, AR_NO_ID);

        if (found == AR_NO_ID)
            break;
        if (same_function(&p->functions[found], &function)) {
            if (!p->functions[found].module)
                p->functions[found].module = function.module;
            *id = found;
            return AR_OK;
        }
    }
    if (ar_grow((void **)&p->functions, &p->cap_functions, p->n_functions + 1,
                sizeof *p->functions) < 0 ||
        ar_idmap_put(&p->function_ids, key ? key : 1, (uint32_t)p->n_functions) < 0)
        return AR_NOMEM;
    *id = (uint32_t)p->n_functions;
    p->functions[p->n_functions++] = function;
    return AR_OK;
}

static bool same_node(const struct ar_profile_node *a, const struct ar_profile_node *b)
{
    return a->parent == b->parent && a->function == b->function && a->line == b->line;
}

/* Where a node is, or the empty slot that it would have. */
/*
 * Nodes are made one after the other, parents first, so what is made now is most likely near what was made last. The first
 * slots of a node are therefore near those of its siblings and cousins, and in the cache; only where these are taken, as
 * with very many siblings, is it put anywhere. Of 390,000 nodes it takes half the time.
 */
#define NEAR_SLOTS 16

static uint32_t *node_slot(const struct ar_profile *p, const struct ar_profile_node *node)
{
    size_t mask = p->n_node_slots - 1;
    uint64_t hash = ar_pair_key((uint64_t)node->parent << 32 | node->function, node->line);
    size_t i = 2 * (size_t)node->parent + (hash >> 61);

    for (int n = 0; p->node_slots[i &= mask] && !same_node(&p->nodes[p->node_slots[i] - 1], node);
         n++)
        i = n == NEAR_SLOTS ? (size_t)hash : i + 1;
    return &p->node_slots[i];
}

/* Nodes say themselves what they are: the smaller table need not be there while this is made. */
static enum ar_status grow_node_slots(struct ar_profile *p, size_t n_nodes)
{
    size_t n_slots = 64;

    while (n_slots < 2 * (n_nodes + 1))
        n_slots *= 2;
    free(p->node_slots);
    p->n_node_slots = 0;
    p->node_slots = calloc(n_slots, sizeof *p->node_slots);
    if (!p->node_slots)
        return AR_NOMEM;
    p->n_node_slots = n_slots;
    for (size_t i = 0; i < p->n_nodes; i++)
        *node_slot(p, &p->nodes[i]) = (uint32_t)i + 1;
    return AR_OK;
}

enum ar_status ar_profile_node_room(struct ar_profile *p, size_t n_more)
{
    if (ar_grow((void **)&p->nodes, &p->cap_nodes, p->n_nodes + n_more, sizeof *p->nodes) < 0)
        return AR_NOMEM;
    /* Of later files most nodes are there already. */
    return p->n_nodes <= 1 ? grow_node_slots(p, n_more) : AR_OK;
}

#define NODE_GUESSES 4

/* Ranks call the same functions in the same order, but for some: looking ahead saves the hash. */
static bool guess_node(struct ar_profile *p, const struct ar_profile_node *node, uint32_t *id)
{
    for (uint32_t i = p->next_node; i < p->n_nodes && i < p->next_node + NODE_GUESSES; i++)
        if (same_node(&p->nodes[i], node)) {
            *id = i;
            p->next_node = i + 1;
            return true;
        }
    return false;
}

enum ar_status ar_profile_node(struct ar_profile *p, struct ar_profile_node node, uint32_t *id)
{
    if (guess_node(p, &node, id))
        return AR_OK;
    if (2 * (p->n_nodes + 1) > p->n_node_slots && grow_node_slots(p, p->n_nodes) < 0)
        return AR_NOMEM;

    uint32_t *slot = node_slot(p, &node);

    if (!*slot) {
        if (ar_grow((void **)&p->nodes, &p->cap_nodes, p->n_nodes + 1, sizeof *p->nodes) < 0)
            return AR_NOMEM;
        p->nodes[p->n_nodes++] = node;
        *slot = (uint32_t)p->n_nodes;
    }
    *id = *slot - 1;
    p->next_node = *slot;
    return AR_OK;
}

enum ar_status ar_profile_process(struct ar_profile *p, const struct ar_process *process,
                                  uint32_t *id)
{
    if (ar_grow((void **)&p->processes, &p->cap_processes, p->n_processes + 1,
                sizeof *p->processes) < 0)
        return AR_NOMEM;
    *id = (uint32_t)p->n_processes;
    p->processes[p->n_processes++] = *process;
    return AR_OK;
}

enum ar_status ar_profile_location(struct ar_profile *p, const struct ar_location *location,
                                   uint32_t *id)
{
    if (ar_grow((void **)&p->locations, &p->cap_locations, p->n_locations + 1,
                sizeof *p->locations) < 0)
        return AR_NOMEM;
    *id = (uint32_t)p->n_locations;
    p->locations[p->n_locations++] = *location;
    return AR_OK;
}

/* Larger ones are not copied, which needs both, but moved by the kernel. */
#define MOST_COPIED_BYTES ((size_t)32 << 20)

enum ar_status ar_profile_room(struct ar_profile *p, unsigned metric, size_t n_more)
{
    struct ar_metric *m = &p->metrics[metric];
    size_t n = m->n_values + n_more, cap = 2 * m->cap > n ? 2 * m->cap : n;
    size_t most = MOST_COPIED_BYTES / sizeof *m->values;

    if (n <= m->cap)
        return AR_OK;
    if (m->cap > most)
        return ar_grow((void **)&m->values, &m->cap, n, sizeof *m->values);
    /* Files are much alike: room for all of them need not be made again and again. */
    if (p->n_to_come && n_more <= most / p->n_to_come)
        cap = m->n_values + n_more * p->n_to_come > cap ? m->n_values + n_more * p->n_to_come : cap;

    struct ar_value *values = ar_large_array(cap, sizeof *values);

    if (!values)
        return AR_NOMEM;
    if (m->n_values)
        memcpy(values, m->values, m->n_values * sizeof *values);
    free(m->values);
    m->values = values;
    m->cap = cap;
    return AR_OK;
}

static bool is_after(const struct ar_value *a, const struct ar_value *b)
{
    return a->node < b->node || (a->node == b->node && a->location < b->location);
}

/* Whether the values are in order still, with one more behind the last. */
static inline void note_order(struct ar_metric *m, const struct ar_value *value)
{
    const struct ar_value *last = &m->values[m->n_values - 1];

    if (m->sorted && !is_after(last, value))
        m->sorted = false;
    if (last->location > value->location)
        m->is_by_location = false;
}

/* The first one, and where there is no room: apart, so that what happens nearly always makes no call. */
static __attribute__((noinline)) enum ar_status grow_and_add(struct ar_metric *m,
                                                             struct ar_value value)
{
    if (ar_grow((void **)&m->values, &m->cap, m->n_values + 1, sizeof *m->values) < 0)
        return AR_NOMEM;
    if (m->n_values == 0)
        m->sorted = m->is_by_location = true;
    else
        note_order(m, &value);
    m->values[m->n_values++] = value;
    return AR_OK;
}

static inline enum ar_status add_value(struct ar_metric *m, struct ar_value value)
{
    if (m->n_values == 0 || m->n_values == m->cap)
        return grow_and_add(m, value);
    note_order(m, &value);
    m->values[m->n_values++] = value;
    return AR_OK;
}

enum ar_status ar_profile_value(struct ar_profile *p, unsigned metric, struct ar_value value)
{
    return add_value(&p->metrics[metric], value);
}

enum ar_status ar_profile_pair(struct ar_profile *p, uint32_t node, uint32_t location,
                               const struct ar_pair_values *v)
{
    struct ar_metric *m = p->metrics;

    if (add_value(&m[AR_METRIC_CALLS], (struct ar_value){node, location, v->n_calls}) < 0 ||
        add_value(&m[AR_METRIC_PRIMITIVE], (struct ar_value){node, location, v->n_primitive}) < 0 ||
        add_value(&m[AR_METRIC_SELF], (struct ar_value){node, location, v->self_ns}) < 0 ||
        add_value(&m[AR_METRIC_TIME], (struct ar_value){node, location, v->total_ns}) < 0)
        return AR_NOMEM;
    return AR_OK;
}

enum ar_status ar_profile_init(struct ar_profile *p)
{
    uint32_t id;
    enum ar_status status;

    *p = (struct ar_profile){0};
    status = ar_profile_string(p, (struct ar_str){"", 0}, &id);
    if (status == AR_OK)
        status = ar_profile_function(p, (struct ar_function){.kind = AR_FUNCTION_THREAD}, &id);
    if (status == AR_OK)
        status = ar_profile_node(p, (struct ar_profile_node){.parent = AR_NO_ID}, &id);
    return status;
}

void ar_profile_free(struct ar_profile *p)
{
    ar_strtab_free(&p->strings);
    free(p->facts);
    free(p->functions);
    free(p->nodes);
    free(p->processes);
    free(p->locations);
    for (unsigned i = 0; i < ar_profile_n_metrics(p); i++) {
        free(p->metrics[i].own);
        free(p->metrics[i].values);
        ar_packed_free(&p->packed[i]);
    }
    for (size_t i = 0; i < ar_profile_n_tables(p); i++)
        ar_table_free(&p->tables[i]);
    ar_sets_free(&p->sets);
    free(p->file);
    for (int i = 0; i < AR_N_ROW_LISTS; i++) {
        free(p->rows[i].first);
        free(p->rows[i].nodes);
    }
    free(p->location_of);
    free(p->comms);
    ar_profile_free_streams(p);
    ar_idmap_free(&p->fact_ids);
    ar_idmap_free(&p->function_ids);
    ar_idmap_free(&p->comm_ids);
    ar_idmap_free(&p->process_ids);
    if (p->memory)
        p->free_memory(p->memory);
    free(p->node_slots);
    *p = (struct ar_profile){0};
}

/* One counting pass of a radix sort: stable, linear in values and keys. */
static void counting_sort(const struct ar_value *from, struct ar_value *to, size_t n_values,
                          size_t *start, size_t n_keys, bool by_node)
{
    memset(start, 0, (n_keys + 1) * sizeof *start);
    for (size_t i = 0; i < n_values; i++)
        start[(by_node ? from[i].node : from[i].location) + 1]++;
    for (size_t k = 0; k < n_keys; k++)
        start[k + 1] += start[k];
    for (size_t i = 0; i < n_values; i++)
        to[start[by_node ? from[i].node : from[i].location]++] = from[i];
}

/* Of values in order: the location is the one that differs as a rule. */
static bool is_same_cell(const struct ar_value *a, const struct ar_value *b)
{
    return a->location == b->location && a->node == b->node;
}

/* Two call sites on one line are one node: what they measured becomes one value. */
static size_t combine_equal(struct ar_value *values, size_t n_values, enum ar_combine how)
{
    size_t n = 1;

    while (n < n_values && !is_same_cell(&values[n - 1], &values[n]))
        n++;
    for (size_t i = n; i < n_values; i++) {
        struct ar_value *last = &values[n - 1];

        if (is_same_cell(last, &values[i]))
            last->value = ar_combine(how, last->value, values[i].value);
        else
            values[n++] = values[i];
    }
    return n;
}

/* As where one process was added after the other. */
static bool comes_by_location(const struct ar_metric *m)
{
    if (m->is_by_location)
        return true;
    for (size_t i = 1; i < m->n_values; i++)
        if (m->values[i].location < m->values[i - 1].location)
            return false;
    return true;
}

/* An array to sort into: for all metrics one after the other, so that its pages are touched once. */
struct spare {
    struct ar_value *values;
    size_t cap;
};

static enum ar_status make_spare(struct spare *spare, size_t n_values)
{
    if (n_values <= spare->cap)
        return AR_OK;
    free(spare->values);
    *spare = (struct spare){.values = ar_large_array(n_values, sizeof *spare->values)};
    spare->cap = spare->values ? n_values : 0;
    return spare->values ? AR_OK : AR_NOMEM;
}

static void swap_arrays(struct ar_metric *m, struct spare *spare)
{
    struct spare before = {m->values, m->cap};

    m->values = spare->values;
    m->cap = spare->cap;
    *spare = before;
}

/* Each pass goes from one array to the other. */
static enum ar_status sort_metric(struct ar_metric *m, struct spare *spare, size_t n_nodes,
                                  size_t n_locations, enum ar_combine how)
{
    size_t n_keys = n_nodes > n_locations ? n_nodes : n_locations;
    size_t *start = malloc((n_keys + 1) * sizeof *start);
    enum ar_status status = start ? make_spare(spare, m->n_values) : AR_NOMEM;

    if (status == AR_OK) {
        if (!comes_by_location(m)) {
            counting_sort(m->values, spare->values, m->n_values, start, n_locations, false);
            swap_arrays(m, spare);
            status = make_spare(spare, m->n_values);
        }
    }
    if (status == AR_OK) {
        counting_sort(m->values, spare->values, m->n_values, start, n_nodes, true);
        swap_arrays(m, spare);
        m->n_values = combine_equal(m->values, m->n_values, how);
        m->sorted = true;
        m->is_by_location = false;
    }
    free(start);
    return status;
}

/* No nodes are added now: what finds them makes room, and is there again when it is asked for. */
enum ar_status ar_profile_sort(struct ar_profile *p)
{
    struct spare spare = {0};
    enum ar_status status = AR_OK;

    if (ar_profile_families(p) < 0)
        return AR_NOMEM;
    free(p->node_slots);
    p->node_slots = NULL;
    p->n_node_slots = 0;
    for (size_t i = 0; i < ar_profile_n_tables(p); i++)
        if (p->tables[i].n)
            ar_table_sort(&p->tables[i]);
    if (ar_profile_sort_syncs(p) < 0)
        return AR_NOMEM;
    for (unsigned i = 0; i < ar_profile_n_metrics(p) && status == AR_OK; i++) {
        struct ar_metric *m = &p->metrics[i];

        if (!m->sorted && m->n_values)
            status = sort_metric(m, &spare, p->n_nodes, p->n_locations,
                                 (enum ar_combine)ar_profile_metric(p, i)->combine);
    }
    free(spare.values);
    return status;
}

const char *ar_profile_fact_text(const struct ar_profile *p, const char *key)
{
    for (size_t i = 0; i < p->n_facts; i++)
        if (strcmp(ar_strtab_text(&p->strings, p->facts[i].key), key) == 0)
            return ar_strtab_text(&p->strings, p->facts[i].value);
    return "";
}

bool ar_profile_of_pairs(const struct ar_profile *p)
{
    return strcmp(ar_profile_fact_text(p, "source"), "pstats") == 0;
}

enum ar_status ar_profile_declare_pairs(struct ar_profile *p)
{
    return ar_profile_fact(p, (struct ar_str){"source", 6}, (struct ar_str){"pstats", 6});
}

bool ar_node_is_pair(const struct ar_profile *p, uint32_t node)
{
    uint32_t parent = p->nodes[node].parent;

    return parent != AR_NO_ID && p->nodes[parent].parent != AR_NO_ID;
}

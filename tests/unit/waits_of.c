// SPDX-License-Identifier: BSD-3-Clause
/*
 * waits_of: reads a made-up run from standard input and prints its waits as JSON. No test by itself: tests/causes
 * simulates programs whose waits and causes are known, and compares.
 *
 * One line per thing. Numbers count from 0 in the order of the lines, except that node 0 is the root:
 *
 *     process RANK WORLD_SIZE WALL_NS
 *     thread PROCESS NUMBER
 *     node ID PARENT FUNCTION python|mpi|builtin [LINE]
 *     comm ID SIZE world|split|inter REMOTE_SIZE
 *     rank COMM PROCESS RANK [SIDE]                   rank of a process in a communicator
 *     sync THREAD KIND COMM SEQUENCE PEER|- NODE ENTER_NS EXIT_NS POSTED_NODE|- POST_NS|- [holds_up]
 *     part NODE|? SHARE rest|whole                    of the sync above it; shares are of 255
 *
 * KIND is a name of ar_sync_kind_name, or `isend`: a send that was posted. Calls of a thread follow each other in the
 * order of their ends. Parts share the time since the last sync that had parts, up to where this one was entered.
 */
#include "analysis/waits.h"
#include "export/json.h"

#include "sample_profile.h"

#define MAX_PARTS AR_MOST_PARTS
#define N_SHARES 255
#define LINE_FORMAT "%63s %63s %63s %63s %63s %63s %63s %63s %63s %63s %63s %63s"
#define MAX_WORDS 12

typedef char word[64];

/* What the numbers of the text are in the profile. */
struct numbers {
    uint32_t *ids;
    size_t n, cap;
};

static struct ar_profile p;
static struct numbers nodes, comms;
static size_t line_number;

/* Rank * 2 + side in a communicator, by rank_key. */
static struct ar_idmap ranks;

/* The sync whose parts are being read. */
static struct {
    bool is_open, has_parts;
    struct ar_profile_sync sync;
    struct ar_profile_part parts[MAX_PARTS];
    uint64_t last_exit_ns; /* of the thread's call before */
    uint64_t since_ns;     /* time outside calls since the last sync that had parts */
} now;

static void refuse(const char *what)
{
    fprintf(stderr, "waits_of: line %zu: %s\n", line_number, what);
    exit(2);
}

/* ---- words ------------------------------------------------------------------------------------- */

static uint64_t number_of(const char *text)
{
    char *end;
    uint64_t value = strtoull(text, &end, 10);

    if (end == text || *end)
        refuse("not a number");
    return value;
}

static uint32_t small_of(const char *text)
{
    uint64_t value = number_of(text);

    if (value >= AR_NO_ID)
        refuse("number too large");
    return (uint32_t)value;
}

static bool is_none(const char *text)
{
    return !strcmp(text, "-");
}

static uint32_t known(const struct numbers *map, const char *text)
{
    uint32_t id = small_of(text);

    if (id >= map->n)
        refuse("unknown number");
    return map->ids[id];
}

static void add_number(struct numbers *map, const char *text, uint32_t id)
{
    if (small_of(text) != map->n)
        refuse("numbers have to follow each other");
    sample_must(ar_grow((void **)&map->ids, &map->cap, map->n + 1, sizeof *map->ids));
    map->ids[map->n++] = id;
}

static uint64_t rank_key(uint32_t comm, uint32_t process)
{
    return ((uint64_t)comm << 32 | process) + 1;
}

/* ---- where the profile is about to change ------------------------------------------------------ */

static uint32_t own_rank(uint32_t comm, uint32_t location)
{
    return ar_idmap_get(&ranks, rank_key(comm, p.locations[location].process), AR_NO_ID);
}

/* A rest stands for all below a node, AR_NO_ID for unknown work. */
static void add_part(uint32_t node, bool is_rest, uint64_t ns)
{
    now.parts[now.sync.n_parts++] =
        (struct ar_profile_part){.node = node, .is_rest = is_rest || node == AR_NO_ID, .ns = ns};
}

static uint32_t kind_of(const char *name)
{
    for (uint32_t kind = 1; kind < AR_N_SYNC_KINDS; kind++)
        if (!strcmp(ar_sync_kind_name(kind), name))
            return kind;
    refuse("unknown kind of sync");
    return AR_SYNC_NONE;
}

/* ---- lines ------------------------------------------------------------------------------------- */

static void end_sync(void)
{
    if (now.is_open)
        sample_must(ar_profile_sync(&p, now.sync, now.parts));
    if (now.has_parts)
        now.since_ns = 0;
    now.is_open = now.has_parts = false;
}

static void read_process(word *w, int n)
{
    (void)n;
    uint32_t id = sample_rank(&p, small_of(w[1]));

    p.processes[id].world_size = small_of(w[2]);
    p.processes[id].wall_ns = number_of(w[3]);
}

static void read_thread(word *w, int n)
{
    (void)n;
    if (small_of(w[1]) >= p.n_processes)
        refuse("unknown process");

    uint32_t process = small_of(w[1]);
    uint32_t id = sample_thread(&p, process, small_of(w[2]));

    sample_value(&p, AR_METRIC_TIME, 0, id, p.processes[process].wall_ns);
}

static enum ar_function_kind function_kind_of(const char *text)
{
    if (!strcmp(text, "python"))
        return AR_FUNCTION_PYTHON;
    if (!strcmp(text, "mpi"))
        return AR_FUNCTION_MPI;
    if (strcmp(text, "builtin") != 0)
        refuse("unknown kind of function");
    return AR_FUNCTION_BUILTIN;
}

static void read_node(word *w, int n)
{
    enum ar_function_kind kind = function_kind_of(w[4]);
    uint32_t function = sample_function(&p, kind, w[3], kind == AR_FUNCTION_PYTHON);
    uint32_t line = n > 5 ? small_of(w[5]) : 0;

    add_number(&nodes, w[1], sample_node(&p, known(&nodes, w[2]), function, line));
}

static void read_comm(word *w, int n)
{
    (void)n;
    struct ar_comm comm = {.identity = small_of(w[1]) + 1,
                           .name = sample_text(&p, w[3]),
                           .origin = !strcmp(w[3], "world")   ? AR_COMM_WORLD
                                     : !strcmp(w[3], "inter") ? AR_COMM_INTER
                                                              : AR_COMM_SPLIT,
                           .size = small_of(w[2]),
                           .remote_size = small_of(w[4])};
    uint32_t id;

    sample_must(ar_profile_comm(&p, comm, &id));
    add_number(&comms, w[1], id);
}

static void read_rank(word *w, int n)
{
    if (small_of(w[2]) >= p.n_processes)
        refuse("unknown process");

    uint32_t side = n > 4 ? small_of(w[4]) : 0;
    uint64_t key = rank_key(known(&comms, w[1]), small_of(w[2]));

    sample_must(ar_idmap_put(&ranks, key, small_of(w[3]) * 2 + side));
}

static void start_gap(uint32_t thread, uint64_t enter_ns, uint64_t exit_ns)
{
    if (thread != now.sync.location)
        now.last_exit_ns = now.since_ns = 0;
    if (enter_ns > now.last_exit_ns)
        now.since_ns += enter_ns - now.last_exit_ns;
    now.last_exit_ns = exit_ns;
}

static void read_sync(word *w, int n)
{
    end_sync();

    bool is_isend = !strcmp(w[2], "isend"), is_posted = !is_none(w[9]);
    struct ar_profile_sync sync = {
        .location = small_of(w[1]),
        .flags = (is_isend || is_posted ? AR_SYNC_NONBLOCKING : 0) |
                 (n > 11 && !strcmp(w[11], "holds_up") ? AR_SYNC_HOLDS_UP : 0),
        .comm = known(&comms, w[3]) + 1,
        .sequence = small_of(w[4]),
        .peer = is_none(w[5]) ? AR_PEER_ALL : small_of(w[5]),
        .node = known(&nodes, w[6]),
        .posted = is_posted ? known(&nodes, w[9]) + 1 : 0,
        .enter_ns = number_of(w[7]),
        .exit_ns = number_of(w[8]),
        .post_ns = is_posted ? number_of(w[10]) : 0,
    };

    if (sync.location >= p.n_locations)
        refuse("unknown thread");
    sync.rank = own_rank(sync.comm - 1, sync.location);
    start_gap(sync.location, sync.enter_ns, sync.exit_ns);
    sync.kind = kind_of(is_isend ? "send" : w[2]);
    now.is_open = true;
    now.sync = sync;
}

static void read_part(word *w, int n)
{
    (void)n;
    uint64_t share = number_of(w[2]);

    if (share > N_SHARES || now.sync.n_parts == MAX_PARTS)
        refuse("too much");
    now.has_parts = true;
    add_part(strcmp(w[1], "?") != 0 ? known(&nodes, w[1]) : AR_NO_ID, !strcmp(w[3], "rest"),
             now.since_ns * share / N_SHARES);
}

static const struct {
    const char *name;
    int n_words;
    void (*read)(word *w, int n);
} readers[] = {
    {"process", 4, read_process}, {"thread", 3, read_thread}, {"node", 5, read_node},
    {"comm", 5, read_comm},       {"rank", 4, read_rank},     {"sync", 11, read_sync},
    {"part", 4, read_part},
};

static void read_line(const char *line)
{
    word w[MAX_WORDS];
    int n = sscanf(line, LINE_FORMAT, w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9],
                   w[10], w[11]);

    for (size_t i = 0; n > 0 && i < sizeof readers / sizeof *readers; i++)
        if (!strcmp(w[0], readers[i].name)) {
            if (n < readers[i].n_words)
                refuse("words are missing");
            readers[i].read(w, n);
            return;
        }
    refuse("unknown word");
}

static void read_all(void)
{
    char line[1024];

    add_number(&nodes, "0", 0);
    while (fgets(line, sizeof line, stdin)) {
        line_number++;
        read_line(line);
    }
    end_sync();
}

/* ---- printing ---------------------------------------------------------------------------------- */

static const char *name_of(uint32_t node)
{
    return ar_strtab_text(&p.strings, p.functions[p.nodes[node].function].name);
}

/* Outermost function first, without the root. */
static void put_path(struct ar_json *j, uint32_t node)
{
    if (!node)
        return;
    put_path(j, p.nodes[node].parent);

    bool is_c = p.functions[p.nodes[node].function].kind == AR_FUNCTION_BUILTIN;
    char text[80];

    snprintf(text, sizeof text, is_c ? "<%s>" : "%s", name_of(node));
    ar_json_text(j, NULL, text);
}

static void put_shares(struct ar_json *j, const char *key, const struct ar_wait_share *shares,
                       size_t n)
{
    ar_json_open(j, key, '[');
    for (size_t i = 0; i < n; i++) {
        ar_json_open(j, NULL, '{');
        ar_json_integer(j, "process", shares[i].process);
        ar_json_number(j, "ns", shares[i].ns);
        ar_json_close(j, '}');
    }
    ar_json_close(j, ']');
}

static void put_cause(struct ar_json *j, const struct ar_wait_cause *cause)
{
    ar_json_open(j, NULL, '{');
    ar_json_integer(j, "process", cause->process);
    ar_json_bool(j, "is_unknown", cause->node == AR_NO_ID);
    ar_json_bool(j, "is_spread", cause->with_callees);
    ar_json_open(j, "path", '[');
    put_path(j, cause->node == AR_NO_ID ? 0 : cause->node);
    ar_json_close(j, ']');
    ar_json_number(j, "ns", cause->ns);
    ar_json_close(j, '}');
}

static void put_site(struct ar_json *j, const struct ar_wait_site *site)
{
    ar_json_open(j, NULL, '{');
    ar_json_text(j, "class", ar_wait_class_name(site->class));
    ar_json_text(j, "name", name_of(site->node));
    ar_json_integer(j, "line", site->place.line);
    ar_json_number(j, "waited_ns", site->waited_ns);
    put_shares(j, "waiting", site->waiting, site->n_waiting);
    put_shares(j, "late", site->late, site->n_late);
    ar_json_open(j, "causes", '[');
    for (size_t i = 0; i < site->n_causes; i++)
        put_cause(j, &site->causes[i]);
    ar_json_close(j, ']');
    ar_json_close(j, '}');
}

static void put_waits(struct ar_bytes *out, const struct ar_waits *waits)
{
    struct ar_json j = {.out = out};

    ar_json_open(&j, NULL, '{');
    ar_json_number(&j, "waited_ns", waits->waited_ns);
    ar_json_integer(&j, "resolved", waits->n_resolved);
    ar_json_integer(&j, "unresolved", waits->n_unresolved);
    ar_json_open(&j, "sites", '[');
    for (size_t i = 0; i < waits->n_sites; i++)
        put_site(&j, &waits->sites[i]);
    ar_json_close(&j, ']');
    ar_json_close(&j, '}');
}

int main(void)
{
    struct ar_waits waits;
    struct ar_bytes out = {0};

    sample_start(&p);
    read_all();
    sample_must(ar_profile_sort(&p));
    sample_must(ar_waits_build(&waits, &p, NULL));
    put_waits(&out, &waits);

    bool is_printed = !out.bad && fwrite(out.data, 1, out.n, stdout) == out.n && !fflush(stdout);

    ar_bytes_free(&out);
    ar_waits_free(&waits);
    ar_profile_free(&p);
    ar_idmap_free(&ranks);
    free(nodes.ids);
    free(comms.ids);
    return is_printed ? 0 : 2;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "import/pstats_read.h"

#include "import/marshal_read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The function that a name was last seen with: most names are those of one. */
struct named {
    uint32_t file, first_line;
    uint32_t function; /* 0, which is none of a file's: not seen yet */
};

/* What objects that occur again are remembered as. */
enum { A_STRING, A_FUNCTION, A_PAIR };

struct reading {
    struct ar_marshal_reader in;
    struct ar_profile *p;
    uint32_t process, location;
    uint32_t next_function;   /* behind the one that was found last */
    uint32_t next_string;     /* behind those that were found in order */
    uint32_t *function_nodes; /* by function: its node below the root, 0: not known yet */
    size_t cap_function_nodes;
    struct named *named; /* by the number of the name */
    size_t cap_named;
    struct ar_pair_values *figures; /* of tuples that may be referred to */
    size_t n_figures, cap_figures;
    size_t n_left; /* that may be read by going back, so that a small file is no endless one */
    uint64_t total_ns;
    struct ar_bytes text; /* a name with its surrogates taken out */
    enum ar_status status;
    struct ar_error problem;
};

bool ar_pstats_is(const void *bytes, size_t n_bytes)
{
    const unsigned char *at = bytes;
    int first = n_bytes >= 2 ? at[1] & 0x7f : 0;

    return first && (at[0] & 0x7f) == '{' && (first == '(' || first == ')' || first == '0');
}

/* ---- failing --------------------------------------------------------------------------------- */

#define FAIL(r, ...) ((r)->status = ar_fail(&(r)->problem, AR_BAD, __VA_ARGS__), false)

static bool fail_memory(struct reading *r)
{
    r->status = ar_fail(&r->problem, AR_NOMEM, "%s", ar_status_text(AR_NOMEM));
    return false;
}

static bool fail_kind(struct reading *r, const struct ar_marshal_object *found, const char *wanted)
{
    return FAIL(r, "%s where %s should be, byte %zu", ar_marshal_kind_name(&r->in, found), wanted,
                found->offset);
}

/* ---- objects --------------------------------------------------------------------------------- */

static bool next(struct reading *r, struct ar_marshal_object *out)
{
    if (ar_marshal_next(&r->in, out))
        return true;
    r->status = r->in.status;
    r->problem = r->in.problem;
    return false;
}

/* What a pair takes in memory, at least. */
#define PAIR_BYTES 64

/* What is read where it stands is paid for by being there. */
static bool charge(struct reading *r, size_t n_bytes)
{
    if (r->in.n_entered == 0)
        return true;
    if (n_bytes > r->n_left)
        return FAIL(r, "it refers to the same again and again");
    r->n_left -= n_bytes;
    return true;
}

static bool next_count(struct reading *r, uint64_t *count)
{
    struct ar_marshal_object o;

    if (!next(r, &o))
        return false;
    if (o.kind != AR_MARSHAL_INTEGER || o.integer < 0)
        return fail_kind(r, &o, "a number of calls");
    *count = (uint64_t)o.integer;
    return true;
}

#define MOST_SECONDS 1e9

static bool is_time(double seconds)
{
    return seconds > -0.5e-9 && seconds < MOST_SECONDS;
}

static uint64_t ns_of(double seconds)
{
    return seconds > 0 ? (uint64_t)(seconds * 1e9 + 0.5) : 0;
}

static bool next_ns(struct reading *r, uint64_t *ns)
{
    struct ar_marshal_object o;
    double seconds;

    if (!next(r, &o))
        return false;
    if (o.kind != AR_MARSHAL_REAL && o.kind != AR_MARSHAL_INTEGER)
        return fail_kind(r, &o, "a time");
    seconds = o.kind == AR_MARSHAL_REAL ? o.real : (double)o.integer;
    if (!is_time(seconds))
        return FAIL(r, "a time of %g s, byte %zu, which no clock in seconds can give", seconds,
                    o.offset);
    *ns = ns_of(seconds);
    return true;
}

/* Two counts and two times. Of a function the primitive calls come first, of a caller last. */
static bool next_figures(struct reading *r, bool is_function, struct ar_pair_values *f)
{
    int64_t counts[2];
    double seconds[2];
    uint64_t *first = is_function ? &f->n_primitive : &f->n_calls;
    uint64_t *second = is_function ? &f->n_calls : &f->n_primitive;

    *f = (struct ar_pair_values){0};
    if (!ar_marshal_peek_figures(&r->in, counts, seconds) || counts[0] < 0 || counts[1] < 0 ||
        !is_time(seconds[0]) || !is_time(seconds[1]))
        return next_count(r, first) && next_count(r, second) && next_ns(r, &f->self_ns) &&
               next_ns(r, &f->total_ns);
    ar_marshal_pass_figures(&r->in);
    *first = (uint64_t)counts[0];
    *second = (uint64_t)counts[1];
    f->self_ns = ns_of(seconds[0]);
    f->total_ns = ns_of(seconds[1]);
    return true;
}

/* ---- functions ------------------------------------------------------------------------------- */

/*
 * The byte that a surrogate stands for, where a name was not UTF-8 (os.fsdecode makes them): it has
 * the form ED B2 80 to ED B3 BF. 0: none here.
 */
static unsigned escaped_byte(const unsigned char *at, size_t n_left)
{
    if (n_left < 3 || at[0] != 0xed || (at[1] != 0xb2 && at[1] != 0xb3) || (at[2] & 0xc0) != 0x80)
        return 0;
    return (unsigned)(at[1] & 1) << 6 | (at[2] & 0x3f) | 0x80;
}

/* Names have the bytes that the program has, as in all that is recorded by allranks itself. */
static struct ar_str unescaped(struct reading *r, struct ar_str text)
{
    const unsigned char *at = (const unsigned char *)text.text;

    if (!memchr(at, 0xed, text.n_bytes))
        return text;
    r->text.n = 0;
    for (size_t i = 0; i < text.n_bytes;) {
        unsigned byte = escaped_byte(at + i, text.n_bytes - i);

        ar_bytes_u8(&r->text, byte ? (uint8_t)byte : at[i]);
        i += byte ? 3 : 1;
    }
    return (struct ar_str){(const char *)r->text.data, r->text.n};
}

#define GUESSES 4

/* Ranks have the same names in the same order, but for some: looking ahead saves the hash. */
static bool guess_string(struct reading *r, struct ar_str text, uint32_t *id)
{
    for (uint32_t i = r->next_string; i < r->next_string + GUESSES; i++) {
        struct ar_str guess = ar_strtab_get(&r->p->strings, i);

        if (guess.n_bytes == text.n_bytes && text.n_bytes &&
            memcmp(guess.text, text.text, text.n_bytes) == 0) {
            *id = i;
            return true;
        }
    }
    return false;
}

#define NEAR_STRINGS 64

/* A name that other ranks met much later says nothing of where the next one is. */
static bool find_string(struct reading *r, struct ar_str text, uint32_t *id)
{
    if (!guess_string(r, text, id) && ar_profile_string(r->p, text, id) < 0)
        return fail_memory(r);
    if (*id >= r->next_string && *id - r->next_string < NEAR_STRINGS)
        r->next_string = *id + 1;
    return true;
}

static bool next_text(struct reading *r, uint32_t *id)
{
    struct ar_marshal_object o;

    *id = ar_marshal_next_known(&r->in, A_STRING);
    if (*id != AR_NO_ID)
        return true;
    if (!next(r, &o))
        return false;
    if (o.kind != AR_MARSHAL_TEXT)
        return fail_kind(r, &o, "a name");
    *id = ar_marshal_recall(&r->in, &o, A_STRING);
    if (*id != AR_NO_ID)
        return true;
    if (!charge(r, o.text.n_bytes))
        return false;
    if (!find_string(r, unescaped(r, o.text), id))
        return false;
    if (r->text.bad)
        return fail_memory(r);
    ar_marshal_remember(&r->in, &o, A_STRING, *id);
    return true;
}

static bool next_line(struct reading *r, uint32_t *line)
{
    struct ar_marshal_object o;

    if (ar_marshal_next_count(&r->in, line))
        return true;
    if (!next(r, &o))
        return false;
    if (o.kind != AR_MARSHAL_INTEGER)
        return fail_kind(r, &o, "a line");
    if (o.integer < 0 || o.integer > UINT32_MAX)
        return FAIL(r, "a function at line %" PRId64 ", byte %zu", o.integer, o.offset);
    *line = (uint32_t)o.integer;
    return true;
}

static bool starts_with(struct ar_str s, const char *start)
{
    size_t n = strlen(start);

    return s.n_bytes >= n && memcmp(s.text, start, n) == 0;
}

/*
 * What has no file is '~' at line 0, named in <>: a function in C, or what allranks itself exports
 * in the same manner. The exporter puts back what is taken off here.
 */
static bool tell_kind(struct reading *r, struct ar_function *f)
{
    struct ar_str name = ar_strtab_get(&r->p->strings, f->name);
    size_t n_before = 1;

    f->kind = AR_FUNCTION_PYTHON;
    if (strcmp(ar_strtab_text(&r->p->strings, f->file), "~") != 0 || f->first_line ||
        !starts_with(name, "<") || name.n_bytes < 2 || name.text[name.n_bytes - 1] != '>')
        return true;
    f->kind = AR_FUNCTION_BUILTIN;
    if (starts_with(name, "<MPI_")) {
        f->kind = AR_FUNCTION_MPI;
    } else if (starts_with(name, "<region ")) {
        f->kind = AR_FUNCTION_REGION;
        n_before = strlen("<region ");
    } else if (starts_with(name, "<task ")) {
        f->kind = AR_FUNCTION_TASK;
        n_before = strlen("<task ");
    } else if (starts_with(name, "<mpi4py ")) {
        f->kind = AR_FUNCTION_OPERATION;
        n_before = strlen("<mpi4py ");
    }
    name = (struct ar_str){name.text + n_before, name.n_bytes - n_before - 1};
    f->file = 0;
    return ar_profile_string(r->p, name, &f->name) == AR_OK || fail_memory(r);
}

/* Python 3.15's sampling profiler marks its files by a key of its own. */
static bool fail_key(struct reading *r, const struct ar_marshal_object *key)
{
    struct ar_marshal_object o;

    if (key->kind != AR_MARSHAL_TUPLE)
        return fail_kind(r, key, "a function");
    if (key->n_items == 1 && ar_marshal_next(&r->in, &o) && o.kind == AR_MARSHAL_TEXT &&
        starts_with(o.text, "__sampled__"))
        return FAIL(r, "it has samples, which are no calls");
    return FAIL(r, "a tuple of %" PRIu32 " where a function should be, byte %zu", key->n_items,
                key->offset);
}

/* A table by number that is as long as the number needs, new items zeroed. */
static bool make_room(struct reading *r, void **items, size_t *cap, uint32_t number, size_t n_bytes)
{
    size_t before = *cap;

    if (number < before)
        return true;
    if (ar_grow(items, cap, (size_t)number + 1, n_bytes) < 0)
        return fail_memory(r);
    memset((char *)*items + before * n_bytes, 0, (*cap - before) * n_bytes);
    return true;
}

static bool guess_function(struct reading *r, const struct ar_function *f, uint32_t *id)
{
    for (size_t i = r->next_function; i < r->p->n_functions && i < r->next_function + GUESSES;
         i++) {
        const struct ar_function *guess = &r->p->functions[i];

        if (guess->name == f->name && guess->file == f->file &&
            guess->first_line == f->first_line && guess->kind == f->kind) {
            *id = (uint32_t)i;
            return true;
        }
    }
    return false;
}

/* Keys are written out wherever they stand: the same one again is not looked for. */
static bool find_function(struct reading *r, struct ar_function f, uint32_t *id)
{
    struct named seen = {.file = f.file, .first_line = f.first_line};
    uint32_t name = f.name;

    if (!make_room(r, (void **)&r->named, &r->cap_named, name, sizeof *r->named))
        return false;

    const struct named *last = &r->named[name];

    if (last->function && last->file == f.file && last->first_line == f.first_line) {
        *id = last->function;
        return true;
    }
    if (!tell_kind(r, &f))
        return false;
    if (!guess_function(r, &f, id) && ar_profile_function(r->p, f, id) < 0)
        return fail_memory(r);
    r->next_function = *id + 1;
    seen.function = *id;
    r->named[name] = seen;
    return true;
}

static bool read_key(struct reading *r, uint32_t *id)
{
    struct ar_function f = {0};

    return next_text(r, &f.file) && next_line(r, &f.first_line) && next_text(r, &f.name) &&
           find_function(r, f, id);
}

static bool read_function(struct reading *r, const struct ar_marshal_object *key, uint32_t *id)
{
    if (key->kind != AR_MARSHAL_TUPLE || key->n_items != 3)
        return fail_key(r, key);
    *id = ar_marshal_recall(&r->in, key, A_FUNCTION);
    if (*id == AR_NO_ID || !key->next) {
        if (!read_key(r, id))
            return false;
        ar_marshal_remember(&r->in, key, A_FUNCTION, *id);
    }
    ar_marshal_leave(&r->in, key);
    return true;
}

/* The next key of a dict. AR_NO_ID: there are no more. */
static bool next_function(struct reading *r, uint32_t *id)
{
    struct ar_marshal_object key;
    struct ar_function f = {0};

    if (ar_marshal_next_key(&r->in, A_STRING, &f.file, &f.first_line, &f.name))
        return find_function(r, f, id);
    if (ar_marshal_next_tuple(&r->in, 3))
        return read_key(r, id);
    *id = ar_marshal_next_known(&r->in, A_FUNCTION);
    if (*id != AR_NO_ID)
        return true;
    if (!next(r, &key))
        return false;
    return key.kind == AR_MARSHAL_END || read_function(r, &key, id);
}

/* ---- figures --------------------------------------------------------------------------------- */

static bool add_node(struct reading *r, uint32_t parent, uint32_t function, uint32_t *id)
{
    struct ar_profile_node node = {.parent = parent, .function = function};

    return ar_profile_node(r->p, node, id) == AR_OK || fail_memory(r);
}

/* Most callers are the caller of others, too: a table is quicker than a search. */
static bool add_function_node(struct reading *r, uint32_t function, uint32_t *id)
{
    if (!make_room(r, (void **)&r->function_nodes, &r->cap_function_nodes, function,
                   sizeof *r->function_nodes))
        return false;
    *id = r->function_nodes[function];
    if (*id == 0 && !add_node(r, 0, function, id))
        return false;
    r->function_nodes[function] = *id;
    return true;
}

static bool add_value(struct reading *r, uint32_t node, enum ar_metric_id metric, uint64_t value)
{
    return ar_profile_value(r->p, metric, (struct ar_value){node, r->location, value}) == AR_OK ||
           fail_memory(r);
}

/* Zeros, too: they say that there is such a function, or such a pair. */
static bool add_figures(struct reading *r, uint32_t node, const struct ar_pair_values *f)
{
    return ar_profile_pair(r->p, node, r->location, f) == AR_OK || fail_memory(r);
}

/* A tuple that is referred to is read once. */
static bool read_four(struct reading *r, const struct ar_marshal_object *tuple,
                      struct ar_pair_values *f)
{
    uint32_t known = ar_marshal_recall(&r->in, tuple, A_PAIR);

    if (known != AR_NO_ID && tuple->next) {
        *f = r->figures[known];
    } else if (!next_figures(r, false, f)) {
        return false;
    } else if (tuple->shared != AR_NO_ID && known == AR_NO_ID) {
        if (ar_grow((void **)&r->figures, &r->cap_figures, r->n_figures + 1, sizeof *r->figures) <
            0)
            return fail_memory(r);
        ar_marshal_remember(&r->in, tuple, A_PAIR, (uint32_t)r->n_figures);
        r->figures[r->n_figures++] = *f;
    }
    ar_marshal_leave(&r->in, tuple);
    return true;
}

/* `profile` has only the number of calls. */
static bool read_pair(struct reading *r, uint32_t node)
{
    struct ar_marshal_object o;
    struct ar_pair_values f;

    if (!charge(r, PAIR_BYTES))
        return false;

    if (ar_marshal_next_tuple(&r->in, 4))
        return next_figures(r, false, &f) && add_figures(r, node, &f);

    uint32_t known = ar_marshal_next_known(&r->in, A_PAIR);

    if (known != AR_NO_ID)
        return add_figures(r, node, &r->figures[known]);
    if (!next(r, &o))
        return false;
    if (o.kind == AR_MARSHAL_INTEGER && o.integer >= 0)
        return add_value(r, node, AR_METRIC_CALLS, (uint64_t)o.integer);
    if (o.kind != AR_MARSHAL_TUPLE || o.n_items != 4)
        return fail_kind(r, &o, "a caller's four figures");
    return read_four(r, &o, &f) && add_figures(r, node, &f);
}

static bool read_callers(struct reading *r, uint32_t function)
{
    struct ar_marshal_object dict;
    uint32_t caller, node;

    if (!next(r, &dict))
        return false;
    if (dict.kind != AR_MARSHAL_DICT)
        return fail_kind(r, &dict, "a dict of callers");
    for (;;) {
        if (!next_function(r, &caller))
            return false;
        if (caller == AR_NO_ID)
            break;
        if (!add_function_node(r, caller, &node) || !add_node(r, node, function, &node) ||
            !read_pair(r, node))
            return false;
    }
    ar_marshal_leave(&r->in, &dict);
    return true;
}

static bool read_entry(struct reading *r, uint32_t function)
{
    struct ar_marshal_object o = {0};
    struct ar_pair_values f;
    uint32_t node;

    if (!ar_marshal_next_tuple(&r->in, 5)) {
        if (!next(r, &o))
            return false;
        if (o.kind != AR_MARSHAL_TUPLE || o.n_items != 5)
            return fail_kind(r, &o, "a function's five figures");
    }
    if (!next_figures(r, true, &f) || !add_function_node(r, function, &node) ||
        !add_figures(r, node, &f) || !read_callers(r, function))
        return false;
    r->total_ns += f.self_ns;
    ar_marshal_leave(&r->in, &o);
    return true;
}

static bool read_entries(struct reading *r)
{
    struct ar_marshal_object dict;
    uint32_t function;

    if (!next(r, &dict))
        return false;
    if (dict.kind != AR_MARSHAL_DICT)
        return fail_kind(r, &dict, "a dict of functions");
    for (;;) {
        if (!next_function(r, &function))
            return false;
        if (function == AR_NO_ID)
            return true;
        if (!read_entry(r, function))
            return false;
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* For as much as files had so far, on average: those of ranks are much alike. */
static bool make_room_for_values(struct reading *r)
{
    static const enum ar_metric_id metrics[] = {AR_METRIC_CALLS, AR_METRIC_PRIMITIVE,
                                                AR_METRIC_SELF, AR_METRIC_TIME};

    for (size_t i = 0; i < sizeof metrics / sizeof *metrics && r->p->n_locations; i++)
        if (ar_profile_room(r->p, metrics[i],
                            r->p->metrics[metrics[i]].n_values / r->p->n_locations) < 0)
            return fail_memory(r);
    return true;
}

/* A file says nothing about where it comes from; that it is complete is certain. */
static bool begin(struct reading *r)
{
    struct ar_process process = {.world_rank = AR_RANK_NONE, .state = AR_PROCESS_FINISHED};
    struct ar_location location = {.process = (uint32_t)r->p->n_processes};

    return (ar_profile_declare_pairs(r->p) == AR_OK &&
            ar_profile_process(r->p, &process, &r->process) == AR_OK &&
            ar_profile_location(r->p, &location, &r->location) == AR_OK) ||
           fail_memory(r);
}

static bool finish(struct reading *r)
{
    r->p->processes[r->process].wall_ns = r->total_ns;
    return add_value(r, 0, AR_METRIC_TIME, r->total_ns) && add_value(r, 0, AR_METRIC_SELF, 0);
}

enum ar_status ar_pstats_add(struct ar_profile *p, const void *bytes, size_t n_bytes,
                             const char *name, struct ar_error *err)
{
    struct reading r = {
        .in = ar_marshal_over(bytes, n_bytes),
        .p = p,
        .n_left = 16 * n_bytes + 4096,
    };
    bool done = make_room_for_values(&r) && begin(&r) && read_entries(&r) && finish(&r);

    ar_marshal_free(&r.in);
    ar_bytes_free(&r.text);
    free(r.function_nodes);
    free(r.named);
    free(r.figures);
    if (done)
        return AR_OK;
    if (r.status == AR_NOMEM)
        return ar_fail(err, AR_NOMEM, "%s: %s", name, r.problem.text);
    return ar_fail(err, AR_BAD,
                   "%s: not a pstats file that can be read: %s (such files are written by: python "
                   "-m cProfile -o FILE)",
                   name, r.problem.text);
}

enum ar_status ar_pstats_decode(struct ar_profile *out, const void *bytes, size_t n_bytes,
                                const char *name, struct ar_error *err)
{
    enum ar_status status = ar_profile_init(out);

    if (status < 0)
        ar_fail(err, status, "%s: %s", name, ar_status_text(status));
    else
        status = ar_pstats_add(out, bytes, n_bytes, name, err);
    if (status < 0)
        ar_profile_free(out);
    return status;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/c_stubs.h"

#include "base/arena.h"
#include "runtime/blocking.h"
#include "runtime/budget.h"
#include "runtime/c_cheap.h"
#include "runtime/c_stubs_layout.h"
#include "runtime/elf_slots.h"
#include "runtime/filter_rules.h"
#include "runtime/function_switch.h"
#include "runtime/functions.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- the stubs ------------------------------------------------------------------------------- */

_Static_assert(AR_C_N_STUBS == AR_C_MOST_FUNCTIONS, "a record each");
_Static_assert(sizeof(struct ar_c_record) == AR_C_RECORD_BYTES, "stubs compute with it");

AR_HIDDEN struct ar_c_record ar_c_records[AR_C_N_STUBS];
AR_HIDDEN struct ar_node *ar_c_enter(struct ar_c_record *record);
AR_HIDDEN void *ar_c_leave(struct ar_node *node, const struct ar_c_record *record, void *result);
extern AR_HIDDEN const char ar_c_stubs[];

static struct {
    pthread_mutex_t lock; /* interpreters may have a GIL each */
    uint32_t n;
    struct ar_arena texts;
    struct ar_object object; /* the one that was written to last */
} stubs = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct ar_c_record *ar_c_record_of(const void *address)
{
    uintptr_t at = (uintptr_t)address - (uintptr_t)ar_c_stubs;

    return at < (uintptr_t)AR_C_N_STUBS * AR_C_STUB_BYTES ? &ar_c_records[at / AR_C_STUB_BYTES]
                                                          : NULL;
}

/*
 * A definition may be read-only, if it is in an object of the linker's: looking for that takes time. One on the heap is
 * in no object, and can be written, as can be every Python object.
 */
static bool set_pointer(void **slot, enum ar_c_kind kind, void *value)
{
    bool is_definition = kind != AR_C_NEW && kind != AR_C_TYPE && kind != AR_C_UFUNC;

    if (is_definition &&
        (ar_object_contains(&stubs.object, slot) || ar_object_at(slot, &stubs.object)))
        return ar_slot_set(&stubs.object, slot, value);
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    return true;
}

static const char *copy(const char *text)
{
    const char *copied = ar_arena_copy(&stubs.texts, text, strlen(text));

    return copied ? copied : "";
}

/* Of what the import system calls: all that reads files, loads, compiles or runs code. */
static const struct {
    const char *owner, *name; /* name "": all that belong to it */
} of_imports[] = {
    {"posix", "stat"},
    {"posix", "listdir"},
    {"posix", "open"},
    {"io", ""},
    {"_io", ""},
    {"_io.FileIO", ""},
    {"_io.BufferedReader", ""},
    {"marshal", "loads"},
    {"marshal", "dumps"},
    {"zlib", "decompress"},
    {"builtins", "exec"},
    {"builtins", "compile"},
    {"builtins", "__import__"},
    {"_imp", "create_builtin"},
    {"_imp", "create_dynamic"},
    {"_imp", "exec_builtin"},
    {"_imp", "exec_dynamic"},
    {"_imp", "get_frozen_object"},
    {"_imp", "init_frozen"},
};

static bool is_of_imports(const char *owner, const char *name)
{
    for (size_t i = 0; i < sizeof of_imports / sizeof *of_imports; i++)
        if (strcmp(owner, of_imports[i].owner) == 0 &&
            (!*of_imports[i].name || strcmp(name, of_imports[i].name) == 0))
            return true;
    return false;
}

static struct ar_c_record *make(void **slot, enum ar_c_kind kind, const char *owner,
                                const char *name)
{
    struct ar_c_record *record = &ar_c_records[stubs.n];

    if (!*slot || ar_c_record_of(*slot))
        return NULL;
    if (stubs.n == AR_C_N_STUBS) {
        ar_livemap_lost(AR_LOST_FUNCTIONS, 1);
        return NULL;
    }
    *record = (struct ar_c_record){
        .called = (ar_c_fn *)*slot,
        .own = (ar_c_fn *)*slot,
        .index = (uint16_t)stubs.n,
        .kind = (uint8_t)kind,
        .is_of_imports = is_of_imports(owner, name),
        .slot = slot,
        .owner = copy(owner),
        .name = copy(name),
    };
    if (!set_pointer(slot, kind,
                     (void *)(uintptr_t)(ar_c_stubs + (size_t)stubs.n * AR_C_STUB_BYTES)))
        return NULL;
    stubs.n++;
    return record;
}

struct ar_c_record *ar_c_stub(void **slot, enum ar_c_kind kind, const char *owner, const char *name)
{
    pthread_mutex_lock(&stubs.lock);
    struct ar_c_record *record = make(slot, kind, owner, name);
    pthread_mutex_unlock(&stubs.lock);
    return record;
}

void ar_c_stubs_forking(enum ar_fork_step step)
{
    ar_fork_lock(&stubs.lock, step);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* As cProfile gives them. */
static void write_name(char *name, size_t room, const struct ar_c_record *r)
{
    switch (r->kind) {
    case AR_C_FUNCTION:
        snprintf(name, room, "built-in method %s.%s", r->owner, r->name);
        break;
    case AR_C_METHOD:
        snprintf(name, room, "method '%s' of '%s' objects", r->name, r->owner);
        break;
    case AR_C_NEW: /* of whatever type: it looks the name up in the type of the type */
        snprintf(name, room, "built-in method __new__ of type object at %p", (void *)&PyType_Type);
        break;
    case AR_C_TYPE:
        snprintf(name, room, "type %s", r->owner);
        break;
    case AR_C_UFUNC:
        snprintf(name, room, "ufunc %s", r->name);
        break;
    default:
        snprintf(name, room, "built-in method %s", r->name);
    }
}

/* Names as tools around Score-P give them: those of methods are their types'. */
static bool is_filtered(const struct ar_c_record *r)
{
    switch (r->kind) {
    case AR_C_NEW:
        return ar_filter_rules_hide_c("type", "__new__");
    case AR_C_TYPE:
        return ar_filter_rules_hide_c(NULL, r->owner);
    case AR_C_OF_CLASS:
        return ar_filter_rules_hide_c(NULL, r->name);
    case AR_C_UFUNC:
        return ar_filter_rules_hide_c("numpy", r->name);
    default:
        return ar_filter_rules_hide_c(r->owner, r->name);
    }
}

/*
 * Two threads may be here at the same time, where interpreters have a GIL each: they find the same number.
 * Release and acquire as in mpi_call.c: a thread that sees a node with the number sees the record.
 */
static uint32_t number_of(struct ar_c_record *record)
{
    char name[512];
    uint32_t number = __atomic_load_n(&record->number, __ATOMIC_ACQUIRE);

    if (number || record->is_hidden)
        return number;
    if (is_filtered(record)) {
        record->is_hidden = true;
        return 0;
    }
    write_name(name, sizeof name, record);
    number = ar_function_named(AR_FUNCTION_BUILTIN, name);
    if (number)
        ar_tree_mark(number,
                     AR_MARK_BUILTIN |
                         (record->name && ar_blocks_in_c(record->name) ? AR_MARK_BLOCKS : 0));
    __atomic_store_n(&record->number, number, __ATOMIC_RELEASE);
    return number;
}

#define SHORT_NAME 80

static void write_short_name(uint32_t index, char *name, size_t room)
{
    const struct ar_c_record *r = &ar_c_records[index];
    bool is_alone = r->kind == AR_C_UFUNC || r->kind == AR_C_OF_CLASS || r->kind == AR_C_TYPE ||
                    strcmp(r->owner, "builtins") == 0;

    snprintf(name, room < SHORT_NAME ? room : SHORT_NAME, "%s%s%s", is_alone ? "" : r->owner,
             is_alone ? "" : ".", r->kind == AR_C_TYPE ? r->owner : r->name);
}

static uint32_t number_of_gaps(const char *functions)
{
    return ar_function_named(AR_FUNCTION_UNASSIGNED, functions);
}

/* ---- a call ---------------------------------------------------------------------------------- */

static bool is_on, as_cprofile;

/* A function that began while functions were switched off may not have been seen yet. */
static uint32_t number_of_caller(ar_frame *caller)
{
    return ar_functions_have_been_off() ? ar_function_of_frame(caller)
                                        : ar_function_known(ar_frame_code(caller));
}

static void note_partial(struct ar_c_record *record)
{
    uint32_t number = record->is_partial ? 0 : number_of(record);

    record->is_partial = true;
    if (number)
        ar_function_is_partial(number);
}

/*
 * Calls of what is not recorded are not recorded either, nor are ours, below all that is. The inside of an import is an
 * exception: files that it reads and code that it runs may be what the program waits for.
 */
static bool is_recorded(const struct ar_thread *t, struct ar_c_record *record, ar_frame *caller)
{
    uint32_t number = caller ? number_of_caller(caller) : 0;

    if (number == AR_FUNCTION_IMPORTS)
        return record->is_of_imports;
    if (number == AR_FUNCTION_STOPPED)
        note_partial(record);
    if (caller && (ar_tree_has_holes || t->current == t->root))
        return ar_function_is_recorded(ar_frame_code(caller));
    return true;
}

static bool is_unseen(struct ar_thread *t, ar_frame *caller)
{
    return t->n_unseen && (ar_tree_is_unseen(t, ar_ticks()) ||
                           (t->n_unseen & AR_UNSEEN_SWITCHES && ar_functions_skip_call(t, caller)));
}

static bool is_called_from_c(const struct ar_thread *t)
{
    return t->current->flags & AR_MARK_BUILTIN || t->current == t->in_constructor;
}

static struct ar_node *find_node(struct ar_thread *t, struct ar_c_record *record)
{
    ar_frame *caller = ar_frame_innermost(PyThreadState_GET());

    if (is_unseen(t, caller) || (as_cprofile && is_called_from_c(t)) ||
        !is_recorded(t, record, caller))
        return NULL;

    uint32_t number = number_of(record);
    uint64_t key = ar_call_place(caller, t->current) | number, now = ar_ticks();

    if (!number)
        return NULL;
    /* What a function in C calls may be a step of a task: asyncio throws into coroutines by a method. */
    if (!(t->current->flags & AR_MARK_BUILTIN))
        return ar_tree_child(t, key, now);
    t->starts = false;
    t->may_start = true;

    struct ar_node *node = ar_tree_child_to_enter(t, key, now);

    t->may_start = false;
    return node;
}

static struct ar_node *begin_timed(struct ar_thread *t, struct ar_node *node)
{
    ar_tree_open(t, node, ar_ticks());
    if (node->values_ref)
        ar_c_sample_begins(node);
    return node;
}

/* Whatever does not happen nearly always. */
static __attribute__((noinline)) struct ar_node *enter_slowly(struct ar_c_record *record)
{
    bool is_wanted = is_on && !record->is_special && !record->is_hidden;
    struct ar_thread *t = is_wanted ? ar_thread_self() : NULL;
    struct ar_node *node = t ? find_node(t, record) : NULL;

    return node ? begin_timed(t, node) : NULL;
}

/* Calls went unrecorded, and `caller` may be one of them. */
static inline bool is_after_hole(const struct ar_node *current, ar_frame *caller)
{
    return ar_tree_has_holes && ar_function_known(ar_frame_code(caller)) != (uint32_t)current->key;
}

/* NULL: the call is not recorded. A number that is not known yet is that of no node. */
struct ar_node *ar_c_enter(struct ar_c_record *record)
{
    struct ar_thread *t = ar_self;

    if (__builtin_expect(!t || t->n_unseen || !t->python || t->current == t->root, 0))
        return enter_slowly(record);

    ar_frame *caller = *ar_frame_top_slot(t->python);

    if (__builtin_expect(!caller || ar_frame_is_shim(caller) || is_after_hole(t->current, caller),
                         0))
        return enter_slowly(record);

    struct ar_node *node =
        ar_tree_guess(t, (uint64_t)ar_frame_call_site(caller) << 32 | record->number);

    if (__builtin_expect(!node, 0))
        return enter_slowly(record);
    if (node->flags & AR_NODE_SAMPLED && !ar_c_is_sample(node->n_calls)) {
        struct ar_c_known *known = ar_c_known_of(t, record->index);

        if (__builtin_expect(known->is_cheap, 1)) {
            ar_c_untimed_open(t, node, known);
            return node;
        }
    }
    return begin_timed(t, node);
}

/* Something has happened inside, or it is left in another way than usual. */
static __attribute__((noinline)) void *leave_slowly(struct ar_node *node, void *result)
{
    struct ar_thread *t = ar_self; /* the recording may be over, or this is a forked child */

    if (t)
        ar_tree_leave(t, node, ar_ticks());
    return result;
}

void *ar_c_leave(struct ar_node *node, const struct ar_c_record *record, void *result)
{
    struct ar_thread *t = ar_self;

    if (__builtin_expect(!t || t->current != node, 0))
        return leave_slowly(node, result);
    if (node->ticks >= 0) {
        ar_c_untimed_close(t, node);
        return result;
    }

    uint64_t now = ar_ticks();

    if (!node->left_ref)
        ar_c_learn(t, node, record->index, now - t->slot->latest_ticks);
    ar_tree_close(t, node, now);
    return result;
}

void ar_c_make_special(struct ar_c_record *record, ar_c_special_fn *called, void *context)
{
    record->context = context;
    record->is_special = true;
    __atomic_store_n(&record->number, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&record->called, (ar_c_fn *)(void (*)(void))called, __ATOMIC_RELEASE);
}

void *ar_c_call_recorded(void *a, void *b, void *c, void *d, void *e, struct ar_c_record *record)
{
    struct ar_thread *t = ar_thread_self();
    struct ar_node *node = t ? find_node(t, record) : NULL;

    if (node)
        begin_timed(t, node);

    void *result = record->own(a, b, c, d, e);

    return node ? ar_c_leave(node, record, result) : result;
}

void ar_c_calls_start(bool exact, bool only_from_python)
{
    static const struct ar_c_naming naming = {write_short_name, number_of_gaps};

    ar_c_cheap_start(exact, &naming);
    as_cprofile = only_from_python;
    is_on = true;
}

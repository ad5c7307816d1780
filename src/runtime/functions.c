// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/functions.h"

#include "base/idmap.h"
#include "base/text.h"
#include "format/import_system.h"
#include "runtime/blocking.h"
#include "runtime/chosen_lines.h"
#include "runtime/filter_rules.h"
#include "runtime/filters.h"
#include "runtime/livemap.h"
#include "runtime/pyread.h"
#include "runtime/spending.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if PY_VERSION_HEX >= 0x030C0000
#define REQUEST_EXTRA_INDEX PyUnstable_Eval_RequestCodeExtraIndex
#define GET_EXTRA PyUnstable_Code_GetExtra
#define SET_EXTRA PyUnstable_Code_SetExtra
#else
#define REQUEST_EXTRA_INDEX _PyEval_RequestCodeExtraIndex
#define GET_EXTRA _PyCode_GetExtra
#define SET_EXTRA _PyCode_SetExtra
#endif

Py_ssize_t ar_code_extra_index = PY_SSIZE_T_MAX;

static struct {
    pthread_mutex_t lock;
    struct ar_idmap by_content; /* hash of all that is recorded, to number */
    struct ar_idmap regions;    /* of functions that the program made one of, by number */
    char own_directory[4096];
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note_module(uint32_t number, const char *module)
{
    struct ar_record head = {
        .kind = AR_RECORD_MODULE, .n_name = (uint32_t)strlen(module), .other = number};

    if (number && *module)
        ar_livemap_record(&head, module, "", NULL);
}

/*
 * Two functions with one 64-bit hash would share a number: at a million functions the odds are 1 in
 * 30 million. Of two modules with the same function the first is kept.
 */
static uint32_t number_of(const struct ar_record *head, const char *name, const char *file,
                          const void *linetable, const char *module, bool is_lined)
{
    uint64_t hash = ar_pair_key(
        ar_pair_key(ar_hash_long(name, head->n_name), ar_hash_long(file, head->n_file)),
        ar_pair_key(ar_pair_key(ar_hash_long(linetable, head->n_linetable), head->other),
                    (uint64_t)head->first_line << 9 | (is_lined ? 0x100u : 0) |
                        head->function_kind));
    uint32_t number;

    pthread_mutex_lock(&known.lock);
    number = ar_idmap_get(&known.by_content, hash, 0);
    if (!number) {
        number = ar_livemap_record(head, name, file, linetable);
        note_module(number, module);
        if (number && ar_idmap_put(&known.by_content, hash, number) < 0)
            number = 0;
    }
    pthread_mutex_unlock(&known.lock);
    return number;
}

/* What the tree has to know about a function. */
static void mark(uint32_t number, PyCodeObject *code, const char *name, const char *file,
                 PyObject *globals)
{
    if (code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR))
        ar_tree_mark(number, AR_MARK_SUSPENDS);
    if (ar_is_import_system(file))
        ar_tree_mark(number, AR_MARK_ANY_PLACE);
    if (ar_ends_with(name, "_run") && ar_ends_with(file, "asyncio/events.py"))
        ar_tree_mark(number, AR_MARK_RUNS_TASKS);
    if (ar_blocks_in_python(name, file))
        ar_tree_mark(number, AR_MARK_BLOCKS);
    if (ar_filters_count(name, file, globals))
        ar_tree_mark(number, AR_MARK_COUNTED);
    if (ar_filters_trace(name, file, globals))
        ar_tree_mark(number, AR_MARK_TRACED);
    if (ar_filters_line(name, file, globals))
        ar_lines_choose(code, number);
}

/* Of an import only its entrance is recorded where its inside is not wanted. */
static bool is_inside_import(const char *name, const char *file)
{
    return ar_filters_hide_imports() && ar_is_import_system(file) &&
           strcmp(name, "_find_and_load") != 0;
}

static bool is_hidden(const char *name, const char *file, PyObject *globals)
{
    return ar_starts_with(file, known.own_directory) ||
           (!ar_is_import_system(file) && (ar_filters_hide(name, file, globals) ||
                                           ar_filter_rules_hide_python(name, file, globals)));
}

/* What the program asks for a function: to be a region, too; to have its lines counted. */
struct wish {
    uint32_t region; /* 0: none */
    bool lines;
};

static void mark_region(uint32_t number, uint32_t region)
{
    ar_tree_mark(number, AR_MARK_COUNTED);
    if (ar_tree_is_marked(region, AR_MARK_TRACED))
        ar_tree_mark(number, AR_MARK_TRACED);
    if (ar_idmap_put(&known.regions, number, region) < 0)
        ar_livemap_lost(AR_LOST_FUNCTIONS, 1);
}

static uint32_t number_of_text(PyCodeObject *code, struct ar_pytext name_text,
                               struct ar_pytext file_text, PyObject *globals, struct wish wish)
{
    PyObject *table = ar_code_linetable(code);
    const char *name = name_text.bytes, *file = file_text.bytes;
    bool is_ours = strcmp(file, AR_OWN_FILE) == 0;
    struct ar_record head = {
        .kind = AR_RECORD_FUNCTION,
        .function_kind = is_ours ? AR_FUNCTION_OURS : AR_FUNCTION_PYTHON,
        .linetable_kind = AR_LINETABLE_HERE,
        .first_line = code->co_firstlineno > 0 ? (uint32_t)code->co_firstlineno : 0,
        .n_name = (uint32_t)name_text.n_bytes,
        .n_file = (uint32_t)file_text.n_bytes,
        .n_linetable = (uint32_t)PyBytes_GET_SIZE(table),
        .other = wish.region,
    };

    if (is_inside_import(name, file))
        return AR_FUNCTION_IMPORTS; /* no hole: below an import calls are not told apart by place */
    if (!is_ours && !wish.region && !wish.lines && is_hidden(name, file, globals)) {
        ar_tree_has_holes = true;
        return AR_FUNCTION_LOST;
    }

    char *module = globals ? ar_pyread_module_name(globals) : NULL;
    uint32_t number =
        number_of(&head, name, file, PyBytes_AS_STRING(table), module ? module : "", wish.lines);

    free(module);
    if (number)
        mark(number, code, name, file, globals);
    if (number && wish.region)
        mark_region(number, wish.region);
    if (number && wish.lines)
        ar_lines_choose(code, number);
    if (number && (wish.region || wish.lines || is_ours))
        ar_tree_mark(number, AR_MARK_WANTED); /* what measures the price is not given up for it */
    return number;
}

static uint32_t number_of_code(PyCodeObject *code, PyObject *globals, struct wish wish)
{
    struct ar_pytext name = ar_pyread_text(ar_code_name(code));
    struct ar_pytext file = ar_pyread_text(code->co_filename);
    uint32_t number = 0;

    if (name.bytes && file.bytes)
        number = number_of_text(code, name, file, globals, wish);
    free(name.bytes);
    free(file.bytes);
    return number;
}

static Py_ssize_t n_extra_items(PyCodeObject *code)
{
    const struct ar_code_extra *extra = code->co_extra;

    return extra ? extra->n : 0;
}

/*
 * The interpreter makes room for the data of every tool that has registered, and when the object ends
 * it calls the free function of each tool that has room. So the array is made to end at our own item:
 * a tool that registered after us is called only for objects that it touches itself, and then the
 * interpreter makes room for it.
 */
static bool set_extra(PyCodeObject *code, void *data)
{
    Py_ssize_t n_before = n_extra_items(code);

    if (SET_EXTRA((PyObject *)code, ar_code_extra_index, data) < 0)
        return false;
    if (n_before <= ar_code_extra_index)
        ((struct ar_code_extra *)code->co_extra)->n = ar_code_extra_index + 1;
    return true;
}

static void remember(PyCodeObject *code, uint32_t number)
{
    if (!set_extra(code, (void *)(uintptr_t)number))
        PyErr_Clear();
}

static uint32_t give_number(PyCodeObject *code, PyObject *globals, struct wish wish)
{
    PyObject *type, *value, *traceback;
    uint32_t number;

    PyErr_Fetch(&type, &value, &traceback);

    struct ar_ours ours = ar_ours_begin(ar_self);

    number = number_of_code(code, globals, wish);
    if (!number) {
        ar_livemap_lost(AR_LOST_FUNCTIONS, 1);
        ar_tree_has_holes = true;
        number = AR_FUNCTION_LOST;
    }
    remember(code, number);
    ar_ours_end(ours);
    PyErr_Restore(type, value, traceback);
    return number;
}

/* Called from inside the interpreter's hooks, where an exception may be on its way: it is kept. */
uint32_t ar_function_first_seen(PyCodeObject *code, PyObject *globals)
{
    uint64_t begin = ar_ticks();
    uint32_t number = give_number(code, globals, (struct wish){0});

    ar_code_share_instructions(code);
    ar_livemap_stamp();
    ar_spent(AR_OVERHEAD_PATHS, ar_ticks() - begin);
    return number;
}

void ar_function_is_region(PyCodeObject *code, PyObject *globals, uint32_t region)
{
    uint32_t known_as = ar_function_known(code);

    give_number(code, globals,
                (struct wish){.region = region,
                              .lines = known_as && ar_tree_is_marked(known_as, AR_MARK_LINED)});
}

void ar_function_has_lines(PyCodeObject *code, PyObject *globals)
{
    uint32_t known_as = ar_function_known(code);

    if (known_as && ar_tree_is_marked(known_as, AR_MARK_LINED))
        return;
    give_number(code, globals,
                (struct wish){.region = ar_idmap_get(&known.regions, known_as + !known_as, 0),
                              .lines = true});
}

void ar_function_is_partial(uint32_t number)
{
    struct ar_record head = {.kind = AR_RECORD_PARTIAL, .other = number};

    ar_livemap_record(&head, "", "", NULL);
}

void ar_function_stop(PyCodeObject *code, uint32_t number)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    ar_function_is_partial(number);
    ar_tree_has_holes = true;
    remember(code, AR_FUNCTION_STOPPED);
    PyErr_Restore(type, value, traceback);
}

#define N_FRAMES_BETWEEN 8 /* that are looked through: this is done at every call */

/* Is `caller` the function that `current` is in? Regions and functions in C come in between. */
static bool is_from(ar_frame *caller, const struct ar_node *current)
{
    while (current->flags & AR_MARKS_BETWEEN && current->parent_ref)
        current = ar_live_ptr(current->parent_ref);
    return !caller || (current->parent_ref &&
                       ar_function_known(ar_frame_code(caller)) == (uint32_t)current->key);
}

uint64_t ar_call_place_in_holes(ar_frame *caller, const struct ar_node *current)
{
    for (int i = 0;
         i < N_FRAMES_BETWEEN && caller && !ar_function_is_recorded(ar_frame_code(caller)); i++)
        caller = ar_frame_caller(caller);
    return is_from(caller, current) ? (uint64_t)ar_frame_site(caller) << 32 : 0;
}

uint32_t ar_function_named(uint32_t kind, const char *name)
{
    struct ar_record head = {.kind = AR_RECORD_FUNCTION,
                             .function_kind = (uint8_t)kind,
                             .n_name = (uint32_t)strlen(name)};

    return number_of(&head, name, "", "", "", false);
}

/* Our direct look into co_extra must agree with what the interpreter says. */
static bool layout_is_known(PyCodeObject *code)
{
    void *mark = (void *)(uintptr_t)0x51, *back = NULL;

    if (SET_EXTRA((PyObject *)code, ar_code_extra_index, mark) < 0)
        return false;

    const struct ar_code_extra *extra = code->co_extra;
    bool same = extra && extra->n > ar_code_extra_index && extra->n < 256 &&
                extra->items[ar_code_extra_index] == mark;

    return same && SET_EXTRA((PyObject *)code, ar_code_extra_index, NULL) == 0 &&
           GET_EXTRA((PyObject *)code, ar_code_extra_index, &back) == 0 && back == NULL;
}

bool ar_functions_init(const char *own_directory)
{
    snprintf(known.own_directory, sizeof known.own_directory, "%s/", own_directory);

    PyCodeObject *probe = PyCode_NewEmpty("allranks", "probe", 1);

    if (!probe)
        return false;
    ar_code_extra_index = REQUEST_EXTRA_INDEX(NULL);

    bool known_layout = ar_code_extra_index >= 0 && layout_is_known(probe);

    Py_DECREF(probe);
    if (!known_layout && !PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, "this Python keeps co_extra in an unknown way");
    return known_layout;
}

void ar_functions_forking(enum ar_fork_step step)
{
    ar_fork_lock(&known.lock, step);
}

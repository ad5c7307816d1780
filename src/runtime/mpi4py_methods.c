// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/mpi4py_methods.h"

#include "base/arena.h"
#include "base/text.h"
#include "runtime/c_scan.h"
#include "runtime/c_stubs.h"
#include "runtime/functions.h"
#include "runtime/pyread.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ar_method {
    uint32_t function; /* 0: not called yet */
    bool is_timed;
    bool takes_objects; /* it is one of those whose names are in lower case */
    char name[40];
};

static struct ar_arena methods;

/* ---- a call ---------------------------------------------------------------------------------- */

/*
 * Two threads may be here at the same time, without the GIL: they find the same number. Release and acquire
 * as in mpi_call.c: a thread that sees a node with the number sees the record.
 */
static __attribute__((noinline)) uint32_t first_called(struct ar_method *method)
{
    uint32_t number = ar_function_named(AR_FUNCTION_OPERATION, method->name);

    if (number)
        ar_tree_mark(number, AR_MARK_KEEP_PLACE | AR_MARK_OPERATION);
    __atomic_store_n(&method->function, number, __ATOMIC_RELEASE);
    return number;
}

void ar_operation_open(struct ar_thread *t, uint64_t place, uint64_t now)
{
    struct ar_method *method = (struct ar_method *)t->operation.method;
    uint32_t function = __atomic_load_n(&method->function, __ATOMIC_ACQUIRE);

    if (!function)
        function = first_called(method);
    t->operation.waits_at = NULL;
    t->operation.node = function ? ar_tree_enter(t, place | function, now) : NULL;
}

static void open_timed(struct ar_thread *t)
{
    uint64_t place = ar_call_place(ar_frame_innermost(PyThreadState_GET()), t->current);

    ar_operation_open(t, place, ar_ticks());
}

/* NULL: it is not recorded. */
static inline struct ar_thread *begin(const struct ar_method *method, struct ar_operation *outer)
{
    struct ar_thread *t = ar_thread_self();

    if (!t || t->n_unseen & AR_UNSEEN_CALLS)
        return NULL;
    *outer = t->operation;
    t->operation = (struct ar_operation){.method = method, .waits_at = t->current};
    if (method->is_timed)
        open_timed(t);
    return t;
}

/*
 * The recording may be over. What was opened by an MPI call ends with the last thing that was seen
 * in it: no look at the clock is needed for that.
 */
static inline void end(struct ar_thread *t, const struct ar_method *method,
                       const struct ar_operation *outer)
{
    if (!t || ar_self != t)
        return;

    struct ar_node *node = t->operation.node;

    t->operation = *outer;
    if (node)
        ar_tree_leave(t, node, method->is_timed ? ar_ticks() : t->slot->latest_ticks);
}

static void *call_method(void *a, void *b, void *c, void *d, void *e, struct ar_c_record *record)
{
    const struct ar_method *method = record->context;
    struct ar_operation outer;
    struct ar_thread *t = begin(method, &outer);
    void *result = record->own(a, b, c, d, e);

    end(t, method, &outer);
    return result;
}

/* ---- the methods of mpi4py ------------------------------------------------------------------- */

#define N_OF(array) (sizeof(array) / sizeof *(array))

static bool is_one_of(const char *name, const char *const *names, size_t n_names)
{
    for (size_t i = 0; i < n_names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Those that pickle or unpickle what they are given or give. */
static bool moves_objects(const char *name)
{
    static const char *const names[] = {
        "send",
        "bsend",
        "ssend",
        "isend",
        "ibsend",
        "issend",
        "recv",
        "irecv",
        "sendrecv",
        "bcast",
        "gather",
        "scatter",
        "allgather",
        "alltoall",
        "reduce",
        "allreduce",
        "scan",
        "exscan",
        "wait",
        "test",
        "waitany",
        "testany",
        "waitall",
        "testall",
        "waitsome",
        "testsome",
        "neighbor_allgather",
        "neighbor_alltoall",
    };

    return is_one_of(name, names, N_OF(names));
}

/*
 * Those that ask for what MPI knows by heart: what mpi4py calls for it is not looked at (`light` in
 * mpi.def), so the method itself is.
 */
static bool asks_only(const char *name)
{
    static const char *const names[] = {
        "Get_rank",     "Get_size",     "Get_remote_size", "Is_inter",     "Is_intra",
        "Get_dim",      "Get_topology", "Get_attr",        "Get_extent",   "Get_true_extent",
        "Get_count",    "Get_elements", "Get_source",      "Get_tag",      "Get_error",
        "Set_source",   "Set_tag",      "Set_error",       "Set_elements", "Set_cancelled",
        "Is_cancelled",
    };

    return is_one_of(name, names, N_OF(names));
}

static struct ar_method *new_method(const char *type_name, const char *name)
{
    struct ar_method *method = ar_arena_alloc(&methods, sizeof *method);

    if (!method)
        return NULL;
    *method = (struct ar_method){
        .is_timed = moves_objects(name) || asks_only(name),
        .takes_objects = islower((unsigned char)*name),
    };
    snprintf(method->name, sizeof method->name, "%s.%s", type_name, name);
    return method;
}

/* Where mpi4py imports other modules while it is initialised, its types have been seen already. */
static struct ar_c_record *record_of(PyMethodDef *def, const char *type_name)
{
    struct ar_c_record *record = ar_c_record_of((const void *)def->ml_meth);

    return record ? record
                  : ar_c_stub((void **)&def->ml_meth, AR_C_METHOD, type_name, def->ml_name);
}

static void add_method(const char *type_name, PyMethodDef *def)
{
    struct ar_c_record *record = record_of(def, type_name);
    struct ar_method *method =
        record && !record->is_special ? new_method(type_name, def->ml_name) : NULL;

    if (method)
        ar_c_make_special(record, call_method, method);
}

static void add_methods_of(PyTypeObject *type)
{
    const char *dot = strrchr(type->tp_name, '.');
    Py_ssize_t at = 0;
    PyObject *name, *attribute;

    while (PyDict_Next(type->tp_dict, &at, &name, &attribute)) {
        PyMethodDef *def = ar_c_definition(attribute);

        if (def && *def->ml_name != '_')
            add_method(dot ? dot + 1 : type->tp_name, def);
    }
}

/* These make no MPI calls. */
static bool is_helper(PyTypeObject *type)
{
    static const char *const names[] = {"mpi4py.MPI.Pickle", "mpi4py.MPI.buffer",
                                        "mpi4py.MPI.memory"};

    return is_one_of(type->tp_name, names, N_OF(names)) ||
           PyType_IsSubtype(type, (PyTypeObject *)PyExc_BaseException);
}

static void add_all_methods(PyObject *module)
{
    Py_ssize_t at = 0;
    PyObject *name, *value;

    while (PyDict_Next(PyModule_GetDict(module), &at, &name, &value))
        if (PyType_Check(value) &&
            ar_starts_with(((PyTypeObject *)value)->tp_name, "mpi4py.MPI.") &&
            !is_helper((PyTypeObject *)value))
            add_methods_of((PyTypeObject *)value);
}

/* ---- pickling -------------------------------------------------------------------------------- */

/* Where functions in C are left out, these are recorded in operations: what they do is part of them. */
static void *call_pickler(void *a, void *b, void *c, void *d, void *e, struct ar_c_record *record)
{
    struct ar_thread *t = ar_self;

    if (!t || !t->operation.node || t->operation.node != t->current)
        return record->own(a, b, c, d, e);
    return ar_c_call_recorded(a, b, c, d, e, record);
}

static void see_pickler(PyObject *module, const char *name)
{
    PyObject *function = ar_pyread_global(module, name);
    PyMethodDef *def = function ? ar_c_definition(function) : NULL;
    struct ar_c_record *record =
        def ? ar_c_stub((void **)&def->ml_meth, AR_C_FUNCTION, "_pickle", name) : NULL;

    if (record)
        ar_c_make_special(record, call_pickler, NULL);
}

static void see_pickling(void)
{
    PyObject *module = ar_pyread_module("_pickle");

    if (module) {
        see_pickler(module, "dumps");
        see_pickler(module, "loads");
    }
}

/* ---- the module ------------------------------------------------------------------------------ */

static void see_module(PyObject *module, const char *name)
{
    if (strcmp(name, "mpi4py.MPI") != 0)
        return;
    add_all_methods(module);
    see_pickling();
}

static enum ar_status start(const struct ar_options *options, struct ar_error *err)
{
    (void)options, (void)err;
    ar_c_scan_tell(see_module);
    return AR_OK;
}

const struct ar_source ar_source_mpi4py = {.name = "mpi4py", .start = start};

bool ar_is_mpi4py(const char *path)
{
    return strstr(path, "/mpi4py/MPI.") != NULL;
}

/* ---- what others ask ------------------------------------------------------------------------- */

bool ar_operation_makes_its_own(const struct ar_thread *t)
{
    const struct ar_node *node = t->operation.node;

    if (!node || !t->operation.method->takes_objects)
        return false;
    return t->current == node || ar_live_ptr(t->current->parent_ref) == node;
}

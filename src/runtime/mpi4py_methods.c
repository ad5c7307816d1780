// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/mpi4py_methods.h"

#include "base/text.h"
#include "runtime/c_numbers.h"
#include "runtime/elf_slots.h"
#include "runtime/functions.h"
#include "runtime/quiet.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* mpi4py 4.1 has 527; what it may have beyond these is left alone. */
#define MAX_METHODS 800

struct ar_method {
    PyCFunction called; /* the method's own function */
    const PyMethodDef *def;
    uint32_t function; /* 0: not called yet */
    bool is_timed;
    bool takes_objects; /* it is one of those whose names are in lower case */
    char name[40];
};

static struct ar_method methods[MAX_METHODS];
static size_t n_methods;

/* ---- a call ---------------------------------------------------------------------------------- */

/* Two threads may be here at once, without the GIL: they find the same number. */
static __attribute__((noinline)) uint32_t first_called(struct ar_method *method)
{
    uint32_t number = ar_function_named(AR_FUNCTION_OPERATION, method->name);

    if (number)
        ar_tree_mark(number, AR_MARK_KEEP_PLACE | AR_MARK_OPERATION);
    __atomic_store_n(&method->function, number, __ATOMIC_RELAXED);
    return number;
}

void ar_operation_open(struct ar_thread *t, uint64_t place, uint64_t now)
{
    struct ar_method *method = (struct ar_method *)t->operation.method;
    uint32_t function = __atomic_load_n(&method->function, __ATOMIC_RELAXED);

    if (!function)
        function = first_called(method);
    t->operation.waits_at = NULL;
    t->operation.node = function ? ar_tree_enter(t, place | function, now) : NULL;
}

static void open_timed(struct ar_thread *t)
{
    uint64_t place = ar_call_place(ar_frame_innermost(PyThreadState_GET()), t->current);
    uint64_t now = ar_ticks();

    if (t->n_unseen & AR_UNSEEN_QUIET)
        ar_quiet_end(t, now);
    ar_operation_open(t, place, now);
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

/* ---- one function for each method ------------------------------------------------------------ */

/*
 * By the ways in which a PyMethodDef can be called: with one argument or none, with a tuple and a
 * dictionary (mpi4py 3.1, and 4.1 made for all versions of Python), with an array (4.1 otherwise).
 */
typedef PyObject *method_fn(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names);

static PyObject *call_simple(PyObject *self, PyObject *arg, const struct ar_method *m)
{
    struct ar_operation outer;
    struct ar_thread *t = begin(m, &outer);
    PyObject *result = ((PyCFunction)(void (*)(void))m->called)(self, arg);

    end(t, m, &outer);
    return result;
}

static PyObject *call_tuple(PyObject *self, PyObject *args, PyObject *names,
                            const struct ar_method *m)
{
    struct ar_operation outer;
    struct ar_thread *t = begin(m, &outer);
    PyObject *result = ((PyCFunctionWithKeywords)(void (*)(void))m->called)(self, args, names);

    end(t, m, &outer);
    return result;
}

static PyObject *call_array(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names,
                            const struct ar_method *m)
{
    struct ar_operation outer;
    struct ar_thread *t = begin(m, &outer);
    PyObject *result = ((method_fn *)(void (*)(void))m->called)(self, args, n, names);

    end(t, m, &outer);
    return result;
}

#define METHOD(h, t, o) (&methods[(h)*100 + (t)*10 + (o)])
#define DEFINE(h, t, o)                                                                            \
    static PyObject *simple_##h##t##o(PyObject *self, PyObject *arg)                               \
    {                                                                                              \
        return call_simple(self, arg, METHOD(h, t, o));                                            \
    }                                                                                              \
    static PyObject *tuple_##h##t##o(PyObject *self, PyObject *args, PyObject *names)              \
    {                                                                                              \
        return call_tuple(self, args, names, METHOD(h, t, o));                                     \
    }                                                                                              \
    static PyObject *array_##h##t##o(PyObject *self, PyObject *const *args, Py_ssize_t n,          \
                                     PyObject *names)                                              \
    {                                                                                              \
        return call_array(self, args, n, names, METHOD(h, t, o));                                  \
    }

struct entrances {
    PyCFunction simple;
    PyCFunctionWithKeywords tuple;
    method_fn *array;
};

#define LIST(h, t, o) {simple_##h##t##o, tuple_##h##t##o, array_##h##t##o},

#define TEN(X, h, t)                                                                               \
    X(h, t, 0)                                                                                     \
    X(h, t, 1)                                                                                     \
    X(h, t, 2) X(h, t, 3) X(h, t, 4) X(h, t, 5) X(h, t, 6) X(h, t, 7) X(h, t, 8) X(h, t, 9)
#define HUNDRED(X, h)                                                                              \
    TEN(X, h, 0)                                                                                   \
    TEN(X, h, 1)                                                                                   \
    TEN(X, h, 2)                                                                                   \
    TEN(X, h, 3) TEN(X, h, 4) TEN(X, h, 5) TEN(X, h, 6) TEN(X, h, 7) TEN(X, h, 8) TEN(X, h, 9)
/* What an analyser finds in one it finds in all, in a quarter of an hour. */
#ifdef __clang_analyzer__
#define ALL(X) TEN(X, 0, 0)
#else
#define ALL(X)                                                                                     \
    HUNDRED(X, 0)                                                                                  \
    HUNDRED(X, 1)                                                                                  \
    HUNDRED(X, 2) HUNDRED(X, 3) HUNDRED(X, 4) HUNDRED(X, 5) HUNDRED(X, 6) HUNDRED(X, 7)
#endif

/* clang-format off */
ALL(DEFINE)
static const struct entrances entrances[MAX_METHODS] = {ALL(LIST)};
/* clang-format on */

/* NULL: it is called in a way that we do not know. */
static void *entrance_for(const struct entrances *e, int flags)
{
    switch (flags & ~(METH_CLASS | METH_STATIC | METH_COEXIST)) {
    case METH_NOARGS:
    case METH_O:
    case METH_VARARGS:
        return (void *)e->simple;
    case METH_VARARGS | METH_KEYWORDS:
        return (void *)e->tuple;
    case METH_FASTCALL | METH_KEYWORDS:
        return (void *)e->array;
    default:
        return NULL;
    }
}

/* ---- the methods of mpi4py ------------------------------------------------------------------- */

bool ar_method_is_operation(const void *def)
{
    for (size_t i = 0; i < n_methods; i++)
        if (methods[i].def == def)
            return true;
    return false;
}

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

static void add_method(const struct ar_object *library, const char *type_name, PyMethodDef *def)
{
    void *entrance =
        n_methods < MAX_METHODS ? entrance_for(&entrances[n_methods], def->ml_flags) : NULL;
    struct ar_method *method = &methods[n_methods];

    if (!entrance || ar_method_is_operation(def) ||
        !ar_object_contains(library, (void *)def->ml_meth))
        return;
    *method = (struct ar_method){
        .called = def->ml_meth,
        .def = def,
        .is_timed = moves_objects(def->ml_name) || asks_only(def->ml_name),
        .takes_objects = islower((unsigned char)*def->ml_name),
    };
    snprintf(method->name, sizeof method->name, "%s.%s", type_name, def->ml_name);
    if (ar_slot_set(library, (void **)&def->ml_meth, entrance))
        n_methods++;
}

static int find_cfunction(PyObject *object, void *found)
{
    if (PyCFunction_CheckExact(object))
        *(PyObject **)found = object;
    return 0;
}

static bool is_of_cython(PyTypeObject *type)
{
    return strcmp(type->tp_name, "cython_function_or_method") == 0 ||
           strstr(type->tp_name, ".cython_function_or_method");
}

/*
 * Cython's functions begin as a built-in function does, with their definition. Those that Cython 3.0
 * to 3.2 makes for all versions of Python hold such a function instead, and keep it where nothing but
 * their garbage collection tells.
 */
static PyMethodDef *definition_in(const struct ar_object *library, PyObject *callable)
{
    PyTypeObject *type = Py_TYPE(callable);
    PyObject *held = NULL;

    if (!PyCFunction_Check(callable) && !is_of_cython(type))
        return NULL;

    PyMethodDef *first = ((PyCFunctionObject *)callable)->m_ml;

    if (PyCFunction_Check(callable) || ar_object_contains(library, first))
        return first;
    if (type->tp_traverse)
        type->tp_traverse(callable, find_cfunction, &held);
    return held ? ((PyCFunctionObject *)held)->m_ml : NULL;
}

/* The definition of a method, as a type's dictionary holds it; NULL: it is something else. */
static PyMethodDef *definition_of(const struct ar_object *library, PyObject *attribute)
{
    PyTypeObject *type = Py_TYPE(attribute);

    if (type == &PyMethodDescr_Type || type == &PyClassMethodDescr_Type)
        return ((PyMethodDescrObject *)attribute)->d_method;

    bool wraps = type == &PyClassMethod_Type || type == &PyStaticMethod_Type;
    PyObject *inside = wraps ? PyObject_GetAttrString(attribute, "__func__") : Py_NewRef(attribute);
    PyMethodDef *def = inside ? definition_in(library, inside) : NULL;

    Py_XDECREF(inside); /* the attribute has it */
    PyErr_Clear();
    return def;
}

static void add_methods_of(const struct ar_object *library, PyTypeObject *type)
{
    const char *dot = strrchr(type->tp_name, '.');
    Py_ssize_t at = 0;
    PyObject *name, *attribute;

    while (PyDict_Next(type->tp_dict, &at, &name, &attribute)) {
        PyMethodDef *def = definition_of(library, attribute);

        if (def && ar_object_contains(library, def) && *def->ml_name != '_')
            add_method(library, dot ? dot + 1 : type->tp_name, def);
    }
}

static bool find_library(void *address, struct ar_object *out)
{
    size_t n_objects;
    struct ar_object *objects = ar_objects_list(&n_objects);
    bool found = false;

    for (size_t i = 0; objects && i < n_objects && !found; i++)
        if (ar_object_contains(&objects[i], address)) {
            *out = objects[i];
            found = true;
        }
    free(objects);
    return found;
}

/* These make no MPI calls. */
static bool is_helper(PyTypeObject *type)
{
    static const char *const names[] = {"mpi4py.MPI.Pickle", "mpi4py.MPI.buffer",
                                        "mpi4py.MPI.memory"};

    return is_one_of(type->tp_name, names, N_OF(names)) ||
           PyType_IsSubtype(type, (PyTypeObject *)PyExc_BaseException);
}

static void add_all_methods(const struct ar_object *library, PyObject *module)
{
    Py_ssize_t at = 0;
    PyObject *name, *value;

    while (PyDict_Next(PyModule_GetDict(module), &at, &name, &value))
        if (PyType_Check(value) &&
            ar_starts_with(((PyTypeObject *)value)->tp_name, "mpi4py.MPI.") &&
            !is_helper((PyTypeObject *)value))
            add_methods_of(library, (PyTypeObject *)value);
}

/* ---- pickling -------------------------------------------------------------------------------- */

/*
 * Through the function object, not through its definition as methods are: a function in C hashes by
 * the address in its definition, and the program may have these two in a dictionary already. So what
 * mpi4py 3.1 pickles on Python 3.9 is not seen: Cython passes by the object there. With another flag
 * in the definition it would not, but at the price of a level of the program's recursion limit.
 */
struct pickler {
    vectorcallfunc called; /* its own; NULL: it is not seen */
    uint32_t function;
};

static struct pickler dumping, loading;

/*
 * Only if it is the operation itself that pickles: what a Python function calls is its own affair,
 * and seen as all that it calls. The node stays open while what is pickled runs Python functions,
 * whatever becomes of other functions in C meanwhile.
 */
static struct ar_node *enter_pickler(struct ar_thread *t, const struct pickler *pickler)
{
    uint64_t place = t->current->key & ~(uint64_t)UINT32_MAX;
    struct ar_node *node = ar_tree_enter(t, place | pickler->function, ar_ticks());

    if (node)
        node->flags = (node->flags & ~(uint32_t)AR_MARK_BUILTIN) | AR_MARK_OPERATION;
    return node;
}

static inline PyObject *call_pickler(const struct pickler *pickler, PyObject *callable,
                                     PyObject *const *args, size_t n_args, PyObject *names)
{
    struct ar_thread *t = ar_self;

    if (!t || t->operation.node != t->current || t->n_unseen & AR_UNSEEN_CALLS)
        return pickler->called(callable, args, n_args, names);

    struct ar_node *node = enter_pickler(t, pickler);
    PyObject *result = pickler->called(callable, args, n_args, names);

    if (node && ar_self == t)
        ar_tree_leave(t, node, ar_ticks());
    return result;
}

static PyObject *call_dumps(PyObject *callable, PyObject *const *args, size_t n, PyObject *names)
{
    return call_pickler(&dumping, callable, args, n, names);
}

static PyObject *call_loads(PyObject *callable, PyObject *const *args, size_t n, PyObject *names)
{
    return call_pickler(&loading, callable, args, n, names);
}

static void see_pickler(PyObject *module, const char *name, struct pickler *pickler,
                        vectorcallfunc entrance)
{
    PyObject *function = PyDict_GetItemString(PyModule_GetDict(module), name);

    if (pickler->called || !function || !PyCFunction_CheckExact(function))
        return;

    vectorcallfunc *slot = &((PyCFunctionObject *)function)->vectorcall;

    pickler->function = *slot ? ar_c_number(function, false) : 0;
    if (!pickler->function)
        return;
    pickler->called = *slot;
    *slot = entrance;
}

static void see_pickling(void)
{
    PyObject *name = PyUnicode_FromString("_pickle");
    PyObject *module = name ? PyImport_GetModule(name) : NULL;

    if (module && PyModule_Check(module)) {
        see_pickler(module, "dumps", &dumping, call_dumps);
        see_pickler(module, "loads", &loading, call_loads);
    }
    Py_XDECREF(module);
    Py_XDECREF(name);
}

/* ---- the module ------------------------------------------------------------------------------ */

typedef PyObject *init_fn(void);
typedef int exec_fn(PyObject *module);

static init_fn *init;
static exec_fn *exec;

/* Nothing in here runs code of the program. */
static void see_module(PyObject *module)
{
    struct ar_object library;

    if (!ar_live_base || !find_library((void *)init, &library))
        return;
    add_all_methods(&library, module);
    see_pickling();
    PyErr_Clear();
}

static int exec_and_see(PyObject *module)
{
    int rc = exec(module);

    if (rc == 0)
        see_module(module);
    return rc;
}

/*
 * Python 3.15 has given the steps new numbers, and knows the old ones still: they are in what was made
 * for all versions of Python.
 */
static bool is_step(const PyModuleDef_Slot *slot)
{
    enum { OLD_MOD_EXEC = 2 };

    return slot->slot == Py_mod_exec || slot->slot == OLD_MOD_EXEC;
}

/* Of the definition of a module only the last step of its initialisation is replaced. */
static void take_last_step(PyModuleDef *def)
{
    struct ar_object library;
    PyModuleDef_Slot *last = NULL;

    for (PyModuleDef_Slot *slot = def->m_slots; slot && slot->slot; slot++)
        if (is_step(slot))
            last = slot;
    if (!last || last->value == (void *)exec_and_see || !find_library(last, &library))
        return;
    exec = (exec_fn *)last->value;
    ar_slot_set(&library, &last->value, (void *)exec_and_see);
}

static PyObject *init_and_see(void)
{
    PyObject *made = init();

    if (made && PyObject_TypeCheck(made, &PyModuleDef_Type))
        take_last_step((PyModuleDef *)made);
    else if (made && PyModule_Check(made))
        see_module(made);
    return made;
}

bool ar_is_mpi4py(const char *path)
{
    return strstr(path, "/mpi4py/MPI.") != NULL;
}

/* There may be several mpi4py on the disk, but hardly in one process: only the first is seen. */
void *ar_mpi4py_init(void *found)
{
    Dl_info info;

    if (!dladdr(found, &info) || !info.dli_fname || !ar_is_mpi4py(info.dli_fname))
        return found;
    if (init && (void *)init != found)
        return found;
    init = (init_fn *)found;
    return (void *)init_and_see;
}

/* ---- what others ask ------------------------------------------------------------------------- */

bool ar_operation_makes_its_own(const struct ar_thread *t)
{
    const struct ar_node *node = t->operation.node;

    if (!node || !t->operation.method->takes_objects)
        return false;
    return t->current == node || ar_live_ptr(t->current->parent_ref) == node;
}

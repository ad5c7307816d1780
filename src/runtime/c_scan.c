// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/c_scan.h"

#include "base/idmap.h"
#include "base/text.h"
#include "runtime/c_stubs.h"
#include "runtime/pyread.h"
#include "runtime/spending.h"

#include <string.h>

static struct {
    enum ar_builtins builtins;
    ar_module_fn *initialised;
    struct ar_idmap known_types; /* by address and name: an address may come again */
    const void *compared[8];
    size_t n_compared;
    const void *wraps_new; /* the function that all __new__ in C share */
} scan;

/* ---- definitions ----------------------------------------------------------------------------- */

static int find_cfunction(PyObject *object, void *found)
{
    if (PyCFunction_CheckExact(object))
        *(PyObject **)found = object;
    return 0;
}

static bool is_of_cython(const PyTypeObject *type)
{
    return ar_ends_with(type->tp_name, "cython_function_or_method");
}

/*
 * Cython's functions begin as a built-in function does, with their definition. Those that Cython 3.0
 * to 3.2 makes for all versions of Python are smaller: they hold such a function instead, and keep it
 * where nothing but their garbage collection tells.
 */
static PyMethodDef *definition_of_cython(PyObject *callable)
{
    PyTypeObject *type = Py_TYPE(callable);
    PyObject *held = NULL;

    if (type->tp_basicsize < (Py_ssize_t)sizeof(PyCFunctionObject) + 64 && type->tp_traverse)
        type->tp_traverse(callable, find_cfunction, &held);
    return ((PyCFunctionObject *)(held ? held : callable))->m_ml;
}

/* What a static method or a class method is made of; borrowed, NULL: something else. */
static PyObject *wrapped_in(PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);

    if (PyInstanceMethod_Check(value))
        return PyInstanceMethod_GET_FUNCTION(value);
    if (type != &PyStaticMethod_Type && type != &PyClassMethod_Type)
        return NULL;

    PyObject *inside = PyObject_GetAttrString(value, "__func__");

    PyErr_Clear();
    Py_XDECREF(inside); /* the other one holds it */
    return inside;
}

/* NULL: it is not a function in C. */
static PyMethodDef *definition_in(PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);

    if (PyCFunction_Check(value))
        return ((PyCFunctionObject *)value)->m_ml;
    if (type == &PyMethodDescr_Type || type == &PyClassMethodDescr_Type)
        return ((PyMethodDescrObject *)value)->d_method;
    return is_of_cython(type) ? definition_of_cython(value) : NULL;
}

PyMethodDef *ar_c_definition(PyObject *value)
{
    PyObject *inside = wrapped_in(value);

    return definition_in(inside ? inside : value);
}

/* ---- what is left alone ---------------------------------------------------------------------- */

static void leave_alone(PyObject *function)
{
    PyMethodDef *def = function ? definition_in(function) : NULL;

    if (def && scan.n_compared < sizeof scan.compared / sizeof *scan.compared)
        scan.compared[scan.n_compared++] = (const void *)def->ml_meth;
}

static bool is_left_alone(const void *address)
{
    for (size_t i = 0; i < scan.n_compared; i++)
        if (scan.compared[i] == address)
            return true;
    return false;
}

static PyObject *dict_of(PyTypeObject *type) /* a new reference; NULL: none */
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyType_GetDict(type);
#else
    Py_XINCREF(type->tp_dict);
    return type->tp_dict;
#endif
}

static void leave_objects_alone(void)
{
    PyObject *dict = dict_of(&PyBaseObject_Type);
    PyObject *new = dict ? PyDict_GetItemString(dict, "__new__") : NULL;

    leave_alone(new);
    scan.wraps_new = scan.n_compared ? scan.compared[0] : NULL;
    leave_alone(dict ? PyDict_GetItemString(dict, "__getstate__") : NULL); /* from 3.11 on */
    Py_XDECREF(dict);
}

/* Before any other module is looked at that may have them under names of its own. */
static void leave_json_alone(PyObject *module)
{
    if (!module)
        return;
    leave_alone(ar_pyread_global(module, "encode_basestring"));
    leave_alone(ar_pyread_global(module, "encode_basestring_ascii"));
}

/*
 * For these the interpreter has instructions of its own, which it uses where code has run a few times: the
 * pointer sees a part of the calls. So where a count is to be the count they are left out, unless the
 * instructions are not used (c_specials.h).
 */
struct inlined {
    const char *owner, *name; /* of a type being called: its name alone */
    int since;                /* version of Python */
};

static const struct inlined inlined[] = {
    {"builtins", "len", 11}, {"builtins", "isinstance", 11},
    {"list", "append", 11},  {"tuple", "", 11},
    {"type", "", 11},        {"super", "", 12},
    {"str", "", 13},
};

static bool is_inlined(const char *owner, const char *name)
{
    if (scan.builtins == AR_BUILTINS_ALL)
        return false;
    for (size_t i = 0; i < sizeof inlined / sizeof *inlined; i++)
        if (PY_MINOR_VERSION >= inlined[i].since && strcmp(owner, inlined[i].owner) == 0 &&
            strcmp(name, inlined[i].name) == 0)
            return true;
    return false;
}

/* ---- functions ------------------------------------------------------------------------------- */

/*
 * Up to 3.14 the function objects of __new__ have no vectorcall, which means: by tp_call. So they are given
 * one, which does as the interpreter does then.
 */
static void *call_new(void *callable, void *args, void *n, void *names, void *unused)
{
    PyObject *const *items = args;
    Py_ssize_t n_args = PyVectorcall_NARGS((size_t)n);
    Py_ssize_t n_names = names ? PyTuple_GET_SIZE((PyObject *)names) : 0;
    PyObject *tuple = PyTuple_New(n_args), *dict = n_names ? PyDict_New() : NULL, *result = NULL;

    (void)unused;
    for (Py_ssize_t i = 0; tuple && i < n_args; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(items[i]));
    for (Py_ssize_t i = 0; dict && i < n_names; i++)
        if (PyDict_SetItem(dict, PyTuple_GET_ITEM((PyObject *)names, i), items[n_args + i]) < 0)
            Py_CLEAR(dict);
    if (tuple && (dict || !n_names))
        result = PyCFunction_Type.tp_call((PyObject *)callable, tuple, dict);
    Py_XDECREF(tuple);
    Py_XDECREF(dict);
    return result;
}

static void see_new(PyCFunctionObject *function)
{
    vectorcallfunc own = function->vectorcall;

    if (!function->m_self || !PyType_Check(function->m_self) || ar_c_record_of((const void *)own))
        return;
    if (!own)
        function->vectorcall = (vectorcallfunc)(void (*)(void))call_new;
    if (!ar_c_stub((void **)&function->vectorcall, AR_C_NEW,
                   ((PyTypeObject *)function->m_self)->tp_name, "__new__"))
        function->vectorcall = own;
}

/* The beginning of NumPy's PyUFuncObject, which is part of its binary interface. */
struct ufunc {
    PyObject_HEAD int n_in, n_out, n_args, identity;
    void *functions, *data;
    int n_types, reserved;
    const char *name;
};

/* cProfile does not see them. */
static void see_ufunc(PyObject *value)
{
    Py_ssize_t offset = Py_TYPE(value)->tp_vectorcall_offset;

    if (scan.builtins == AR_BUILTINS_COUNTED && offset > 0 &&
        strcmp(Py_TYPE(value)->tp_name, "numpy.ufunc") == 0)
        ar_c_stub((void **)((char *)value + offset), AR_C_UFUNC, "numpy",
                  ((struct ufunc *)value)->name);
}

static const char *text_of(PyObject *text)
{
    return text && PyUnicode_Check(text) && PyUnicode_IS_COMPACT_ASCII(text) ? PyUnicode_DATA(text)
                                                                             : NULL;
}

/* Named after what it says itself: classes have other people's functions as attributes. */
static void see_definition(PyObject *value, PyMethodDef *def, const char *owner, bool in_type)
{
    enum ar_c_kind kind = def->ml_flags & (METH_CLASS | METH_STATIC) ? AR_C_OF_CLASS
                          : in_type                                  ? AR_C_METHOD
                                                                     : AR_C_FUNCTION;

    if (PyCFunction_Check(value)) {
        const char *module = text_of(((PyCFunctionObject *)value)->m_module);

        kind = module ? AR_C_FUNCTION : kind;
        owner = module ? module : owner;
    } else if (Py_TYPE(value) == &PyMethodDescr_Type) {
        kind = AR_C_METHOD;
        owner = PyDescr_TYPE(value)->tp_name;
    }
    if (!ar_starts_with(owner, "allranks.") && !is_inlined(owner, def->ml_name))
        ar_c_stub((void **)&def->ml_meth, kind, owner, def->ml_name);
}

static void see_value(PyObject *value, const char *owner, bool in_type)
{
    PyMethodDef *def = ar_c_definition(value);

    if (!def)
        see_ufunc(value);
    else if ((const void *)def->ml_meth == scan.wraps_new && PyCFunction_Check(value))
        see_new((PyCFunctionObject *)value);
    else if (!is_left_alone((const void *)def->ml_meth))
        see_definition(value, def, owner, in_type);
}

/* ---- types and modules ----------------------------------------------------------------------- */

/* cProfile does not see constructors, but what they call is called from C, and not counted. */
static void *call_constructor(void *a, void *b, void *c, void *d, void *e,
                              struct ar_c_record *record)
{
    struct ar_thread *t = ar_self;
    struct ar_node *outer = t ? t->in_constructor : NULL;

    if (t)
        t->in_constructor = t->current;

    void *result = record->own(a, b, c, d, e);

    if (t && t == ar_self)
        t->in_constructor = outer;
    return result;
}

/*
 * A constructor that the type has given itself. What it inherits or has as tp_new is left alone:
 * subtypes have copies of the pointer, and CPython compares them.
 */
static void see_constructor(PyTypeObject *type)
{
    if (!type->tp_vectorcall || Py_TYPE(type) != &PyType_Type || is_inlined(type->tp_name, ""))
        return;

    struct ar_c_record *record =
        ar_c_stub((void **)&type->tp_vectorcall, AR_C_TYPE, type->tp_name, "");

    if (record && scan.builtins == AR_BUILTINS_ALL)
        ar_c_make_special(record, call_constructor, NULL);
}

static void see_type(PyTypeObject *type)
{
    PyObject *dict = dict_of(type), *name, *value;
    Py_ssize_t at = 0;

    while (dict && PyDict_Next(dict, &at, &name, &value))
        see_value(value, type->tp_name, true);
    Py_XDECREF(dict);
    see_constructor(type);
}

/* false: it was known. Without memory it is looked at again next time. */
static bool is_new_type(PyTypeObject *type)
{
    uint64_t key =
        ar_pair_key((uintptr_t)type, ar_hash_bytes(type->tp_name, strlen(type->tp_name)));

    if (ar_idmap_get(&scan.known_types, key, 0))
        return false;
    return ar_idmap_put(&scan.known_types, key, 1) == AR_OK;
}

static PyObject *subclasses_of(PyTypeObject *base)
{
    static const char name[] = "__subclasses__";
    PyObject *list = PyObject_CallMethod((PyObject *)&PyType_Type, name, "O", base);

    PyErr_Clear();
    return list;
}

static void see_types_below(PyTypeObject *base)
{
    PyObject *list = subclasses_of(base);

    for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list); i++) {
        PyTypeObject *type = (PyTypeObject *)PyList_GET_ITEM(list, i);

        if (is_new_type(type)) {
            see_type(type);
            see_types_below(type);
        }
    }
    Py_XDECREF(list);
}

/* Where the last look at the subclasses of a type has ended: the interpreter appends new ones. */
struct seen_subclasses {
    const PyObject *dict, *key;
    Py_ssize_t at;
};

/* Subclasses that went away may have made room: then what is at that place is another one. */
static Py_ssize_t first_unseen(const struct seen_subclasses *seen, PyObject *dict)
{
    PyObject *key, *reference;
    Py_ssize_t at = seen->at;

    return dict == seen->dict && PyDict_Next(dict, &at, &key, &reference) && key == seen->key ? at
                                                                                              : 0;
}

static void see_latest_types(PyTypeObject *base, struct seen_subclasses *seen)
{
    PyObject *dict = ar_pyread_subclasses(base), *key, *reference;
    Py_ssize_t next = dict ? first_unseen(seen, dict) : 0, at = next;

    while (dict && PyDict_Next(dict, &next, &key, &reference)) {
        PyObject *type = ar_pyread_referent(reference);

        if (type && PyType_Check(type) && is_new_type((PyTypeObject *)type))
            see_type((PyTypeObject *)type);
        Py_XDECREF(type);
        *seen = (struct seen_subclasses){dict, key, at};
        at = next;
    }
}

static bool sees_all(void)
{
    return scan.builtins != AR_BUILTINS_NONE;
}

static void see_functions_in(PyObject *module, const char *module_name)
{
    PyObject *name, *value;
    Py_ssize_t at = 0;

    if (strcmp(module_name, "_json") == 0)
        leave_json_alone(module);
    while (PyDict_Next(PyModule_GetDict(module), &at, &name, &value)) {
        if (PyType_Check(value))
            see_type((PyTypeObject *)value);
        else if (!PyModule_Check(value))
            see_value(value, module_name, false);
    }
}

static void see_module(PyObject *module)
{
    PyObject *dict = PyModule_Check(module) ? PyModule_GetDict(module) : NULL;
    const char *name = dict ? text_of(PyDict_GetItemString(dict, "__name__")) : NULL;

    if (name && scan.initialised)
        scan.initialised(module, name);
    if (name && sees_all())
        see_functions_in(module, name);
    PyErr_Clear();
}

/* ---- when ------------------------------------------------------------------------------------ */

struct pause {
    PyObject *type, *value, *traceback;
    struct ar_ours ours;
    uint64_t then_ns;
};

static struct pause begin(void)
{
    struct pause p = {.ours = ar_ours_begin(ar_self),
                      .then_ns = ar_clock_ns(CLOCK_THREAD_CPUTIME_ID)};

    PyErr_Fetch(&p.type, &p.value, &p.traceback);
    return p;
}

static void end(struct pause p)
{
    PyErr_Restore(p.type, p.value, p.traceback);
    ar_ours_end(p.ours);
    ar_spent_since(AR_OVERHEAD_IMPORTS, p.then_ns);
}

static void after_import(PyObject *module)
{
    static struct seen_subclasses of_object, of_type;
    struct pause p = begin();

    see_module(module);
    if (sees_all()) {
        see_latest_types(&PyBaseObject_Type, &of_object);
        see_latest_types(&PyType_Type, &of_type);
    }
    end(p);
}

/* A module of one phase is ready when it is made, one of several when it has been executed. */
static bool has_phases(PyObject *module)
{
    const PyModuleDef *def = PyModule_Check(module) ? PyModule_GetDef(module) : NULL;

    return def && def->m_slots;
}

static struct {
    ar_c_fn *create_dynamic, *create_builtin, *exec_dynamic, *exec_builtin;
} imp;

#define MAKES(which)                                                                               \
    static void *which(void *a, void *b, void *c, void *d, void *e)                                \
    {                                                                                              \
        PyObject *module = imp.which(a, b, c, d, e);                                               \
        if (module && !has_phases(module))                                                         \
            after_import(module);                                                                  \
        return module;                                                                             \
    }
#define EXECUTES(which)                                                                            \
    static void *which(void *self, void *module, void *c, void *d, void *e)                        \
    {                                                                                              \
        void *result = imp.which(self, module, c, d, e);                                           \
        if (result && has_phases(module))                                                          \
            after_import(module);                                                                  \
        return result;                                                                             \
    }
MAKES(create_dynamic)
MAKES(create_builtin)
EXECUTES(exec_dynamic)
EXECUTES(exec_builtin)

static void take(PyObject *module, const char *name, ar_c_fn **own, ar_c_fn *ours)
{
    PyObject *function = PyDict_GetItemString(PyModule_GetDict(module), name);
    PyMethodDef *def = function ? definition_in(function) : NULL;
    struct ar_c_record *record =
        def ? ar_c_stub((void **)&def->ml_meth, AR_C_FUNCTION, "_imp", name) : NULL;

    if (!record)
        return;
    *own = record->own;
    record->is_special = !sees_all();
    __atomic_store_n(&record->called, ours, __ATOMIC_RELEASE);
}

static void see_imports(void)
{
    PyObject *module = ar_pyread_module("_imp");

    if (!module)
        return;
    take(module, "create_dynamic", &imp.create_dynamic, create_dynamic);
    take(module, "create_builtin", &imp.create_builtin, create_builtin);
    take(module, "exec_dynamic", &imp.exec_dynamic, exec_dynamic);
    take(module, "exec_builtin", &imp.exec_builtin, exec_builtin);
}

static void see_all_modules(void)
{
    PyObject *modules = PyDict_Copy(PyImport_GetModuleDict()), *name, *module;
    Py_ssize_t at = 0;

    while (modules && PyDict_Next(modules, &at, &name, &module))
        see_module(module);
    Py_XDECREF(modules);
    PyErr_Clear();
}

void ar_c_scan_tell(ar_module_fn *initialised)
{
    scan.initialised = initialised;
}

void ar_c_scan_start(enum ar_builtins builtins)
{
    struct pause p = begin();

    scan.builtins = builtins;
    see_imports();
    if (sees_all()) {
        leave_objects_alone();
        leave_json_alone(ar_pyread_module("_json"));
        see_type(&PyBaseObject_Type);
        see_types_below(&PyBaseObject_Type);
    }
    see_all_modules();
    end(p);
}

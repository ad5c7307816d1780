// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/regions.h"

#include "base/idmap.h"
#include "runtime/filter_rules.h"
#include "runtime/filters.h"
#include "runtime/functions.h"
#include "runtime/pyread.h"
#include "runtime/tree.h"

#include <stdlib.h>
#include <structmember.h>

static struct ar_idmap region_of_function; /* of decorated ones: number to number */

static bool is_recording(void)
{
    return ar_live_base != NULL;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* "name(key=value, ...)": the same name with other parameters is another region. */
static PyObject *name_with(PyObject *name, PyObject *params)
{
    PyObject *key, *value, *parts = PyList_New(0), *comma = PyUnicode_FromString(", ");
    PyObject *joined = NULL, *result = NULL;
    Py_ssize_t at = 0;

    while (parts && PyDict_Next(params, &at, &key, &value)) {
        PyObject *part = PyUnicode_FromFormat("%U=%.100R", key, value);

        if (!part || PyList_Append(parts, part) < 0)
            Py_CLEAR(parts);
        Py_XDECREF(part);
    }
    if (parts && comma)
        joined = PyUnicode_Join(comma, parts);
    if (joined)
        result = PyUnicode_FromFormat("%U(%U)", name, joined);
    Py_XDECREF(joined);
    Py_XDECREF(parts);
    Py_XDECREF(comma);
    return result;
}

static uint32_t marks_for(const char *name)
{
    return AR_MARK_REGION | (ar_filters_trace(name, "", NULL) ? AR_MARK_TRACED : 0) |
           (ar_filter_rules_hide_region(name) ? AR_MARK_HIDDEN : 0);
}

/* 0: it cannot be recorded, or is not to be. Patterns are looked at when a name comes for the first time. */
static uint32_t number_named(const char *name)
{
    uint32_t number = ar_function_named(AR_FUNCTION_REGION, name);

    if (number && !ar_tree_is_marked(number, AR_MARK_REGION))
        ar_tree_mark(number, marks_for(name));
    return number && !ar_tree_is_marked(number, AR_MARK_HIDDEN) ? number : 0;
}

uint32_t ar_region_number(PyObject *name)
{
    struct ar_pytext text = ar_pyread_text(name);
    uint32_t number = text.bytes ? number_named(text.bytes) : 0;

    free(text.bytes);
    return number;
}

/* ---- region ---------------------------------------------------------------------------------- */

/* `__enter__` or `__exit__` of a region. */
struct bound {
    PyObject_HEAD vectorcallfunc called;
    size_t offset; /* of this in the region */
};

/*
 * `with` asks for both methods and calls them later. Bound methods that are made and dropped each
 * time are half of what a region costs a program that is not recorded, so a region has them in
 * itself: each is asleep, with no references, until it is asked for, and then holds the region.
 */
struct region {
    PyObject_HEAD PyObject *name;
    PyObject *params;      /* a dict or NULL */
    uint32_t number;       /* 0: not asked for yet */
    vectorcallfunc called; /* on a function: decorates it */
    struct bound enter, exit;
};

/* Parameters are shown as they show themselves, which may run code of the program. */
static uint32_t number_of_region(struct region *self)
{
    if (self->number)
        return self->number;

    struct ar_ours ours = ar_ours_begin(ar_self);
    PyObject *whole = self->params ? name_with(self->name, self->params) : Py_NewRef(self->name);

    if (whole)
        self->number = ar_region_number(whole);
    else
        PyErr_Clear(); /* a parameter that cannot be shown is not the program's problem */
    Py_XDECREF(whole);
    ar_ours_end(ours);
    return self->number;
}

static bool is_seen(struct ar_thread *t, uint64_t now)
{
    return t && !(t->n_unseen && ar_tree_is_unseen(t, now));
}

/* What the program does while we call it is not the tree's business. */
static bool is_ours(const struct ar_thread *t)
{
    return t && t->n_unseen & AR_UNSEEN_OURS;
}

/* A parameter may have forked, or ended the recording: then the thread is another one, or none. */
static void begin_region(struct region *self)
{
    uint32_t number = number_of_region(self);
    struct ar_thread *t = ar_self;

    if (!number || !t)
        return;
    if (is_seen(t, ar_ticks()))
        ar_tree_enter(t,
                      ar_call_place(ar_frame_innermost(PyThreadState_GET()), t->current) | number,
                      ar_ticks());
    else
        ar_tree_begin_unseen_region(t, number);
}

static PyObject *region_enter(PyObject *object)
{
    if (is_recording() && ar_thread_self() && !is_ours(ar_self))
        begin_region((struct region *)object);
    return Py_NewRef(object);
}

/* One that is open is closed when it ends, recorded or not. false: it was not open, and would have been seen. */
static bool end_region(struct region *self)
{
    if (!is_recording() || !ar_self || is_ours(ar_self))
        return true;

    uint32_t number = number_of_region(self);
    struct ar_thread *t = ar_self;
    uint64_t now = ar_ticks();

    if (!t || !number || (t->n_unseen_regions && ar_tree_end_unseen_region(t, number)))
        return true;
    if (is_seen(t, now))
        return ar_tree_end_region(t, number, now);
    if (ar_tree_find_open(t, number))
        ar_tree_end_region(t, number, now);
    return true;
}

static PyObject *region_exit(PyObject *object)
{
    end_region((struct region *)object);
    Py_RETURN_NONE;
}

/*
 * Functions that share their code, as those that a factory makes, may be different regions: then
 * this one gets code of its own.
 */
static int give_code_of_its_own(PyObject *function)
{
    struct ar_ours ours = ar_ours_begin(ar_self);
    PyObject *copy = PyObject_CallMethod(PyFunction_GET_CODE(function), "replace", NULL);
    int rc = copy ? PyObject_SetAttrString(function, "__code__", copy) : -1;

    Py_XDECREF(copy);
    ar_ours_end(ours);
    return rc;
}

static PyCodeObject *code_of(PyObject *function)
{
    return (PyCodeObject *)PyFunction_GET_CODE(function);
}

static int decorate(PyObject *function, uint32_t region)
{
    uint32_t known = ar_function_known(code_of(function));
    uint32_t before = known ? ar_idmap_get(&region_of_function, known, 0) : 0;

    if (before == region)
        return 0;
    if (before && give_code_of_its_own(function) < 0)
        return -1;
    ar_function_is_region(code_of(function), PyFunction_GET_GLOBALS(function), region);
    known = ar_function_known(code_of(function));
    if (ar_idmap_put(&region_of_function, known, region) < 0)
        PyErr_Clear();
    return 0;
}

/* What staticmethod and classmethod wrap; a new reference. */
static PyObject *function_inside(PyObject *callable)
{
    PyTypeObject *type = Py_TYPE(callable);

    if (type == &PyStaticMethod_Type || type == &PyClassMethod_Type)
        return PyObject_GetAttrString(callable, "__func__");
    return Py_NewRef(callable);
}

/* Around something that has no code: a function in C, an object with __call__. */
static PyObject *wrapped(PyObject *region, PyObject *callable)
{
    PyObject *module = PyImport_ImportModule("allranks._regions");
    PyObject *result =
        module ? PyObject_CallMethod(module, "wrapped", "OO", region, callable) : NULL;

    Py_XDECREF(module);
    return result;
}

static PyObject *region_on(struct region *self, PyObject *callable)
{
    if (!PyCallable_Check(callable) && Py_TYPE(callable) != &PyClassMethod_Type &&
        Py_TYPE(callable) != &PyStaticMethod_Type)
        return PyErr_Format(PyExc_TypeError, "region(%R) decorates functions, not %.100s objects",
                            self->name, Py_TYPE(callable)->tp_name);
    if (PyType_Check(callable))
        return PyErr_Format(PyExc_TypeError,
                            "region(%R) decorates functions; for the methods of a class there is "
                            "allranks.instrument",
                            self->name);

    PyObject *function = function_inside(callable);
    PyObject *result = NULL;

    if (!function)
        return NULL;
    if (!PyFunction_Check(function))
        result = wrapped((PyObject *)self, callable);
    else if (!is_recording() || decorate(function, number_of_region(self)) == 0)
        result = Py_NewRef(callable);
    Py_DECREF(function);
    return result;
}

static PyObject *region_call(PyObject *self, PyObject *const *args, size_t n_args, PyObject *names)
{
    if (PyVectorcall_NARGS(n_args) != 1 || (names && PyTuple_GET_SIZE(names))) {
        PyErr_SetString(PyExc_TypeError, "a region takes one function to decorate");
        return NULL;
    }
    return region_on((struct region *)self, args[0]);
}

static PyTypeObject region_type;

/* ---- its methods ----------------------------------------------------------------------------- */

static struct region *region_of(PyObject *bound)
{
    return (struct region *)((char *)bound - ((const struct bound *)bound)->offset);
}

static PyObject *no_arguments(void)
{
    PyErr_SetString(PyExc_TypeError, "__enter__() takes no arguments");
    return NULL;
}

static PyObject *call_enter(PyObject *bound, PyObject *const *args, size_t n_args, PyObject *names)
{
    (void)args;
    if (PyVectorcall_NARGS(n_args) || (names && PyTuple_GET_SIZE(names)))
        return no_arguments();
    return region_enter((PyObject *)region_of(bound));
}

static PyObject *call_exit(PyObject *bound, PyObject *const *args, size_t n_args, PyObject *names)
{
    (void)args, (void)n_args, (void)names;
    return region_exit((PyObject *)region_of(bound));
}

/* Falls asleep; the memory is the region's. */
static void bound_dealloc(PyObject *bound)
{
    Py_DECREF((PyObject *)region_of(bound));
}

static PyTypeObject bound_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "allranks.region.bound_method",
    .tp_basicsize = sizeof(struct bound),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(struct bound, called),
    .tp_call = PyVectorcall_Call,
    .tp_dealloc = bound_dealloc,
};

static PyObject *awake(struct region *self, struct bound *bound)
{
    PyObject *object = (PyObject *)bound;

    if (Py_REFCNT(object) == 0) {
        Py_SET_REFCNT(object, 1);
        Py_INCREF((PyObject *)self);
    } else
        Py_INCREF(object);
    return object;
}

/* What the type has under these names: gives what is bound, or is called with the region first. */
struct method {
    PyObject_HEAD vectorcallfunc called;
    const char *name;
    size_t offset; /* of what is bound, in a region */
};

static bool is_region(PyObject *object)
{
    if (Py_TYPE(object) == &region_type)
        return true;
    PyErr_Format(PyExc_TypeError, "a region is needed, not %.100s", Py_TYPE(object)->tp_name);
    return false;
}

static PyObject *method_get(PyObject *object, PyObject *region, PyObject *type)
{
    const struct method *self = (const struct method *)object;

    (void)type;
    if (!region)
        return Py_NewRef(object);
    if (!is_region(region))
        return NULL;
    return awake((struct region *)region, (struct bound *)((char *)region + self->offset));
}

static PyObject *method_call(PyObject *object, PyObject *const *args, size_t n_args,
                             PyObject *names)
{
    Py_ssize_t n = PyVectorcall_NARGS(n_args);
    bool enters = ((const struct method *)object)->offset == offsetof(struct region, enter);

    if (n == 0) {
        PyErr_SetString(PyExc_TypeError, "a region is needed");
        return NULL;
    }
    if (!is_region(args[0]))
        return NULL;
    if (enters && (n > 1 || (names && PyTuple_GET_SIZE(names))))
        return no_arguments();
    return enters ? region_enter(args[0]) : region_exit(args[0]);
}

static PyMemberDef method_members[] = {
    {"__name__", T_STRING, offsetof(struct method, name), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject method_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "allranks.region.method",
    .tp_basicsize = sizeof(struct method),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(struct method, called),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = method_get,
    .tp_members = method_members,
};

static bool add_method(const char *name, size_t offset)
{
    struct method *method = PyObject_New(struct method, &method_type);

    if (!method)
        return false;
    method->called = method_call;
    method->name = name;
    method->offset = offset;

    int rc = PyDict_SetItemString(region_type.tp_dict, name, (PyObject *)method);

    Py_DECREF((PyObject *)method);
    return rc == 0;
}

/* ---- making one ------------------------------------------------------------------------------ */

static void put_to_sleep(struct region *self, struct bound *bound, vectorcallfunc called)
{
    *bound = (struct bound){.called = called, .offset = (size_t)((char *)bound - (char *)self)};
    Py_SET_TYPE((PyObject *)bound, &bound_type);
}

static struct region *allocate(void)
{
    struct region *self = PyObject_New(struct region, &region_type);

    if (!self)
        return NULL;
    self->called = region_call;
    put_to_sleep(self, &self->enter, call_enter);
    put_to_sleep(self, &self->exit, call_exit);
    return self;
}

/*
 * Most regions are made for a `with` and gone after it. The last that went is kept for the next: it
 * is most of what a region costs a program that is not recorded.
 */
static struct region *spare;

static struct region *new_region(PyObject *name, PyObject *params)
{
    struct region *self = spare;

    if (self)
        Py_SET_REFCNT((PyObject *)self, 1);
    else
        self = allocate();
    spare = NULL;
    if (!self)
        return NULL;
    self->name = Py_NewRef(name);
    self->params = params;
    self->number = 0;
    return self;
}

static PyObject *collect(PyObject *const *values, PyObject *names)
{
    PyObject *params = PyDict_New();

    for (Py_ssize_t i = 0; params && i < PyTuple_GET_SIZE(names); i++)
        if (PyDict_SetItem(params, PyTuple_GET_ITEM(names, i), values[i]) < 0)
            Py_CLEAR(params);
    return params;
}

/* `@region` without a name: the function's own. */
static PyObject *region_of_itself(PyObject *callable)
{
    PyObject *function = function_inside(callable);
    PyObject *name = function ? PyObject_GetAttrString(function, "__qualname__") : NULL;
    struct region *self = name ? new_region(name, NULL) : NULL;
    PyObject *result = self ? region_on(self, callable) : NULL;

    Py_XDECREF((PyObject *)self);
    Py_XDECREF(name);
    Py_XDECREF(function);
    return result;
}

static PyObject *region_new(PyObject *type, PyObject *const *args, size_t n_args, PyObject *names)
{
    Py_ssize_t n = PyVectorcall_NARGS(n_args), n_params = names ? PyTuple_GET_SIZE(names) : 0;

    (void)type;
    if (n != 1) {
        PyErr_SetString(PyExc_TypeError, "region(name, **params) needs a name");
        return NULL;
    }
    if (PyUnicode_Check(args[0])) {
        PyObject *params = n_params && is_recording() ? collect(args + n, names) : NULL;

        return n_params && is_recording() && !params ? NULL
                                                     : (PyObject *)new_region(args[0], params);
    }
    if (n_params == 0 && (PyCallable_Check(args[0]) || Py_TYPE(args[0]) == &PyClassMethod_Type))
        return region_of_itself(args[0]);
    return PyErr_Format(PyExc_TypeError, "the name of a region is a str, not %.100s",
                        Py_TYPE(args[0])->tp_name);
}

static void region_dealloc(PyObject *object)
{
    struct region *self = (struct region *)object;

    Py_DECREF(self->name);
    Py_XDECREF(self->params);
    if (spare)
        PyObject_Free(self);
    else
        spare = self;
}

static PyMemberDef region_members[] = {
    {"name", T_OBJECT_EX, offsetof(struct region, name), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(region_doc,
             "region(name, /, **params)\n--\n\n"
             "A part of the program with a name of its own: a context manager, and a decorator of\n"
             "functions, methods, generators and coroutines. Without a recording it does nothing.\n"
             "\n"
             "    with allranks.region(\"assemble\", level=2): ...\n"
             "    @allranks.region(\"assemble\")\n"
             "    @allranks.region");

static PyTypeObject region_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "allranks.region",
    .tp_basicsize = sizeof(struct region),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(struct region, called),
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall = region_new,
    .tp_dealloc = region_dealloc,
    .tp_members = region_members,
    .tp_doc = region_doc,
};

/* ---- pause ----------------------------------------------------------------------------------- */

static unsigned n_pauses;

static void set_paused(bool pause)
{
    uint32_t number = number_named(AR_PAUSED_NAME);

    if (number)
        ar_threads_pause(pause, number);
}

PyDoc_STRVAR(pause_doc, "pause()\n--\n\nRecord nothing, in all threads, until resume().");

static PyObject *do_pause(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (is_recording() && n_pauses++ == 0)
        set_paused(true);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(resume_doc, "resume()\n--\n\nRecord again, after as many as there were pause().");

static PyObject *do_resume(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (!is_recording())
        Py_RETURN_NONE;
    if (n_pauses == 0)
        ar_livemap_lost(AR_LOST_REGIONS, 1);
    else if (--n_pauses == 0)
        set_paused(false);
    Py_RETURN_NONE;
}

static PyObject *paused_enter(PyObject *self, PyObject *unused)
{
    Py_XDECREF(do_pause(self, unused));
    return Py_NewRef(self);
}

static PyObject *paused_exit(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)args, (void)n_args;
    return do_resume(self, NULL);
}

static PyTypeObject paused_type;

static PyObject *paused_new(PyObject *type, PyObject *const *args, size_t n_args, PyObject *names)
{
    (void)type, (void)args;
    if (PyVectorcall_NARGS(n_args) || (names && PyTuple_GET_SIZE(names))) {
        PyErr_SetString(PyExc_TypeError, "paused() takes no arguments");
        return NULL;
    }
    return PyObject_New(PyObject, &paused_type);
}

static void paused_dealloc(PyObject *self)
{
    PyObject_Free(self);
}

static PyMethodDef paused_methods[] = {
    {"__enter__", paused_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))paused_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(paused_doc,
             "paused()\n--\n\nRecord nothing while the block runs: with allranks.paused(): ...");

static PyTypeObject paused_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "allranks.paused",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_vectorcall = paused_new,
    .tp_dealloc = paused_dealloc,
    .tp_methods = paused_methods,
    .tp_doc = paused_doc,
};

/* ---- for drop-ins ---------------------------------------------------------------------------- */

PyDoc_STRVAR(end_region_doc,
             "end_region(region)\n--\n\n"
             "Ends a region. False: it is not open in this thread. In a pause it is not known.");

static PyObject *end_region_of(PyObject *self, PyObject *object)
{
    (void)self;
    if (!is_region(object))
        return NULL;
    return PyBool_FromLong(end_region((struct region *)object));
}

/* ---- module ---------------------------------------------------------------------------------- */

PyDoc_STRVAR(is_recording_doc, "is_recording()\n--\n\nIs this process being recorded?");

static PyObject *say_recording(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyBool_FromLong(is_recording());
}

static PyMethodDef functions[] = {
    {"pause", do_pause, METH_NOARGS, pause_doc},
    {"resume", do_resume, METH_NOARGS, resume_doc},
    {"end_region", end_region_of, METH_O, end_region_doc},
    {"is_recording", say_recording, METH_NOARGS, is_recording_doc},
    {NULL, NULL, 0, NULL},
};

bool ar_regions_register(PyObject *module)
{
    return PyType_Ready(&region_type) == 0 && PyType_Ready(&bound_type) == 0 &&
           PyType_Ready(&method_type) == 0 &&
           add_method("__enter__", offsetof(struct region, enter)) &&
           add_method("__exit__", offsetof(struct region, exit)) &&
           PyType_Ready(&paused_type) == 0 && PyModule_AddFunctions(module, functions) == 0 &&
           PyModule_AddObject(module, "region", Py_NewRef((PyObject *)&region_type)) == 0 &&
           PyModule_AddObject(module, "paused", Py_NewRef((PyObject *)&paused_type)) == 0;
}

const struct ar_source ar_source_regions = {.name = "regions"};

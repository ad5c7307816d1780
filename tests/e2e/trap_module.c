// SPDX-License-Identifier: BSD-3-Clause
/*
 * trap: modules whose C functions are defined in all the ways there are, for test_c_traps.py.
 *
 * One library has several modules, each with an initialising function of its own:
 *
 *     trap               initialised in several phases; read-only definitions, all calling conventions, types that share
 *                        definitions, types made later, definitions on the heap that are freed with their function
 *     trap_single        initialised in one phase
 *     trap_no_init       fails in its initialising function
 *     trap_no_exec       fails when it is executed, after it has made functions
 *     trap_other_error   succeeds while an exception is pending: CPython reports that
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>

#define FUNCTION(f) ((PyCFunction)(void (*)(void))(f))

/* ---- every convention returns what it was given ---- */

static PyObject *tuple_of(PyObject *const *args, Py_ssize_t n)
{
    PyObject *made = PyTuple_New(n);

    for (Py_ssize_t i = 0; made && i < n; i++) {
        Py_INCREF(args[i]);
        PyTuple_SET_ITEM(made, i, args[i]);
    }
    return made;
}

static PyObject *none_given(PyObject *self, PyObject *unused)
{
    (void)self;
    return PyBool_FromLong(unused == NULL);
}

static PyObject *one_given(PyObject *self, PyObject *arg)
{
    (void)self;
    return tuple_of(&arg, 1);
}

static PyObject *tuple_given(PyObject *self, PyObject *args)
{
    (void)self;
    Py_INCREF(args);
    return args;
}

static PyObject *dict_given(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    return Py_BuildValue("OO", args, kwargs ? kwargs : Py_None);
}

static PyObject *array_given(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    return tuple_of(args, n);
}

static PyObject *names_given(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    (void)self;
    Py_ssize_t n_names = names ? PyTuple_GET_SIZE(names) : 0;

    return Py_BuildValue("NO", tuple_of(args, n + n_names), names ? names : Py_None);
}

static PyObject *class_given(PyObject *self, PyTypeObject *defining, PyObject *const *args,
                             Py_ssize_t n, PyObject *names)
{
    (void)names;
    return Py_BuildValue("ssN", defining->tp_name, Py_TYPE(self)->tp_name, tuple_of(args, n));
}

/* ---- what a caller in C may notice ---- */

static PyObject *calls(PyObject *self, PyObject *function)
{
    (void)self;
    return PyObject_CallObject(function, NULL);
}

static PyObject *fails(PyObject *self, PyObject *text)
{
    (void)self;
    PyErr_SetObject(PyExc_LookupError, text);
    return NULL;
}

/* errno after a call of a function, which was 7 before. */
static PyObject *errno_after(PyObject *self, PyObject *args)
{
    PyObject *function = PyTuple_GET_ITEM(args, 0);
    PyObject *arg = PyTuple_GET_ITEM(args, 1);

    (void)self;
    errno = 7;
    PyObject *result = PyObject_CallFunctionObjArgs(function, arg, NULL);
    int after = errno;
    Py_XDECREF(result);
    return result ? PyLong_FromLong(after) : NULL;
}

/* ---- definitions on the heap ---- */

struct heap_function {
    PyMethodDef definition;
    char name[24];
    long number;
};

static void free_heap_function(PyObject *capsule)
{
    struct heap_function *f = PyCapsule_GetPointer(capsule, "trap");

    memset(f, 0xdd, sizeof *f);
    free(f);
}

static PyObject *number_of(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLong(((struct heap_function *)PyCapsule_GetPointer(self, "trap"))->number);
}

/* Another function with a definition at an address that may have been that of one before. */
static PyObject *negative_of(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLong(-((struct heap_function *)PyCapsule_GetPointer(self, "trap"))->number);
}

static PyObject *new_heap_function(const char *name, long number)
{
    struct heap_function *f = calloc(1, sizeof *f);

    snprintf(f->name, sizeof f->name, "%s", name);
    f->number = number;
    f->definition = (PyMethodDef){f->name, number % 2 ? number_of : negative_of, METH_NOARGS, NULL};
    PyObject *capsule = PyCapsule_New(f, "trap", free_heap_function);
    PyObject *module = PyUnicode_FromString("trap");
    PyObject *made = capsule && module ? PyCFunction_NewEx(&f->definition, capsule, module) : NULL;
    Py_XDECREF(capsule);
    Py_XDECREF(module);
    return made;
}

static PyObject *make(PyObject *self, PyObject *number)
{
    (void)self;
    return new_heap_function("made", PyLong_AsLong(number));
}

/* ---- types ---- */

static PyMethodDef type_methods[] = {
    {"where", FUNCTION(class_given), METH_METHOD | METH_FASTCALL | METH_KEYWORDS, NULL},
    {"none_given", none_given, METH_NOARGS, NULL},
    {"of_class", one_given, METH_O | METH_CLASS, NULL},
    {"of_nothing", FUNCTION(array_given), METH_FASTCALL | METH_STATIC, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot type_slots[] = {{Py_tp_methods, type_methods}, {0, NULL}};
static PyType_Spec early_spec = {"trap.Early", sizeof(PyObject), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, type_slots};
static PyType_Spec late_spec = {"trap.Late", sizeof(PyObject), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, type_slots};

static PyObject *late_type(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyType_FromModuleAndSpec(self, &late_spec, NULL);
}

/* ---- modules ---- */

/* const, with addresses in it: where the linker makes relocations read-only nobody may write here. */
static const PyMethodDef read_only[] = {
    {"one_given", one_given, METH_O, NULL},
    {"none_given", none_given, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyMethodDef functions[] = {
    {"tuple_given", tuple_given, METH_VARARGS, NULL},
    {"dict_given", FUNCTION(dict_given), METH_VARARGS | METH_KEYWORDS, NULL},
    {"array_given", FUNCTION(array_given), METH_FASTCALL, NULL},
    {"names_given", FUNCTION(names_given), METH_FASTCALL | METH_KEYWORDS, NULL},
    {"calls", calls, METH_O, NULL},
    {"fails", fails, METH_O, NULL},
    {"errno_after", errno_after, METH_VARARGS, NULL},
    {"make", make, METH_O, NULL},
    {"late_type", late_type, METH_NOARGS, NULL},
    {"same", one_given, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static int add(PyObject *module, const char *name, PyObject *value)
{
    if (value && PyModule_AddObject(module, name, value) == 0)
        return 0;
    Py_XDECREF(value);
    return -1;
}

static int n_executed;

static int execute(PyObject *module)
{
    n_executed++;
    if (PyModule_AddFunctions(module, (PyMethodDef *)read_only) < 0)
        return -1;
    for (int i = 0; i < 4; i++) {
        char name[24];
        snprintf(name, sizeof name, "heap_%d", i);
        if (add(module, name, new_heap_function(name, n_executed * 10 + i)) < 0)
            return -1;
    }
    return add(module, "Early", PyType_FromModuleAndSpec(module, &early_spec, NULL));
}

static int fail_to_execute(PyObject *module)
{
    if (execute(module) < 0)
        return -1;
    PyErr_SetString(PyExc_KeyError, "raised by the module's execution");
    return -1;
}

static int execute_with_error(PyObject *module)
{
    if (execute(module) < 0)
        return -1;
    PyErr_SetString(PyExc_KeyError, "left behind");
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};
static PyModuleDef_Slot failing_slots[] = {{Py_mod_exec, fail_to_execute}, {0, NULL}};
static PyModuleDef_Slot odd_slots[] = {{Py_mod_exec, execute_with_error}, {0, NULL}};
static PyModuleDef trap = {
    PyModuleDef_HEAD_INIT, "trap", NULL, 0, functions, slots, NULL, NULL, NULL};
static PyModuleDef failing = {PyModuleDef_HEAD_INIT, "trap_no_exec", NULL, 0,   functions,
                              failing_slots,         NULL,           NULL, NULL};
static PyModuleDef odd = {
    PyModuleDef_HEAD_INIT, "trap_other_error", NULL, 0, functions, odd_slots, NULL, NULL, NULL};
static PyMethodDef single_functions[] = {
    {"one_given", one_given, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
static PyModuleDef single = {
    PyModuleDef_HEAD_INIT, "trap_single", NULL, -1, single_functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_trap(void);
PyMODINIT_FUNC PyInit_trap_single(void);
PyMODINIT_FUNC PyInit_trap_no_init(void);
PyMODINIT_FUNC PyInit_trap_no_exec(void);
PyMODINIT_FUNC PyInit_trap_other_error(void);

PyMODINIT_FUNC PyInit_trap(void)
{
    return PyModuleDef_Init(&trap);
}

PyMODINIT_FUNC PyInit_trap_single(void)
{
    return PyModule_Create(&single);
}

PyMODINIT_FUNC PyInit_trap_no_init(void)
{
    PyErr_SetString(PyExc_ValueError, "raised by the initialising function");
    return NULL;
}

PyMODINIT_FUNC PyInit_trap_no_exec(void)
{
    return PyModuleDef_Init(&failing);
}

PyMODINIT_FUNC PyInit_trap_other_error(void)
{
    return PyModuleDef_Init(&odd);
}

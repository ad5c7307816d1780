// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/cfunctions.h"

#include "base/idmap.h"
#include "runtime/functions.h"

#include <string.h>

bool ar_cfunctions_off;
void (*ar_cfunctions_on_stop)(void);

static struct ar_idmap numbers; /* by what the function is known by */

/* ---- names ----------------------------------------------------------------------------------- */

static PyObject *module_of(PyCFunctionObject *function)
{
    PyObject *module = function->m_module;

    if (module && PyUnicode_Check(module)) {
        Py_INCREF(module);
        return module;
    }
    if (module && PyModule_Check(module))
        return PyModule_GetNameObject(module);
    return NULL;
}

static PyObject *name_of_descriptor(PyMethodDescrObject *method)
{
    return PyUnicode_FromFormat("method '%s' of '%s' objects", method->d_method->ml_name,
                                PyDescr_TYPE(method)->tp_name);
}

/* The type that a bound method comes from is the one that its own type finds it in. */
static PyObject *name_in_type(PyTypeObject *type, const char *name)
{
    PyObject *key = PyUnicode_FromString(name);
    PyObject *method = key ? _PyType_Lookup(type, key) : NULL; /* borrowed */
    PyObject *result = NULL;

    if (method && Py_TYPE(method) == &PyMethodDescr_Type)
        result = name_of_descriptor((PyMethodDescrObject *)method);
    Py_XDECREF(key);
    return result;
}

static PyObject *name_of_cfunction(PyCFunctionObject *function)
{
    const char *name = function->m_ml->ml_name;
    PyObject *result = NULL, *module;

    if (function->m_self && !PyModule_Check(function->m_self))
        result = name_in_type(Py_TYPE(function->m_self), name);
    if (result)
        return result;
    PyErr_Clear();
    module = module_of(function);
    if (module)
        result = PyUnicode_FromFormat("built-in method %U.%s", module, name);
    else
        result = PyUnicode_FromFormat("built-in method %s", name);
    Py_XDECREF(module);
    return result;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The beginning of NumPy's PyUFuncObject, which is part of its binary interface. */
struct ufunc {
    PyObject_HEAD int n_in, n_out, n_args, identity;
    void *functions, *data;
    int n_types, reserved;
    const char *name;
};

static bool is_ufunc(PyObject *callable)
{
    return strcmp(Py_TYPE(callable)->tp_name, "numpy.ufunc") == 0;
}

static bool is_static_type(PyObject *callable)
{
    return PyType_Check(callable) && !(((PyTypeObject *)callable)->tp_flags & Py_TPFLAGS_HEAPTYPE);
}

static PyObject *name_of(PyObject *callable)
{
    if (PyCFunction_Check(callable))
        return name_of_cfunction((PyCFunctionObject *)callable);
    if (Py_TYPE(callable) == &PyMethodDescr_Type)
        return name_of_descriptor((PyMethodDescrObject *)callable);
    if (PyType_Check(callable))
        return PyUnicode_FromFormat("type %s", ((PyTypeObject *)callable)->tp_name);
    return PyUnicode_FromFormat("ufunc %s", ((struct ufunc *)callable)->name);
}

static uint32_t first_seen(PyObject *callable, const void *known_by)
{
    PyObject *type, *value, *traceback, *name, *text = NULL;
    uint32_t number = 0;

    PyErr_Fetch(&type, &value, &traceback);
    name = name_of(callable);
    if (name)
        text = PyUnicode_AsEncodedString(name, "utf-8", "surrogateescape");
    if (text)
        number = ar_function_named(AR_FUNCTION_BUILTIN, PyBytes_AS_STRING(text));
    if (number)
        ar_tree_mark(number, AR_MARK_BUILTIN);
    Py_XDECREF(text);
    Py_XDECREF(name);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    /* Without memory it is looked up again next time. */
    if (number && ar_idmap_put(&numbers, (uintptr_t)known_by, number) < 0)
        number = 0;
    return number;
}

static const void *identity_of(PyObject *callable, bool all_kinds)
{
    if (PyCFunction_Check(callable))
        return ((PyCFunctionObject *)callable)->m_ml;
    if (Py_TYPE(callable) == &PyMethodDescr_Type)
        return ((PyMethodDescrObject *)callable)->d_method;
    if (!all_kinds)
        return NULL;
    if (is_static_type(callable))
        return callable;
    return is_ufunc(callable) ? ((struct ufunc *)callable)->name : NULL;
}

uint32_t ar_cfunction_number(PyObject *callable, bool all_kinds)
{
    const void *known_by = identity_of(callable, all_kinds);

    if (!known_by)
        return 0;

    uint32_t number = ar_idmap_get(&numbers, (uintptr_t)known_by, 0);

    return __builtin_expect(number != 0, 1) ? number : first_seen(callable, known_by);
}

void ar_cfunctions_stop(void)
{
    if (!ar_cfunctions_off && ar_cfunctions_on_stop)
        ar_cfunctions_on_stop();
    ar_cfunctions_off = true;
}

void ar_cfunctions_forget(void)
{
    ar_idmap_free(&numbers);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/c_numbers.h"

#include "base/idmap.h"
#include "runtime/c_function.h"
#include "runtime/functions.h"
#include "runtime/mpi4py_methods.h"

#include <string.h>

bool ar_c_looking_is_off;
void (*ar_c_looking_on_stop)(void);

static struct ar_idmap numbers; /* by what the function is known by */

/* ---- names ----------------------------------------------------------------------------------- */

static PyObject *name_of_descriptor(PyMethodDescrObject *method)
{
    return PyUnicode_FromFormat("method '%s' of '%s' objects", method->d_method->ml_name,
                                PyDescr_TYPE(method)->tp_name);
}

/* Without its angle brackets. */
static PyObject *name_of_cfunction(PyObject *callable)
{
    struct ar_c_function function = ar_c_function_of(callable);
    PyObject *name = ar_c_function_name(&function);
    PyObject *inside = name ? PyUnicode_Substring(name, 1, PyUnicode_GET_LENGTH(name) - 1) : NULL;

    Py_XDECREF(name);
    return inside;
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
        return name_of_cfunction(callable);
    if (Py_TYPE(callable) == &PyMethodDescr_Type)
        return name_of_descriptor((PyMethodDescrObject *)callable);
    if (PyType_Check(callable))
        return PyUnicode_FromFormat("type %s", ((PyTypeObject *)callable)->tp_name);
    return PyUnicode_FromFormat("ufunc %s", ((struct ufunc *)callable)->name);
}

static uint32_t first_seen(PyObject *callable)
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
    return number;
}

/* Without memory it is looked up again next time. */
static uint32_t look_up(PyObject *callable, const void *known_by)
{
    uint32_t number = ar_idmap_get(&numbers, (uintptr_t)known_by, 0);

    if (__builtin_expect(number != 0, 1))
        return number;
    number = ar_method_is_operation(known_by) ? AR_FUNCTION_LOST : first_seen(callable);
    if (number && ar_idmap_put(&numbers, (uintptr_t)known_by, number) < 0)
        return 0;
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

uint32_t ar_c_number(PyObject *callable, bool all_kinds)
{
    const void *known_by = identity_of(callable, all_kinds);
    uint32_t number = known_by ? look_up(callable, known_by) : 0;

    return number == AR_FUNCTION_LOST ? 0 : number; /* an operation has a node of its own */
}

void ar_c_looking_stop(void)
{
    if (!ar_c_looking_is_off && ar_c_looking_on_stop)
        ar_c_looking_on_stop();
    ar_c_looking_is_off = true;
}

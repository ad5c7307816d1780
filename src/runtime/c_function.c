// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/c_function.h"

#include <stdbool.h>

static PyObject *module_name(PyObject *module)
{
    if (module && PyUnicode_Check(module))
        return Py_INCREF(module), module;
    return module && PyModule_Check(module) ? PyModule_GetNameObject(module) : NULL;
}

/* Of a function that belongs to nothing, not even to a module. */
static PyObject *name_of_free_function(const struct ar_c_function *function)
{
    PyObject *module = module_name(function->module);
    PyObject *name;

    PyErr_Clear();
    if (module && PyUnicode_CompareWithASCIIString(module, "builtins") != 0)
        name = PyUnicode_FromFormat("<%U.%s>", module, function->def->ml_name);
    else
        name = PyUnicode_FromFormat("<%s>", function->def->ml_name);
    Py_XDECREF(module);
    return name;
}

/* A new reference, to what a class has under the function's name, or NULL. */
static PyObject *find_in(PyTypeObject *type, const struct ar_c_function *function)
{
    PyObject *name = PyUnicode_FromString(function->def->ml_name);
    PyObject *attribute = name ? _PyType_Lookup(type, name) : NULL;

    Py_XINCREF(attribute);
    Py_XDECREF(name);
    PyErr_Clear();
    return attribute;
}

/* Takes the reference over; NULL with no exception. */
static PyObject *show(PyObject *attribute)
{
    PyObject *text = attribute ? PyObject_Repr(attribute) : NULL;

    Py_XDECREF(attribute);
    PyErr_Clear();
    return text;
}

static bool is_in_c(PyObject *attribute)
{
    PyTypeObject *type = Py_TYPE(attribute);

    return type == &PyMethodDescr_Type || type == &PyClassMethodDescr_Type ||
           type == &PyWrapperDescr_Type || type == &PyCFunction_Type;
}

/* What a class of the program has put in front of the method is passed over. */
static PyObject *find_in_c(const struct ar_c_function *function)
{
    PyObject *classes = Py_TYPE(function->self)->tp_mro;

    for (Py_ssize_t i = 0; classes && i < PyTuple_GET_SIZE(classes); i++) {
        PyObject *found = find_in((PyTypeObject *)PyTuple_GET_ITEM(classes, i), function);

        if (found && is_in_c(found))
            return found;
        Py_XDECREF(found);
    }
    return NULL;
}

static PyObject *name_by_itself(const struct ar_c_function *function)
{
    if (!function->self)
        return name_of_free_function(function);
    if (function->module && PyUnicode_Check(function->module))
        return PyUnicode_FromFormat("<built-in method %U.%s>", function->module,
                                    function->def->ml_name);
    return PyUnicode_FromFormat("<built-in method %s>", function->def->ml_name);
}

/* What its type has under this name is what people know it by: <method 'append' of 'list' objects>. */
PyObject *ar_c_function_name(const struct ar_c_function *function)
{
    PyObject *self = function->self;
    PyObject *name = self ? show(find_in(Py_TYPE(self), function)) : NULL;

    return name ? name : name_by_itself(function);
}

PyObject *ar_c_function_plain_name(const struct ar_c_function *function)
{
    PyObject *name = function->self ? show(find_in_c(function)) : NULL;

    return name ? name : name_by_itself(function);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/c_function.h"

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

/* What its type has under this name is what people know it by: <method 'append' of 'list' objects>. */
static PyObject *name_in_type(const struct ar_c_function *function)
{
    PyObject *name = PyUnicode_FromString(function->def->ml_name);
    PyObject *attribute = name ? _PyType_Lookup(Py_TYPE(function->self), name) : NULL;
    PyObject *text = NULL;

    Py_XINCREF(attribute);
    if (attribute)
        text = PyObject_Repr(attribute);
    Py_XDECREF(attribute);
    Py_XDECREF(name);
    PyErr_Clear();
    return text;
}

PyObject *ar_c_function_name(const struct ar_c_function *function)
{
    if (!function->self)
        return name_of_free_function(function);

    PyObject *name = name_in_type(function);

    if (name)
        return name;
    if (function->module && PyUnicode_Check(function->module))
        return PyUnicode_FromFormat("<built-in method %U.%s>", function->module,
                                    function->def->ml_name);
    return PyUnicode_FromFormat("<built-in method %s>", function->def->ml_name);
}

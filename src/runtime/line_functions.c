// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/line_functions.h"

#include "runtime/functions.h"

/* What decorators and methods wrap; a new reference, NULL: there is no function in it, and no exception. */
static PyObject *function_in(PyObject *object)
{
    PyObject *inside = NULL;

    if (PyFunction_Check(object))
        return Py_NewRef(object);
    if (PyMethod_Check(object))
        return function_in(PyMethod_GET_FUNCTION(object));
    if (Py_TYPE(object) == &PyStaticMethod_Type || Py_TYPE(object) == &PyClassMethod_Type)
        inside = PyObject_GetAttrString(object, "__func__");
    else if (Py_TYPE(object) == &PyProperty_Type)
        inside = PyObject_GetAttrString(object, "fget");

    PyObject *found = inside ? function_in(inside) : NULL;

    Py_XDECREF(inside);
    PyErr_Clear();
    return found;
}

PyDoc_STRVAR(lines_doc, "lines(function)\n--\n\n"
                        "Count each line of a function, as a decorator; see `allranks lines`.\n"
                        "Methods, static and class methods, and properties are taken as they are.");

static PyObject *lines(PyObject *self, PyObject *object)
{
    PyObject *function = ar_live_base ? function_in(object) : NULL;

    (void)self;
    if (function)
        ar_function_has_lines((PyCodeObject *)PyFunction_GET_CODE(function),
                              PyFunction_GET_GLOBALS(function));
    Py_XDECREF(function);
    return Py_NewRef(object);
}

static PyMethodDef functions[] = {
    {"lines", lines, METH_O, lines_doc},
    {NULL, NULL, 0, NULL},
};

bool ar_line_functions_register(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/pyread.h"

#include <stdlib.h>

/* ---- text ------------------------------------------------------------------------------------ */

#define MOST_BYTES_PER_CHARACTER 4

static char *put(char *at, Py_UCS4 c)
{
    if (c >= 0xDC80 && c <= 0xDCFF) {
        *at++ = (char)c;
        return at;
    }
    if (c >= 0xD800 && c <= 0xDFFF)
        c = 0xFFFD;
    if (c < 0x80) {
        *at++ = (char)c;
        return at;
    }
    if (c < 0x800) {
        *at++ = (char)(0xC0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *at++ = (char)(0xE0 | c >> 12);
        } else {
            *at++ = (char)(0xF0 | c >> 18);
            *at++ = (char)(0x80 | (c >> 12 & 0x3F));
        }
        *at++ = (char)(0x80 | (c >> 6 & 0x3F));
    }
    *at++ = (char)(0x80 | (c & 0x3F));
    return at;
}

/* Up to 3.11 C code can make a str whose characters are not in place yet. */
static bool is_text(PyObject *object)
{
    if (!object || !PyUnicode_Check(object))
        return false;
#if PY_VERSION_HEX < 0x030C0000
    if (PyUnicode_READY(object) < 0) {
        PyErr_Clear();
        return false;
    }
#endif
    return true;
}

struct ar_pytext ar_pyread_text(PyObject *text)
{
    if (!is_text(text))
        return (struct ar_pytext){0};

    size_t n = (size_t)PyUnicode_GET_LENGTH(text);
    int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    char *bytes = malloc(n * (PyUnicode_IS_ASCII(text) ? 1 : MOST_BYTES_PER_CHARACTER) + 1);
    char *at = bytes;

    if (!bytes)
        return (struct ar_pytext){0};
    for (size_t i = 0; i < n; i++)
        at = put(at, PyUnicode_READ(kind, data, i));
    *at = '\0';
    return (struct ar_pytext){bytes, (size_t)(at - bytes)};
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Borrowed; NULL also where the lookup went wrong. */
static PyObject *item(PyObject *dict, const char *name)
{
    PyObject *key = dict && PyDict_Check(dict) ? PyUnicode_InternFromString(name) : NULL;
    PyObject *found = key ? PyDict_GetItemWithError(dict, key) : NULL;

    Py_XDECREF(key);
    if (!found)
        PyErr_Clear();
    return found;
}

char *ar_pyread_module_name(PyObject *globals)
{
    PyObject *name = item(globals, "__name__");

    return name && PyUnicode_Check(name) ? ar_pyread_text(name).bytes : calloc(1, 1);
}

PyObject *ar_pyread_module(const char *name)
{
    PyObject *module = item(PyImport_GetModuleDict(), name);

    return module && PyModule_Check(module) ? module : NULL;
}

PyObject *ar_pyread_global(PyObject *module, const char *name)
{
    return item(PyModule_GetDict(module), name);
}

PyObject *ar_pyread_c_method(PyTypeObject *type, const char *name)
{
    PyObject *key = PyUnicode_InternFromString(name);
    PyObject *method = key ? _PyType_Lookup(type, key) : NULL;
    bool is_its_own =
        method && Py_TYPE(method) == &PyMethodDescr_Type && PyDescr_TYPE(method) == type;

    Py_XDECREF(key);
    if (!is_its_own)
        PyErr_Clear();
    return is_its_own ? method : NULL;
}

/* What a class has under the name may stand in front of what the instance has, and compute it. */
static bool is_plain(PyObject *in_class)
{
    return !in_class || !Py_TYPE(in_class)->tp_descr_get ||
           Py_TYPE(in_class) == &PyMemberDescr_Type;
}

PyObject *ar_pyread_instance(PyObject *object, const char *name)
{
    PyObject *key = PyUnicode_InternFromString(name), *found = NULL;

    if (key && is_plain(_PyType_Lookup(Py_TYPE(object), key)))
        found = PyObject_GenericGetAttr(object, key);
    Py_XDECREF(key);
    if (!found)
        PyErr_Clear();
    return found;
}

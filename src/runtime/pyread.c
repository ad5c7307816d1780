// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/pyread.h"

#if PY_VERSION_HEX >= 0x030C0000
#define Py_BUILD_CORE 1
#include <internal/pycore_interp.h>
#undef Py_BUILD_CORE
#endif

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

/* From 3.12 on each interpreter has its own list for types of the core; they hold their number instead. */
#if PY_VERSION_HEX >= 0x030C0000
static PyObject *subclasses_of_core_type(const PyTypeObject *type)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    size_t i = (size_t)type->tp_subclasses - 1;
#if PY_VERSION_HEX >= 0x030D0000
    const managed_static_type_state *states = interpreter->types.builtins.initialized;
    size_t n = interpreter->types.builtins.num_initialized;
#else
    const static_builtin_state *states = interpreter->types.builtins;
    size_t n = interpreter->types.num_builtins_initialized;
#endif

    return i < n && states[i].type == type ? states[i].tp_subclasses : NULL;
}
#endif

PyObject *ar_pyread_subclasses(PyTypeObject *type)
{
    PyObject *dict = type->tp_subclasses;

#if PY_VERSION_HEX >= 0x030C0000
    if (type->tp_flags & _Py_TPFLAGS_STATIC_BUILTIN)
        dict = subclasses_of_core_type(type);
#endif
    return dict && PyDict_CheckExact(dict) ? dict : NULL;
}

PyObject *ar_pyread_referent(PyObject *reference)
{
    PyObject *object = NULL;

#if PY_VERSION_HEX >= 0x030D0000
    if (PyWeakref_Check(reference) && PyWeakref_GetRef(reference, &object) < 0)
        PyErr_Clear();
#else
    if (PyWeakref_Check(reference) && PyWeakref_GET_OBJECT(reference) != Py_None)
        object = Py_NewRef(PyWeakref_GET_OBJECT(reference));
#endif
    return object;
}

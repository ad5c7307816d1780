// SPDX-License-Identifier: BSD-3-Clause
/*
 * c_function: what a function in C is known by, and called.
 *
 * Function objects come and go, a new one each time a method is looked up; their definition stays,
 * and is their identity. Names are those that cProfile gives, for they end up in the same reports.
 *
 *     struct ar_c_function f = ar_c_function_of(callable);      // PyCFunction_Check(callable)
 *     const void *key = ar_c_function_key(&f);
 *     PyObject *name = ar_c_function_name(&f);                  // <built-in method builtins.len>
 */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* References are borrowed. */
struct ar_c_function {
    PyMethodDef *def;
    PyObject *self;   /* NULL: belongs to nothing */
    PyObject *module; /* name or module, or NULL */
};

static inline struct ar_c_function ar_c_function_of(PyObject *callable)
{
    PyCFunctionObject *f = (PyCFunctionObject *)callable;

    return (struct ar_c_function){f->m_ml, f->m_self, f->m_module};
}

/* Odd, so that it is never the address of a code object. */
static inline const void *ar_c_function_key(const struct ar_c_function *function)
{
    return (const char *)function->def + 1;
}

/* A new reference; NULL with an exception. May run Python code. */
PyObject *ar_c_function_name(const struct ar_c_function *function);
/* The same, but what the program has under the method's name is passed over: runs no Python code. */
PyObject *ar_c_function_plain_name(const struct ar_c_function *function);

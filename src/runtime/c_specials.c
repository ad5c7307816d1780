// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/c_specials.h"

#include "runtime/pyframe.h"
#include "runtime/pyread.h"

#if PY_VERSION_HEX >= 0x030B0000

#define Py_BUILD_CORE 1
#include <internal/pycore_interp.h>
#undef Py_BUILD_CORE

static struct {
    PyInterpreterState *interpreter; /* whose cache is empty; NULL: none is */
    PyObject *isinstance, *len, *list_append;
} kept;

/* It must hold what we think it does: releases of one version might differ. */
static bool is_as_expected(const PyInterpreterState *interpreter)
{
    PyObject *builtins = ar_pyread_module("builtins");

    return builtins && kept.len == ar_pyread_global(builtins, "len") &&
           kept.isinstance == ar_pyread_global(builtins, "isinstance") &&
           kept.list_append == ar_pyread_c_method(&PyList_Type, "append") &&
           interpreter == PyInterpreterState_Main();
}

void ar_c_specials_begin(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();

    kept.isinstance = interpreter->callable_cache.isinstance;
    kept.len = interpreter->callable_cache.len;
    kept.list_append = interpreter->callable_cache.list_append;
    if (!is_as_expected(interpreter))
        return;
    kept.interpreter = interpreter;
    interpreter->callable_cache.isinstance = NULL;
    interpreter->callable_cache.len = NULL;
    interpreter->callable_cache.list_append = NULL;
}

void ar_c_specials_end(void)
{
    PyInterpreterState *interpreter = kept.interpreter;

    if (!interpreter)
        return;
    interpreter->callable_cache.isinstance = kept.isinstance;
    interpreter->callable_cache.len = kept.len;
    interpreter->callable_cache.list_append = kept.list_append;
    kept.interpreter = NULL;
}

#else

void ar_c_specials_begin(void)
{
}

void ar_c_specials_end(void)
{
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/timer_result.h"

static bool overflows(void)
{
    PyErr_SetString(PyExc_OverflowError, "the timer's result is too large for 64 bits");
    return false;
}

/* Seconds to nanoseconds, downwards; floor() would need libm. */
static bool ns_of_float(double seconds, int64_t *out)
{
    const double two_to_63 = 9223372036854775808.0;
    double ns = seconds * 1e9;

    if (ns != ns) {
        PyErr_SetString(PyExc_ValueError, "the timer's result is not a number");
        return false;
    }
    if (ns < -two_to_63 || ns >= two_to_63)
        return overflows();
    *out = (int64_t)ns;
    *out -= (double)*out > ns;
    return true;
}

static bool integer_of(PyObject *result, int64_t *out)
{
    *out = PyLong_AsLongLong(result);
    return *out != -1 || !PyErr_Occurred();
}

bool ar_timer_result(PyObject *result, double unit_s, int64_t *out)
{
    if (unit_s > 0.0 && !PyLong_Check(result)) {
        PyErr_Format(PyExc_TypeError, "the timer must return int, not %.200s",
                     Py_TYPE(result)->tp_name);
        return false;
    }
    if (unit_s > 0.0)
        return integer_of(result, out);
    if (PyFloat_Check(result))
        return ns_of_float(PyFloat_AS_DOUBLE(result), out);
    return integer_of(result, out) &&
           (!__builtin_mul_overflow(*out, 1000000000, out) || overflows());
}

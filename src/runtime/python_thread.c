// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/python_thread.h"

#include "runtime/pyread.h"

#include <stdlib.h>

static bool is_thread_start(PyCodeObject *code)
{
    return PyUnicode_CompareWithASCIIString(code->co_name, "_bootstrap") == 0 &&
           code->co_argcount > 0;
}

static void take_name(struct ar_thread *t, PyObject *thread)
{
    PyObject *name = ar_pyread_instance(thread, "_name");
    struct ar_pytext text = ar_pyread_text(name);

    if (text.bytes)
        ar_thread_name(t, text.bytes);
    free(text.bytes);
    Py_XDECREF(name);
}

static void give_name(struct ar_thread *t, ar_frame *frame)
{
    PyObject *type, *value, *traceback;
    PyObject *thread = is_thread_start(ar_frame_code(frame)) ? ar_frame_first_local(frame) : NULL;

    if (!thread)
        return;
    PyErr_Fetch(&type, &value, &traceback);

    struct ar_ours ours = ar_ours_begin(t);

    take_name(t, thread);
    ar_ours_end(ours);
    PyErr_Restore(type, value, traceback);
}

struct ar_thread *ar_python_thread_attach(ar_frame *frame)
{
    struct ar_thread *t = ar_thread_attach();

    if (t && frame)
        give_name(t, frame);
    return t;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/python_thread.h"

static bool is_thread_start(PyCodeObject *code)
{
    return PyUnicode_CompareWithASCIIString(code->co_name, "_bootstrap") == 0 &&
           code->co_argcount > 0;
}

static PyObject *name_of_thread(PyObject *thread)
{
    PyObject *attribute = PyUnicode_FromString("_name");
    PyObject *name = attribute ? PyObject_GenericGetAttr(thread, attribute) : NULL;

    Py_XDECREF(attribute);
    return name;
}

static void give_name(struct ar_thread *t, ar_frame *frame)
{
    PyObject *type, *value, *traceback;
    PyObject *thread = is_thread_start(ar_frame_code(frame)) ? ar_frame_first_local(frame) : NULL;

    if (!thread)
        return;
    PyErr_Fetch(&type, &value, &traceback);

    PyObject *name = name_of_thread(thread);
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;

    if (text)
        ar_thread_name(t, text);
    Py_XDECREF(name);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

struct ar_thread *ar_python_thread_attach(ar_frame *frame)
{
    struct ar_thread *t = ar_thread_attach();

    if (t && frame)
        give_name(t, frame);
    return t;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/c_identity.h"

#include "runtime/c_stubs.h"

struct copy {
    PyCFunctionObject object;
    PyMethodDef def;
};

static hashfunc own_hash;
static richcmpfunc own_compare;

/* The object itself, where it has no stub. */
static PyObject *without_stub(PyObject *object, struct copy *copy)
{
    PyCFunctionObject *function = (PyCFunctionObject *)object;
    const struct ar_c_record *record =
        PyCFunction_Check(object) ? ar_c_record_of((const void *)function->m_ml->ml_meth) : NULL;

    if (!record)
        return object;
    copy->object = *function;
    copy->def = *function->m_ml;
    copy->def.ml_meth = (PyCFunction)(void (*)(void))record->own;
    copy->object.m_ml = &copy->def;
    return (PyObject *)&copy->object;
}

static Py_hash_t hash(PyObject *object)
{
    struct copy copy;

    return own_hash(without_stub(object, &copy));
}

static PyObject *compare(PyObject *a, PyObject *b, int op)
{
    struct copy copy_a, copy_b;

    return own_compare(without_stub(a, &copy_a), without_stub(b, &copy_b), op);
}

/* len.__hash__ and the like are objects with a pointer of their own. */
static void replace_wrappers(PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyObject *dict = PyType_GetDict(type);
#else
    PyObject *dict = Py_NewRef(type->tp_dict);
#endif
    PyObject *name, *value;
    Py_ssize_t at = 0;

    while (dict && PyDict_Next(dict, &at, &name, &value)) {
        PyWrapperDescrObject *wrapper = (PyWrapperDescrObject *)value;

        if (Py_TYPE(value) != &PyWrapperDescr_Type)
            continue;
        if (wrapper->d_wrapped == (void *)own_hash)
            wrapper->d_wrapped = (void *)hash;
        else if (wrapper->d_wrapped == (void *)own_compare)
            wrapper->d_wrapped = (void *)compare;
    }
    Py_XDECREF(dict);
}

static void replace_in(PyTypeObject *type)
{
    if (type->tp_hash == own_hash)
        type->tp_hash = hash;
    if (type->tp_richcompare == own_compare)
        type->tp_richcompare = compare;
    replace_wrappers(type);
}

void ar_c_identity_keep(void)
{
    if (own_hash)
        return;
    own_hash = PyCFunction_Type.tp_hash;
    own_compare = PyCFunction_Type.tp_richcompare;
    replace_in(&PyCFunction_Type);
    replace_in(&PyCMethod_Type);
}

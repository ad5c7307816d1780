// SPDX-License-Identifier: BSD-3-Clause
/*
 * pyread: facts about the program's objects, read without running code of the program.
 *
 * The hooks ask these functions in the middle of the program. An attribute that is asked for in the
 * usual way may be a property or a `__getattr__`, which the program would see called, or an attribute
 * whose every reading is an audit event. So nothing here calls more than functions of the interpreter
 * and the dictionaries of objects that are what they seem to be; where that does not do, the fact is
 * not there.
 *
 * Threads: under the GIL.
 */
#pragma once

#include "runtime/pyframe.h"

#include <stddef.h>

/*
 * A str as UTF-8, to be freed; none without memory, and of anything else. Surrogates that stand for
 * a byte (os.fsdecode makes them) become that byte, others U+FFFD. The interpreter's encoder would ask the program for
 * those, if it has replaced the handler of that name; and PyUnicode_AsUTF8 keeps a copy in the str,
 * which sys.getsizeof shows.
 */
struct ar_pytext {
    char *bytes; /* NULL: none */
    size_t n_bytes;
};
struct ar_pytext ar_pyread_text(PyObject *text);
/* The global variable `__name__`, "" where it is no str; to be freed, NULL without memory. */
char *ar_pyread_module_name(PyObject *globals);
/* What an instance has under that name, not its class; a new reference, or NULL with no exception. */
PyObject *ar_pyread_instance(PyObject *object, const char *name);
/* The module, where the interpreter has a real one of that name; borrowed, or NULL. */
PyObject *ar_pyread_module(const char *name);
/* What a module's dictionary holds; borrowed, or NULL. */
PyObject *ar_pyread_global(PyObject *module, const char *name);
/* The method in C that `type` itself defines; borrowed, or NULL. */
PyObject *ar_pyread_c_method(PyTypeObject *type, const char *name);
/*
 * Its direct subclasses, as the interpreter keeps them: weak references, the latest last. Borrowed; NULL: there are
 * none, or this interpreter keeps them in another way.
 */
PyObject *ar_pyread_subclasses(PyTypeObject *type);
/* What a weak reference leads to; a new reference, NULL: it is gone, or that is none. */
PyObject *ar_pyread_referent(PyObject *reference);

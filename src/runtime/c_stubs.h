// SPDX-License-Identifier: BSD-3-Clause
/*
 * c_stubs: every call of a function in C, by a stub in place of its pointer.
 *
 *     PyMethodDef.ml_meth --> stub i: its record's address in the sixth argument register, and on to
 *     ar_c_entry:   node = ar_c_enter(record)              the arguments are kept meanwhile
 *                   result = record->called(arguments)
 *                   ar_c_leave(node, record, result)       unless there is no node
 *
 * Whatever Python calls through a pointer takes at most five arguments, all in registers, and returns a
 * word. So one stub serves all conventions, the sixth register is free, and what stands in registers
 * that a function does not take is passed on and ignored. The definition's flags stay as they are. Stubs
 * are part of .text: no memory is ever both written and executed. A call that is recorded takes 32 bytes
 * of the program's stack, any other none. Debuggers and exceptions see through.
 *
 * A stub stays in place until the process ends; where nothing is recorded it passes on.
 *
 *     struct ar_c_record *r = ar_c_stub((void **)&def->ml_meth, AR_C_METHOD, "list", "append");
 *
 * Threads: stubs are made under the GIL of any interpreter; calls write to their thread's own tree.
 */
#pragma once

#include "runtime/pyframe.h"
#include "runtime/tree.h"

typedef void *ar_c_fn(void *a, void *b, void *c, void *d, void *e);

/* How it is called in cProfile's reports. */
enum ar_c_kind {
    AR_C_FUNCTION, /* built-in method OWNER.NAME, of a module */
    AR_C_METHOD,   /* method 'NAME' of 'OWNER' objects */
    AR_C_OF_CLASS, /* built-in method NAME: of a class, or static */
    AR_C_NEW,      /* built-in method __new__ of type object … */
    AR_C_TYPE,     /* type OWNER, being called */
    AR_C_UFUNC,    /* ufunc NAME */
};

/* A function that is seen: one cache line, whose address its stub knows. */
struct ar_c_record {
    ar_c_fn *called; /* its own address, or a function of ours that does something more */
    uint32_t number; /* of the function in the tree; 0: not called yet */
    uint16_t index;
    uint8_t kind;    /* enum ar_c_kind */
    bool is_special; /* calls of it are not recorded as such: `called` is told which one it is */
    void **slot;     /* where its address was */
    ar_c_fn *own;    /* its own address */
    void *context;   /* for `called` */
    const char *owner, *name;
    bool is_of_imports; /* is recorded where the import system calls it, whose inside is not */
    bool is_hidden;     /* a filter leaves it out */
    bool is_partial;    /* functions that were given up for the budget have called it */
} __attribute__((aligned(64)));

/* What `called` may be of a special one. */
typedef void *ar_c_special_fn(void *a, void *b, void *c, void *d, void *e,
                              struct ar_c_record *record);

/*
 * Puts a stub in place of the function at `slot`, also where that is read-only. Texts are copied. NULL:
 * there is a stub already, or none is left, or it could not be written.
 */
struct ar_c_record *ar_c_stub(void **slot, enum ar_c_kind kind, const char *owner,
                              const char *name);
/* The record behind the address of a stub; NULL: it is something else. */
struct ar_c_record *ar_c_record_of(const void *address);
/* From now on `called` is called, and nothing else happens. */
void ar_c_make_special(struct ar_c_record *record, ar_c_special_fn *called, void *context);
/* For such a function: calls its own one, as all others are called. */
void *ar_c_call_recorded(void *a, void *b, void *c, void *d, void *e, struct ar_c_record *record);
/* The definition of a function or method in C, whatever it is wrapped in; NULL: it is none. */
PyMethodDef *ar_c_definition(PyObject *value);
void ar_c_stubs_forking(enum ar_fork_step step);
/* Calls are recorded from now on; with `only_from_python` not those that a function in C makes. */
void ar_c_calls_start(bool exact, bool only_from_python);

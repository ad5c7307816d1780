// SPDX-License-Identifier: BSD-3-Clause
/*
 * pyframe: what differs from one CPython to the next about frames. The only place that knows their
 * layouts.
 *
 * Reading is safe for the thread that the frames belong to, with or without the GIL: a thread that
 * is inside a C function cannot move its own frames.
 */
#pragma once

#define PY_SSIZE_T_CLEAN
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include <Python.h>
#include <frameobject.h>

#include "runtime/pyversion.h"

/* Said before anything is included that may have moved. */
#if !AR_PYTHON_IS_KNOWN(PY_VERSION_HEX)
#error "allranks does not know this version of CPython: use one that README.md names"
#elif !AR_PYTHON_IS_FINAL(PY_VERSION_HEX)
#error "allranks does not support pre-releases of CPython: use a final release"
#elif defined(Py_GIL_DISABLED)
#error "allranks does not support free-threaded CPython yet: use a build with the GIL"
#endif

#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_interpframe.h>
#elif PY_VERSION_HEX >= 0x030B0000
#include <internal/pycore_frame.h>
#endif
#if PY_VERSION_HEX < 0x030C0000
#include <internal/pycore_interp.h>
#endif
#undef Py_BUILD_CORE

#include <stdbool.h>
#include <stdint.h>

/* From 3.10 on the interpreter has it. */
#if PY_VERSION_HEX < 0x030A0000
static inline PyObject *Py_NewRef(PyObject *object)
{
    Py_INCREF(object);
    return object;
}
#endif

#if PY_VERSION_HEX >= 0x030B0000
typedef struct _PyInterpreterFrame ar_frame;
#else
typedef PyFrameObject ar_frame;
#endif

/* ---- frames ---------------------------------------------------------------------------------- */

static inline ar_frame **ar_frame_top_slot(PyThreadState *ts)
{
#if PY_VERSION_HEX >= 0x030D0000
    return &ts->current_frame;
#elif PY_VERSION_HEX >= 0x030B0000
    return &ts->cframe->current_frame;
#else
    return &ts->frame;
#endif
}

/*
 * From 3.12 on there are frames that stand for a call from C: they have no code of their own to
 * speak of.
 */
static inline ar_frame *ar_frame_skip_shims(ar_frame *frame)
{
#if PY_VERSION_HEX >= 0x030D0000
    while (frame && _PyFrame_IsIncomplete(frame)) /* a class being called has one of its own */
        frame = frame->previous;
#elif PY_VERSION_HEX >= 0x030C0000
    while (frame && frame->owner == FRAME_OWNED_BY_CSTACK)
        frame = frame->previous;
#endif
    return frame;
}

/* Is it one of those? May be false of one that has not begun to run. */
static inline bool ar_frame_is_shim(ar_frame *frame)
{
#if PY_VERSION_HEX >= 0x030C0000
    return frame->owner > FRAME_OWNED_BY_FRAME_OBJECT;
#else
    (void)frame;
    return false;
#endif
}

/* The one that this thread is in; NULL: none of Python's. */
static inline ar_frame *ar_frame_innermost(PyThreadState *ts)
{
    return ar_frame_skip_shims(*ar_frame_top_slot(ts));
}

static inline ar_frame *ar_frame_caller(ar_frame *frame)
{
#if PY_VERSION_HEX >= 0x030B0000
    return ar_frame_skip_shims(frame->previous);
#else
    return frame->f_back;
#endif
}

static inline PyCodeObject *ar_frame_code(ar_frame *frame)
{
#if PY_VERSION_HEX >= 0x030E0000
    return (PyCodeObject *)PyStackRef_AsPyObjectBorrow(frame->f_executable);
#elif PY_VERSION_HEX >= 0x030D0000
    return (PyCodeObject *)frame->f_executable;
#else
    return frame->f_code;
#endif
}

static inline PyObject *ar_frame_globals(ar_frame *frame)
{
    return frame->f_globals;
}

/* Borrowed; NULL where it is not set. */
static inline PyObject *ar_frame_first_local(ar_frame *frame)
{
#if PY_VERSION_HEX >= 0x030E0000
    return PyStackRef_AsPyObjectBorrow(frame->localsplus[0]);
#elif PY_VERSION_HEX >= 0x030B0000
    return frame->localsplus[0];
#else
    return frame->f_localsplus[0];
#endif
}

/* The instruction that the frame is at, in units of two bytes; negative where it has not started. */
static inline int64_t ar_frame_units(ar_frame *frame)
{
#if PY_VERSION_HEX >= 0x030D0000
    return frame->instr_ptr - _PyCode_CODE(ar_frame_code(frame));
#elif PY_VERSION_HEX >= 0x030B0000
    return frame->prev_instr - _PyCode_CODE(frame->f_code);
#elif PY_VERSION_HEX >= 0x030A0000
    return frame->f_lasti;
#else
    return frame->f_lasti / 2;
#endif
}

/* Byte offset of that instruction, plus one; 0 where it has not started. */
static inline uint32_t ar_frame_site(ar_frame *frame)
{
    int64_t units = frame ? ar_frame_units(frame) : -1;

    return units < 0 ? 0 : (uint32_t)units * 2 + 1;
}

/* The same of a frame that has called something, and so has started. */
static inline uint32_t ar_frame_call_site(ar_frame *frame)
{
    return (uint32_t)ar_frame_units(frame) * 2 + 1;
}

/* A generator or coroutine that is resumed has. */
static inline bool ar_frame_has_run(ar_frame *frame)
{
#if PY_VERSION_HEX >= 0x030B0000
    PyCodeObject *code = ar_frame_code(frame);
#if PY_VERSION_HEX >= 0x030D0000
    const _Py_CODEUNIT *at = frame->instr_ptr;
#else
    const _Py_CODEUNIT *at = frame->prev_instr;
#endif

    return at >= _PyCode_CODE(code) + code->_co_firsttraceable;
#else
    return frame->f_lasti >= 0;
#endif
}

/*
 * On 3.11 calling a generator function evaluates its frame for a moment, to make the generator.
 * That is not a call of it.
 */
static inline bool ar_frame_makes_generator(ar_frame *frame)
{
#if PY_VERSION_HEX >= 0x030B0000
    return (ar_frame_code(frame)->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) &&
           frame->owner != FRAME_OWNED_BY_GENERATOR;
#else
    (void)frame;
    return false;
#endif
}

/* A call beyond the recursion limit is refused by the evaluator, after it has been called. */
static inline bool ar_call_is_refused(PyThreadState *ts)
{
#if PY_VERSION_HEX < 0x030A0000
    return ts->recursion_depth >= ts->interp->ceval.recursion_limit && !ts->overflowed;
#elif PY_VERSION_HEX < 0x030B0000
    return ts->recursion_depth >= ts->interp->ceval.recursion_limit && !ts->recursion_headroom;
#elif PY_VERSION_HEX < 0x030C0000
    return ts->recursion_remaining <= 0 && !ts->recursion_headroom;
#else
    (void)ts;
    return false;
#endif
}

#if PY_VERSION_HEX < 0x030C0000
/* The interpreter looks at one flag, which says whether any hook is set. */
static inline void ar_tracing_update(PyThreadState *ts)
{
    bool on = ts->c_tracefunc || ts->c_profilefunc;

#if PY_VERSION_HEX >= 0x030B0000
    ts->cframe->use_tracing = on ? 255 : 0;
#elif PY_VERSION_HEX >= 0x030A0000
    ts->cframe->use_tracing = on;
#else
    ts->use_tracing = on;
#endif
}
#endif

/* ---- code objects ---------------------------------------------------------------------------- */

/* The line table as the interpreter has it; a borrowed bytes object. */
static inline PyObject *ar_code_linetable(PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030A0000
    return code->co_linetable;
#else
    return code->co_lnotab;
#endif
}

#if PY_VERSION_HEX >= 0x030B0000
#define AR_LINETABLE_HERE AR_LINETABLE_PEP657
#elif PY_VERSION_HEX >= 0x030A0000
#define AR_LINETABLE_HERE AR_LINETABLE_PEP626
#else
#define AR_LINETABLE_HERE AR_LINETABLE_LNOTAB
#endif

/* Code that a library has renamed, as NumPy its public functions, has the new name only in co_name. */
static inline PyObject *ar_code_name(PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030B0000
    bool fits = PyUnicode_Tailmatch(code->co_qualname, code->co_name, 0, PY_SSIZE_T_MAX, 1) != 0;

    return fits ? code->co_qualname : code->co_name;
#else
    return code->co_name;
#endif
}

/* Of a generator or coroutine; borrowed. */
static inline PyCodeObject *ar_generator_code(PyGenObject *generator)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyCodeObject *code = PyGen_GetCode(generator);

    Py_XDECREF(code); /* the generator holds it */
    return code;
#else
    return (PyCodeObject *)generator->gi_code;
#endif
}

/*
 * Lets another tool ask for the events of single instructions (sys.monitoring's INSTRUCTION, a frame's
 * f_trace_opcodes) in code that we listen to. Under the GIL, before the code runs.
 */
void ar_code_share_instructions(PyCodeObject *code);

/* ---- an empty stack -------------------------------------------------------------------------- */

/*
 * The program's main module is to be the bottom of the stack, as it is without us: for
 * sys._getframe, for tracebacks, and for how deep it may recurse. So our own frames are taken off
 * while it runs.
 *
 * From 3.11 on frames lie in chunks of memory. Where one is full, a call is made in another way than
 * in its middle and takes fewer levels of recursion: so the program begins with a chunk of its own.
 */
struct ar_hidden_frames {
    ar_frame *top;
    int n_levels;   /* of recursion that our frames had used up */
    int n_c_levels; /* the same, where C functions are counted apart */
#if PY_VERSION_HEX >= 0x030B0000
    _PyStackChunk *chunk;
    PyObject **chunk_top, **chunk_limit;
#endif
};

struct ar_hidden_frames ar_frames_hide(PyThreadState *ts);
void ar_frames_show(PyThreadState *ts, struct ar_hidden_frames hidden);

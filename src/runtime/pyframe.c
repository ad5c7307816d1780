// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/pyframe.h"

/* How many levels of recursion are in use. 3.9 and 3.10 count up, later versions count down. */
static int *recursion_counter(PyThreadState *ts)
{
#if PY_VERSION_HEX >= 0x030C0000
    return &ts->py_recursion_remaining;
#elif PY_VERSION_HEX >= 0x030B0000
    return &ts->recursion_remaining;
#else
    return &ts->recursion_depth;
#endif
}

static int levels_in_use(PyThreadState *ts)
{
#if PY_VERSION_HEX >= 0x030C0000
    return ts->py_recursion_limit - ts->py_recursion_remaining;
#elif PY_VERSION_HEX >= 0x030B0000
    return ts->recursion_limit - ts->recursion_remaining;
#else
    return ts->recursion_depth;
#endif
}

#if PY_VERSION_HEX >= 0x030B0000
#define FREE_LEVELS(counter, n) (*(counter) += (n))
#else
#define FREE_LEVELS(counter, n) (*(counter) -= (n))
#endif

/* On 3.12 and 3.13 C functions have a counter of their own; then the stack itself is measured. */
#if PY_VERSION_HEX >= 0x030E0000
#define C_LEVELS(ts) 0
#define FREE_C_LEVELS(ts, n) ((void)(n))
#elif PY_VERSION_HEX >= 0x030D0000
#define C_LEVELS(ts) (Py_C_RECURSION_LIMIT - (ts)->c_recursion_remaining)
#define FREE_C_LEVELS(ts, n) ((ts)->c_recursion_remaining += (n))
#elif PY_VERSION_HEX >= 0x030C0000
#define C_LEVELS(ts) (C_RECURSION_LIMIT - (ts)->c_recursion_remaining)
#define FREE_C_LEVELS(ts, n) ((ts)->c_recursion_remaining += (n))
#else
#define C_LEVELS(ts) 0
#define FREE_C_LEVELS(ts, n) ((void)(n))
#endif

/* Where the stack of a thread ends that runs no Python. */
#if PY_VERSION_HEX >= 0x030F0000
#define BOTTOM(ts) ((ts)->base_frame)
#else
#define BOTTOM(ts) NULL
#endif

/* The interpreter makes the first chunk of a thread that has none, as it does for a new one. */
static void begin_chunks(PyThreadState *ts, struct ar_hidden_frames *hidden)
{
#if PY_VERSION_HEX >= 0x030B0000
    hidden->chunk = ts->datastack_chunk;
    hidden->chunk_top = ts->datastack_top;
    hidden->chunk_limit = ts->datastack_limit;
    ts->datastack_chunk = NULL;
    ts->datastack_top = ts->datastack_limit = NULL;
#else
    (void)ts, (void)hidden;
#endif
}

/* The program's first chunk is left to the end of the process, which is near. */
static void end_chunks(PyThreadState *ts, const struct ar_hidden_frames *hidden)
{
#if PY_VERSION_HEX >= 0x030B0000
    ts->datastack_chunk = hidden->chunk;
    ts->datastack_top = hidden->chunk_top;
    ts->datastack_limit = hidden->chunk_limit;
#else
    (void)ts, (void)hidden;
#endif
}

/*
 * From 3.12 on the interpreter notes the tools of each instruction as soon as two tools share any event
 * in a code object. If one of them listened to instructions before, alone, it is not in the new notes
 * and is called no more: pdb.set_trace() of 3.13 does not stop where it stands. An array that is there
 * from the start is kept right, and freed, by the interpreter.
 */
void ar_code_share_instructions(PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030C0000
    _PyCoMonitoringData *data = code->_co_monitoring;

    if (data && !data->per_instruction_opcodes && !data->per_instruction_tools)
        data->per_instruction_tools = PyMem_Calloc((size_t)Py_SIZE(code), 1);
#else
    (void)code;
#endif
}

struct ar_hidden_frames ar_frames_hide(PyThreadState *ts)
{
    struct ar_hidden_frames hidden = {
        .top = *ar_frame_top_slot(ts),
        .n_levels = levels_in_use(ts),
        .n_c_levels = C_LEVELS(ts),
    };

    *ar_frame_top_slot(ts) = BOTTOM(ts);
    FREE_LEVELS(recursion_counter(ts), hidden.n_levels);
    FREE_C_LEVELS(ts, hidden.n_c_levels);
    begin_chunks(ts, &hidden);
    return hidden;
}

void ar_frames_show(PyThreadState *ts, struct ar_hidden_frames hidden)
{
    *ar_frame_top_slot(ts) = hidden.top;
    FREE_LEVELS(recursion_counter(ts), -hidden.n_levels);
    FREE_C_LEVELS(ts, -hidden.n_c_levels);
    end_chunks(ts, &hidden);
}

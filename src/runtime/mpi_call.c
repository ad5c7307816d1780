// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/mpi_call.h"

#include "runtime/functions.h"
#include "runtime/pyframe.h"
#include "runtime/quiet.h"
#include "runtime/tree.h"

#define X(id, name, class) name,
const char *const ar_mpi_names[AR_N_MPI] = {
#include "mpi_functions.inc"
};
#undef X

static uint32_t function_numbers[AR_N_MPI]; /* 0: not seen yet */

static uint32_t function_number(enum ar_mpi_id id)
{
    uint32_t number = __atomic_load_n(&function_numbers[id], __ATOMIC_RELAXED);

    if (__builtin_expect(number == 0, 0)) {
        number = ar_function_named(AR_FUNCTION_MPI, ar_mpi_names[id]);
        if (number)
            ar_tree_mark(number, AR_MARK_KEEP_PLACE);
        __atomic_store_n(&function_numbers[id], number, __ATOMIC_RELAXED);
    }
    return number;
}

/* Works without the GIL, and after the interpreter is gone, when mpi4py calls MPI_Finalize. */
static uint64_t python_place(const struct ar_node *current)
{
    PyThreadState *ts = PyGILState_GetThisThreadState();

    return ts ? ar_call_place(ar_frame_innermost(ts), current) : 0;
}

/* Without the GIL, so what another thread asks for is left to the next Python function. */
static bool is_unseen(struct ar_thread *t)
{
    uint32_t unseen = __atomic_load_n(&t->n_unseen, __ATOMIC_RELAXED);

    if (unseen & AR_UNSEEN_QUIET)
        ar_quiet_end(t, ar_ticks());
    return unseen & AR_UNSEEN_CALLS;
}

bool ar_mpi_enter(struct ar_mpi_call *call, struct ar_mpi_abi *abi, enum ar_mpi_id id)
{
    struct ar_thread *t = ar_thread_self();

    if (!t || t->in_mpi || is_unseen(t))
        return false;

    uint32_t function = function_number(id);

    if (!function)
        return false;

    uint64_t key = python_place(t->current) | function;
    uint64_t now = ar_ticks();

    call->thread = t;
    call->abi = abi;
    call->id = id;
    call->node = ar_tree_enter(t, key, now);
    call->start = now;
    if (call->node)
        t->in_mpi = true;
    return call->node != NULL;
}

void ar_mpi_restart(struct ar_mpi_call *call)
{
    uint64_t now = ar_ticks();
    int64_t ticks = call->node->ticks - (int64_t)(now - call->start);

    if (ar_self != call->thread) /* the recording may be over */
        return;
    __atomic_store_n(&call->node->ticks, ticks, __ATOMIC_RELAXED);
    call->start = now;
}

static void note_duration(struct ar_values *values, uint64_t ticks)
{
    uint64_t *words = values->words;

    if (ticks < words[AR_MPI_MIN_TICKS] || words[AR_MPI_MIN_TICKS] == 0)
        words[AR_MPI_MIN_TICKS] = ticks;
    if (ticks > words[AR_MPI_MAX_TICKS])
        words[AR_MPI_MAX_TICKS] = ticks;
}

void ar_mpi_leave(struct ar_mpi_call *call)
{
    uint64_t now = ar_ticks();

    call->end = now;
    call->thread = ar_self == call->thread ? ar_self : NULL; /* the recording may be over */
    if (!call->thread)
        return;
    call->thread->in_mpi = false;
    ar_tree_leave(call->thread, call->node, now);

    struct ar_values *values = ar_tree_values(call->thread, call->node, AR_VALUES_MPI);

    if (values)
        note_duration(values, now - call->start);
}

static void add_bytes(struct ar_mpi_call *call, uint64_t n_out, uint64_t n_in)
{
    struct ar_values *values =
        call->thread ? ar_tree_values(call->thread, call->node, AR_VALUES_MPI) : NULL;

    if (!values)
        return;
    values->words[AR_MPI_BYTES_OUT] += n_out;
    values->words[AR_MPI_BYTES_IN] += n_in;
}

void ar_mpi_out(struct ar_mpi_call *call, uint64_t comm, int peer, uint64_t n_bytes)
{
    (void)comm;
    (void)peer;
    add_bytes(call, n_bytes, 0);
}

void ar_mpi_in(struct ar_mpi_call *call, uint64_t comm, int peer, uint64_t n_bytes)
{
    (void)comm;
    (void)peer;
    add_bytes(call, 0, n_bytes);
}

void ar_mpi_collective(struct ar_mpi_call *call, uint64_t comm, int root, uint64_t n_out,
                       uint64_t n_in)
{
    (void)comm;
    (void)root;
    add_bytes(call, n_out, n_in);
}

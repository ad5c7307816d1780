// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/monitoring_calls.h"

#include "base/arena.h"
#include "runtime/c_calls.h"
#include "runtime/c_numbers.h"
#include "runtime/functions.h"
#include "runtime/quiet.h"
#include "runtime/watch.h"

/* So many calls of a place are looked at before it is judged. */
#define LEARNING_CALLS 16

/* A place in the code that calls functions in C. */
struct place {
    uint64_t ticks;
    uint32_t n_calls;
    bool was_off; /* calls have gone unseen */
};

static struct {
    enum ar_builtins builtins;
    PyObject *monitoring;
    int tool_id;
    struct ar_watch watch;
    uint64_t costly_ticks;
    struct ar_idmap places; /* (function, offset) to index */
    struct place *all;
    size_t n_all, cap_all;
} calls;

void ar_calls_start(PyObject *monitoring, int tool_id, enum ar_builtins builtins)
{
    calls.builtins = builtins;
    calls.monitoring = monitoring;
    calls.tool_id = tool_id;
    calls.watch.turn_ticks = AR_WATCH_NEVER;
    if (builtins == AR_BUILTINS_COSTLY)
        ar_watch_start(&calls.watch, ar_ticks());
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Switching on again is for the places of all tools: where there are others, it is not done. */
static bool is_alone(void)
{
    for (int id = 0; id < 6; id++) {
        PyObject *name = PyObject_CallMethod(calls.monitoring, "get_tool", "i", id);
        bool taken = name && name != Py_None && id != calls.tool_id;

        Py_XDECREF(name);
        if (!name || taken)
            return false;
    }
    return true;
}

static void switch_all_on(void)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    if (is_alone())
        Py_XDECREF(PyObject_CallMethod(calls.monitoring, "restart_events", NULL));
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

uint64_t ar_calls_turn(uint64_t now)
{
    bool was_open = calls.watch.open;

    if (now < calls.watch.turn_ticks)
        return calls.watch.turn_ticks;
    ar_watch_turn(&calls.watch, now);
    if (calls.watch.open && !was_open) {
        switch_all_on();
        calls.watch.n_seen += calls.n_all; /* each of them has to be switched off again */
    }
    return calls.watch.turn_ticks;
}

/* ---- places ---------------------------------------------------------------------------------- */

static struct place *place_of(PyCodeObject *code, PyObject *offset)
{
    uint64_t key = ar_pair_key(ar_function_known(code), (uint64_t)PyLong_AsLong(offset));
    uint32_t i = ar_idmap_get(&calls.places, key, AR_NO_ID);

    if (i != AR_NO_ID)
        return &calls.all[i];
    if (ar_grow((void **)&calls.all, &calls.cap_all, calls.n_all + 1, sizeof *calls.all) < 0 ||
        ar_idmap_put(&calls.places, key, (uint32_t)calls.n_all) < 0)
        return NULL;
    calls.all[calls.n_all] = (struct place){0};
    return &calls.all[calls.n_all++];
}

static bool is_cheap(const struct place *place)
{
    if (place->n_calls < LEARNING_CALLS)
        return false;
    if (!calls.costly_ticks)
        calls.costly_ticks = ar_watch_costly_ticks();
    return place->ticks / place->n_calls < calls.costly_ticks;
}

/* By looking now and then. */
static bool enter_if_costly(struct ar_thread *t, PyCodeObject *code, PyObject *offset,
                            uint32_t number)
{
    struct place *place = place_of(code, offset);

    if (!place)
        return true;
    if ((!calls.watch.open && is_cheap(place)) || ar_c_call_recurses(t, number)) {
        place->was_off = true;
        ar_quiet_begin(t, ar_ticks());
        return false;
    }

    struct ar_weight weight = {.n = 1};

    if (calls.watch.open && place->was_off)
        weight = (struct ar_weight){.n = calls.watch.weight, .gap_ticks = calls.watch.gap_ticks};
    ar_c_call_enter(t, number, ar_frame_innermost(PyThreadState_GET()), weight);
    return true;
}

bool ar_calls_enter(PyCodeObject *code, PyObject *offset, PyObject *callable)
{
    struct ar_thread *t = ar_self;
    bool all = calls.builtins == AR_BUILTINS_ALL;

    if (!t)
        return ar_live_base != NULL;
    if (t->n_unseen && ar_tree_is_unseen(t, ar_ticks()))
        return true;
    if (!ar_function_is_recorded(code))
        return false;

    uint32_t number = ar_c_number(callable, !all);

    calls.watch.n_seen++;
    if (!number)
        return all; /* a Python function, mostly: if it is another one some day, a window shows it */
    if (!all)
        return enter_if_costly(t, code, offset, number);
    ar_c_call_enter(t, number, ar_frame_innermost(PyThreadState_GET()), (struct ar_weight){.n = 1});
    return true;
}

void ar_calls_leave(PyCodeObject *code, PyObject *offset, PyObject *callable)
{
    uint64_t now = ar_ticks();
    struct ar_thread *t = ar_self;
    bool all = calls.builtins == AR_BUILTINS_ALL;

    if (!t || t->n_unseen & AR_UNSEEN_CALLS)
        return;

    uint32_t number = ar_c_number(callable, !all);
    uint64_t entered = t->slot->latest_ticks; /* unless it has called Python functions */

    if (!number || !ar_c_call_leave(t, number, now) || all)
        return;

    struct place *place = place_of(code, offset);

    if (place) {
        place->n_calls++;
        place->ticks += now - entered;
    }
    ar_calls_turn(now);
}

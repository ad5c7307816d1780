// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/tasks.h"

#include "base/arena.h"
#include "runtime/functions.h"
#include "runtime/pyread.h"
#include "runtime/tree.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Of a task that has begun, by its address. */
struct waiting {
    uint64_t since_ticks; /* 0: in its first step */
    uint32_t number;
};

static struct {
    struct ar_idmap of_task; /* address to index in `all` */
    struct waiting *all;
    size_t n_all, cap_all;
} waiting;

static struct ar_idmap by_coroutine; /* function of a coroutine to number of its tasks */

/* ---- which task ------------------------------------------------------------------------------ */

/*
 * Only functions in C that are the module's own are called: the program may have put something else
 * in their place.
 */
static PyObject *own_function(PyObject *module, const char *name)
{
    PyObject *function = ar_pyread_global(module, name);
    bool is_own =
        function && PyCFunction_Check(function) && PyCFunction_GET_SELF(function) == module;

    return is_own ? Py_NewRef(function) : NULL;
}

#if PY_VERSION_HEX >= 0x030E0000
/* A new reference or NULL. The interpreter keeps the task in the thread's state. */
static PyObject *running_task(void)
{
    static PyObject *current_task;
    PyObject *module = current_task ? NULL : ar_pyread_module("_asyncio");

    if (module)
        current_task = own_function(module, "current_task");
    return current_task ? PyObject_CallNoArgs(current_task) : NULL;
}
#else
static PyObject *tasks, *running_loop; /* of the module _asyncio, once it is there */

static bool find_asyncio(void)
{
    PyObject *module = ar_pyread_module("_asyncio");
    PyObject *found = module ? ar_pyread_global(module, "_current_tasks") : NULL;

    if (!found || !PyDict_CheckExact(found))
        return false;
    running_loop = own_function(module, "_get_running_loop");
    tasks = running_loop ? Py_NewRef(found) : NULL;
    return tasks != NULL;
}

/*
 * A new reference or NULL. There are as many items as there are loops that run, and a lookup would
 * ask the loop for its hash, which a loop of the program may have in Python.
 */
static PyObject *running_task(void)
{
    PyObject *loop = tasks || find_asyncio() ? PyObject_CallNoArgs(running_loop) : NULL;
    PyObject *key, *task, *found = NULL;
    Py_ssize_t at = 0;

    while (loop && !found && PyDict_Next(tasks, &at, &key, &task))
        if (key == loop)
            found = Py_NewRef(task);
    Py_XDECREF(loop);
    return found;
}
#endif

/* ---- its name -------------------------------------------------------------------------------- */

/*
 * A new reference or NULL. What a class of the program has under the method's name is passed over.
 * Tasks that are in Python all the way are not found here: asyncio says that they run only when
 * their step, a Python function, does.
 */
static PyObject *ask(PyObject *task, const char *method)
{
    PyTypeObject *type = Py_TYPE(task);

    while (type && strcmp(type->tp_name, "_asyncio.Task") != 0)
        type = type->tp_base;

    PyObject *in_c = type ? ar_pyread_c_method(type, method) : NULL;

    return in_c ? PyObject_CallOneArg(in_c, task) : NULL;
}

static bool is_made_up(const char *name)
{
    if (strncmp(name, "Task-", 5) != 0 || !name[5])
        return false;
    for (name += 5; *name; name++)
        if (!isdigit((unsigned char)*name))
            return false;
    return true;
}

static uint32_t number_of_name(const char *name)
{
    uint32_t number = name ? ar_function_named(AR_FUNCTION_TASK, name) : 0;

    if (number)
        ar_tree_mark(number, AR_MARK_UNDER_OTHER);
    return number;
}

/* The function of a coroutine, if it has been seen. */
static uint32_t function_of(PyObject *coroutine)
{
    PyCodeObject *code = ar_generator_code((PyGenObject *)coroutine);

    return code ? ar_function_known(code) : 0;
}

/* Under the coroutine's own name; looked up once for each of them. */
static uint32_t number_of_coroutine(PyObject *coroutine)
{
    uint32_t function = function_of(coroutine);
    uint32_t number = function ? ar_idmap_get(&by_coroutine, function, 0) : 0;

    if (number)
        return number;

    struct ar_pytext name = ar_pyread_text(((PyGenObject *)coroutine)->gi_qualname);

    number = number_of_name(name.bytes);
    free(name.bytes);
    if (function && number && ar_idmap_put(&by_coroutine, function, number) < 0)
        return 0;
    return number;
}

/* What is not the interpreter's own goes by its class: its name might be computed. */
static uint32_t number_of_nameless(PyObject *task)
{
    PyObject *coroutine = ask(task, "get_coro");
    uint32_t number = 0;

    if (coroutine && (PyCoro_CheckExact(coroutine) || PyGen_CheckExact(coroutine)))
        number = number_of_coroutine(coroutine);
    else if (coroutine && coroutine != Py_None)
        number = number_of_name(Py_TYPE(coroutine)->tp_name);
    Py_XDECREF(coroutine);
    return number;
}

static uint32_t number_of_task(PyObject *task)
{
    PyObject *name = ask(task, "get_name");
    struct ar_pytext text = ar_pyread_text(name);
    bool has_name = text.bytes && !is_made_up(text.bytes);
    uint32_t number = has_name ? number_of_name(text.bytes) : number_of_nameless(task);

    free(text.bytes);
    Py_XDECREF(name);
    return number;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static struct waiting *find(const void *task)
{
    uint32_t i = ar_idmap_get(&waiting.of_task, (uintptr_t)task, AR_NO_ID);

    return i == AR_NO_ID ? NULL : &waiting.all[i];
}

/* An address that comes again has its old place: its first step is the start of a coroutine. */
static struct waiting *find_or_add(const void *task)
{
    struct waiting *state = find(task);

    if (state)
        return state;
    if (ar_grow((void **)&waiting.all, &waiting.cap_all, waiting.n_all + 1, sizeof *waiting.all) <
            0 ||
        ar_idmap_put(&waiting.of_task, (uintptr_t)task, (uint32_t)waiting.n_all) < 0)
        return NULL;
    state = &waiting.all[waiting.n_all++];
    *state = (struct waiting){0};
    return state;
}

/* The number comes first: the table may grow while the interpreter is asked for a name. */
static struct waiting *begin_task(PyObject *task)
{
    uint32_t number = number_of_task(task);
    struct waiting *state = find_or_add(task);

    if (state)
        *state = (struct waiting){.number = number};
    return state;
}

/* Where it is not known by its coroutine whether it is new, it is if its name is another one. */
static bool is_new(const struct ar_thread *t, PyObject *task)
{
    const struct waiting *state = find(task);
    uint32_t number = state ? state->number : 0;

    return t->starts || !number || (t->may_start && number != number_of_task(task));
}

static uint32_t step_of(struct ar_thread *t, PyObject *task, uint64_t now, uint64_t *awaited_ticks)
{
    struct waiting *state = is_new(t, task) ? begin_task(task) : find(task);

    if (state && state->since_ticks)
        *awaited_ticks = now - state->since_ticks;
    if (!state)
        return 0;
    t->task = task;
    if (ar_tree_has_suspended(t, task))
        ar_tree_unseen(t, AR_UNSEEN_RESUMING);
    return state->number;
}

static uint32_t on_step(struct ar_thread *t, uint64_t now, uint64_t *awaited_ticks)
{
    PyObject *type, *value, *traceback, *task;
    uint32_t number = 0;

    t->task = NULL;
    PyErr_Fetch(&type, &value, &traceback);

    struct ar_ours ours = ar_ours_begin(t);

    task = running_task();
    if (task && task != Py_None)
        number = step_of(t, task, now, awaited_ticks);
    Py_XDECREF(task); /* asyncio holds it while it runs */
    PyErr_Clear();
    ar_ours_end(ours);
    PyErr_Restore(type, value, traceback);
    return number;
}

static void on_left(struct ar_thread *t, uint64_t now)
{
    struct waiting *state = t->task ? find(t->task) : NULL;

    if (state)
        state->since_ticks = now;
    t->task = NULL;
    ar_tree_seen_again(t, AR_UNSEEN_RESUMING);
}

static enum ar_status start(const struct ar_options *options, struct ar_error *err)
{
    (void)options, (void)err;
    ar_tree_task = on_step;
    ar_tree_task_left = on_left;
    return AR_OK;
}

const struct ar_source ar_source_tasks = {.name = "tasks", .start = start};

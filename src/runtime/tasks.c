// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/tasks.h"

#include "base/arena.h"
#include "runtime/functions.h"
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

/* With a name that is made once: tasks can be many and short. */
static PyObject *attribute(PyObject *object, PyObject **name, const char *text)
{
    if (!*name)
        *name = PyUnicode_InternFromString(text);
    return *name ? PyObject_GetAttr(object, *name) : NULL;
}

static PyObject *result_of(PyObject *object, PyObject **name, const char *text)
{
    if (!*name)
        *name = PyUnicode_InternFromString(text);
    return *name ? PyObject_CallMethodNoArgs(object, *name) : NULL;
}

static PyObject *module_attribute(const char *module, const char *name)
{
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed */
    PyObject *found = modules ? PyDict_GetItemString(modules, module) : NULL;

    return found ? PyObject_GetAttrString(found, name) : NULL;
}

#if PY_VERSION_HEX >= 0x030C0000
/* A new reference or NULL. Functions in C all the way: no code of the program runs. */
static PyObject *running_task(void)
{
    static PyObject *current_task;

    if (!current_task)
        current_task = module_attribute("_asyncio", "current_task");
    return current_task ? PyObject_CallNoArgs(current_task) : NULL;
}
#else
static PyObject *running_task(void)
{
    static PyObject *tasks, *running_loop;

    if (!tasks)
        tasks = module_attribute("_asyncio", "_current_tasks");
    if (!running_loop)
        running_loop = module_attribute("_asyncio", "_get_running_loop");

    PyObject *loop = running_loop ? PyObject_CallNoArgs(running_loop) : NULL;
    PyObject *task = tasks && loop ? PyDict_GetItem(tasks, loop) : NULL; /* borrowed */

    Py_XDECREF(loop);
    Py_XINCREF(task);
    return task;
}
#endif

/* ---- its name -------------------------------------------------------------------------------- */

static bool is_made_up(const char *name)
{
    if (strncmp(name, "Task-", 5) != 0 || !name[5])
        return false;
    for (name += 5; *name; name++)
        if (!isdigit((unsigned char)*name))
            return false;
    return true;
}

static uint32_t number_of_name(PyObject *name)
{
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    uint32_t number = text ? ar_function_named(AR_FUNCTION_TASK, text) : 0;

    if (number)
        ar_tree_mark(number, AR_MARK_UNDER_OTHER);
    return number;
}

/* Under the coroutine's own name; looked up once for each of them. */
static uint32_t number_of_coroutine(PyObject *task)
{
    static PyObject *get_coro, *cr_code;
    PyObject *coroutine = result_of(task, &get_coro, "get_coro");
    PyObject *code = coroutine ? attribute(coroutine, &cr_code, "cr_code") : NULL;
    uint32_t function = code && PyCode_Check(code) ? ar_function_known((PyCodeObject *)code) : 0;
    uint32_t number = function ? ar_idmap_get(&by_coroutine, function, 0) : 0;

    if (!number && coroutine) {
        PyObject *name = PyObject_GetAttrString(coroutine, "__qualname__");

        number = number_of_name(name);
        if (function && number && ar_idmap_put(&by_coroutine, function, number) < 0)
            number = 0;
        Py_XDECREF(name);
    }
    Py_XDECREF(code);
    Py_XDECREF(coroutine);
    return number;
}

static uint32_t number_of_task(PyObject *task)
{
    static PyObject *get_name;
    PyObject *name = result_of(task, &get_name, "get_name");
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    uint32_t number = text && is_made_up(text) ? number_of_coroutine(task) : number_of_name(name);

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

static uint32_t step_of(struct ar_thread *t, PyObject *task, uint64_t now, uint64_t *awaited_ticks)
{
    struct waiting *state = find_or_add(task);

    if (!state)
        return 0;
    if (t->starts || !state->number)
        *state = (struct waiting){.number = number_of_task(task)};
    else if (state->since_ticks)
        *awaited_ticks = now - state->since_ticks;
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
    task = running_task();
    if (task && task != Py_None)
        number = step_of(t, task, now, awaited_ticks);
    Py_XDECREF(task); /* asyncio holds it while it runs */
    PyErr_Clear();
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

void ar_tasks_start(void)
{
    ar_tree_task = on_step;
    ar_tree_task_left = on_left;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "cli/stack_text.h"

#include "cli/screen.h"
#include "format/import_system.h"

#include <stdlib.h>
#include <string.h>

#define ARROW " > "
#define LEFT_OUT ".. > "

static const char *copy(const char *text, struct ar_arena *arena)
{
    return ar_arena_copy(arena, text, strlen(text));
}

static uint32_t kind_of(const struct ar_profile *p, uint32_t function)
{
    return p->functions[function].kind;
}

static const char *file_of(const struct ar_profile *p, uint32_t function)
{
    return ar_strtab_text(&p->strings, p->functions[function].file);
}

/* "main.<locals>.inner" is known by its last part. */
static const char *without_scope(const char *name)
{
    for (const char *at; (at = strstr(name, "<locals>."));)
        name = at + strlen("<locals>.");
    return name;
}

const char *ar_stack_name(const struct ar_profile *p, uint32_t function, struct ar_arena *arena)
{
    const char *name = ar_show_function(p, function, SIZE_MAX);
    char text[256];

    switch (kind_of(p, function)) {
    case AR_FUNCTION_PYTHON:
        return ar_function_imports(p, function) ? "(import)" : copy(without_scope(name), arena);
    case AR_FUNCTION_REGION:
        snprintf(text, sizeof text, "region %s", name);
        return copy(text, arena);
    case AR_FUNCTION_TASK:
        snprintf(text, sizeof text, "task %s", name);
        return copy(text, arena);
    default:
        return copy(name, arena);
    }
}

static bool is_leaf(const struct ar_profile *p, struct ar_frame frame)
{
    uint32_t kind = kind_of(p, frame.function);

    return kind == AR_FUNCTION_MPI || kind == AR_FUNCTION_BUILTIN || kind == AR_FUNCTION_OPERATION;
}

const char *ar_stack_leaf(const struct ar_profile *p, const struct ar_frame *frames, size_t n,
                          size_t n_columns, struct ar_arena *arena)
{
    if (!n || !is_leaf(p, frames[n - 1]))
        return "";
    return copy(ar_show_function(p, frames[n - 1].function, n_columns), arena);
}

/* ---- places ----------------------------------------------------------------------------------- */

const char *ar_stack_place(const struct ar_profile *p, struct ar_frame frame,
                           struct ar_arena *arena)
{
    uint32_t first_line = p->functions[frame.function].first_line;
    char text[256];

    if (!*file_of(p, frame.function) || kind_of(p, frame.function) != AR_FUNCTION_PYTHON ||
        ar_function_imports(p, frame.function))
        return "";
    snprintf(text, sizeof text, frame.line ? "%s:%u" : "%s:%u+",
             ar_file_name(file_of(p, frame.function)), frame.line ? frame.line : first_line);
    return copy(text, arena);
}

const char *ar_stack_innermost(const struct ar_profile *p, const struct ar_frame *frames, size_t n,
                               struct ar_arena *arena)
{
    while (n--)
        if (kind_of(p, frames[n].function) == AR_FUNCTION_PYTHON)
            return ar_stack_place(p, frames[n], arena);
    return "";
}

/* ---- paths ------------------------------------------------------------------------------------ */

struct step {
    const char *name;
    size_t n_times;
};

/* Returns how many there are; SIZE_MAX: no memory. */
static size_t collect(const struct ar_profile *p, const struct ar_frame *frames, size_t n,
                      struct step *steps, struct ar_arena *arena)
{
    size_t n_steps = 0;

    for (size_t i = 0; i < n; i++) {
        const char *name = ar_stack_name(p, frames[i].function, arena);

        if (!name)
            return SIZE_MAX;
        if (n_steps && strcmp(steps[n_steps - 1].name, name) == 0)
            steps[n_steps - 1].n_times++;
        else
            steps[n_steps++] = (struct step){name, 1};
    }
    return n_steps;
}

static void show_step(const struct step *step, char *text, size_t n_text)
{
    bool repeated = step->n_times > 1 && strcmp(step->name, "(import)") != 0;

    if (repeated)
        snprintf(text, n_text, "%s x%zu", step->name, step->n_times);
    else
        snprintf(text, n_text, "%s", step->name);
}

/* Puts a step in front of a path if both fit into so many columns. */
static bool prepend(const struct step *step, bool is_first, size_t n_columns, char *path,
                    size_t n_path)
{
    char name[300], longer[1024];

    show_step(step, name, sizeof name);
    snprintf(longer, sizeof longer, "%s%s%s", name, *path ? ARROW : "", path);
    if (*path && ar_count_columns(longer, SIZE_MAX) + (is_first ? 0 : strlen(LEFT_OUT)) > n_columns)
        return false;
    snprintf(path, n_path, "%s", longer);
    return true;
}

static const char *join(const struct step *steps, size_t n, size_t n_columns,
                        struct ar_arena *arena)
{
    char path[1024] = "", marked[1100];
    size_t i = n;

    while (i && prepend(&steps[i - 1], i == 1, n_columns, path, sizeof path))
        i--;
    snprintf(marked, sizeof marked, "%s%s", i ? LEFT_OUT : "", path);
    return copy(marked, arena);
}

const char *ar_stack_path(const struct ar_profile *p, const struct ar_frame *frames, size_t n,
                          size_t n_columns, struct ar_arena *arena)
{
    struct step *steps = calloc(n + 1, sizeof *steps);
    const char *path = NULL;

    if (n > 1 && is_leaf(p, frames[n - 1]))
        n--;
    if (n > 1 && strcmp(ar_show_function(p, frames[0].function, SIZE_MAX), "<module>") == 0) {
        frames++;
        n--;
    }

    size_t n_steps = steps ? collect(p, frames, n, steps, arena) : SIZE_MAX;

    if (n_steps == 0)
        path = "(in no function)";
    else if (n_steps != SIZE_MAX)
        path = join(steps, n_steps, n_columns, arena);
    free(steps);
    return path;
}

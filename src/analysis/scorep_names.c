// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/scorep_names.h"

#include "analysis/mpi_class.h"

#include <stdio.h>
#include <string.h>

/* As numbers of bytes: names are parts of longer ones. */
struct part {
    const char *text;
    int n;
};

static struct part whole(const char *text)
{
    return (struct part){text, (int)strnlen(text, AR_NAME_BYTES)};
}

/* A cut character is no character: the bytes of one that is not whole go, too. */
static void drop_cut_character(char *text)
{
    size_t n = strlen(text), at = n;

    while (at > 0 && ((unsigned char)text[at - 1] & 0xC0) == 0x80)
        at--;
    if (at == 0 || (unsigned char)text[at - 1] < 0xC0)
        return;
    unsigned char lead = (unsigned char)text[at - 1];
    size_t n_bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;

    if (n - (at - 1) < n_bytes)
        text[at - 1] = '\0';
}

static const char *join(char *room, struct part group, struct part class, struct part name)
{
    int n = snprintf(room, AR_NAME_BYTES, "%.*s%s%.*s:%.*s", group.n, group.text,
                     class.n ? "." : "", class.n, class.text, name.n, name.text);

    if (n >= AR_NAME_BYTES)
        drop_cut_character(room);
    return room;
}

static const char *prefixed(char *room, const char *prefix, const char *name)
{
    return join(room, whole(prefix), whole(""), whole(name));
}

/* If `text` begins with `start`, what comes after it, else NULL. */
static const char *after(const char *text, const char *start)
{
    size_t n = strlen(start);

    return strncmp(text, start, n) == 0 ? text + n : NULL;
}

/* "numpy.linalg.norm" in two, at its last dot; what stands alone is in `home`. */
static const char *split_dotted(char *room, const char *dotted, const char *home)
{
    const char *dot = strrchr(dotted, '.');

    if (!dot || dot == dotted || !dot[1])
        return prefixed(room, home, dotted);
    return join(room, (struct part){dotted, (int)(dot - dotted)}, whole(""), whole(dot + 1));
}

/* ---- Python functions ------------------------------------------------------------------------- */

/* "heat" of "/home/me/heat.py", "mesh" of "/home/me/mesh/__init__.py". */
static struct part module_of_file(const char *file)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    int n = (int)strcspn(name, ".");

    if (slash && strcmp(name, "__init__.py") == 0) {
        for (name = slash; name > file && name[-1] != '/';)
            name--;
        n = (int)(slash - name);
    }
    return n > 0 ? (struct part){name, n} : whole("unknown");
}

static const char *last_dot(const char *text, size_t n)
{
    while (n > 0 && text[n - 1] != '.')
        n--;
    return n > 0 ? text + n - 1 : NULL;
}

/* Of a qualified name. A function that is defined in another one has no class. */
static struct part class_of(const char *name, const char *end)
{
    const char *before = last_dot(name, (size_t)(end - name));
    const char *start = before ? before + 1 : name;
    int n = (int)(end - start);

    if (n <= 0 || *start == '<')
        return whole("");
    return (struct part){start, n};
}

static const char *name_python(const struct ar_profile *p, const struct ar_function *f, char *room)
{
    const char *name = ar_strtab_text(&p->strings, f->name);
    const char *module = ar_strtab_text(&p->strings, f->module);
    struct part group =
        *module ? whole(module) : module_of_file(ar_strtab_text(&p->strings, f->file));
    const char *dot = strrchr(name, '.');

    if (!dot || dot == name || !dot[1])
        return join(room, group, whole(""), whole(*name ? name : "unknown"));
    return join(room, group, class_of(name, dot), whole(dot + 1));
}

/* ---- all others ------------------------------------------------------------------------------- */

/* "append' of 'list' objects" */
static const char *name_method(const char *quoted, char *room)
{
    const char *end = strchr(quoted, '\''), *type = end ? after(end, "' of '") : NULL;

    if (!type)
        return prefixed(room, "builtins", quoted);
    return join(room, (struct part){type, (int)strcspn(type, "'")}, whole(""),
                (struct part){quoted, (int)(end - quoted)});
}

/* See enum ar_c_kind in runtime/c_stubs.h. */
static const char *name_c(const char *name, char *room)
{
    const char *rest;

    if ((rest = after(name, "method '")))
        return name_method(rest, room);
    if (after(name, "built-in method __new__ of type object"))
        return prefixed(room, "type", "__new__");
    if ((rest = after(name, "built-in method ")) || (rest = after(name, "type ")))
        return split_dotted(room, rest, "builtins");
    if ((rest = after(name, "ufunc ")))
        return prefixed(room, "numpy", rest);
    return prefixed(room, "builtins", name);
}

/* A colon in a parameter, `load(path='a:b')`, is none of the name. */
static const char *name_region(const char *name, char *room)
{
    size_t n = strcspn(name, ":(");

    if (name[n] != ':' || !name[n + 1])
        return prefixed(room, "user", name);
    return n == 0 ? name + 1 : name;
}

static const char *name_operation(const char *name, char *room)
{
    char whole_name[AR_NAME_BYTES];

    if (!after(name, "mpi4py."))
        snprintf(whole_name, sizeof whole_name, "mpi4py.MPI.%s", name);
    else
        snprintf(whole_name, sizeof whole_name, "%s", name);
    return split_dotted(room, whole_name, "mpi4py.MPI");
}

const char *ar_scorep_name(const struct ar_profile *p, uint32_t function, char *room)
{
    const struct ar_function *f = &p->functions[function];
    const char *name = ar_strtab_text(&p->strings, f->name);

    switch (f->kind) {
    case AR_FUNCTION_PYTHON:
        return name_python(p, f, room);
    case AR_FUNCTION_BUILTIN:
        return name_c(name, room);
    case AR_FUNCTION_REGION:
        return ar_function_is_pause(p, function) ? "MEASUREMENT OFF" : name_region(name, room);
    case AR_FUNCTION_OPERATION:
        return name_operation(name, room);
    case AR_FUNCTION_MPI:
        return *name ? ar_mpi_class_of(name).function : "MPI";
    case AR_FUNCTION_THREAD:
        return prefixed(room, "thread", *name ? name : "main");
    default:
        return prefixed(room, ar_function_kind_name(f->kind), name);
    }
}

// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/picklers.h"

#include <stdlib.h>
#include <string.h>

static const struct ar_function *function_of(const struct ar_profile *p, uint32_t node)
{
    return &p->functions[p->nodes[node].function];
}

static const char *last_name(const struct ar_profile *p, uint32_t node)
{
    const char *name = ar_strtab_text(&p->strings, function_of(p, node)->name);
    const char *dot = strrchr(name, '.');

    return dot ? dot + 1 : name;
}

/* Called by a method of mpi4py directly; not the root, which has no parent. */
static bool is_called_by_method(const struct ar_profile *p, uint32_t node)
{
    return node != 0 && function_of(p, p->nodes[node].parent)->kind == AR_FUNCTION_OPERATION;
}

/* ---- what methods do -------------------------------------------------------------------------- */

enum direction { NEITHER, OUT, IN, BOTH, REDUCES };

static enum direction direction_of(const char *method)
{
    static const struct {
        const char *name;
        enum direction direction;
    } methods[] = {
        {"send", OUT},
        {"bsend", OUT},
        {"ssend", OUT},
        {"isend", OUT},
        {"ibsend", OUT},
        {"issend", OUT},
        {"recv", IN},
        {"irecv", IN},
        {"wait", IN},
        {"test", IN},
        {"waitany", IN},
        {"testany", IN},
        {"waitall", IN},
        {"testall", IN},
        {"waitsome", IN},
        {"testsome", IN},
        {"sendrecv", BOTH},
        {"bcast", BOTH},
        {"gather", BOTH},
        {"scatter", BOTH},
        {"allgather", BOTH},
        {"alltoall", BOTH},
        {"reduce", REDUCES},
        {"allreduce", REDUCES},
        {"scan", REDUCES},
        {"exscan", REDUCES},
        {"neighbor_allgather", BOTH},
        {"neighbor_alltoall", BOTH},
    };

    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(method, methods[i].name) == 0)
            return methods[i].direction;
    return NEITHER;
}

/* ---- what names say --------------------------------------------------------------------------- */

static bool has_one_of(const char *name, const char *const *parts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strstr(name, parts[i]))
            return true;
    return false;
}

static enum ar_pickler named_like(const char *name)
{
    static const char *const in[] = {"load", "unpack", "unpickl", "decode", "deserial"};
    static const char *const out[] = {"dump", "pack", "pickl", "encode", "serial"};

    if (has_one_of(name, in, sizeof in / sizeof *in))
        return AR_UNPICKLES;
    return has_one_of(name, out, sizeof out / sizeof *out) ? AR_PICKLES : AR_NO_PICKLER;
}

/* ---- all of them ------------------------------------------------------------------------------ */

static enum ar_pickler by_direction(const struct ar_profile *p, uint32_t node)
{
    enum direction direction = direction_of(last_name(p, p->nodes[node].parent));

    if (direction == OUT || direction == IN)
        return direction == OUT ? AR_PICKLES : AR_UNPICKLES;
    return AR_NO_PICKLER;
}

/* In C mpi4py calls other functions, too, and there is but the name to go by. */
static enum ar_pickler by_name(const struct ar_profile *p, uint32_t node)
{
    enum ar_pickler kind = named_like(last_name(p, node));
    bool is_python = function_of(p, node)->kind == AR_FUNCTION_PYTHON;

    if (kind == AR_NO_PICKLER && is_python &&
        direction_of(last_name(p, p->nodes[node].parent)) == BOTH)
        return AR_PICKLES;
    return kind;
}

enum ar_status ar_picklers_find(uint8_t **kinds, const struct ar_profile *p)
{
    *kinds = calloc(p->n_functions + 1, sizeof **kinds);
    if (!*kinds)
        return AR_NOMEM;
    for (int names = 0; names < 2; names++) /* methods say it better than names */
        for (uint32_t node = 1; node < p->n_nodes; node++) {
            uint8_t *kind = &(*kinds)[p->nodes[node].function];

            if (*kind == AR_NO_PICKLER && is_called_by_method(p, node) &&
                (names || function_of(p, node)->kind == AR_FUNCTION_PYTHON))
                *kind = (uint8_t)(names ? by_name(p, node) : by_direction(p, node));
        }
    return AR_OK;
}

enum ar_pickler ar_pickler_of(const struct ar_profile *p, const uint8_t *kinds, uint32_t node)
{
    uint32_t kind = function_of(p, node)->kind;
    enum ar_pickler found;

    if (!is_called_by_method(p, node) ||
        (kind != AR_FUNCTION_PYTHON && kind != AR_FUNCTION_BUILTIN))
        return AR_NO_PICKLER;
    found = kind == AR_FUNCTION_PYTHON ? by_direction(p, node) : AR_NO_PICKLER;
    return found != AR_NO_PICKLER ? found : (enum ar_pickler)kinds[p->nodes[node].function];
}

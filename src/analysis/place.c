// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/place.h"

static uint32_t kind_of(const struct ar_profile *p, uint32_t node)
{
    return p->functions[p->nodes[node].function].kind;
}

/* What C calls has no line of its own: the line is where C was called. */
static bool is_in_c(uint32_t kind)
{
    return kind == AR_FUNCTION_OPERATION || kind == AR_FUNCTION_BUILTIN || kind == AR_FUNCTION_MPI;
}

static uint32_t line_of_call(const struct ar_profile *p, uint32_t node)
{
    while (!p->nodes[node].line && p->nodes[node].parent != AR_NO_ID &&
           is_in_c(kind_of(p, p->nodes[node].parent)))
        node = p->nodes[node].parent;
    return p->nodes[node].line;
}

uint32_t ar_line_of_node(const struct ar_profile *p, uint32_t node)
{
    uint32_t parent = p->nodes[node].parent;
    bool is_below_c = parent != AR_NO_ID && kind_of(p, parent) == AR_FUNCTION_BUILTIN;

    return is_below_c ? line_of_call(p, node) : p->nodes[node].line;
}

/* The nearest node above whose function has lines, or stands for a line that imports. */
static uint32_t calling_node(const struct ar_profile *p, uint32_t node)
{
    do {
        node = p->nodes[node].parent;
    } while (node != AR_NO_ID && kind_of(p, node) != AR_FUNCTION_PYTHON &&
             kind_of(p, node) != AR_FUNCTION_IMPORT);
    return node;
}

struct ar_place ar_place_of_call(const struct ar_profile *p, uint32_t node)
{
    struct ar_place place = {.function = AR_NO_ID};

    do {
        place.line = line_of_call(p, node);
        node = calling_node(p, node);
    } while (node != AR_NO_ID && kind_of(p, node) == AR_FUNCTION_IMPORT);
    if (node == AR_NO_ID)
        return (struct ar_place){.function = AR_NO_ID};
    place.function = p->nodes[node].function;
    return place;
}

const char *ar_place_file(const struct ar_profile *p, struct ar_place place)
{
    if (place.function == AR_NO_ID)
        return "";
    return ar_strtab_text(&p->strings, p->functions[place.function].file);
}

uint32_t ar_operation_of(const struct ar_profile *p, uint32_t node)
{
    for (uint32_t above = node; above != AR_NO_ID; above = p->nodes[above].parent) {
        uint32_t kind = p->functions[p->nodes[above].function].kind;

        if (kind == AR_FUNCTION_OPERATION)
            return above;
        if (kind == AR_FUNCTION_PYTHON)
            break;
    }
    return node;
}

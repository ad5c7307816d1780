// SPDX-License-Identifier: BSD-3-Clause
#include "export/pstats_key.h"

/*
 * `inner` of `Solver.step.<locals>.inner`, as cProfile knows only that. Dots within <> are part of
 * a name.
 */
static struct ar_str last_component(struct ar_str name)
{
    size_t start = 0, depth = 0;

    for (size_t i = 0; i < name.n_bytes; i++) {
        if (name.text[i] == '<')
            depth++;
        else if (name.text[i] == '>' && depth)
            depth--;
        else if (name.text[i] == '.' && !depth)
            start = i + 1;
    }
    if (start == name.n_bytes)
        return name;
    return (struct ar_str){name.text + start, name.n_bytes - start};
}

/* What stands in front of a name that is not a Python function's. */
static const char *prefix_of(uint32_t kind)
{
    switch (kind) {
    case AR_FUNCTION_REGION:
        return "<region ";
    case AR_FUNCTION_TASK:
        return "<task ";
    case AR_FUNCTION_OPERATION:
        return "<mpi4py ";
    default:
        return "<";
    }
}

/* What was read from such a file has its name whole and byte for byte. */
bool ar_pstats_key_of(const struct ar_profile *p, uint32_t function, bool is_read,
                      struct ar_pstats_key *out)
{
    const struct ar_function *f = &p->functions[function];
    bool is_python = f->kind == AR_FUNCTION_PYTHON;

    if (f->kind == AR_FUNCTION_THREAD || f->kind == AR_FUNCTION_PROCESS ||
        f->kind == AR_FUNCTION_UNASSIGNED)
        return false;
    *out = (struct ar_pstats_key){.file_before = is_python ? "" : "~",
                                  .file = {"", 0},
                                  .name_before = is_python ? "" : prefix_of(f->kind),
                                  .name_after = is_python ? "" : ">",
                                  .name = ar_strtab_get(&p->strings, f->name)};
    if (is_python || is_read) {
        out->file = ar_strtab_get(&p->strings, f->file);
        out->line = f->first_line;
    }
    if (is_python && !is_read)
        out->name = last_component(out->name);
    return true;
}

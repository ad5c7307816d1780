// SPDX-License-Identifier: BSD-3-Clause
/*
 * imports: ranks spend their time loading modules, as they do where thousands ask one file system.
 *
 * Fires with several ranks, from a third of all time and half a second a rank on: every Python program
 * needs some tenths of a second for it, and users cannot do much about those.
 * Says how much it is, and which import takes most of it.
 */
#include "base/text.h"
#include "findings/findings.h"
#include "findings/words.h"

#include <stdio.h>
#include <string.h>

#define LEAST_SHARE 0.33
#define LEAST_NS 0.5e9

/* MPI_Init, which `import mpi4py.MPI` calls, is no importing. */
static double importing_ns(const struct ar_evidence *e, uint32_t node)
{
    return e->t->time[node].sum - e->t->mpi_below_ns[node];
}

/* The longest of those that hang below imports. */
static uint32_t longest_import(const struct ar_evidence *e)
{
    uint32_t longest = AR_NO_ID;

    for (uint32_t node = 1; node < e->p->n_nodes; node++)
        if (ar_is_outer_import(e->p, node) &&
            (longest == AR_NO_ID || importing_ns(e, node) > importing_ns(e, longest)))
            longest = node;
    return longest;
}

/* "solver" of "…/solver.py"; "" where it is no file of Python. */
static const char *module_name(const char *file)
{
    char *name = ar_text_buffer();
    const char *end = strrchr(file, '.');
    const char *start = end;

    if (!ar_ends_with(file, ".py"))
        start = end = "";
    while (start > file && *end && start[-1] != '/')
        start--;
    snprintf(name, AR_TEXT_BYTES, "%.*s", (int)(end - start), start);
    return name;
}

static const struct ar_function *function_of(const struct ar_evidence *e, uint32_t node)
{
    return &e->p->functions[e->p->nodes[node].function];
}

/* The code of a module is run by `exec`, a function in C. */
static bool is_run_by(const struct ar_evidence *e, uint32_t node, uint32_t import)
{
    do {
        node = e->p->nodes[node].parent;
    } while (node > import && function_of(e, node)->kind == AR_FUNCTION_BUILTIN);
    return node == import;
}

/* What was imported there: the module below it that takes longest. */
static const char *imported(const struct ar_evidence *e, uint32_t import)
{
    uint32_t longest = AR_NO_ID;

    for (uint32_t node = import + 1; node < e->p->n_nodes; node++)
        if (function_of(e, node)->kind == AR_FUNCTION_PYTHON && is_run_by(e, node, import) &&
            (longest == AR_NO_ID || importing_ns(e, node) > importing_ns(e, longest)))
            longest = node;
    if (longest == AR_NO_ID)
        return "";

    const char *name = ar_function_name(e->p, e->p->nodes[longest].function);

    if (strcmp(name, "<module>") != 0)
        return name; /* a package */
    return module_name(ar_strtab_text(&e->p->strings, function_of(e, longest)->file));
}

static void tell(struct ar_evidence *e, double all_ns)
{
    struct ar_finding *f = ar_finding_add(e, "imports", all_ns);
    uint32_t node = longest_import(e);

    if (!f || node == AR_NO_ID)
        return;
    f->place = ar_place_of_call(e->p, node);
    const char *module = imported(e, node);

    ar_finding_say(e, f, "imports take %s of each rank's time (%s), most of it %s at %s",
                   ar_show_duration(all_ns / (double)e->p->n_roots),
                   ar_show_share(all_ns / e->all_ns), *module ? module : "what is imported",
                   ar_show_line(e->p, f->place));
    ar_finding_show(e, f, "report --rows 0", "");
}

void ar_rule_imports(struct ar_evidence *e)
{
    double ns = 0;

    for (size_t i = 0; i < e->p->n_roots; i++)
        ns += e->importing_ns[i];
    if (e->p->n_roots > 1 && ns >= LEAST_SHARE * e->all_ns &&
        ns >= LEAST_NS * (double)e->p->n_roots)
        tell(e, ns);
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * io_on_one_rank: all wait for one rank, which reads or writes files meanwhile.
 *
 * Fires where a wait that is worth a sentence is for one rank, and at least half of the time of the
 * function to blame is that of functions in C that read or write files: with less, files are not what it does there. Imports read
 * files, too, and have a rule of their own. Modules that do nothing but that are known by their files, since what they call in C is compiled.
 * Says who waited where, and for which function.
 */
#include "findings/findings.h"
#include "findings/wait_words.h"
#include "format/trace_class.h"

#include <string.h>

#define LEAST_SHARE 0.5

static bool is_io(const struct ar_profile *p, uint32_t node)
{
    const struct ar_function *f = &p->functions[p->nodes[node].function];

    return f->kind == AR_FUNCTION_BUILTIN &&
           ar_is_file_function(ar_strtab_text(&p->strings, f->name));
}

static bool is_in_io_module(const struct ar_profile *p, uint32_t function)
{
    static const char *const parts[] = {"/h5py/",   "/netCDF4/",   "/zarr/",    "/tables/",
                                        "/meshio/", "/pandas/io/", "/npyio.py", "/_npyio_impl.py"};
    const char *file = ar_strtab_text(&p->strings, p->functions[function].file);

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(file, parts[i]))
            return true;
    return false;
}

static bool does_io(const struct ar_evidence *e, uint32_t function)
{
    double io_ns = 0, ns = 0;

    if (is_in_io_module(e->p, function))
        return true;

    for (uint32_t node = 1; node < e->p->n_nodes; node++)
        if (e->p->nodes[ar_to_blame(e->p, node)].function == function) {
            ns += e->t->self[node].sum;
            io_ns += is_io(e->p, node) ? e->t->self[node].sum : 0;
        }
    return io_ns > 0 && io_ns >= LEAST_SHARE * ns;
}

void ar_rule_io_on_one_rank(struct ar_evidence *e)
{
    for (size_t i = 0; i < e->n_stories; i++) {
        struct ar_story *story = &e->stories[i];

        if (!story->is_told && story->late != AR_NO_ID && story->function != AR_NO_ID &&
            ar_is_code(e->p, story->function) && does_io(e, story->function))
            ar_tell_story(e, story, "io_on_one_rank", ar_place_of_function(e->p, story->function),
                          ", reading or writing files");
    }
}

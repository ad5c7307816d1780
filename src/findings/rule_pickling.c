// SPDX-License-Identifier: BSD-3-Clause
/*
 * pickling: a method of mpi4py that sends objects takes longer to make bytes of them, or objects of bytes, than
 * is reasonable.
 *
 * Fires where that is worth a sentence and a third of the method's time: with less, the transfer is what to
 * look at first. Waits of others for a rank that was pickling are told with it.
 * Says how much of the method's time it is, how large the objects are, and what would not pickle.
 */
#include "base/text.h"
#include "findings/findings.h"
#include "findings/words.h"

#include <ctype.h>
#include <stdio.h>

#define LEAST_SHARE 0.33

static double claim_waits(struct ar_evidence *e, const struct ar_mpi_row *row)
{
    struct ar_place place = ar_place_of_call(e->p, row->node);
    double ns = 0;

    for (size_t i = 0; i < e->n_stories; i++) {
        struct ar_story *story = &e->stories[i];

        if (!story->is_told && story->function == e->p->nodes[row->node].function &&
            ar_is_same_place(ar_place_of_call(e->p, story->reason.node), place)) {
            story->is_told = true;
            ns += story->waited_ns;
        }
    }
    return ns;
}

/* What a request brings is unpickled where it is waited for. */
static const char *with_buffers(const char *method)
{
    char *text = ar_text_buffer();

    if (ar_starts_with(method, "wait") || ar_starts_with(method, "test"))
        return "Irecv";
    snprintf(text, AR_TEXT_BYTES, "%s", method);
    text[0] = (char)toupper((unsigned char)text[0]);
    return text;
}

/* " of 1.2 MB"; of a request they are known only where it was posted. */
static const char *show_size(const struct ar_mpi_row *row)
{
    uint64_t n_bytes = row->bytes_out > row->bytes_in ? row->bytes_out : row->bytes_in;
    uint64_t n = row->bytes_out > row->bytes_in ? row->n_out : row->n_in;
    char *text = ar_text_buffer();

    *text = '\0';
    if (n_bytes)
        snprintf(text, AR_TEXT_BYTES, " of %s", ar_show_bytes(n ? n_bytes / n : n_bytes));
    return text;
}

static void tell(struct ar_evidence *e, const struct ar_mpi_row *row, double ns)
{
    const char *method = ar_show_operation(e->p, row->node);
    double waited_ns = claim_waits(e, row);
    struct ar_finding *f = ar_finding_add(e, "pickling", ns + waited_ns);

    if (!f)
        return;
    f->place = ar_place_of_call(e->p, row->node);
    ar_finding_say(
        e, f, "%s at %s spends %s of its %s per rank %s objects%s; %s, with buffers, would not",
        method, ar_show_line(e->p, f->place), ar_show_share(ns / row->time.sum),
        ar_show_duration(row->time.mean),
        row->parts.unpickling_ns > row->parts.pickling_ns ? "unpickling" : "pickling",
        show_size(row), with_buffers(method));
    ar_finding_show(e, f, "mpi", ar_show_line(e->p, f->place));
}

void ar_rule_pickling(struct ar_evidence *e)
{
    for (size_t i = 0; i < e->out->n_calls; i++) {
        const struct ar_mpi_row *row = &e->out->calls[i];
        double ns = (double)(row->parts.pickling_ns + row->parts.unpickling_ns);

        if (row->is_operation && ar_is_worth_saying(e, ns) && ns >= LEAST_SHARE * row->time.sum)
            tell(e, row, ns);
    }
}

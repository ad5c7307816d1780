// SPDX-License-Identifier: BSD-3-Clause
/*
 * small_messages: many messages of few bytes, where fewer that are larger would do.
 *
 * Fires on lines that send or receive at least five hundred messages a rank, of a kibibyte or less
 * in the mean, if the time of all such lines, without waits for late ranks, is worth a sentence: up to
 * that size a message costs the same whatever is in it. Silent where waits are not known, or ranks share processors. Waits there that have no other cause are told with it.
 * Says how many there are, how large, and what each of them costs.
 */
#include "findings/findings.h"
#include "findings/words.h"

#define LEAST_MESSAGES 500 /* a rank */
#define MOST_BYTES 1024

struct small {
    const struct ar_mpi_row *row; /* the longest of them */
    uint64_t n, n_bytes;          /* that were sent, or received if those are more */
    double own_ns, ns;            /* of that line, and of all */
    size_t n_lines;
};

static bool is_small(const struct ar_evidence *e, const struct ar_mpi_row *row)
{
    uint64_t n = row->n_out > row->n_in ? row->n_out : row->n_in;
    uint64_t n_bytes = row->bytes_out > row->bytes_in ? row->bytes_out : row->bytes_in;

    return n >= LEAST_MESSAGES * e->p->n_roots && n_bytes <= MOST_BYTES * n &&
           ar_is_message(e, row);
}

/*
 * Waits with a cause of their own have their own sentence; the function that makes the calls is none, nor is what is
 * too short to be known.
 */
static double claim_waits(struct ar_evidence *e, struct ar_place place)
{
    double ns = 0;

    for (size_t i = 0; i < e->n_stories; i++)
        if (!e->stories[i].is_told &&
            (e->stories[i].function == AR_NO_ID || e->stories[i].function == place.function) &&
            ar_is_same_place(e->stories[i].site->place, place)) {
            e->stories[i].is_told = true;
            ns += e->stories[i].waited_ns;
        }
    return ns;
}

static struct small add_up(const struct ar_evidence *e)
{
    struct small s = {0};

    for (size_t i = 0; i < e->out->n_calls; i++) {
        const struct ar_mpi_row *row = &e->out->calls[i];

        if (!is_small(e, row))
            continue;

        double ns = ar_moving_ns(e, row);

        ns = ns > 0 ? ns : 0;
        s.ns += ns;
        s.n_lines++;
        if (s.row)
            continue;
        s.row = row;
        s.own_ns = ns;
        s.n = row->n_out > row->n_in ? row->n_out : row->n_in;
        s.n_bytes = row->bytes_out > row->bytes_in ? row->bytes_out : row->bytes_in;
    }
    return s;
}

void ar_rule_small_messages(struct ar_evidence *e)
{
    struct small s = add_up(e);
    double all_ns = s.ns;
    struct ar_finding *f;

    if (!s.row || !ar_is_moving_known(e) || !ar_is_worth_saying(e, s.ns))
        return;
    for (size_t i = 0; i < e->out->n_calls; i++)
        if (is_small(e, &e->out->calls[i]))
            s.ns += claim_waits(e, ar_place_of_call(e->p, e->out->calls[i].node));
    f = ar_finding_add(e, "small_messages", s.ns);
    if (!f)
        return;
    f->place = ar_place_of_call(e->p, s.row->node);
    ar_finding_say(
        e, f,
        "%s messages of %s each at %s %s: %s (%s) without waiting%s; combine messages to "
        "save time",
        ar_show_count(s.n), ar_show_bytes(s.n_bytes / s.n), ar_show_line(e->p, f->place),
        ar_show_operation(e->p, s.row->node), ar_show_duration(s.own_ns),
        ar_show_share(s.own_ns / e->all_ns), ar_show_similar(e, s.n_lines, all_ns));
    ar_finding_show(e, f, "mpi", ar_show_line(e->p, f->place));
}

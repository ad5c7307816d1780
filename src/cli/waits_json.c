// SPDX-License-Identifier: BSD-3-Clause
#include "cli/waits_json.h"

#include "analysis/mpi_class.h"
#include "cli/report_json.h"
#include "cli/screen.h"
#include "findings/wait_reasons.h"

#include <stdlib.h>

static const char *text_of(const struct ar_profile *p, uint32_t id)
{
    return ar_strtab_text(&p->strings, id);
}

static void put_rank(struct ar_json *j, const struct ar_profile *p, uint32_t process)
{
    uint32_t rank = p->processes[process].world_rank;

    if (rank == AR_RANK_NONE)
        ar_json_null(j, "rank");
    else
        ar_json_integer(j, "rank", rank);
}

static void put_place(struct ar_json *j, const struct ar_profile *p, struct ar_place place)
{
    if (place.function == AR_NO_ID) {
        ar_json_null(j, "file");
        ar_json_null(j, "line");
        ar_json_null(j, "caller");
        return;
    }
    ar_json_text(j, "file", ar_place_file(p, place));
    ar_json_integer(j, "line", place.line);
    ar_json_text(j, "caller", text_of(p, p->functions[place.function].name));
}

static void put_call(struct ar_json *j, const struct ar_profile *p, uint32_t node)
{
    node = ar_operation_of(p, node);
    ar_json_text(j, "name", ar_show_operation(p, node));
    put_place(j, p, ar_place_of_call(p, node));
}

static void put_shares(struct ar_json *j, const char *key, const struct ar_profile *p,
                       const struct ar_wait_share *shares, size_t n)
{
    ar_json_open(j, key, '[');
    for (size_t i = 0; i < n; i++) {
        ar_json_open(j, NULL, '{');
        put_rank(j, p, shares[i].process);
        ar_json_integer(j, "n", shares[i].n);
        ar_json_number(j, "waited_ns", shares[i].ns);
        ar_json_close(j, '}');
    }
    ar_json_close(j, ']');
}

static void put_function(struct ar_json *j, const struct ar_profile *p, uint32_t node)
{
    const struct ar_function *f = node == AR_NO_ID ? NULL : &p->functions[p->nodes[node].function];

    if (!f) {
        ar_json_null(j, "kind");
        ar_json_null(j, "name");
        ar_json_null(j, "file");
        ar_json_null(j, "line");
        return;
    }
    ar_json_text(j, "kind", ar_function_kind_name(f->kind));
    ar_json_text(j, "name", text_of(p, f->name));
    ar_json_text(j, "file", text_of(p, f->file));
    ar_json_integer(j, "line", f->first_line);
}

static void put_causes(struct ar_json *j, const struct ar_profile *p,
                       const struct ar_wait_site *site)
{
    ar_json_open(j, "causes", '[');
    for (size_t i = 0; i < site->n_causes; i++) {
        const struct ar_wait_cause *cause = &site->causes[i];

        ar_json_open(j, NULL, '{');
        put_rank(j, p, cause->process);
        put_function(j, p, cause->node);
        ar_json_bool(j, "with_callees", cause->with_callees);
        ar_json_number(j, "ns", cause->ns);
        ar_json_number(j, "indirect_ns", cause->indirect_ns);
        ar_json_close(j, '}');
    }
    ar_json_close(j, ']');
}

static void put_site(struct ar_json *j, const struct ar_profile *p, const struct ar_wait_site *site)
{
    ar_json_open(j, NULL, '{');
    ar_json_text(j, "class", ar_wait_class_name(site->class));
    ar_json_text(j, "name", ar_show_operation(p, site->node));
    ar_json_text(j, "mpi", ar_mpi_class_of(text_of(p, p->functions[site->mpi].name)).function);
    ar_json_bool(j, "nonblocking", site->nonblocking);
    put_place(j, p, site->place);
    ar_json_integer(j, "n", site->n);
    ar_json_number(j, "waited_ns", site->waited_ns);
    put_shares(j, "waiting", p, site->waiting, site->n_waiting);
    put_shares(j, "late", p, site->late, site->n_late);
    put_causes(j, p, site);
    ar_json_close(j, '}');
}

static void put_ranks(struct ar_json *j, const struct ar_profile *p, const struct ar_waits *w)
{
    ar_json_open(j, "by_rank", '[');
    for (uint32_t i = 0; i < p->n_roots; i++) {
        ar_json_open(j, NULL, '{');
        put_rank(j, p, i);
        ar_json_integer(j, "wall_ns", p->processes[i].wall_ns);
        ar_json_number(j, "computing_ns", w->times[i].computing_ns);
        ar_json_number(j, "waiting_ns", w->times[i].waiting_ns);
        ar_json_number(j, "communicating_ns", w->times[i].communicating_ns);
        ar_json_number(j, "setting_up_ns", w->times[i].setting_up_ns);
        ar_json_number(j, "caused_ns", w->times[i].caused_ns);
        ar_json_close(j, '}');
    }
    ar_json_close(j, ']');
}

/* 0 where rounding has made more of the latter. */
static uint64_t less(uint64_t from, uint64_t amount)
{
    return amount < from ? from - amount : 0;
}

/* What was posted on one line and completed on another. */
static void put_nonblocking(struct ar_json *j, const struct ar_profile *p)
{
    ar_json_open(j, "nonblocking", '[');
    for (size_t i = 0; i < p->n_completed; i++) {
        const struct ar_completed *c = ar_completed_at(p, i);

        ar_json_open(j, NULL, '{');
        put_call(j, p, c->node);
        ar_json_open(j, "posted", '{');
        put_call(j, p, c->posted);
        ar_json_close(j, '}');
        put_rank(j, p, ar_profile_root(p, c->location));
        ar_json_integer(j, "n", c->n);
        ar_json_integer(j, "in_flight_ns", c->flight_ns);
        ar_json_integer(j, "exposed_ns", c->exposed_ns);
        ar_json_integer(j, "hidden_ns", less(c->flight_ns, c->exposed_ns));
        ar_json_close(j, '}');
    }
    ar_json_close(j, ']');
}

static double mean_wall(const struct ar_profile *p)
{
    double sum = 0;

    for (size_t i = 0; i < p->n_roots; i++)
        sum += (double)p->processes[i].wall_ns;
    return p->n_roots ? sum / (double)p->n_roots : 0;
}

int ar_waits_json(const struct ar_profile *p, const struct ar_waits *w)
{
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};

    ar_json_open(&j, NULL, '{');
    ar_json_text(&j, "schema", "allranks.waits");
    ar_json_integer(&j, "version", 1);
    ar_json_facts(&j, "facts", p);
    ar_json_integer(&j, "ranks", p->n_roots);
    ar_json_number(&j, "wall_ns", mean_wall(p));
    ar_json_number(&j, "waited_ns", w->waited_ns);
    ar_json_integer(&j, "operations", w->n_calls);
    ar_json_integer(&j, "resolved", w->n_resolved);
    ar_json_integer(&j, "unresolved", w->n_unresolved);
    ar_json_integer(&j, "lost", w->n_lost);
    put_ranks(&j, p, w);
    ar_json_open(&j, "waits", '[');
    for (size_t i = 0; i < w->n_sites; i++)
        if (w->sites[i].n)
            put_site(&j, p, &w->sites[i]);
    ar_json_close(&j, ']');
    put_nonblocking(&j, p);
    ar_json_close(&j, '}');
    ar_bytes_u8(&bytes, '\n');

    int status = bytes.bad ? ar_complain("out of memory") : ar_write_output("-", &bytes);

    ar_bytes_free(&bytes);
    return status;
}

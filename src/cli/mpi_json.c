// SPDX-License-Identifier: BSD-3-Clause
#include "cli/mpi_json.h"

#include "analysis/place.h"
#include "cli/mpi_text.h"
#include "cli/report_json.h"
#include "cli/screen.h"
#include "cli/selecting.h"

#include <stdlib.h>

static const char *text_of(const struct ar_profile *p, uint32_t id)
{
    return ar_strtab_text(&p->strings, id);
}

/* Where a call stands; null where that is not known. */
static void put_place(struct ar_json *j, const struct ar_profile *p, uint32_t node)
{
    struct ar_place place = {.function = AR_NO_ID};

    if (node != AR_NO_ID)
        place = ar_place_of_call(p, node);
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

static void put_rank(struct ar_json *j, const char *key, uint32_t rank)
{
    if (rank < AR_PEER_UNKNOWN)
        ar_json_integer(j, key, rank);
    else
        ar_json_null(j, key);
}

static void put_comm_number(struct ar_json *j, const char *key, uint32_t comm)
{
    if (comm)
        ar_json_integer(j, key, comm - 1);
    else
        ar_json_null(j, key);
}

static void put_parts(struct ar_json *j, const struct ar_mpi *m, const struct ar_mpi_parts *parts)
{
    ar_json_integer(j, "pickling_ns", parts->pickling_ns);
    ar_json_integer(j, "within_mpi_ns", parts->mpi_ns);
    if (m->w) {
        ar_json_number(j, "waiting_ns", parts->waiting_ns);
        ar_json_number(j, "transferring_ns", ar_mpi_transferring_ns(parts));
    } else {
        ar_json_null(j, "waiting_ns");
        ar_json_null(j, "transferring_ns");
    }
    ar_json_integer(j, "unpickling_ns", parts->unpickling_ns);
}

/* ---- rows ------------------------------------------------------------------------------------- */

/* What a row is about. */
static void put_subject(struct ar_json *j, const struct ar_mpi *m, const struct ar_mpi_row *row,
                        enum ar_mpi_by by)
{
    switch (by) {
    case AR_MPI_BY_PATH:
        ar_json_text(j, "name", row->name);
        ar_json_bool(j, "operation", row->is_operation);
        put_place(j, m->p, row->node);
        break;
    case AR_MPI_BY_FUNCTION:
        ar_json_text(j, "name", row->name);
        ar_json_text(j, "class", ar_mpi_class_of(row->name).name);
        break;
    case AR_MPI_BY_CLASS:
        ar_json_text(j, "name", row->name);
        break;
    case AR_MPI_BY_COMM:
        put_comm_number(j, "communicator", row->comm);
        break;
    case AR_MPI_BY_PEER:
        ar_json_text(j, "kind", ar_peer_kind_name(row->peer, row->world_peer));
        put_rank(j, "rank", row->world_peer);
        put_rank(j, "rank_in_communicator", row->peer);
        put_comm_number(j, "communicator", row->comm);
        break;
    default:
        ar_json_integer(j, "class", row->size_class);
        ar_json_text(j, "text", ar_show_size_class(row->size_class));
        break;
    }
}

static void put_row(struct ar_json *j, const struct ar_mpi *m, const struct ar_mpi_row *row,
                    enum ar_mpi_by by)
{
    ar_json_open(j, NULL, '{');
    put_subject(j, m, row, by);
    if (by < AR_MPI_BY_COMM)
        ar_json_integer(j, "calls", row->n_calls);
    ar_json_spread(j, "time_ns", m->p, &row->time);
    ar_json_integer(j, "bytes_out", row->bytes_out);
    ar_json_integer(j, "bytes_in", row->bytes_in);
    ar_json_integer(j, "messages_out", row->n_out);
    ar_json_integer(j, "messages_in", row->n_in);
    if (row->is_operation && by == AR_MPI_BY_PATH)
        put_parts(j, m, &row->parts);
    ar_json_close(j, '}');
}

static enum ar_status put_rows(struct ar_json *j, const struct ar_mpi *m, const char *key,
                               enum ar_mpi_by by)
{
    struct ar_mpi_row *rows;
    size_t n;

    if (ar_mpi_table(m, by, &rows, &n) < 0)
        return AR_NOMEM;
    ar_json_open(j, key, '[');
    for (size_t i = 0; i < n; i++)
        put_row(j, m, &rows[i], by);
    ar_json_close(j, ']');
    free(rows);
    return AR_OK;
}

/* ---- communicators, requests, pairs ----------------------------------------------------------- */

static void put_comms(struct ar_json *j, const struct ar_profile *p)
{
    ar_json_open(j, "communicators", '[');
    for (size_t i = 0; i < p->n_comms; i++) {
        const struct ar_comm *c = &p->comms[i];

        ar_json_open(j, NULL, '{');
        ar_json_text(j, "name", text_of(p, c->name));
        ar_json_text(j, "origin", ar_comm_origin_name(c->origin));
        ar_json_integer(j, "size", c->size);
        ar_json_integer(j, "remote_size", c->remote_size);
        put_comm_number(j, "parent", c->parent);
        ar_json_bool(j, "hidden", c->is_hidden);
        put_place(j, p, c->made_at ? c->made_at - 1 : AR_NO_ID);
        ar_json_close(j, '}');
    }
    ar_json_close(j, ']');
}

static void put_call(struct ar_json *j, const struct ar_mpi *m, const char *key, uint32_t node)
{
    const struct ar_function *f = &m->p->functions[m->p->nodes[node].function];

    ar_json_open(j, key, '{');
    ar_json_text(j, "name", ar_mpi_class_of(text_of(m->p, f->name)).function);
    put_place(j, m->p, node);
    ar_json_close(j, '}');
}

static enum ar_status put_requests(struct ar_json *j, const struct ar_mpi *m)
{
    struct ar_mpi_request_row *rows;
    size_t n;

    if (ar_mpi_requests(m, &rows, &n) < 0)
        return AR_NOMEM;
    ar_json_open(j, "requests", '[');
    for (size_t i = 0; i < n; i++) {
        ar_json_open(j, NULL, '{');
        put_call(j, m, "posted", rows[i].posted);
        put_call(j, m, "completed", rows[i].completed);
        ar_json_integer(j, "n", rows[i].n);
        ar_json_number(j, "in_flight_ns", rows[i].flight_ns);
        ar_json_number(j, "waited_ns", rows[i].waited_ns);
        ar_json_number(j, "exposed_ns", rows[i].exposed_ns);
        ar_json_close(j, '}');
    }
    ar_json_close(j, ']');
    free(rows);
    return AR_OK;
}

static enum ar_status put_pairs(struct ar_json *j, const struct ar_mpi *m)
{
    struct ar_mpi_pair *pairs;
    size_t n;

    if (ar_mpi_pairs(m, &pairs, &n) < 0)
        return AR_NOMEM;
    ar_json_open(j, "matrix", '[');
    for (size_t i = 0; i < n; i++) {
        ar_json_open(j, NULL, '{');
        ar_json_integer(j, "from", pairs[i].from);
        ar_json_integer(j, "to", pairs[i].to);
        ar_json_integer(j, "messages", pairs[i].n);
        ar_json_integer(j, "bytes", pairs[i].n_bytes);
        ar_json_integer(j, "time_ns", pairs[i].ns);
        ar_json_close(j, '}');
    }
    ar_json_close(j, ']');
    free(pairs);
    return AR_OK;
}

/* ---- all of it -------------------------------------------------------------------------------- */

static void put_head(struct ar_json *j, const struct ar_mpi *m)
{
    ar_json_text(j, "schema", "allranks.mpi");
    ar_json_integer(j, "version", 1);
    ar_json_facts(j, "facts", m->p);
    ar_json_bool(j, "call_paths", !m->t->of_pairs);
    ar_json_integer(j, "ranks", m->n_ranks);
    ar_json_number(j, "wall_ns", m->wall_ns);
    ar_json_number(j, "mpi_ns", m->mpi_ns);
    put_parts(j, m, &m->parts);
    ar_json_open(j, "lost", '{');
    ar_json_integer(j, "traffic", m->t->n_lost[AR_LOST_TRAFFIC]);
    ar_json_integer(j, "requests", m->t->n_lost[AR_LOST_REQUESTS]);
    ar_json_integer(j, "syncs", m->t->n_lost[AR_LOST_SYNCS]);
    ar_json_integer(j, "communicators", m->t->n_lost[AR_LOST_COMMS]);
    ar_json_close(j, '}');
}

int ar_mpi_json(const struct ar_mpi *m, const struct ar_selection *selection)
{
    static const char *const keys[AR_N_MPI_BY] = {
        [AR_MPI_BY_PATH] = "paths",    [AR_MPI_BY_FUNCTION] = "functions",
        [AR_MPI_BY_CLASS] = "classes", [AR_MPI_BY_COMM] = "by_communicator",
        [AR_MPI_BY_PEER] = "by_peer",  [AR_MPI_BY_SIZE] = "by_size"};
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};
    enum ar_status status = AR_OK;

    ar_json_open(&j, NULL, '{');
    put_head(&j, m);
    ar_json_selection(&j, selection);
    put_comms(&j, m->p);
    for (int by = 0; by < AR_N_MPI_BY && status == AR_OK; by++)
        status = put_rows(&j, m, keys[by], (enum ar_mpi_by)by);
    if (status == AR_OK)
        status = put_requests(&j, m);
    if (status == AR_OK)
        status = put_pairs(&j, m);
    ar_json_close(&j, '}');
    ar_bytes_u8(&bytes, '\n');

    int result =
        status < 0 || bytes.bad ? ar_complain("out of memory") : ar_write_output("-", &bytes);

    ar_bytes_free(&bytes);
    return result;
}

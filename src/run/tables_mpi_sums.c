// SPDX-License-Identifier: BSD-3-Clause
/* Tables of MPI summed up: by line, function, class, communicator, peer and size; requests; and which rank sends to which. */
#include "analysis/mpi_class.h"
#include "analysis/place.h"
#include "run/cells.h"

#include <stdlib.h>

static struct ar_str place_file(const struct ar_profile *p, uint32_t node)
{
    return plain_text(ar_place_file(p, ar_place_of_call(p, node)));
}

static uint32_t place_line(const struct ar_profile *p, uint32_t node)
{
    struct ar_place place = ar_place_of_call(p, node);

    return place.function == AR_NO_ID ? 0 : place.line;
}

static struct ar_str place_caller(const struct ar_profile *p, uint32_t node)
{
    struct ar_place place = ar_place_of_call(p, node);

    return text_of(p, place.function == AR_NO_ID ? 0 : p->functions[place.function].name);
}

/* Without the ending of large-count forms. */
static struct ar_str call_name(const struct ar_profile *p, uint32_t node)
{
    return plain_text(
        ar_mpi_class_of(ar_strtab_text(&p->strings, function_at(p, node)->name)).function);
}

static int64_t rank_or_none(uint32_t peer)
{
    return peer < AR_PEER_UNKNOWN ? (int64_t)peer : -1;
}

static struct ar_str comm_text(const struct ar_profile *p, uint32_t comm, bool origin)
{
    if (!comm)
        return plain_text("");
    return origin ? plain_text(ar_comm_origin_name(p->comms[comm - 1].origin))
                  : text_of(p, p->comms[comm - 1].name);
}

/* ---- columns ---------------------------------------------------------------------------------- */

#define MOVED_COLUMNS(X)                                                                           \
    SPREAD(X, time, "of the calls", r->time)                                                       \
    INTEGER(X, bytes_out, "bytes", "sent, of all ranks", r->bytes_out)                             \
    INTEGER(X, bytes_in, "bytes", "received, of all ranks", r->bytes_in)                           \
    INTEGER(X, messages_out, "", "sent, of all ranks", r->n_out)                                   \
    INTEGER(X, messages_in, "", "received, of all ranks", r->n_in)

/* Parts of a method's time, of all ranks; an MPI call has none of them. */
#define PART(X, id, help, value)                                                                   \
    REAL(X, id, "ns", help ", of all ranks; none: it is no method of mpi4py",                      \
         r->is_operation ? (double)(value) : NAN)
#define WAITING_PART(X, id, help, value)                                                           \
    REAL(X, id, "ns", help ", of all ranks; none: it is not known",                                \
         r->is_operation && run->mpi.w ? (value) : NAN)

#define PATH_COLUMNS(X)                                                                            \
    TEXT(X, function, "method of mpi4py, with all that it calls, or MPI function",                 \
         plain_text(r->name))                                                                      \
    TEXT(X, kind, "operation: a method of mpi4py; or mpi",                                         \
         plain_text(                                                                               \
             ar_function_kind_name(r->is_operation ? AR_FUNCTION_OPERATION : AR_FUNCTION_MPI)))    \
    OPTIONAL_TEXT(X, file, "where the program called it", place_file(p, r->node))                  \
    INTEGER(X, line, "", "where the program called it; 0: not known", place_line(p, r->node))      \
    OPTIONAL_TEXT(X, caller, "the Python function that called it", place_caller(p, r->node))       \
    INTEGER(X, calls, "", "of all ranks", r->n_calls)                                              \
    MOVED_COLUMNS(X)                                                                               \
    PART(X, pickling, "making bytes of objects", r->parts.pickling_ns)                             \
    PART(X, within_mpi, "in MPI calls", r->parts.mpi_ns)                                           \
    WAITING_PART(X, waiting, "of that, for other ranks", r->parts.waiting_ns)                      \
    WAITING_PART(X, transferring, "of that, the rest", ar_mpi_transferring_ns(&r->parts))          \
    PART(X, unpickling, "making objects of bytes", r->parts.unpickling_ns)

#define BY_FUNCTION_COLUMNS(X)                                                                     \
    TEXT(X, function, "MPI function; its time is within MPI only", plain_text(r->name))            \
    TEXT(X, mpi_class, "as in mpi", plain_text(ar_mpi_class_of(r->name).name))                     \
    INTEGER(X, calls, "", "of all ranks", r->n_calls)                                              \
    MOVED_COLUMNS(X)

#define BY_CLASS_COLUMNS(X)                                                                        \
    TEXT(X, mpi_class, "as in mpi", plain_text(r->name))                                           \
    INTEGER(X, calls, "", "of all ranks", r->n_calls)                                              \
    MOVED_COLUMNS(X)

#define BY_COMM_COLUMNS(X)                                                                         \
    OPTIONAL(X, communicator, "", "row of communicators", (int64_t)r->comm - 1)                    \
    OPTIONAL_TEXT(X, name, "of the communicator", comm_text(p, r->comm, false))                    \
    OPTIONAL_TEXT(X, origin, "of the communicator", comm_text(p, r->comm, true))                   \
    MOVED_COLUMNS(X)

#define BY_PEER_COLUMNS(X)                                                                         \
    TEXT(X, peer_kind, "as in messages", plain_text(ar_peer_kind_name(r->peer, r->world_peer)))    \
    OPTIONAL(X, world_peer, "", "rank in MPI_COMM_WORLD", rank_or_none(r->world_peer))             \
    OPTIONAL(X, peer, "", "rank in the communicator, where the world's is not known",              \
             rank_or_none(r->peer))                                                                \
    OPTIONAL(X, communicator, "", "row of communicators, in the same case", (int64_t)r->comm - 1)  \
    MOVED_COLUMNS(X)

#define BY_SIZE_COLUMNS(X)                                                                         \
    INTEGER(X, size_class, "", "0: no bytes, k: 2^(k-1) to 2^k - 1 bytes", r->size_class)          \
    REAL(X, least_bytes, "bytes", "of a message of that class",                                    \
         r->size_class ? ldexp(1, (int)r->size_class - 1) : 0)                                     \
    REAL(X, most_bytes, "bytes", "of a message of that class",                                     \
         r->size_class ? ldexp(1, (int)r->size_class) - 1 : 0)                                     \
    MOVED_COLUMNS(X)

/* ---- tables ----------------------------------------------------------------------------------- */

/* What is the same in each: reading, preparing, and the number of rows. */
#define TABLE(id, by, LIST, key_, help_)                                                           \
    static const struct ar_shown_column id##_columns[] = {LIST(DESCRIBE)};                         \
                                                                                                   \
    static union ar_cell id##_cell(const struct ar_subject *of, size_t column, size_t row)         \
    {                                                                                              \
        enum { LIST(NUMBER) };                                                                     \
        const struct ar_run *run = of->run;                                                        \
        const struct ar_profile *p = run->folded_form->p;                                          \
        const struct ar_mpi_row *r = &run->mpi_tables[by][row];                                    \
        union ar_cell cell = {0};                                                                  \
                                                                                                   \
        switch (column) {                                                                          \
            LIST(READ)                                                                             \
        }                                                                                          \
        return cell;                                                                               \
    }                                                                                              \
                                                                                                   \
    static enum ar_status id##_prepare(const struct ar_subject *of)                                \
    {                                                                                              \
        size_t n;                                                                                  \
                                                                                                   \
        return ar_run_mpi_rows(of->run, by, &n) ? AR_OK : AR_NOMEM;                                \
    }                                                                                              \
                                                                                                   \
    static size_t id##_n_rows(const struct ar_subject *of)                                         \
    {                                                                                              \
        return of->run->n_mpi_tables[by];                                                          \
    }                                                                                              \
                                                                                                   \
    const struct ar_shown_table ar_shown_table_##id = {                                            \
        .name = #id,                                                                               \
        .key = key_,                                                                               \
        .help = help_,                                                                             \
        .columns = id##_columns,                                                                   \
        .n_columns = N_COLUMNS(id##_columns),                                                      \
        .prepare = id##_prepare,                                                                   \
        .n_rows = id##_n_rows,                                                                     \
        .cell = id##_cell,                                                                         \
    };

TABLE(mpi_paths, AR_MPI_BY_PATH, PATH_COLUMNS, "function, file, line",
      "MPI by line of the program: methods of mpi4py, and MPI calls; the longest time first")
TABLE(mpi_functions, AR_MPI_BY_FUNCTION, BY_FUNCTION_COLUMNS, "function", "MPI by function")
TABLE(mpi_classes, AR_MPI_BY_CLASS, BY_CLASS_COLUMNS, "mpi_class", "MPI by class of functions")
TABLE(mpi_communicators, AR_MPI_BY_COMM, BY_COMM_COLUMNS, "communicator",
      "messages by communicator")
TABLE(mpi_peers, AR_MPI_BY_PEER, BY_PEER_COLUMNS, "peer_kind, world_peer, peer, communicator",
      "messages by the rank that they were sent to or received from")
TABLE(mpi_sizes, AR_MPI_BY_SIZE, BY_SIZE_COLUMNS, "size_class",
      "messages by size, from the smallest on")

/* ---- methods of mpi4py ------------------------------------------------------------------------ */

#define METHODS_COLUMNS(X)                                                                         \
    INTEGER(X, pickling, "ns", "making bytes of objects, of all ranks", m->parts.pickling_ns)      \
    INTEGER(X, within_mpi, "ns", "in MPI calls, of all ranks", m->parts.mpi_ns)                    \
    REAL(X, waiting, "ns", "of that, for other ranks; none: it is not known",                      \
         m->w ? m->parts.waiting_ns : NAN)                                                         \
    REAL(X, transferring, "ns", "of that, the rest; none: it is not known",                        \
         m->w ? ar_mpi_transferring_ns(&m->parts) : NAN)                                           \
    INTEGER(X, unpickling, "ns", "making objects of bytes, of all ranks", m->parts.unpickling_ns)

static const struct ar_shown_column methods_columns[] = {METHODS_COLUMNS(DESCRIBE)};

static union ar_cell methods_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { METHODS_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_mpi *m = &run->mpi;
    union ar_cell cell = {0};

    (void)row;
    switch (column) {
        METHODS_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status prepare_methods(const struct ar_subject *of)
{
    struct ar_run *run = of->run;

    return ar_run_mpi(run) ? AR_OK : AR_NOMEM;
}

const struct ar_shown_table ar_shown_table_mpi_methods = {
    .name = "mpi_methods",
    .key = "",
    .help = "what the time of all methods of mpi4py is made of",
    .columns = methods_columns,
    .n_columns = N_COLUMNS(methods_columns),
    .is_single = true,
    .prepare = prepare_methods,
    .n_rows = ar_one_row,
    .cell = methods_cell,
};

/* ---- requests and pairs ----------------------------------------------------------------------- */

#define REQUEST_COLUMNS(X)                                                                         \
    TEXT(X, posted_function, "that posted them", call_name(p, r->posted))                          \
    OPTIONAL_TEXT(X, posted_file, "where the program called it", place_file(p, r->posted))         \
    INTEGER(X, posted_line, "", "where the program called it; 0: not known",                       \
            place_line(p, r->posted))                                                              \
    OPTIONAL_TEXT(X, posted_caller, "the Python function that called it",                          \
                  place_caller(p, r->posted))                                                      \
    TEXT(X, function, "that completed them", call_name(p, r->completed))                           \
    OPTIONAL_TEXT(X, file, "where the program called that", place_file(p, r->completed))           \
    INTEGER(X, line, "", "where the program called that; 0: not known",                            \
            place_line(p, r->completed))                                                           \
    OPTIONAL_TEXT(X, caller, "the Python function that called that",                               \
                  place_caller(p, r->completed))                                                   \
    INTEGER(X, requests, "", "how many", r->n)                                                     \
    REAL(X, in_flight, "ns", "from post to end, of all of them", r->flight_ns)                     \
    REAL(X, waited, "ns", "of the calls that completed them; requests of one call share it",       \
         r->waited_ns)                                                                             \
    REAL(X, exposed, "ns", "of each one's flight, within the call that completed it", r->exposed_ns)

static const struct ar_shown_column request_columns[] = {REQUEST_COLUMNS(DESCRIBE)};

static union ar_cell request_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { REQUEST_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_profile *p = run->folded_form->p;
    const struct ar_mpi_request_row *r = &run->mpi_requests[row];
    union ar_cell cell = {0};

    switch (column) {
        REQUEST_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status prepare_requests(const struct ar_subject *of)
{
    struct ar_run *run = of->run;
    const struct ar_mpi *m = ar_run_mpi(run);

    if (m && !run->has_mpi_requests)
        run->has_mpi_requests =
            ar_mpi_requests(m, &run->mpi_requests, &run->n_mpi_requests) == AR_OK;
    return m && run->has_mpi_requests ? AR_OK : AR_NOMEM;
}

static size_t n_requests(const struct ar_subject *of)
{
    return of->run->n_mpi_requests;
}

const struct ar_shown_table ar_shown_table_mpi_requests = {
    .name = "mpi_requests",
    .key = "posted_function, posted_file, posted_line, function, file, line",
    .help = "requests by the lines that posted and completed them; the longest in flight first",
    .columns = request_columns,
    .n_columns = N_COLUMNS(request_columns),
    .prepare = prepare_requests,
    .n_rows = n_requests,
    .cell = request_cell,
};

#define PAIR_COLUMNS(X)                                                                            \
    INTEGER(X, from_rank, "", "rank in MPI_COMM_WORLD", r->from)                                   \
    INTEGER(X, to_rank, "", "rank in MPI_COMM_WORLD", r->to)                                       \
    INTEGER(X, messages, "", "of point-to-point and one-sided calls", r->n)                        \
    INTEGER(X, bytes, "bytes", "of these", r->n_bytes)                                             \
    INTEGER(X, time, "ns", "that the one spent with the other, sending or receiving", r->ns)

static const struct ar_shown_column pair_columns[] = {PAIR_COLUMNS(DESCRIBE)};

static union ar_cell pair_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { PAIR_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_mpi_pair *r = &run->mpi_pairs[row];
    union ar_cell cell = {0};

    switch (column) {
        PAIR_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status prepare_pairs(const struct ar_subject *of)
{
    struct ar_run *run = of->run;
    const struct ar_mpi *m = ar_run_mpi(run);

    if (m && !run->has_mpi_pairs)
        run->has_mpi_pairs = ar_mpi_pairs(m, &run->mpi_pairs, &run->n_mpi_pairs) == AR_OK;
    return m && run->has_mpi_pairs ? AR_OK : AR_NOMEM;
}

static size_t n_pairs(const struct ar_subject *of)
{
    return of->run->n_mpi_pairs;
}

const struct ar_shown_table ar_shown_table_mpi_matrix = {
    .name = "mpi_matrix",
    .key = "from_rank, to_rank",
    .help = "which rank sends how much to which",
    .columns = pair_columns,
    .n_columns = N_COLUMNS(pair_columns),
    .prepare = prepare_pairs,
    .n_rows = n_pairs,
    .cell = pair_cell,
};

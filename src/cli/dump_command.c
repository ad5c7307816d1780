// SPDX-License-Identifier: BSD-3-Clause
/* allranks dump: the events of a trace, one per line, in the order of time. */
#include "analysis/load.h"
#include "analysis/match.h"
#include "analysis/names.h"
#include "cli/commands.h"
#include "cli/mpi_text.h"
#include "cli/options.h"
#include "cli/screen.h"
#include "cli/selecting.h"
#include "cli/time_window.h"
#include "cli/trace_notes.h"
#include "cli/who.h"
#include "export/trace_steps.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: allranks dump [options] RUN|DIR\n"
    "\n"
    "Print the events of a trace (allranks run --trace) in the order of time: when, on which\n"
    "rank, what is entered and left, messages, parameters, counters. `+` and `-` are calls\n"
    "that began before the trace or the window, or had not ended by its end.\n";

struct dumping {
    const char *path;
    const char *match;
    struct ar_selection selection;
    struct ar_time_window window;
    bool csv, pairs;
    size_t n_rows;
    /* Of the run: */
    const struct ar_profile *p;
    struct ar_traces traces;
    const char **who;   /* of each thread */
    uint8_t *is_wanted; /* by node: 0 not known yet, 1 no, 2 yes */
};

static const char *const event_names[AR_N_TRACE_EVENT_KINDS] = {
    [AR_EVENT_ENTER] = "enter",     [AR_EVENT_LEAVE] = "leave",
    [AR_EVENT_MESSAGE] = "message", [AR_EVENT_PARAMETER] = "parameter",
    [AR_EVENT_COUNTER] = "counter", [AR_EVENT_OFF] = "off",
    [AR_EVENT_ON] = "on",           [AR_EVENT_FULL] = "full",
};

/* No other rank receives it: what a call on a window moves is no message. */
static bool is_one_sided(const struct ar_profile *p, const struct ar_trace_message *m)
{
    return (m->kind == AR_TRACE_SEND || m->kind == AR_TRACE_RECEIVE) && m->comm &&
           m->comm <= p->n_comms && p->comms[m->comm - 1].origin == AR_COMM_WINDOW;
}

static const char *event_name(const struct ar_profile *p, const struct ar_trace_event *event)
{
    if (event->kind != AR_EVENT_MESSAGE)
        return event_names[event->kind];
    if (is_one_sided(p, &event->message))
        return event->message.kind == AR_TRACE_SEND ? "put" : "get";
    return ar_step_message_name(event->message.kind);
}

static bool has_parameter(const struct ar_trace_event *event)
{
    return event->kind == AR_EVENT_PARAMETER || event->kind == AR_EVENT_COUNTER;
}

/* ---- what is shown ---------------------------------------------------------------------------- */

static bool is_wanted(const struct dumping *d, uint32_t node)
{
    if (!d->match)
        return true;
    if (node == AR_NO_ID || !d->is_wanted)
        return false;
    if (!d->is_wanted[node]) {
        const struct ar_wanted wanted = ar_wanted_parse(d->match);

        d->is_wanted[node] = ar_wanted_node(&wanted, d->p, node) ? 2 : 1;
    }
    return d->is_wanted[node] == 2;
}

/* As allranks mpi has it: mpi4py's own are shown as what they are duplicates of. */
static const char *comm_name(const struct ar_profile *p, uint32_t comm)
{
    return comm && comm <= p->n_comms ? ar_show_comm(p, ar_comm_shown(p, comm)) : "?";
}

static const struct ar_function *function_of(const struct ar_profile *p, uint32_t node)
{
    return &p->functions[p->nodes[node].function];
}

/* ---- text ------------------------------------------------------------------------------------- */

static void print_bytes(const char *what, uint64_t n_bytes)
{
    if (n_bytes)
        ar_print(" %s %" PRIu64 " B", what, n_bytes);
}

static void print_peer(const struct ar_trace_message *m)
{
    bool is_out = m->kind == AR_TRACE_SEND || m->kind == AR_TRACE_SEND_POSTED ||
                  m->kind == AR_TRACE_SEND_DONE;
    bool is_collective = m->kind >= AR_TRACE_COLLECTIVE && m->kind <= AR_TRACE_COLLECTIVE_DONE;

    if (m->peer == AR_PEER_ALL)
        return;
    ar_print(is_collective ? " root " : is_out ? " to " : " from ");
    if (m->peer < AR_PEER_UNKNOWN)
        ar_print("%" PRIu32, m->peer);
    else
        ar_print("any");
}

static void print_message(const struct dumping *d, const struct ar_trace_message *m)
{
    bool is_collective = m->kind >= AR_TRACE_COLLECTIVE && m->kind <= AR_TRACE_COLLECTIVE_DONE;

    print_peer(m);
    ar_print(" on %s", comm_name(d->p, m->comm));
    if (is_collective)
        ar_print(" number %" PRIu32, m->sequence);
    else if (!is_one_sided(d->p, m))
        ar_print(" tag %" PRId32, m->tag);
    print_bytes("out", m->bytes_out);
    print_bytes("in", m->bytes_in);
    if (m->request)
        ar_print(" request %" PRIx64, m->request);
}

static void print_parameter(const struct ar_trace_parameter *x)
{
    ar_print(" %.*s = ", (int)x->n_name, x->name);
    if (x->type == AR_TRACE_TEXT)
        ar_print("%.*s", (int)x->n_text, x->text);
    else if (x->type == AR_TRACE_SIGNED)
        ar_print("%" PRId64, (int64_t)x->value);
    else
        ar_print("%" PRIu64, x->value);
}

static void print_node(const struct dumping *d, uint32_t node)
{
    const struct ar_function *f = function_of(d->p, node);
    char room[AR_NAME_BYTES];

    ar_print(" %s", ar_plain_name(d->p, d->p->nodes[node].function, room));
    if (f->first_line)
        ar_print("  %s%s:%" PRIu32 "%s", ar_dim(),
                 ar_file_name(ar_strtab_text(&d->p->strings, f->file)), f->first_line, ar_plain());
}

static void print_text(const struct dumping *d, const struct ar_traces_event *e)
{
    const struct ar_trace_event *event = &e->event;
    bool is_step = event->kind == AR_EVENT_ENTER || event->kind == AR_EVENT_LEAVE;
    int indent = (int)(event->depth < 40 ? event->depth : 40);

    ar_print("%5" PRId64 ".%09" PRId64 "  %-10s %*s%c%s", e->ns / 1000000000, e->ns % 1000000000,
             d->who[e->thread], indent, "",
             event->is_implied ? (event->kind == AR_EVENT_ENTER ? '+' : '-') : ' ',
             event_name(d->p, event));
    if (is_step && event->node != AR_NO_ID)
        print_node(d, event->node);
    else if (event->kind == AR_EVENT_MESSAGE)
        print_message(d, &event->message);
    else if (has_parameter(event))
        print_parameter(&event->parameter);
    ar_print("\n");
}

/* ---- CSV -------------------------------------------------------------------------------------- */

static const char csv_head[] = "time_ns,process,rank,thread,event,implied,depth,node,function,file,"
                               "line,peer,communicator,tag,sequence,bytes_out,bytes_in,request,"
                               "parameter,value\n";

static void print_csv_text(const char *text, size_t n)
{
    bool is_plain = true;

    for (size_t i = 0; i < n; i++)
        is_plain = is_plain && !strchr(",\"\n\r", text[i]);
    if (is_plain) {
        ar_print("%.*s", (int)n, text);
        return;
    }
    ar_print("\"");
    for (const char *quote; (quote = memchr(text, '"', n));
         n -= (size_t)(quote + 1 - text), text = quote + 1)
        ar_print("%.*s\"\"", (int)(quote - text), text);
    ar_print("%.*s\"", (int)n, text);
}

static void print_csv_node(const struct dumping *d, uint32_t node)
{
    const struct ar_function *f = function_of(d->p, node);
    const char *file = ar_strtab_text(&d->p->strings, f->file);
    char room[AR_NAME_BYTES];
    const char *name = ar_plain_name(d->p, d->p->nodes[node].function, room);

    ar_print("%" PRIu32 ",", node);
    print_csv_text(name, strlen(name));
    ar_print(",");
    print_csv_text(file, strlen(file));
    ar_print(",%" PRIu32 ",", f->first_line);
}

/* CSV has what was recorded, and "?" where that is nothing. */
static const char *recorded_name(const struct ar_profile *p, uint32_t comm)
{
    const char *name =
        comm && comm <= p->n_comms ? ar_strtab_text(&p->strings, p->comms[comm - 1].name) : "";

    return *name ? name : "?";
}

static void print_csv_message(const struct dumping *d, const struct ar_trace_message *m)
{
    const char *comm = recorded_name(d->p, m->comm);

    if (m->peer < AR_PEER_UNKNOWN)
        ar_print("%" PRIu32, m->peer);
    ar_print(",");
    print_csv_text(comm, strlen(comm));
    ar_print(",%" PRId32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", m->tag, m->sequence,
             m->bytes_out, m->bytes_in, m->request);
}

static void print_csv_parameter(const struct ar_trace_parameter *x)
{
    print_csv_text(x->name, x->n_name);
    ar_print(",");
    if (x->type == AR_TRACE_TEXT)
        print_csv_text(x->text, x->n_text);
    else if (x->type == AR_TRACE_SIGNED)
        ar_print("%" PRId64, (int64_t)x->value);
    else
        ar_print("%" PRIu64, x->value);
}

static void print_csv(const struct dumping *d, const struct ar_traces_event *e)
{
    const struct ar_trace_event *event = &e->event;
    const struct ar_location *l = &d->p->locations[d->traces.items[e->thread].location];
    const struct ar_process *process = &d->p->processes[l->process];

    ar_print("%" PRId64 ",%" PRIu32 ",", e->ns, process->pid);
    if (process->world_rank != AR_RANK_NONE)
        ar_print("%" PRIu32, process->world_rank);
    ar_print(",%" PRIu32 ",%s,%d,%" PRIu32 ",", l->thread,
             event->kind == AR_EVENT_MESSAGE ? ar_step_message_name(event->message.kind)
                                             : event_names[event->kind],
             event->is_implied, event->depth);
    if (event->node != AR_NO_ID)
        print_csv_node(d, event->node);
    else
        ar_print(",,,,");
    if (event->kind == AR_EVENT_MESSAGE)
        print_csv_message(d, &event->message);
    else
        ar_print(",,,,,,,");
    if (has_parameter(event))
        print_csv_parameter(&event->parameter);
    else
        ar_print(",");
    ar_print("\n");
}

/* ---- messages with both ends ------------------------------------------------------------------ */

static const char csv_pairs_head[] =
    "sent_ns,received_ns,from_process,from_rank,from_thread,from_event,to_process,to_rank,"
    "to_thread,to_event,communicator,tag,bytes\n";

/* A send and its receive. */
struct message {
    int64_t sent_ns, received_ns;
    uint32_t sent, received; /* ops */
    uint32_t from, to;       /* threads */
};

/* Of an op, what matching does not need. */
struct content {
    uint64_t bytes;
    int32_t tag;
};

/* Event k of a thread is its op k. */
static enum ar_status read_contents(const struct dumping *d, const struct ar_trace_matches *m,
                                    struct content *contents, struct ar_error *err)
{
    enum ar_status status = AR_OK;

    for (size_t thread = 0; thread < d->traces.n && status == AR_OK; thread++) {
        struct ar_trace_cursor c;
        struct ar_trace_event event;
        size_t op = m->first[thread];

        ar_trace_seek(&c, &d->traces.items[thread], 0, UINT64_MAX);
        while (ar_trace_next(&c, &event))
            if (event.kind == AR_EVENT_MESSAGE && op < m->first[thread + 1])
                contents[op++] =
                    (struct content){.bytes = event.message.bytes_out, .tag = event.message.tag};
        if (c.status < 0)
            status = ar_fail(err, c.status, "%s", c.err.text);
        ar_trace_end(&c);
    }
    return status;
}

static int by_sending(const void *a, const void *b)
{
    const struct message *x = a, *y = b;

    if (x->sent_ns != y->sent_ns)
        return x->sent_ns < y->sent_ns ? -1 : 1;
    return (x->sent > y->sent) - (x->sent < y->sent);
}

static struct message message_of(const struct dumping *d, const struct ar_trace_matches *m,
                                 uint32_t sent)
{
    const struct ar_trace_op *send = &m->ops[sent], *receive = &m->ops[send->partner];
    struct message message = {.sent = sent, .received = send->partner};

    message.from = (uint32_t)ar_trace_matches_thread_of(m, sent);
    message.to = (uint32_t)ar_trace_matches_thread_of(m, send->partner);
    message.sent_ns = ar_traces_ns(&d->traces, message.from, send->start_ns);
    message.received_ns = ar_traces_ns(&d->traces, message.to, receive->end_ns);
    return message;
}

static bool is_in_window(const struct dumping *d, const struct ar_trace_matches *m,
                         const struct message *message)
{
    return message->received_ns >= d->window.from_ns && message->sent_ns <= d->window.to_ns &&
           (is_wanted(d, m->ops[message->sent].node) ||
            is_wanted(d, m->ops[message->received].node));
}

static void print_csv_end(const struct dumping *d, const struct ar_trace_matches *m,
                          uint32_t thread, uint32_t op)
{
    const struct ar_location *l = &d->p->locations[d->traces.items[thread].location];
    const struct ar_process *process = &d->p->processes[l->process];

    ar_print("%" PRIu32 ",", process->pid);
    if (process->world_rank != AR_RANK_NONE)
        ar_print("%" PRIu32, process->world_rank);
    ar_print(",%" PRIu32 ",%zu,", l->thread, op - m->first[thread]);
}

static void print_pair(const struct dumping *d, const struct ar_trace_matches *m,
                       const struct message *message, const struct content *content)
{
    const char *comm = d->csv ? recorded_name(d->p, m->ops[message->sent].comm)
                              : comm_name(d->p, m->ops[message->sent].comm);

    if (d->csv) {
        ar_print("%" PRId64 ",%" PRId64 ",", message->sent_ns, message->received_ns);
        print_csv_end(d, m, message->from, message->sent);
        print_csv_end(d, m, message->to, message->received);
        print_csv_text(comm, strlen(comm));
        ar_print(",%" PRId32 ",%" PRIu64 "\n", content->tag, content->bytes);
        return;
    }
    ar_print("%5" PRId64 ".%09" PRId64 "  %-6s -> %5" PRId64 ".%09" PRId64
             "  %-6s  on %s tag %" PRId32 " %" PRIu64 " B\n",
             message->sent_ns / 1000000000, message->sent_ns % 1000000000, d->who[message->from],
             message->received_ns / 1000000000, message->received_ns % 1000000000,
             d->who[message->to], comm, content->tag, content->bytes);
}

static void print_pairs_of(const struct dumping *d, const struct ar_trace_matches *m,
                           struct message *messages, const struct content *contents)
{
    size_t n = 0;

    for (uint32_t i = 0; i < m->n_ops; i++)
        if (ar_trace_op_sends(&m->ops[i]) && m->ops[i].partner != AR_NO_ID)
            messages[n++] = message_of(d, m, i);
    qsort(messages, n, sizeof *messages, by_sending);
    if (d->csv)
        ar_print_own(stdout, csv_pairs_head);
    for (size_t i = 0, n_shown = 0; i < n && n_shown < d->n_rows; i++)
        if (is_in_window(d, m, &messages[i])) {
            print_pair(d, m, &messages[i], &contents[messages[i].sent]);
            n_shown++;
        }
}

static enum ar_status print_pairs(const struct dumping *d, struct ar_error *err)
{
    struct ar_trace_matches m;
    enum ar_status status = ar_trace_matches_build(&m, &d->traces, err);
    struct message *messages;
    struct content *contents;

    if (status < 0)
        return status;
    messages = calloc(m.n_messages + 1, sizeof *messages);
    contents = calloc(m.n_ops + 1, sizeof *contents);
    status = messages && contents ? read_contents(d, &m, contents, err)
                                  : ar_fail(err, AR_NOMEM, "out of memory");
    if (status == AR_OK && messages && contents) {
        print_pairs_of(d, &m, messages, contents);
        ar_note_unmatched(d->path, &m);
    }
    free(contents);
    free(messages);
    ar_trace_matches_free(&m);
    return status;
}

/* ---- the command ------------------------------------------------------------------------------ */

/* "0", "0.2", "pid 4711": rank or process, and the thread where it is not the main one. */
static bool name_threads(struct dumping *d)
{
    d->who = calloc(d->traces.n, sizeof *d->who);
    for (size_t i = 0; d->who && i < d->traces.n; i++) {
        const struct ar_location *l = &d->p->locations[d->traces.items[i].location];
        char name[96], *copy;

        if (l->thread)
            snprintf(name, sizeof name, "%.60s.%" PRIu32, ar_who_name(d->p, l->process), l->thread);
        else
            snprintf(name, sizeof name, "%.80s", ar_who_name(d->p, l->process));
        copy = strdup(name);
        if (!copy)
            return false;
        d->who[i] = copy;
    }
    d->is_wanted = calloc(d->p->n_nodes + 1, 1);
    return d->who && d->is_wanted;
}

static void free_names(struct dumping *d)
{
    for (size_t i = 0; d->who && i < d->traces.n; i++)
        free((char *)d->who[i]);
    free(d->who);
    free(d->is_wanted);
}

static enum ar_status print_events(struct dumping *d, struct ar_error *err)
{
    struct ar_traces_cursor c;
    struct ar_traces_event event;
    size_t n = 0;

    if (ar_traces_begin(&c, &d->traces, d->window.from_ns, d->window.to_ns) < 0)
        return ar_traces_end(&c, err);
    if (d->csv)
        ar_print_own(stdout, csv_head);
    while (n < d->n_rows && ar_traces_next(&c, &event)) {
        if (!is_wanted(d, event.event.node))
            continue;
        if (d->csv)
            print_csv(d, &event);
        else
            print_text(d, &event);
        n++;
    }
    return ar_traces_end(&c, err);
}

static enum ar_status check_match(const struct dumping *d, struct ar_error *err)
{
    for (uint32_t i = 0; i < d->p->n_nodes; i++)
        if (is_wanted(d, i))
            return AR_OK;
    return ar_fail(err, AR_BAD, "no function %s (see: allranks report %s)", d->match,
                   ar_quote(d->path));
}

static int dump(struct dumping *d, struct ar_run *run)
{
    struct ar_error err;
    enum ar_status status;

    d->p = ar_run_profile(run, AR_FORM_RECORDED);
    if (ar_traces_open(&d->traces, d->p, &err) < 0)
        return ar_complain_of(d->path, &err);
    ar_note_clocks(d->path, &d->traces);
    ar_note_short(d->path, &d->traces);
    status = ar_traces_check_window(&d->traces, d->window.from_ns, &err);
    if (status == AR_OK && !name_threads(d))
        status = ar_fail(&err, AR_NOMEM, "out of memory");
    if (status == AR_OK && d->match)
        status = check_match(d, &err);
    if (status == AR_OK)
        status = d->pairs ? print_pairs(d, &err) : print_events(d, &err);
    free_names(d);
    ar_traces_close(&d->traces);
    return status < 0 ? ar_complain_of(d->path, &err) : AR_EXIT_OK;
}

int ar_command_dump(int argc, char **argv)
{
    struct dumping d = {.n_rows = 0};
    struct ar_run *run;
    const struct ar_option options[] = {
        AR_HEADING("options"),
        AR_WINDOW_OPTIONS(&d.window),
        {.name = "match",
         .kind = AR_OPTION_TEXT,
         .to = &d.match,
         .value = "X",
         .help = "only events of functions X: a name, FILE:LINE or a pattern"},
        {.name = "pairs",
         .kind = AR_OPTION_FLAG,
         .to = &d.pairs,
         .help = "instead of events: messages of which both ends are known, when, from\n"
                 "where to where, tag and bytes; dump says how many are not known, and why"},
        AR_CSV_OPTION(&d.csv, "as CSV, with all that is known of each event"),
        AR_ROWS_OPTION(&d.n_rows, "so many events (default and 0: all of them)"),
        AR_HELP_OPTION,
        AR_SELECTION_OPTIONS(&d.selection),
    };
    int status =
        ar_options_parse(argc, argv, options, sizeof options / sizeof *options, usage, NULL);

    if (status >= 0)
        return status;
    if (argc - optind != 1)
        return ar_complain_runs(argc - optind, "dump RUN");
    if (!ar_window_read(&d.window))
        return AR_EXIT_BAD;
    d.n_rows = d.n_rows ? d.n_rows : SIZE_MAX;
    d.path = argv[optind];
    ar_load_traces = true;
    status = ar_open_run(&run, &(struct ar_run_choice){.path = d.path, .selection = &d.selection});
    if (status >= 0)
        return status;
    status = dump(&d, run);
    ar_run_close(run);
    return status;
}

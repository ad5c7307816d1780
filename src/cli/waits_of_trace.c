// SPDX-License-Identifier: BSD-3-Clause
#include "cli/waits_of_trace.h"

#include "analysis/names.h"
#include "analysis/trace_waits.h"
#include "cli/screen.h"
#include "cli/shown.h"
#include "cli/trace_notes.h"
#include "export/tables_json.h"
#include "run/subjects.h"

#include <inttypes.h>
#include <stdio.h>

#define SCREEN_SITES 8
#define SCREEN_RANKS 6
#define SCREEN_FUNCTIONS 10

struct showing {
    const struct ar_trace_waits_shown *how;
    struct ar_run *run;
    const struct ar_profile *p;
    struct ar_trace_matches m;
    struct ar_trace_waits w;
    double all_ns; /* wall time of all ranks */
};

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static size_t rows_of(const struct showing *s, size_t n, size_t n_screen)
{
    size_t most = s->how->n_rows == SIZE_MAX ? n_screen : s->how->n_rows ? s->how->n_rows : n;

    return n < most ? n : most;
}

static void print_more(size_t n)
{
    if (n)
        ar_print("    %s%s: -n 0 shows all%s\n", ar_dim(), ar_show_items(n, "more", "more"),
                 ar_plain());
}

static void print_head(const struct showing *s)
{
    const char *name = ar_file_name(ar_profile_fact_text(s->p, "program"));

    ar_print("%s", ar_bold());
    ar_print_fit(*name ? name : ar_file_name(s->how->path), *name ? ar_count_columns(name, 30) : 20,
                 AR_KEEP_START);
    ar_print("%s   %s on %s   from the trace\n", ar_plain(),
             ar_show_items(s->p->n_roots, "rank", "ranks"),
             ar_show_items(ar_count_hosts(s->p), "host", "hosts"));
}

/* ---- waits ------------------------------------------------------------------------------------ */

static const char *class_words(enum ar_wait_class class)
{
    static const char *const words[AR_N_WAIT_CLASSES] = {
        [AR_WAIT_BARRIER] = "barrier",
        [AR_WAIT_ALL] = "N-to-N",
        [AR_WAIT_LATE_BROADCAST] = "1-to-N, late root",
        [AR_WAIT_EARLY_REDUCE] = "N-to-1, early root",
        [AR_WAIT_EARLY_SCAN] = "scan",
        [AR_WAIT_LATE_SENDER] = "late sender",
        [AR_WAIT_LATE_RECEIVER] = "late receiver",
        [AR_WAIT_LATE_MEMBER] = "late member",
        [AR_WAIT_LATE_PROGRESS] = "late progress",
    };

    return words[class];
}

#define OPERATION_COLUMNS 9

static void print_place(const struct showing *s, struct ar_place place, size_t width)
{
    struct ar_bytes text = {0};
    char line[16];

    if (place.function != AR_NO_ID) {
        snprintf(line, sizeof line, ":%" PRIu32, place.line);
        ar_put_words(&text, ar_file_name(ar_place_file(s->p, place)));
        ar_put_words(&text, line);
    }
    ar_bytes_u8(&text, 0);
    if (!text.bad)
        ar_print_fit((const char *)text.data, width, AR_KEEP_END);
    ar_bytes_free(&text);
}

static void print_site(const struct showing *s, const struct ar_trace_wait_site *site, size_t width)
{
    ar_print(" %-18s  ", class_words(site->class));
    ar_print_fit(site->node == AR_NO_ID ? "" : ar_show_operation(s->p, site->node),
                 OPERATION_COLUMNS, AR_KEEP_START);
    ar_print(" ");
    print_place(s, site->place, width - OPERATION_COLUMNS - 1);
    ar_print(" %6s %10.6f %5s %9.6f\n", ar_show_count(site->n), (double)site->waited_ns / 1e9,
             ar_show_share(share((double)site->waited_ns, s->all_ns)),
             (double)site->indirect_ns / 1e9);
}

static void print_ranks(const struct showing *s)
{
    size_t n = rows_of(s, s->p->n_roots, SCREEN_RANKS);

    ar_print("\n%s%-22s %12s %12s %12s %12s%s\n", ar_bold(), "Seconds of each rank", "waited",
             "indirect", "caused", "on path", ar_plain());
    for (size_t i = 0; i < n; i++) {
        const struct ar_trace_blame *blame = &s->w.processes[i];

        ar_print(" %-21s %12.6f %12.6f %12.6f %12.6f\n", ar_show_process(s->p, (uint32_t)i),
                 (double)blame->waited_ns / 1e9, (double)blame->indirect_ns / 1e9,
                 (double)blame->caused_ns / 1e9, (double)blame->path_ns / 1e9);
    }
    print_more(s->p->n_roots - n);
}

static void print_waits(const struct showing *s)
{
    size_t n = rows_of(s, s->w.n_sites, SCREEN_SITES);
    size_t width = s->how->n_columns > 60 ? s->how->n_columns - 57 : 12;

    print_head(s);
    ar_print("waiting %s in all (%s)", ar_show_duration((double)s->w.waited_ns),
             ar_show_share(share((double)s->w.waited_ns, s->all_ns)));
    if (s->w.indirect_ns)
        ar_print(", %s of it for ranks that waited, too",
                 ar_show_duration((double)s->w.indirect_ns));
    ar_print("\n");
    if (s->w.n_sites == 0) {
        ar_print(s->m.traces->hosts.n_unknown
                     ? "\nNo rank waited for another one on a host whose clock is known.\n"
                     : "\nNo rank waited for another one.\n");
        return;
    }
    ar_print("\n%s%-19s  %-*s %6s %10s %5s %9s%s\n", ar_bold(), "Waits by line", (int)width, "",
             "times", "seconds", "share", "indirect", ar_plain());
    for (size_t i = 0; i < n; i++)
        print_site(s, &s->w.sites[i], width);
    print_more(s->w.n_sites - n);
    print_ranks(s);
}

/* ---- the critical path ------------------------------------------------------------------------ */

static void print_function(const struct showing *s, const struct ar_trace_blame *blame,
                           size_t width, double length_ns)
{
    const char *name =
        blame->item == AR_NO_ID ? "not known" : ar_show_function(s->p, blame->item, width);

    ar_print(" ");
    ar_print_fit(*name ? name : "outside of functions", width, AR_KEEP_START);
    ar_print(" %12.6f %6s %12.6f\n", (double)blame->path_ns / 1e9,
             ar_show_share(share((double)blame->path_ns, length_ns)),
             (double)blame->caused_ns / 1e9);
}

static void print_path_ranks(const struct showing *s, double length_ns)
{
    size_t n = rows_of(s, s->p->n_roots, SCREEN_RANKS);

    ar_print("\n%s%-30s %12s %6s%s\n", ar_bold(), "On which rank it is", "seconds", "share",
             ar_plain());
    for (size_t i = 0; i < n; i++)
        ar_print(" %-29s %12.6f %6s\n", ar_show_process(s->p, (uint32_t)i),
                 (double)s->w.processes[i].path_ns / 1e9,
                 ar_show_share(share((double)s->w.processes[i].path_ns, length_ns)));
    print_more(s->p->n_roots - n);
}

static void print_path(const struct showing *s)
{
    double length_ns = (double)(s->w.end_ns - s->w.start_ns);
    size_t n = rows_of(s, s->w.n_functions, SCREEN_FUNCTIONS);
    size_t width = s->how->n_columns > 60 ? s->how->n_columns - 36 : 24;

    print_head(s);
    ar_print("critical path: %s long, in %s\n", ar_show_duration(length_ns),
             ar_show_items(s->w.n_path, "part", "parts"));
    ar_print("\n%s%-*s %12s %6s %12s%s\n", ar_bold(), (int)width + 1,
             "What it consists of, without what is called", "seconds", "share", "others wait",
             ar_plain());
    for (size_t i = 0; i < n; i++)
        print_function(s, &s->w.functions[i], width, length_ns);
    print_more(s->w.n_functions - n);
    print_path_ranks(s, length_ns);
}

/* ---- tables ----------------------------------------------------------------------------------- */

static int print_json(const struct showing *s, const struct ar_subject *of)
{
    static const char *const waits[] = {"trace_waiting", "trace_waits", "trace_wait_ranks", NULL};
    static const char *const path[] = {"critical_path", "critical_path_functions",
                                       "trace_wait_ranks", "critical_path_parts", NULL};
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};
    enum ar_status status;

    ar_json_begin(&j, "waits");
    ar_json_about(&j, s->run);
    status = ar_json_tables(&j, of, s->how->critical_path ? path : waits);
    ar_json_end(&j);
    return ar_print_json(&j, status);
}

static int show(const struct showing *s)
{
    const struct ar_shown_trace trace = {.w = &s->w};
    const struct ar_subject subject = {.run = s->run, .trace = &trace};

    if (s->how->json)
        return print_json(s, &subject);
    if (s->how->csv)
        return ar_print_table(
            &subject, s->how->critical_path ? "critical_path_parts" : "trace_wait_list", NULL);
    if (s->how->critical_path)
        print_path(s);
    else
        print_waits(s);
    return AR_EXIT_OK;
}

static enum ar_status find(struct showing *s, const struct ar_traces *traces, int *exit_status,
                           struct ar_error *err)
{
    enum ar_status status = ar_trace_matches_build(&s->m, traces, err);

    if (status < 0)
        return status;
    status = ar_trace_waits_build(&s->w, &s->m, err);
    if (status == AR_OK) {
        for (size_t i = 0; i < s->p->n_roots; i++)
            s->all_ns += (double)s->p->processes[i].wall_ns;
        ar_note_clocks(s->how->path, traces);
        ar_note_early_ends(s->how->path, traces);
        ar_note_unmatched(s->how->path, &s->m);
        *exit_status = show(s);
        ar_trace_waits_free(&s->w);
    }
    ar_trace_matches_free(&s->m);
    return status;
}

int ar_show_trace_waits(struct ar_run *run, const struct ar_trace_waits_shown *how)
{
    struct showing s = {.how = how, .run = run, .p = ar_run_profile(run, AR_FORM_RECORDED)};
    struct ar_traces traces;
    struct ar_error err;
    enum ar_status status;
    int exit_status = AR_EXIT_BAD;

    if (!s.p)
        return ar_complain("out of memory");
    if (ar_traces_open(&traces, s.p, &err) < 0)
        return ar_complain_of(how->path, &err);
    status = find(&s, &traces, &exit_status, &err);
    ar_traces_close(&traces);
    return status < 0 ? ar_complain_of(how->path, &err) : exit_status;
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * findings: what holds a program back, in sentences, those with most time to be won first.
 *
 * Each rule is a file of its own in this folder, rule_*.c, which says what it looks for, from which threshold on
 * and why from there, and what it says. All of them look at the same evidence, which is built once. Where
 * there is nothing to say nothing is said.
 *
 * Rules are asked in the order of findings.c, the special before the general: a wait that one of them has
 * told is told by no other.
 *
 * Life cycle: the profile, with calls folded (analysis/fold.h), the tables of MPI and the waits outlive the call, not
 * the result, which has texts of its own but for places. Threads: one owner.
 * Cost: linear in nodes and values.
 *
 *     struct ar_findings f;
 *     if (ar_findings_find(&f, &profile, &mpi, &waits, &hot_lines, "heat.allranks") < 0) ...
 *     puts(f.items[0].text);
 *     ar_findings_free(&f);
 */
#pragma once

#include "analysis/efficiency.h"
#include "analysis/hot_lines.h"
#include "analysis/mpi_tables.h"
#include "analysis/own_time.h"
#include "findings/wait_words.h"

#define AR_MOST_FINDINGS 7
/*
 * Of all ranks' time: what could be won at least, to be worth a sentence. Less than that is what a run
 * differs from the next one.
 */
#define AR_WORTH_SAYING 0.02

struct ar_finding {
    const char *rule;      /* "imbalance" … */
    char *text;            /* a sentence without its full stop */
    char *command;         /* that shows more; its words are quoted as a shell needs them */
    double won_ns;         /* that could be won, over all ranks, at most */
    struct ar_place place; /* function AR_NO_ID: it is about no place */
    uint32_t *processes;   /* that it is about, in order */
    size_t n_processes;
};

struct ar_findings {
    struct ar_finding *items; /* the largest first */
    size_t n, cap;
    struct ar_efficiency
        efficiency; /* of the run; its wall time is 0 where there are no ranks to compare */
    struct ar_mpi_row
        *calls; /* of MPI by path, which rules look at: for callers that show them, too */
    size_t n_calls;
};

/*
 * Ranks waited for one that was in some function, mostly, be it at several lines; or in turns for others that were; or what
 * is left of the wait at one line: many reasons of little, or none that is known.
 */
struct ar_story {
    const struct ar_wait_site *site; /* the line that has most of it */
    size_t number;                   /* of that, as `allranks waits` counts */
    struct ar_wait_reason reason; /* the largest, as that line has it; nothing if none is known */
    uint32_t function;            /* to blame; AR_NO_ID: not known */
    uint32_t late;                /* process that was late; AR_NO_ID: several */
    double waited_ns, here_ns;    /* at all lines, and at that one */
    size_t n_sites;
    bool is_rest; /* what is left of a line: the reason has only a part of it */
    bool is_told;
};

struct ar_evidence {
    struct ar_profile *p;
    const struct ar_totals *t;
    const char *path; /* of the run, for commands */
    double all_ns;    /* wall time of all ranks */
    const struct ar_waits *w;
    const struct ar_hot_lines *hot_lines; /* NULL: not known */
    struct ar_wait_reasons *reasons;      /* of the largest waits */
    size_t n_reasons;
    struct ar_story *stories; /* that are worth a sentence, the largest first */
    size_t n_stories;
    struct ar_mpi_request_row *requests;
    size_t n_requests;
    struct ar_own_time own;
    struct ar_child_waits children;
    double *importing_ns; /* by root: in imports, but for what MPI did meanwhile */
    struct ar_findings *out;
    bool bad; /* no memory */
};

AR_MUST_CHECK enum ar_status ar_findings_find(struct ar_findings *out, struct ar_profile *p,
                                              const struct ar_mpi *m, const struct ar_waits *w,
                                              const struct ar_hot_lines *hot_lines,
                                              const char *path);
void ar_findings_free(struct ar_findings *f);

/* ---- for rules -------------------------------------------------------------------------------- */

/* Whether so much time, of all ranks, is worth a sentence. */
bool ar_is_worth_saying(const struct ar_evidence *e, double ns);
/*
 * A finding without a text yet; NULL: no memory, and the evidence is bad. Its text and its command are put
 * together with printf's formats.
 */
struct ar_finding *ar_finding_add(struct ar_evidence *e, const char *rule, double won_ns);
void ar_finding_say(struct ar_evidence *e, struct ar_finding *f, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* "allranks waits 'my run.allranks' 1", where what comes after the run is quoted if it has to be, or "". */
void ar_finding_show(struct ar_evidence *e, struct ar_finding *f, const char *command,
                     const char *after);
/* It is about these processes, all of them or one more. */
void ar_finding_about(struct ar_evidence *e, struct ar_finding *f, const uint32_t *processes,
                      size_t n);
/* Where a function begins, or where a call is made. */
struct ar_place ar_place_of_function(const struct ar_profile *p, uint32_t function);
/* "halo.py:51 exchange (hot line 55)"; "region assemble" where there is no line. */
const char *ar_show_culprit(const struct ar_evidence *e, uint32_t function);
/* "halo.py:51", as commands take it; its name where it has no line. */
const char *ar_show_function_line(const struct ar_profile *p, uint32_t function);
/* It is code of Python, or a region or task: neither MPI, nor importing, nor a function in C. */
bool ar_is_code(const struct ar_profile *p, uint32_t function);
const char *ar_function_name(const struct ar_profile *p, uint32_t function);

/* The sentence of a wait, as that rule, with `more` after it; marks the story as told. */
void ar_tell_story(struct ar_evidence *e, struct ar_story *story, const char *rule,
                   struct ar_place place, const char *more);
bool ar_is_point_to_point(const struct ar_story *story);
/* The time of a row within MPI, without waits for others at its line: as `allranks mpi` shows it. */
double ar_moving_ns(const struct ar_evidence *e, const struct ar_mpi_row *row);
/* ", with 2 similar lines 538 ms (29 %)": all lines together; "" where there is one. */
const char *ar_show_similar(const struct ar_evidence *e, size_t n_lines, double all_ns);
/* That was waited for others at a line, for whatever reason. */
double ar_waited_at(const struct ar_evidence *e, struct ar_place place);
bool ar_is_same_place(struct ar_place a, struct ar_place b);
/* An import that is within no other. */
bool ar_is_outer_import(const struct ar_profile *p, uint32_t node);
/*
 * Whether what is left of a call's time without waits is that of moving data: not if waits were not recorded, or not kept
 * as in a part of a run, nor if of more than a tenth of them it is not known who met whom, nor if ranks share processors: then
 * they wait for a turn there.
 */
bool ar_is_moving_known(struct ar_evidence *e);
/* More of them on a host than processors that they may use; false where these are not known. */
bool ar_do_ranks_share(struct ar_evidence *e);
/* Messages between two ranks, by themselves: no method of many. */
bool ar_is_message(const struct ar_evidence *e, const struct ar_mpi_row *row);
/*
 * The own time of a function on each root (analysis/own_time.h), and calls of it. To be freed; NULL: no memory, and the
 * evidence is bad.
 */
struct ar_busy_time {
    double ns;
    uint64_t n_calls;
};
struct ar_busy_time *ar_times_in(struct ar_evidence *e, uint32_t function);

void ar_rule_io_on_one_rank(struct ar_evidence *e);
void ar_rule_pickling(struct ar_evidence *e);
void ar_rule_polling(struct ar_evidence *e);
void ar_rule_idle_ranks(struct ar_evidence *e);
void ar_rule_slow_node(struct ar_evidence *e);
void ar_rule_late_sender(struct ar_evidence *e);
void ar_rule_late_receiver(struct ar_evidence *e);
void ar_rule_serial_phase(struct ar_evidence *e);
void ar_rule_imbalance(struct ar_evidence *e);
void ar_rule_wait(struct ar_evidence *e);
void ar_rule_small_messages(struct ar_evidence *e);
void ar_rule_no_overlap(struct ar_evidence *e);
void ar_rule_imports(struct ar_evidence *e);
void ar_rule_oversubscription(struct ar_evidence *e);
void ar_rule_overhead(struct ar_evidence *e);

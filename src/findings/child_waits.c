// SPDX-License-Identifier: BSD-3-Clause
#include "findings/child_waits.h"

#include "analysis/own_time.h"
#include "base/text.h"
#include "findings/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_SHARE 0.5 /* of a function's time: with less, it is something else that takes long */
#define MOST_CALLERS_UP                                                                            \
    5u /* from a poll to the method of subprocess or multiprocessing that needs it */

static const char *name_of(const struct ar_profile *p, uint32_t node)
{
    return ar_strtab_text(&p->strings, p->functions[p->nodes[node].function].name);
}

static bool starts_processes(const char *file)
{
    static const char *const files[] = {"/subprocess.py", "/multiprocessing/popen_fork.py",
                                        "/multiprocessing/popen_forkserver.py"};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (ar_ends_with(file, files[i]))
            return true;
    return false;
}

static bool is_below_subprocess(const struct ar_profile *p, uint32_t node)
{
    for (unsigned i = 0; i < MOST_CALLERS_UP && node != AR_NO_ID && node != 0; i++) {
        const struct ar_function *f = &p->functions[p->nodes[node].function];

        if (starts_processes(ar_strtab_text(&p->strings, f->file)))
            return true;
        node = p->nodes[node].parent;
    }
    return false;
}

/* Names are as cProfile has them. A poll waits for a child where it reads what the child writes. */
static bool is_child_wait(const struct ar_profile *p, uint32_t node)
{
    static const char *const waits[] = {"posix.waitpid", "posix.wait3", "posix.wait4",
                                        "posix.waitid",  "posix.wait>", "posix.system"};
    static const char *const polls[] = {"'poll' of 'select.", "select.select", "'read' of '_io."};
    const char *name = name_of(p, node);

    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (strstr(name, waits[i]))
            return true;
    for (size_t i = 0; i < sizeof polls / sizeof *polls; i++)
        if (strstr(name, polls[i]))
            return is_below_subprocess(p, p->nodes[node].parent);
    return false;
}

/* ---- which functions --------------------------------------------------------------------------- */

struct sums {
    double own_ns, waiting_ns;
};

static void add_up(const struct ar_own_time *own, const struct ar_totals *t, struct sums *sums)
{
    for (uint32_t node = 0; node < own->p->n_nodes; node++) {
        struct sums *of = &sums[own->p->nodes[own->owner[node]].function];

        of->own_ns += t->self[node].sum;
        of->waiting_ns += is_child_wait(own->p, node) ? t->self[node].sum : 0;
    }
}

enum ar_status ar_child_waits_build(struct ar_child_waits *out, const struct ar_profile *p,
                                    const struct ar_totals *t)
{
    struct sums *sums = calloc(p->n_functions + 1, sizeof *sums);
    struct ar_own_time own = {0};
    enum ar_status status = AR_NOMEM;

    *out = (struct ar_child_waits){.p = p,
                                   .is_wait = calloc(p->n_functions + 1, sizeof *out->is_wait)};
    if (sums && out->is_wait)
        status = ar_own_time_open(&own, p, t);
    if (status == AR_OK) {
        add_up(&own, t, sums);
        for (size_t i = 0; i < p->n_functions; i++)
            out->is_wait[i] =
                sums[i].waiting_ns > 0 && sums[i].waiting_ns >= LEAST_SHARE * sums[i].own_ns;
        ar_own_time_close(&own);
    }
    free(sums);
    if (status < 0)
        ar_child_waits_free(out);
    return status;
}

void ar_child_waits_free(struct ar_child_waits *c)
{
    free(c->is_wait);
    *c = (struct ar_child_waits){0};
}

/* ---- what for --------------------------------------------------------------------------------- */

/* What a process has started: the first command, and how many differ. */
struct commands {
    const char *first;
    size_t n;
};

/* "4711-815 gcc -c x.c", of the process with that pid and start. */
static const char *command_in(const char *fact, const struct ar_process *process)
{
    char start[64];

    snprintf(start, sizeof start, "%" PRIu32 "-%" PRIu64 " ", process->pid, process->pid_start);
    return ar_starts_with(fact, start) ? fact + strlen(start) : NULL;
}

static struct commands started_by(const struct ar_profile *p, uint32_t process)
{
    struct commands commands = {.first = ""};

    for (size_t i = 0; i < p->n_facts; i++) {
        const char *command = NULL;

        if (strcmp(ar_strtab_text(&p->strings, p->facts[i].key), "started") == 0)
            command =
                command_in(ar_strtab_text(&p->strings, p->facts[i].value), &p->processes[process]);
        if (command && commands.n++ == 0)
            commands.first = command;
    }
    return commands;
}

/* Was a child of it forked? Then it runs the same program. */
static bool has_forked(const struct ar_profile *p, uint32_t process)
{
    for (size_t i = p->n_roots; i < p->n_processes; i++)
        if (p->processes[i].root == process &&
            p->processes[i].command == p->processes[process].command)
            return true;
    return false;
}

const char *ar_show_child(const struct ar_child_waits *c, uint32_t process)
{
    struct commands commands = {.first = ""};
    char *text = ar_text_buffer();

    if (process != AR_NO_ID)
        commands = started_by(c->p, process);
    if (commands.n > 1)
        snprintf(text, AR_TEXT_BYTES, "a child process (%s and %zu more)", commands.first,
                 commands.n - 1);
    else if (commands.n)
        snprintf(text, AR_TEXT_BYTES, "a child process (%s)", commands.first);
    else
        snprintf(text, AR_TEXT_BYTES, "a %schild process",
                 process != AR_NO_ID && has_forked(c->p, process) ? "forked " : "");
    return text;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "findings/child_waits.h"

#include "base/text.h"
#include "findings/words.h"

#include <stdio.h>
#include <string.h>

#define LEAST_SHARE 0.5 /* of a function's time: with less, it is something else that takes long */
#define MOST_COMMAND 40 /* characters of a command in a sentence */
#define MOST_CALLERS_UP 4u /* from a poll to the method of subprocess that needs it */

static const char *name_of(const struct ar_profile *p, uint32_t node)
{
    return ar_strtab_text(&p->strings, p->functions[p->nodes[node].function].name);
}

static bool is_below_subprocess(const struct ar_profile *p, uint32_t node)
{
    for (unsigned i = 0; i < MOST_CALLERS_UP && node != AR_NO_ID && node != 0; i++) {
        const struct ar_function *f = &p->functions[p->nodes[node].function];

        if (ar_ends_with(ar_strtab_text(&p->strings, f->file), "/subprocess.py"))
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

/* What the child was started as, if one was recorded and all of them are the same; "": not known. */
static const char *command_of(const struct ar_profile *p, uint32_t process)
{
    const char *command = "";

    for (uint32_t i = 0; i < p->n_locations && process != AR_NO_ID; i++) {
        uint32_t child = p->locations[i].process;
        const char *text = ar_strtab_text(&p->strings, p->processes[child].command);

        if (child < p->n_roots || ar_profile_root(p, i) != process)
            continue;
        if (*command && strcmp(command, text) != 0)
            return "";
        command = text;
    }
    return command;
}

const char *ar_show_child_wait(const struct ar_evidence *e, uint32_t function, uint32_t process)
{
    char *text = ar_text_buffer();
    double waiting_ns = 0, ns = 0;
    const char *command = command_of(e->p, process);

    if (function == AR_NO_ID)
        return "";
    for (uint32_t node = e->own.first[function]; node != AR_NO_ID; node = e->own.next[node]) {
        ns += e->t->self[node].sum;
        waiting_ns += is_child_wait(e->p, node) ? e->t->self[node].sum : 0;
    }
    if (waiting_ns <= 0 || waiting_ns < LEAST_SHARE * ns)
        return "";
    snprintf(text, AR_TEXT_BYTES, ", waiting for a child process%s%.*s%s%s", *command ? " (" : "",
             MOST_COMMAND, command, strlen(command) > MOST_COMMAND ? " .." : "",
             *command ? ")" : "");
    return text;
}

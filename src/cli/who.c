// SPDX-License-Identifier: BSD-3-Clause
#include "cli/who.h"

#include "analysis/imbalance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_GENERATIONS 64
#define BUFFER_BYTES 64

/* Pids come again: of several it is the youngest that is older than the child. */
static uint32_t parent_of(const struct ar_profile *p, uint32_t process)
{
    const struct ar_process *child = &p->processes[process];
    uint32_t found = AR_NO_ID;

    for (uint32_t i = 0; child->parent_pid && i < p->n_processes; i++) {
        const struct ar_process *parent = &p->processes[i];

        if (i != process && parent->pid == child->parent_pid && parent->host == child->host &&
            parent->start_real_ns <= child->start_real_ns &&
            (found == AR_NO_ID || parent->start_real_ns > p->processes[found].start_real_ns))
            found = i;
    }
    return found;
}

uint32_t ar_who_root(const struct ar_profile *p, uint32_t process)
{
    uint32_t root = AR_NO_ID;

    for (int i = 0; i < MAX_GENERATIONS && process != AR_NO_ID; i++) {
        process = parent_of(p, process);
        if (process != AR_NO_ID)
            root = process;
    }
    return root;
}

static uint32_t rank_of(const struct ar_profile *p, uint32_t process)
{
    return process == AR_NO_ID ? AR_RANK_NONE : p->processes[process].world_rank;
}

static char *next_buffer(void)
{
    static char buffers[4][BUFFER_BYTES];
    static int n_used;

    return buffers[n_used++ % 4];
}

const char *ar_who_name(const struct ar_profile *p, uint32_t process)
{
    char *text = next_buffer();
    uint32_t root = ar_who_root(p, process), rank = rank_of(p, root);

    if (rank != AR_RANK_NONE)
        snprintf(text, BUFFER_BYTES, "rank %u child %u", rank, p->processes[process].pid);
    else if (root == AR_NO_ID && rank_of(p, process) != AR_RANK_NONE)
        snprintf(text, BUFFER_BYTES, "rank %u", rank_of(p, process));
    else
        snprintf(text, BUFFER_BYTES, "pid %u", p->processes[process].pid);
    return text;
}

const char *ar_who_count(const struct ar_profile *p)
{
    size_t n_ranks = 0, n_children = 0, n;
    char *text = next_buffer();

    for (uint32_t i = 0; i < p->n_processes; i++)
        if (ar_who_root(p, i) != AR_NO_ID)
            n_children++;
        else if (rank_of(p, i) != AR_RANK_NONE)
            n_ranks++;
    n = p->n_processes - n_children;
    if (n_ranks == n && n)
        snprintf(text, BUFFER_BYTES, "%zu %s", n, n == 1 ? "rank" : "ranks");
    else
        snprintf(text, BUFFER_BYTES, "%zu %s", n, n == 1 ? "process" : "processes");
    if (n_children)
        snprintf(text + strlen(text), BUFFER_BYTES - strlen(text), " and %zu %s", n_children,
                 n_children == 1 ? "child" : "children");
    return text;
}

/* ---- lists ------------------------------------------------------------------------------------ */

static void put(struct ar_bytes *text, const char *words)
{
    ar_bytes_put(text, words, strlen(words));
}

static bool is_rank(const struct ar_profile *p, uint32_t process)
{
    return rank_of(p, process) != AR_RANK_NONE && ar_who_root(p, process) == AR_NO_ID;
}

/* Ranks from `i` on, each once, up to the first process that is no rank; returns the index of the last one. */
static size_t put_ranks(const struct ar_profile *p, const uint32_t *processes, size_t n, size_t i,
                        struct ar_bytes *text)
{
    uint32_t *ranks = malloc((n - i) * sizeof *ranks);
    size_t n_ranks = 0, end = i;

    for (; end < n && is_rank(p, processes[end]); end++) {
        uint32_t rank = rank_of(p, processes[end]);

        if (ranks && (!n_ranks || ranks[n_ranks - 1] != rank))
            ranks[n_ranks++] = rank;
    }
    text->bad = text->bad || !ranks;
    ar_rank_ranges_text(text, ranks, n_ranks, (struct ar_range_style){.splits_pairs = true});
    free(ranks);
    return end - 1;
}

/* After the first of several of a kind the word need not be said again. */
static void put_other(const struct ar_profile *p, uint32_t process, bool *said_pid,
                      struct ar_bytes *text)
{
    const char *name = ar_who_name(p, process);
    bool is_child = strncmp(name, "rank ", 5) == 0;

    put(text, is_child || *said_pid ? strchr(name, ' ') + 1 : name);
    *said_pid = !is_child;
}

void ar_who_list(const struct ar_profile *p, const uint32_t *processes, size_t n,
                 struct ar_bytes *text)
{
    bool said_pid = false;

    for (size_t i = 0; i < n; i++) {
        if (i && processes[i] == processes[i - 1])
            continue;
        if (i)
            put(text, ",");
        if (is_rank(p, processes[i]))
            i = put_ranks(p, processes, n, i, text);
        else
            put_other(p, processes[i], &said_pid, text);
    }
    ar_bytes_u8(text, '\0');
}

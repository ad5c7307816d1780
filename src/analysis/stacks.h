// SPDX-License-Identifier: BSD-3-Clause
/*
 * stacks: where every thread of a run is, or was last, put together.
 *
 * A thread's stack is the ancestors of the node that it is in. Its frames are functions, each with the
 * line *in it* at which it called the next one, as in a traceback; stacks that begin alike share the
 * beginning in one tree:
 *
 *     8  <module>  heat.py:112               frame: function and line
 *     8    step    heat.py:40
 *     7      solve   solver.py:88
 *     7        MPI_Allreduce            <- group: ranks 0-5,7
 *     1      exchange  halo.py:33
 *     1        MPI_Recv                 <- group: rank 6
 *
 * Threads with the same stack, of processes in the same state, are a group. Main threads come
 * before others, then the larger groups.
 *
 * Only threads that have not ended are in it, so none of a process that has finished.
 *
 * Life cycle: built from a profile, which must outlive it and stay as it is. Read-only once built.
 *
 *     struct ar_stacks s;
 *     if (ar_stacks_build(&s, &profile, false) < 0) ...
 *     s.groups[0].n_threads …
 *     ar_stacks_free(&s);
 */
#pragma once

#include "format/profile.h"

struct ar_frame {
    uint32_t function;
    /*
     * In this function: where it made the call that is open in it; 0: not known. The innermost
     * function has none, unless what it called is none of Python: a region, C or MPI.
     */
    uint32_t line;
};

struct ar_stack_node {
    struct ar_frame frame;
    uint32_t parent;                    /* AR_NO_ID for the root, which is no frame */
    uint32_t n_threads;                 /* that have it in their stack */
    uint32_t first_child, next_sibling; /* AR_NO_ID ends a list; the one with most threads first */
};

struct ar_stack_group {
    uint32_t node;  /* the innermost frame; 0: in no function */
    uint32_t state; /* of its processes: enum ar_process_state */
    bool is_main;   /* main threads, or others */
    uint32_t first; /* its threads: index into `threads` */
    uint32_t n_threads;
    uint64_t still_ns; /* none of them has moved for so long */
};

struct ar_stacks {
    struct ar_stack_node *nodes; /* parents first; 0 is the root */
    size_t n_nodes, cap_nodes;
    struct ar_stack_group *groups;
    size_t n_groups;
    uint32_t *threads; /* locations of the profile, group by group, in order of ranks */
    size_t n_threads;
};

/* On failure there is nothing to free. */
AR_MUST_CHECK enum ar_status ar_stacks_build(struct ar_stacks *out, const struct ar_profile *p,
                                             bool main_only);
void ar_stacks_free(struct ar_stacks *s);

/*
 * How long a thread had not moved when its process was last heard of: while that runs, when it was
 * read; otherwise at the newest stamp of any of its threads.
 */
uint64_t ar_stacks_still_ns(const struct ar_profile *p, uint32_t location);
/* The frames of a node from the outermost on; how many there are. `frames` may be NULL. */
size_t ar_stacks_frames(const struct ar_stacks *s, uint32_t node, struct ar_frame *frames);

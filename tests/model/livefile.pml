// SPDX-License-Identifier: BSD-3-Clause
/*
 * The live file under a reader: every order in which the stores of a writing thread and the loads of a copy can fall
 * between each other, and every instant at which the writer can be killed. docs/file-format.md, "Order of stores".
 *
 * The file is a row of extents of two items each; an item is a record (a function), a node, a block of values, or a
 * thread. Refs are numbers of items, so that "the file's length covers it" and "its extent's length covers it" are two
 * comparisons. The writer is one thread that makes up what it does as it goes: it enters a child, known or new, with
 * values or without, or with further values after its first, of a function that is known or new, or leaves; each store
 * is a step of its own, but for those into a block that nothing leads to yet. The reader is copy_file of
 * src/format/livefile.c: each load is a step.
 *
 * What is covered: stores are seen in the order of the program, which is what x86 does, and what release stores with
 * acquire loads do elsewhere. What is not: a machine that reorders relaxed stores, and the arithmetic of `ticks`.
 * Threads other than the writer's share nothing with it but the two lengths, which only grow; what they append is like
 * what this one appends.
 *
 * A kill is a writer that takes no further step, which is one of the orders: the reader may do all of its own at any
 * time. Invariants that hold between any two stores are asserted of the file itself, at any instant (check_file); those
 * of a copy when it is complete (check_copy).
 *
 *   -DSWAP_...  a variant with two stores, or two loads, in the wrong order. Each must be refuted: see run.sh.
 */

#define N_EXTENTS 6   /* of the file, at most */
#define PER_EXTENT 2  /* items an extent */
#define N_ITEMS 12    /* N_EXTENTS * PER_EXTENT */
#ifndef N_EVENTS
#define N_EVENTS 4    /* calls and returns */
#endif

#define NONE 255
#define THREADS 1
#define RECORDS 2
#define NODES 3
#define VALUES 4

#define EXTENT(item) ((item) / PER_EXTENT)
#define PLACE(item) ((item) % PER_EXTENT)

/* ---- the file ---- */

byte n_extents;                 /* what the file's n_bytes_used covers */
byte kind[N_EXTENTS];           /* 0: not written yet */
byte n_used[N_EXTENTS];         /* items that the extent's n_bytes_used covers */
byte parent[N_ITEMS] = NONE;    /* of a node; NONE: not written yet, itself: a root */
byte function[N_ITEMS] = NONE;  /* of a node: the item of its record */
byte values[N_ITEMS] = NONE;    /* of a node: its first block of values */
byte next[N_ITEMS] = NONE;      /* of a block of values: the one after it in its chain */
byte owner[N_ITEMS] = NONE;     /* of a block of values: the node that it says it is of */
bool is_open[N_ITEMS];          /* of a node: `ticks` is negative */
bool is_written[N_ITEMS];       /* of a record or a block of values: all of it */
byte current = NONE, root = NONE; /* of the only thread */

#define COVERED(item) (EXTENT(item) < n_extents && PLACE(item) < n_used[EXTENT(item)])

/*
 * Room in the extent `at` of a kind, or in a new one: its header first, then the file's length. NONE: the file is full.
 */
inline take(at, its_kind) {
    room = NONE;
    if
    :: at != NONE && n_used[at] < PER_EXTENT -> room = at * PER_EXTENT + n_used[at]
    :: else ->
        if
        :: mapped < N_EXTENTS ->
            at = mapped;
            mapped++;
#ifdef SWAP_EXTENT
            n_extents = mapped;
            kind[at] = its_kind;
#else
            kind[at] = its_kind;
            n_extents = mapped;
#endif
            room = at * PER_EXTENT
        :: else -> skip
        fi
    fi
}

inline publish(at) { n_used[at] = n_used[at] + 1 }

/* ar_livemap_record: `wanted` becomes the function, a known one or one that is recorded now. */
inline choose_function() {
    if
    :: wanted != NONE -> skip /* the one that it called before */
    :: wanted = NONE;
        take(records_at, RECORDS);
        if
        :: room != NONE ->
#ifdef SWAP_RECORD
            publish(records_at);
            is_written[room] = true;
#else
            is_written[room] = true;
            publish(records_at);
#endif
            wanted = room
        :: else -> skip
        fi
    fi
}

/* A block that can be looked at, before anything leads to it. */
inline write_values(after) {
    atomic {
        owner[room] = made;
        next[room] = after;
        is_written[room] = true
    };
    publish(values_at)
}

/* ar_tree_values; further ones go after the first, which stays where it is: ar_tree_values_add */
inline give_values() {
    if
    :: made != NONE && values[made] == NONE ->
        take(values_at, VALUES);
        if
        :: room != NONE ->
#ifdef SWAP_VALUES
            values[made] = room;
            write_values(NONE)
#else
            write_values(NONE);
            values[made] = room
#endif
        :: else -> skip
        fi
    :: made != NONE && values[made] != NONE ->
        take(values_at, VALUES);
        if
        :: room != NONE ->
#ifdef SWAP_NEXT
            old_next = next[values[made]];
            next[values[made]] = room;
            write_values(old_next)
#else
            write_values(next[values[made]]);
            next[values[made]] = room
#endif
        :: else -> skip
        fi
    :: skip
    fi
}

/* new_node */
inline make_node() {
    take(nodes_at, NODES);
    made = room;
    if
    :: made != NONE ->
#ifdef SWAP_NODE
        publish(nodes_at);
        function[made] = wanted;
        parent[made] = here;
#else
        function[made] = wanted;
        parent[made] = here;
#ifdef SWAP_CURRENT
        current = made;
#endif
        publish(nodes_at);
#endif
    :: else -> skip
    fi
}

/* ar_tree_open: a node that has been entered before, or a new one. */
inline enter() {
    made = NONE;
    if
    :: atomic { /* the first child that it has, if it has one */
            room = 0;
            do
            :: room < N_ITEMS && !(kind[EXTENT(room)] == NODES && parent[room] == here && room != here) -> room++
            :: else -> break
            od;
            made = (room < N_ITEMS -> room : NONE);
            room = 0
        }
    :: choose_function();
        if
        :: wanted != NONE -> make_node()
        :: else -> skip
        fi
    fi;
    give_values();
    if
    :: made != NONE ->
        is_open[made] = true;
        current = made;
        here = made
    :: else -> skip
    fi
}

/* ar_tree_close */
inline leave() {
    is_open[here] = false;
    current = parent[here];
    here = parent[here]
}

/* ar_tree_leave_outer: what is inside is closed first, then all of it is left at once. */
inline leave_outer() {
    is_open[here] = false;
    is_open[parent[here]] = false;
    here = parent[parent[here]];
    current = here
}

/* ar_livemap_create has run: a thread's slot, then its tree. */
inline begin() {
    kind[0] = THREADS;
    mapped = 1;
    n_extents = 1;
    n_used[0] = 1; /* a slot without a root */
    take(nodes_at, NODES);
    made = room;
    parent[made] = made;
    publish(nodes_at);
    is_open[made] = true;
    current = made;
    root = made;
    here = made
}

active proctype writer() {
    byte mapped;                                               /* extents it has made */
    byte nodes_at = NONE, values_at = NONE, records_at = NONE; /* extents it is filling */
    byte here;                                                 /* the node it is in */
    byte made, room, wanted = NONE, n_events;
#ifdef SWAP_NEXT
    byte old_next;
#endif

    begin();
    do
    :: n_events < N_EVENTS ->
        n_events++;
        if
        :: enter()
        :: here != root -> leave()
        :: here != root && parent[here] != root -> leave_outer()
        fi
    :: else -> break
    od
}

/* ---- what holds of the file between any two stores ---- */

#define IS_WHOLE(a_kind) (a_kind == RECORDS || a_kind == VALUES) /* of items that are written as one */
#define IS_NODE(item) (COVERED(item) && kind[EXTENT(item)] == NODES)

/* Is `node` an ancestor of `below`, or itself? The answer is in `found`. */
inline look_above(node, below) {
    at = below;
    do
    :: at != node && parent[at] != at -> at = parent[at]
    :: else -> break
    od;
    found = (at == node)
}

/*
 * Read in one step, as after a kill: the file as it is. Open are the ancestors of the current node, without the
 * innermost ones (they are being left), or with one child of it (it is being entered).
 */
inline check_file() {
    i = 0;
    n_more = 0;
    do
    :: i < N_ITEMS ->
        if
        :: EXTENT(i) < n_extents ->
            assert(kind[EXTENT(i)] != 0);
            assert(!(COVERED(i) && IS_WHOLE(kind[EXTENT(i)])) || is_written[i])
        :: else -> skip
        fi;
        if
        :: COVERED(i) && kind[EXTENT(i)] == VALUES ->
            assert(IS_NODE(owner[i]));
            assert(next[i] == NONE || (COVERED(next[i]) && is_written[next[i]] && owner[next[i]] == owner[i]))
        :: else -> skip
        fi;
        if
        :: IS_NODE(i) ->
            assert(parent[i] != NONE && IS_NODE(parent[i]) && parent[i] <= i);
            assert(parent[i] == i || (function[i] != NONE && COVERED(function[i]) && is_written[function[i]]));
            assert(values[i] == NONE || (COVERED(values[i]) && is_written[values[i]] && owner[values[i]] == i));
            if
            :: root != NONE ->
                look_above(i, current);
                assert(!is_open[i] || is_open[parent[i]]);
                if
                :: is_open[i] && !found -> assert(parent[i] == current); n_more++
                :: else -> skip
                fi
            :: else -> skip
            fi
        :: else -> skip
        fi;
        i++
    :: else -> break
    od;
    assert(n_more <= 1);
    assert(root == NONE || (IS_NODE(root) && IS_NODE(current)));
    i = 0; at = 0; n_more = 0; found = false
}

/* ---- the reader: copy_file ---- */

#define C_COVERED(item) (EXTENT(item) < c_extents && PLACE(item) < c_used[EXTENT(item)])
#define C_NODE(item) (C_COVERED(item) && c_kind[EXTENT(item)] == NODES)

/* list_extents: the file's length, then the headers that it covers. */
inline list_extents() {
    n_now = n_extents;
    do
    :: atomic {
            c_extents < n_now ->
            c_kind[c_extents] = kind[c_extents];
            assert(c_kind[c_extents] != 0);
            c_extents++
        }
    :: else -> break
    od
}

/* copy_extent: how much is complete, then that much, word by word. */
inline copy_extent(extent) {
    c_used[extent] = n_used[extent];
    do
    :: atomic {
            k < c_used[extent] && c_kind[extent] == NODES ->
            i = extent * PER_EXTENT + k;
            c_parent[i] = parent[i];
            c_function[i] = function[i] /* these two never change */
        };
        atomic {
            c_values[i] = values[i];
            i = 0;
            k++
        }
    :: atomic {
            k < c_used[extent] && c_kind[extent] != NODES ->
            i = extent * PER_EXTENT + k;
            c_written[i] = is_written[i];
            c_owner[i] = owner[i]; /* these two never change */
            c_next[i] = next[i];
            i = 0;
            k++
        }
    :: else -> break
    od;
    k = 0
}

/* From the last to the first. */
inline copy_kinds(condition) {
    j = c_extents;
    do
    :: atomic { j > 0 -> j-- };
        if
        :: condition -> copy_extent(j)
        :: else -> skip
        fi
    :: else -> break
    od
}

inline copy_threads() {
    c_root = root;
    c_current = current
}

/*
 * Everything that a copied word refers to is in the copy, but for what came into a chain behind its first block after
 * the place of the new one was copied. So chains are not followed for these: each says whose it is, which is a node,
 * and in the copy unless it has come since.
 */
inline check_copy() {
    i = 0;
    do
    :: i < N_ITEMS ->
        assert(!(C_COVERED(i) && IS_WHOLE(c_kind[EXTENT(i)])) || c_written[i]);
        if
        :: C_NODE(i) ->
            assert(c_parent[i] != NONE && C_NODE(c_parent[i]) && c_parent[i] <= i);
            assert(c_parent[i] == i ||
                   (c_function[i] != NONE && C_COVERED(c_function[i]) && c_written[c_function[i]]));
            assert(c_values[i] == NONE ||
                   (C_COVERED(c_values[i]) && c_written[c_values[i]] && c_owner[c_values[i]] == i))
        :: C_COVERED(i) && c_kind[EXTENT(i)] == VALUES ->
            assert(IS_NODE(c_owner[i]));
            assert(c_next[i] == NONE || (c_next[i] > i && values[c_owner[i]] == i) ||
                   (C_COVERED(c_next[i]) && c_owner[c_next[i]] == c_owner[i]))
        :: else -> skip
        fi;
        i++
    :: else -> break
    od;
    assert(c_root == NONE || (C_NODE(c_root) && C_NODE(c_current)));
    i = 0
}

active proctype reader() {
    byte c_extents; /* in the copy; the others are as in the file */
    byte c_kind[N_EXTENTS], c_used[N_EXTENTS];
    byte c_parent[N_ITEMS] = NONE, c_function[N_ITEMS] = NONE, c_values[N_ITEMS] = NONE;
    byte c_next[N_ITEMS] = NONE, c_owner[N_ITEMS] = NONE;
    bool c_written[N_ITEMS];
    byte c_current = NONE, c_root = NONE;
    byte i, j, k, at, n_now, n_more;
    bool found;

    n_extents > 0; /* the header is there: its magic was written last */
    if
    :: atomic { check_file() } /* of the file itself, at any instant */
    :: list_extents();
        copy_threads();
#ifndef SWAP_LENGTH
        list_extents();
#endif
#ifdef SWAP_RECORDS_FIRST
        copy_kinds(c_kind[j] == RECORDS);
#endif
#ifdef SWAP_VALUES_WITH_NODES
        copy_kinds(c_kind[j] == NODES || c_kind[j] == VALUES);
        list_extents();
#else
        copy_kinds(c_kind[j] == NODES);
        list_extents();
        copy_kinds(c_kind[j] == VALUES);
#endif
#ifndef SWAP_RECORDS_FIRST
        copy_kinds(c_kind[j] == RECORDS);
#endif
        atomic { check_copy() }
    fi
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * marshal_read: objects in Python's marshal format, versions 0 to 5, one after the other.
 *
 * A tuple or a dict gives its head only; the reader continues with its items (of a dict: keys
 * and values in turn, then END) and leaves it. Nothing is kept and nothing recurses: how deep
 * objects may nest is up to the caller, and no count in the file sizes anything.
 *
 * An object that occurs again is written once and referred to by its number. A reference is read as
 * what it refers to: the reader goes back there, and on from here when that is left. So that a long
 * text need not be looked at again, the caller may have an object remembered under a number of its
 * own. What refers to something it is part of is an error.
 *
 * Threads: one owner. The bytes must outlive the reader; they are not trusted.
 *
 *     struct ar_marshal_reader r = ar_marshal_over(bytes, n_bytes);
 *     struct ar_marshal_object dict, key, value;
 *     if (!ar_marshal_next(&r, &dict)) puts(r.problem.text);
 *     while (ar_marshal_next(&r, &key) && key.kind != AR_MARSHAL_END && ar_marshal_next(&r, &value))
 *         ...
 *     ar_marshal_leave(&r, &dict);
 *     ar_marshal_free(&r);
 */
#pragma once

#include "base/bytes.h"
#include "base/strtab.h"

enum ar_marshal_kind {
    AR_MARSHAL_INTEGER,
    AR_MARSHAL_REAL,
    AR_MARSHAL_TEXT,
    AR_MARSHAL_TUPLE,
    AR_MARSHAL_DICT,
    AR_MARSHAL_END,   /* of a dict */
    AR_MARSHAL_OTHER, /* what it is, is all that is read of it: there is no going on */
};

struct ar_marshal_object {
    enum ar_marshal_kind kind;
    size_t offset;   /* in the bytes */
    size_t next;     /* of a tuple or dict that was referred to: where to go on; else 0 */
    uint32_t shared; /* what may be referred to has a number, else AR_NO_ID */
    union {
        uint32_t n_items; /* of a tuple */
        int64_t integer;
        double real;
        struct ar_str text; /* UTF-8, where surrogates may stand alone; of Python 2: any bytes */
    };
};

struct ar_marshal_shared {
    size_t offset;
    uint32_t known; /* the caller's, AR_NO_ID: nothing yet */
    uint32_t tag;   /* the caller's as well: what that is a number of */
};

struct ar_marshal_table {
    struct ar_marshal_shared *items; /* in order of their offsets */
    size_t n, cap;
};

struct ar_marshal_reader {
    const unsigned char *bytes;
    struct ar_cursor in;
    struct ar_marshal_table flagged;  /* from Python 3.4 on: all that has the flag, 'r' */
    struct ar_marshal_table interned; /* before: texts, 'R' */
    size_t n_entered; /* tuples and dicts that were referred to, and are not left yet */
    size_t frontier;  /* where the first of them was referred to: from there on nothing is known */
    enum ar_status status; /* AR_OK until something is wrong; `problem` says what */
    struct ar_error problem;
};

struct ar_marshal_reader ar_marshal_over(const void *bytes, size_t n_bytes);
void ar_marshal_free(struct ar_marshal_reader *r);

/* False: there is none, `problem` says why, and nothing more can be read. */
bool ar_marshal_next(struct ar_marshal_reader *r, struct ar_marshal_object *out);
/* After the last item of a tuple, or the end of a dict; also of one that need not be looked at. */
void ar_marshal_leave(struct ar_marshal_reader *r, const struct ar_marshal_object *container);

/*
 * Has an object that is shared remembered, by a number among those of one tag; its number, or
 * AR_NO_ID.
 */
void ar_marshal_remember(struct ar_marshal_reader *r, const struct ar_marshal_object *object,
                         uint32_t tag, uint32_t number);
uint32_t ar_marshal_recall(const struct ar_marshal_reader *r,
                           const struct ar_marshal_object *object, uint32_t tag);

/*
 * Shortcuts, for what most of a file consists of. Where the next object is another, is written in
 * another way, or is wrong, they do nothing, and ar_marshal_next tells.
 */
/* Passes a reference to an object that is remembered by this tag; its number, or AR_NO_ID. */
uint32_t ar_marshal_next_known(struct ar_marshal_reader *r, uint32_t tag);
/* Passes the head of a tuple of so many items, which need not be left. */
bool ar_marshal_next_tuple(struct ar_marshal_reader *r, uint8_t n_items);
/* Passes an integer of 32 bits that is not negative. */
bool ar_marshal_next_count(struct ar_marshal_reader *r, uint32_t *count);
/*
 * Passes a tuple of three: two references to objects that are remembered by this tag, and a count between them. So cProfile
 * writes a function whose file and name have occurred before.
 */
bool ar_marshal_next_key(struct ar_marshal_reader *r, uint32_t tag, uint32_t *first,
                         uint32_t *count, uint32_t *second);
/* Whether two integers and two reals come next, and which. They are still to be passed. */
bool ar_marshal_peek_figures(const struct ar_marshal_reader *r, int64_t integers[2],
                             double reals[2]);
void ar_marshal_pass_figures(struct ar_marshal_reader *r);

/* "a list", "None": for messages. */
const char *ar_marshal_kind_name(const struct ar_marshal_reader *r,
                                 const struct ar_marshal_object *object);

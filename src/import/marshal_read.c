// SPDX-License-Identifier: BSD-3-Clause
#include "import/marshal_read.h"

#include <endian.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define FLAG_SHARED 0x80
/* Which table a shared object is in: the upper half of numbers is for interned texts. */
#define INTERNED_BIT 0x80000000u

struct ar_marshal_reader ar_marshal_over(const void *bytes, size_t n_bytes)
{
    return (struct ar_marshal_reader){
        .bytes = bytes,
        .in = ar_cursor_over(bytes, n_bytes),
    };
}

void ar_marshal_free(struct ar_marshal_reader *r)
{
    free(r->flagged.items);
    free(r->interned.items);
    *r = (struct ar_marshal_reader){0};
}

/* ---- failing --------------------------------------------------------------------------------- */

#define FAIL(r, ...) ((r)->status = ar_fail(&(r)->problem, AR_BAD, __VA_ARGS__), false)

static bool fail_memory(struct ar_marshal_reader *r)
{
    r->status = ar_fail(&r->problem, AR_NOMEM, "%s", ar_status_text(AR_NOMEM));
    return false;
}

static bool fail_short(struct ar_marshal_reader *r)
{
    return FAIL(r, "it ends in the middle, after %zu bytes", (size_t)(r->in.end - r->bytes));
}

const char *ar_marshal_kind_name(const struct ar_marshal_reader *r,
                                 const struct ar_marshal_object *object)
{
    static const char *const names[128] = {
        ['N'] = "None",
        ['T'] = "True",
        ['F'] = "False",
        ['.'] = "an ellipsis",
        ['S'] = "a marker",
        ['i'] = "an integer",
        ['I'] = "an integer",
        ['l'] = "an integer",
        ['f'] = "a float",
        ['g'] = "a float",
        ['x'] = "a complex number",
        ['y'] = "a complex number",
        ['s'] = "a string",
        ['t'] = "a string",
        ['u'] = "a string",
        ['a'] = "a string",
        ['A'] = "a string",
        ['z'] = "a string",
        ['Z'] = "a string",
        ['('] = "a tuple",
        [')'] = "a tuple",
        ['['] = "a list",
        ['{'] = "a dict",
        ['<'] = "a set",
        ['>'] = "a frozenset",
        ['c'] = "a code object",
        ['C'] = "a code object",
        [':'] = "a slice",
        ['0'] = "the end of a dict",
    };
    const char *name = names[r->bytes[object->offset] & 0x7f];

    return name ? name : "something unknown";
}

/* ---- what may be referred to ----------------------------------------------------------------- */

static struct ar_marshal_shared *shared_item(const struct ar_marshal_reader *r, uint32_t number)
{
    if (number & INTERNED_BIT)
        return &r->interned.items[number & ~INTERNED_BIT];
    return &r->flagged.items[number];
}

void ar_marshal_remember(struct ar_marshal_reader *r, const struct ar_marshal_object *object,
                         uint32_t tag, uint32_t number)
{
    if (object->shared == AR_NO_ID)
        return;
    shared_item(r, object->shared)->known = number;
    shared_item(r, object->shared)->tag = tag;
}

uint32_t ar_marshal_recall(const struct ar_marshal_reader *r,
                           const struct ar_marshal_object *object, uint32_t tag)
{
    const struct ar_marshal_shared *item;

    if (object->shared == AR_NO_ID)
        return AR_NO_ID;
    item = shared_item(r, object->shared);
    return item->tag == tag ? item->known : AR_NO_ID;
}

/* What is read again has its number already. */
static uint32_t find_shared(const struct ar_marshal_table *table, size_t offset)
{
    size_t low = 0, high = table->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (table->items[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < table->n && table->items[low].offset == offset ? (uint32_t)low : AR_NO_ID;
}

static bool add_shared(struct ar_marshal_reader *r, struct ar_marshal_table *table, size_t offset,
                       uint32_t *number)
{
    bool is_new = table->n == 0 || table->items[table->n - 1].offset < offset;

    *number = is_new ? (uint32_t)table->n : find_shared(table, offset);
    if (!is_new && *number != AR_NO_ID)
        return true;
    if (r->n_entered || *number >= INTERNED_BIT - 1)
        return FAIL(r, "it refers to what is not there, byte %zu", offset);
    if (table->n == table->cap &&
        ar_grow((void **)&table->items, &table->cap, table->n + 1, sizeof *table->items) < 0)
        return fail_memory(r);
    table->items[table->n++] = (struct ar_marshal_shared){.offset = offset, .known = AR_NO_ID};
    return true;
}

static bool share(struct ar_marshal_reader *r, struct ar_marshal_object *object, int letter)
{
    bool flagged = letter & FLAG_SHARED;

    if ((letter & 0x7f) == 't' && !flagged) {
        if (!add_shared(r, &r->interned, object->offset, &object->shared))
            return false;
        object->shared |= INTERNED_BIT;
    }
    return !flagged || add_shared(r, &r->flagged, object->offset, &object->shared);
}

/* ---- what objects hold ----------------------------------------------------------------------- */

/* Files are made of these by the million: without a call, and in one load. */
static inline uint32_t load_u32(const unsigned char *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof value);
    return le32toh(value);
}

static inline uint64_t load_u64(const unsigned char *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof value);
    return le64toh(value);
}

static inline uint64_t take_u64(struct ar_marshal_reader *r)
{
    if (r->in.end - r->in.at < (ptrdiff_t)sizeof(uint64_t)) {
        r->in.bad = true;
        return 0;
    }
    r->in.at += sizeof(uint64_t);
    return load_u64(r->in.at - sizeof(uint64_t));
}

static inline uint32_t take_u32(struct ar_marshal_reader *r)
{
    if (r->in.end - r->in.at < (ptrdiff_t)sizeof(uint32_t)) {
        r->in.bad = true;
        return 0;
    }
    r->in.at += sizeof(uint32_t);
    return load_u32(r->in.at - sizeof(uint32_t));
}

static inline uint8_t take_u8(struct ar_marshal_reader *r)
{
    if (r->in.at == r->in.end) {
        r->in.bad = true;
        return 0;
    }
    return *r->in.at++;
}

static bool read_text(struct ar_marshal_reader *r, struct ar_marshal_object *out, size_t n_bytes)
{
    const char *text = ar_cursor_take(&r->in, n_bytes);

    out->kind = AR_MARSHAL_TEXT;
    out->text = (struct ar_str){text, n_bytes};
    return !r->in.bad || fail_short(r);
}

static bool read_real(struct ar_marshal_reader *r, struct ar_marshal_object *out)
{
    uint64_t bits = take_u64(r);

    out->kind = AR_MARSHAL_REAL;
    memcpy(&out->real, &bits, sizeof bits);
    return !r->in.bad || fail_short(r);
}

/* As versions 0 and 1 have it. */
static bool read_real_as_text(struct ar_marshal_reader *r, struct ar_marshal_object *out)
{
    size_t n_bytes = take_u8(r);
    const char *digits = ar_cursor_take(&r->in, n_bytes);
    char text[UINT8_MAX + 1] = "", *end;

    if (r->in.bad)
        return fail_short(r);
    memcpy(text, digits, n_bytes);
    out->kind = AR_MARSHAL_REAL;
    out->real = strtod(text, &end);
    if (end == text || *end || end != text + n_bytes)
        return FAIL(r, "a float that is none, byte %zu", out->offset);
    return true;
}

static bool read_integer(struct ar_marshal_reader *r, struct ar_marshal_object *out, int64_t value)
{
    out->kind = AR_MARSHAL_INTEGER;
    out->integer = value;
    return !r->in.bad || fail_short(r);
}

#define MOST_DIGITS 5 /* of 15 bits */

/* Digits of 15 bits, the lowest first; their number has the sign. */
static bool read_long(struct ar_marshal_reader *r, struct ar_marshal_object *out)
{
    int32_t n_signed = (int32_t)take_u32(r);
    uint64_t value = 0;
    bool fits = n_signed >= -MOST_DIGITS && n_signed <= MOST_DIGITS;
    int n_digits = fits ? abs(n_signed) : 0;

    for (int i = 0; i < n_digits; i++) {
        uint64_t digit = ar_cursor_u16(&r->in);

        fits = fits && digit < 0x8000 && (i < MOST_DIGITS - 1 || digit < 8);
        value |= fits ? digit << (15 * i) : 0;
    }
    if (!r->in.bad && (!fits || value > INT64_MAX))
        return FAIL(r, "a number that is too large, byte %zu", out->offset);
    return read_integer(r, out, n_signed < 0 ? -(int64_t)value : (int64_t)value);
}

static bool read_tuple(struct ar_marshal_reader *r, struct ar_marshal_object *out, uint32_t n_items)
{
    out->kind = AR_MARSHAL_TUPLE;
    out->n_items = n_items;
    return !r->in.bad || fail_short(r);
}

static bool read_contents(struct ar_marshal_reader *r, struct ar_marshal_object *out, int letter)
{
    switch (letter) {
    case 'i':
        return read_integer(r, out, (int32_t)take_u32(r));
    case 'I':
        return read_integer(r, out, (int64_t)take_u64(r));
    case 'l':
        return read_long(r, out);
    case 'g':
        return read_real(r, out);
    case 'f':
        return read_real_as_text(r, out);
    case 's':
    case 't':
    case 'u':
    case 'a':
    case 'A':
        return read_text(r, out, take_u32(r));
    case 'z':
    case 'Z':
        return read_text(r, out, take_u8(r));
    case '(':
        return read_tuple(r, out, take_u32(r));
    case ')':
        return read_tuple(r, out, take_u8(r));
    case '{':
        out->kind = AR_MARSHAL_DICT;
        return true;
    case '0':
        out->kind = AR_MARSHAL_END;
        return true;
    default:
        out->kind = AR_MARSHAL_OTHER;
        return true;
    }
}

/* ---- objects --------------------------------------------------------------------------------- */

static bool read_here(struct ar_marshal_reader *r, struct ar_marshal_object *out, int letter)
{
    out->offset = (size_t)(r->in.at++ - r->bytes);
    out->next = 0;
    out->shared = AR_NO_ID;
    if ((letter & FLAG_SHARED || letter == 't') && !share(r, out, letter))
        return false;
    return read_contents(r, out, letter & 0x7f);
}

/* A tuple or a dict is entered there; all else is read, and this is the place again. */
static bool read_shared(struct ar_marshal_reader *r, struct ar_marshal_object *out, uint32_t number)
{
    const unsigned char *here = r->in.at;

    *out = (struct ar_marshal_object){.offset = shared_item(r, number)->offset, .shared = number};
    r->in.at = r->bytes + out->offset + 1;
    if (!read_contents(r, out, r->bytes[out->offset] & 0x7f))
        return false;
    if (out->kind != AR_MARSHAL_TUPLE && out->kind != AR_MARSHAL_DICT) {
        r->in.at = here;
        return true;
    }
    out->next = (size_t)(here - r->bytes);
    r->n_entered++;
    return true;
}

static bool read_reference(struct ar_marshal_reader *r, struct ar_marshal_object *out,
                           bool interned)
{
    const struct ar_marshal_table *table = interned ? &r->interned : &r->flagged;
    size_t offset = (size_t)(r->in.at++ - r->bytes);
    uint32_t number = take_u32(r);

    if (r->in.bad)
        return fail_short(r);
    if (number >= table->n)
        return FAIL(r, "it refers to what is not there, byte %zu", offset);
    return read_shared(r, out, interned ? number | INTERNED_BIT : number);
}

bool ar_marshal_next(struct ar_marshal_reader *r, struct ar_marshal_object *out)
{
    size_t offset = (size_t)(r->in.at - r->bytes);

    if (r->n_entered == 0)
        r->frontier = offset;
    else if (offset >= r->frontier)
        return FAIL(r, "something in it refers to itself, byte %zu", r->frontier);
    if (r->in.at == r->in.end || r->in.bad)
        return fail_short(r);

    int letter = *r->in.at;

    if ((letter & 0x7f) == 'r' || (letter & 0x7f) == 'R')
        return read_reference(r, out, (letter & 0x7f) == 'R');
    return read_here(r, out, letter);
}

void ar_marshal_leave(struct ar_marshal_reader *r, const struct ar_marshal_object *container)
{
    if (!container->next)
        return;
    r->in.at = r->bytes + container->next;
    r->n_entered--;
}

/* ---- shortcuts ------------------------------------------------------------------------------- */

#define REFERENCE_BYTES ((size_t)5) /* a letter and a number; of an integer as well */
#define REAL_BYTES ((size_t)9)
#define FIGURES_BYTES (2 * REFERENCE_BYTES + 2 * REAL_BYTES)
#define KEY_BYTES (2 + 3 * REFERENCE_BYTES)

/* Within what was referred to all is read one by one, since that may refer to itself. */
static bool has_plain(const struct ar_marshal_reader *r, size_t n_bytes)
{
    return r->n_entered == 0 && (size_t)(r->in.end - r->in.at) >= n_bytes;
}

/* NULL: there is none of that number. */
static const struct ar_marshal_shared *shared_at(const struct ar_marshal_reader *r,
                                                 const unsigned char *reference)
{
    uint32_t number = load_u32(reference + 1);

    return number < r->flagged.n ? &r->flagged.items[number] : NULL;
}

/* AR_NO_ID: it is no reference, or to nothing that is known as `tag`. */
static uint32_t load_known(const struct ar_marshal_reader *r, const unsigned char *at, uint32_t tag)
{
    const struct ar_marshal_shared *item = *at == 'r' ? shared_at(r, at) : NULL;

    return item && item->tag == tag ? item->known : AR_NO_ID;
}

uint32_t ar_marshal_next_known(struct ar_marshal_reader *r, uint32_t tag)
{
    uint32_t known = has_plain(r, REFERENCE_BYTES) ? load_known(r, r->in.at, tag) : AR_NO_ID;

    if (known != AR_NO_ID)
        r->in.at += REFERENCE_BYTES;
    return known;
}

/* Small integers are one object each in Python, and are referred to. */
static bool load_integer(const struct ar_marshal_reader *r, const unsigned char *at, int64_t *value)
{
    const struct ar_marshal_shared *item = *at == 'r' ? shared_at(r, at) : NULL;

    if (item)
        at = r->bytes + item->offset;
    if (*at != 'i' && (!item || *at != ('i' | FLAG_SHARED)))
        return false;
    *value = (int32_t)load_u32(at + 1);
    return true;
}

bool ar_marshal_next_tuple(struct ar_marshal_reader *r, uint8_t n_items)
{
    const unsigned char *at = r->in.at;

    if (!has_plain(r, 2) || at[0] != ')' || at[1] != n_items)
        return false;
    r->in.at += 2;
    return true;
}

bool ar_marshal_next_count(struct ar_marshal_reader *r, uint32_t *count)
{
    int64_t integer;

    if (!has_plain(r, REFERENCE_BYTES) || !load_integer(r, r->in.at, &integer) || integer < 0)
        return false;
    *count = (uint32_t)integer;
    r->in.at += REFERENCE_BYTES;
    return true;
}

bool ar_marshal_next_key(struct ar_marshal_reader *r, uint32_t tag, uint32_t *first,
                         uint32_t *count, uint32_t *second)
{
    const unsigned char *at = r->in.at, *items = at + 2;
    int64_t integer;

    if (!has_plain(r, KEY_BYTES) || at[0] != ')' || at[1] != 3)
        return false;
    *first = load_known(r, items, tag);
    *second = load_known(r, items + 2 * REFERENCE_BYTES, tag);
    if (*first == AR_NO_ID || *second == AR_NO_ID ||
        !load_integer(r, items + REFERENCE_BYTES, &integer) || integer < 0)
        return false;
    *count = (uint32_t)integer;
    r->in.at += KEY_BYTES;
    return true;
}

static double load_real(const unsigned char *at)
{
    uint64_t bits = load_u64(at + 1);
    double real;

    memcpy(&real, &bits, sizeof real);
    return real;
}

bool ar_marshal_peek_figures(const struct ar_marshal_reader *r, int64_t integers[2],
                             double reals[2])
{
    const unsigned char *at = r->in.at;

    if (!has_plain(r, FIGURES_BYTES))
        return false;

    const unsigned char *first = at + 2 * REFERENCE_BYTES, *second = first + REAL_BYTES;

    if (*first != 'g' || *second != 'g' || !load_integer(r, at, &integers[0]) ||
        !load_integer(r, at + REFERENCE_BYTES, &integers[1]))
        return false;
    reals[0] = load_real(first);
    reals[1] = load_real(second);
    return true;
}

void ar_marshal_pass_figures(struct ar_marshal_reader *r)
{
    r->in.at += FIGURES_BYTES;
}

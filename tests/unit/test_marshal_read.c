// SPDX-License-Identifier: BSD-3-Clause
/*
 * Objects byte by byte as the versions of Python write them, and bytes that none would. What Python itself makes of the
 * same bytes stands in tests/e2e/test_pstats_files.py.
 */
#include "import/marshal_read.h"

#include "dice.h"
#include "failing_alloc.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static struct ar_marshal_reader reader;
static unsigned char *copy; /* of exactly that size, so that a sanitizer sees the end */

#define BYTES(text) (text), sizeof(text) - 1

enum { TAG = 3, OTHER_TAG };

static void start(const char *bytes, size_t n_bytes)
{
    ar_marshal_free(&reader);
    free(copy);
    copy = malloc(n_bytes ? n_bytes : 1);
    memcpy(copy, bytes, n_bytes);
    reader = ar_marshal_over(copy, n_bytes);
}

static struct ar_marshal_object next(void)
{
    struct ar_marshal_object o = {.kind = AR_MARSHAL_OTHER};

    if (!ar_marshal_next(&reader, &o))
        o.kind = AR_MARSHAL_OTHER;
    return o;
}

static bool is_text(struct ar_marshal_object o, const char *text)
{
    return o.kind == AR_MARSHAL_TEXT && o.text.n_bytes == strlen(text) &&
           memcmp(o.text.text, text, o.text.n_bytes) == 0;
}

static bool is_integer(struct ar_marshal_object o, int64_t value)
{
    return o.kind == AR_MARSHAL_INTEGER && o.integer == value;
}

static void test_texts(void)
{
    start(BYTES("\xda\x02"
                "abz\x02"
                "cd\xe1\x02\0\0\0"
                "ef"
                "A\x01\0\0\0"
                "g"));
    tap_ok(is_text(next(), "ab"), "short and interned, shared");
    tap_ok(is_text(next(), "cd"), "short");
    tap_ok(is_text(next(), "ef"), "ASCII, shared");
    tap_ok(is_text(next(), "g"), "ASCII and interned");
    start(BYTES("u\x03\0\0\0h\xc3\xa9t\x01\0\0\0is\x01\0\0\0jz\0"));
    tap_ok(is_text(next(), "h\xc3\xa9"), "UTF-8");
    tap_ok(is_text(next(), "i"), "interned");
    tap_ok(is_text(next(), "j"), "as Python 2 has it");
    tap_ok(is_text(next(), ""), "empty");
}

static void test_numbers(void)
{
    start(BYTES("i\x07\0\0\0i\xff\xff\xff\xff\xe9\0\0\0\x80I\0\0\0\0\x01\0\0\0"));
    tap_ok(is_integer(next(), 7), "an integer");
    tap_ok(is_integer(next(), -1), "a negative one");
    tap_ok(is_integer(next(), INT32_MIN), "the smallest of 32 bits");
    tap_ok(is_integer(next(), INT64_C(1) << 32), "64 bits of Python 2");
    start(BYTES("l\x03\0\0\0\x01\0\0\0\x02\0l\xfe\xff\xff\xff\0\0\x01\0l\0\0\0\0"));
    tap_ok(is_integer(next(), (INT64_C(1) << 31) + 1), "a long one");
    tap_ok(is_integer(next(), -(1 << 15)), "a long negative one");
    tap_ok(is_integer(next(), 0), "a long one without digits");
    start(BYTES("l\x05\0\0\0\xff\x7f\xff\x7f\xff\x7f\xff\x7f\x07\0"));
    tap_ok(is_integer(next(), INT64_MAX), "the largest");
    start(BYTES("g\0\0\0\0\0\0\xf8\x3f"
                "f\x04"
                "1e-3f\x03"
                "-.5"));
    tap_ok(next().real == 1.5, "a float");
    tap_ok(next().real == 1e-3, "a float as text");
    tap_ok(next().real == -.5, "a negative one");
}

static void test_containers(void)
{
    start(BYTES("{)\x01i\x01\0\0\0(\0\0\0\0"
                "0"));
    tap_ok(next().kind == AR_MARSHAL_DICT, "a dict");

    struct ar_marshal_object o = next();

    tap_ok(o.kind == AR_MARSHAL_TUPLE && o.n_items == 1, "a small tuple");
    tap_ok(is_integer(next(), 1), "its item");
    o = next();
    tap_ok(o.kind == AR_MARSHAL_TUPLE && o.n_items == 0, "an empty tuple");
    tap_ok(next().kind == AR_MARSHAL_END, "the end of the dict");
    start(BYTES("(\xff\xff\xff\xff"));
    tap_ok(next().n_items == UINT32_MAX, "a count is what the file says, and costs nothing");
}

static void test_references(void)
{
    struct ar_marshal_object tuple, again;

    start(BYTES("\xa9\x02\xda\x01xi\x05\0\0\0r\x01\0\0\0r\0\0\0\0i\x09\0\0\0"));
    tuple = next();
    ar_marshal_remember(&reader, &tuple, TAG, 77);
    tap_ok(is_text(next(), "x") && is_integer(next(), 5), "a tuple of two");
    ar_marshal_leave(&reader, &tuple);
    tap_ok(is_text(next(), "x"), "a text by its number");
    again = next();
    tap_ok(again.kind == AR_MARSHAL_TUPLE && again.n_items == 2, "a tuple by its number");
    tap_ok(ar_marshal_recall(&reader, &again, TAG) == 77, "what was remembered of it");
    tap_ok(ar_marshal_recall(&reader, &again, OTHER_TAG) == AR_NO_ID, "and as what");
    tap_ok(is_text(next(), "x") && is_integer(next(), 5), "its items, again");
    ar_marshal_leave(&reader, &again);
    tap_ok(is_integer(next(), 9), "and on behind the reference");

    start(BYTES("t\x01\0\0\0at\x01\0\0\0bR\x01\0\0\0R\0\0\0\0"));
    next();
    next();
    tap_ok(is_text(next(), "b") && is_text(next(), "a"), "interned texts by their number");

    /* A text that is interned, but has no flag, has no number of the other kind. */
    start(BYTES("t\x01\0\0\0a\xda\x01"
                "br\0\0\0\0"));
    next();
    next();
    tap_ok(is_text(next(), "b"), "two kinds of numbers do not mix");

    struct ar_marshal_object plain = {.shared = AR_NO_ID};

    ar_marshal_remember(&reader, &plain, TAG, 5);
    tap_ok(ar_marshal_recall(&reader, &plain, TAG) == AR_NO_ID,
           "what is not shared is not remembered");
}

static void test_known(void)
{
    struct ar_marshal_object text;

    start(BYTES("\xda\x01xr\0\0\0\0r\0\0\0\0r\x01\0\0\0r\0"));
    tap_ok(ar_marshal_next_known(&reader, TAG) == AR_NO_ID, "no reference is not passed");
    text = next();
    tap_ok(ar_marshal_next_known(&reader, TAG) == AR_NO_ID, "nor is one to what is not remembered");
    ar_marshal_remember(&reader, &text, TAG, 7);
    tap_ok(ar_marshal_next_known(&reader, OTHER_TAG) == AR_NO_ID, "as that");
    tap_ok(ar_marshal_next_known(&reader, TAG) == 7, "one that is remembered is passed");
    tap_ok(is_text(next(), "x"), "and the next is read");
    tap_ok(ar_marshal_next_known(&reader, TAG) == AR_NO_ID && !ar_marshal_next(&reader, &text),
           "one to nothing is left to be refused");
    start(BYTES("\xda\x01xr\0\0\0"));
    text = next();
    ar_marshal_remember(&reader, &text, TAG, 7);
    tap_ok(ar_marshal_next_known(&reader, TAG) == AR_NO_ID, "nor is half of one passed");
}

static void test_tuples_and_counts(void)
{
    uint32_t count;

    start(BYTES(")\x02i\x05\0\0\0i\xff\xff\xff\xff"));
    tap_ok(!ar_marshal_next_tuple(&reader, 3), "a tuple of another size is not passed");
    tap_ok(ar_marshal_next_tuple(&reader, 2), "a tuple of two is");
    tap_ok(ar_marshal_next_count(&reader, &count) && count == 5, "a count");
    tap_ok(!ar_marshal_next_count(&reader, &count) && is_integer(next(), -1),
           "what is negative is no count");
    start(BYTES("\xa9\x01\xe9\x07\0\0\0r\x01\0\0\0r\0\0\0\0"));
    tap_ok(!ar_marshal_next_tuple(&reader, 1) && next().kind == AR_MARSHAL_TUPLE,
           "one that may be referred to is not passed");
    tap_ok(!ar_marshal_next_count(&reader, &count) && is_integer(next(), 7),
           "nor is such an integer");
    tap_ok(ar_marshal_next_count(&reader, &count) && count == 7, "a reference to it is a count");
    tap_ok(!ar_marshal_next_count(&reader, &count), "a reference to something else is none");
    start(BYTES(")"));
    tap_ok(!ar_marshal_next_tuple(&reader, 1) && !ar_marshal_next_count(&reader, &count),
           "where the bytes end there is neither");
}

#define TWO_TEXTS "\xda\x01x\xda\x01y"
#define A_KEY ")\x03r\0\0\0\0i\x05\0\0\0r\x01\0\0\0"

static void start_key(const char *bytes, size_t n_bytes)
{
    start(bytes, n_bytes);
    for (uint32_t i = 0; i < 2; i++) {
        struct ar_marshal_object text = next();

        ar_marshal_remember(&reader, &text, TAG, 7 + i);
    }
}

static void test_keys(void)
{
    uint32_t first, count, second;

    start_key(BYTES(TWO_TEXTS A_KEY "i\x09\0\0\0"));
    tap_ok(!ar_marshal_next_key(&reader, OTHER_TAG, &first, &count, &second),
           "a key of texts that are remembered as something else is not passed");
    tap_ok(ar_marshal_next_key(&reader, TAG, &first, &count, &second) && first == 7 && count == 5 &&
               second == 8,
           "a key");
    tap_ok(is_integer(next(), 9), "is passed");
    start_key(TWO_TEXTS A_KEY, sizeof TWO_TEXTS A_KEY - 2);
    tap_ok(!ar_marshal_next_key(&reader, TAG, &first, &count, &second), "half of one is none");
    start_key(BYTES(TWO_TEXTS ")\x03r\0\0\0\0i\xff\xff\xff\xffr\x01\0\0\0"));
    tap_ok(!ar_marshal_next_key(&reader, TAG, &first, &count, &second) &&
               next().kind == AR_MARSHAL_TUPLE,
           "nor is one of a negative number");
    start_key(BYTES(TWO_TEXTS ")\x03r\0\0\0\0i\x05\0\0\0r\x02\0\0\0"));
    tap_ok(!ar_marshal_next_key(&reader, TAG, &first, &count, &second),
           "nor one that refers to nothing");
}

#define TWO_INTEGERS "i\x05\0\0\0i\xfe\xff\xff\xff"
#define TWO_REALS "g\0\0\0\0\0\0\xf8?g\0\0\0\0\0\0\xe0\xbf"

static void test_figures(void)
{
    int64_t integers[2];
    double reals[2];

    start(BYTES(TWO_INTEGERS TWO_REALS "i\x09\0\0\0"));
    tap_ok(ar_marshal_peek_figures(&reader, integers, reals) && integers[0] == 5 &&
               integers[1] == -2 && reals[0] == 1.5 && reals[1] == -.5,
           "four figures");
    tap_ok(is_integer(next(), 5), "are not passed yet");
    tap_ok(!ar_marshal_peek_figures(&reader, integers, reals), "three are not four");
    start(BYTES(TWO_INTEGERS TWO_REALS "i\x09\0\0\0"));
    ar_marshal_pass_figures(&reader);
    tap_ok(is_integer(next(), 9), "they are passed");
    start(TWO_INTEGERS TWO_REALS, sizeof TWO_INTEGERS TWO_REALS - 2);
    tap_ok(!ar_marshal_peek_figures(&reader, integers, reals), "those that end too early are none");
    start(BYTES(TWO_INTEGERS TWO_INTEGERS TWO_REALS));
    tap_ok(!ar_marshal_peek_figures(&reader, integers, reals), "nor are four integers");
}

/* Within what was referred to nothing is passed unseen. */
static void test_no_shortcut_back_there(void)
{
    int64_t integers[2];
    double reals[2];

    start(BYTES("\xa9\x04" TWO_INTEGERS TWO_REALS "r\0\0\0\0"));
    next();
    ar_marshal_pass_figures(&reader);

    struct ar_marshal_object again = next();

    tap_ok(again.next && !ar_marshal_peek_figures(&reader, integers, reals) &&
               is_integer(next(), 5),
           "a tuple that was referred to is read one by one");
}

/* Items of something that is read again have the numbers that they have. */
static void test_reference_in_reference(void)
{
    struct ar_marshal_object outer, inner;

    start(BYTES("\xa9\x01\xa9\x01\xda\x01yr\0\0\0\0"));
    next();
    next();
    next();
    outer = next();
    inner = next();
    tap_ok(outer.next && !inner.next && inner.shared == 1, "a tuple in one that is read again");
    tap_ok(is_text(next(), "y"), "and what is in that");
    tap_ok(reader.flagged.n == 3, "nothing has got a second number");
    ar_marshal_leave(&reader, &inner);
    ar_marshal_leave(&reader, &outer);
    tap_ok(reader.n_entered == 0 && ar_cursor_left(&reader.in) == 0, "all is left");
}

/* Reads `n_before` objects, then one that must fail. */
static void check_refused(const char *bytes, size_t n_bytes, int n_before, const char *why)
{
    struct ar_marshal_object o;
    bool read = true;

    start(bytes, n_bytes);
    for (int i = 0; i < n_before; i++)
        read = ar_marshal_next(&reader, &o) && read;
    tap_ok(read && !ar_marshal_next(&reader, &o) && reader.status == AR_BAD &&
               strstr(reader.problem.text, why),
           "refused: %s", why);
    if (!strstr(reader.problem.text, why))
        tap_note("%s", reader.problem.text);
}

static void test_refused(void)
{
    check_refused(BYTES(""), 0, "ends in the middle");
    check_refused(BYTES("i\1\0\0"), 0, "ends in the middle");
    check_refused(BYTES("z\x05"
                        "abc"),
                  0, "ends in the middle");
    check_refused(BYTES("u\xff\xff\xff\xff"
                        "abc"),
                  0, "ends in the middle");
    check_refused(BYTES("g\0\0\0"), 0, "ends in the middle");
    check_refused(BYTES("f\x09"
                        "1.0"),
                  0, "ends in the middle");
    check_refused(BYTES("("), 0, "ends in the middle");
    check_refused(BYTES(")"), 0, "ends in the middle");
    check_refused(BYTES("r\0\0"), 0, "ends in the middle");
    check_refused(BYTES("l\x02\0\0\0\x01\0"), 0, "ends in the middle");
    check_refused(BYTES("r\0\0\0\0"), 0, "what is not there");
    check_refused(BYTES("\xda\x01xr\x01\0\0\0"), 1, "what is not there");
    check_refused(BYTES("\xda\x01xR\0\0\0\0"), 1, "what is not there");
    check_refused(BYTES("r\xff\xff\xff\xff"), 0, "what is not there");
    check_refused(BYTES("l\x05\0\0\0\xff\x7f\xff\x7f\xff\x7f\xff\x7f\x08\0"), 0, "too large");
    check_refused(BYTES("l\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0"), 0, "too large");
    check_refused(BYTES("l\0\0\0\x80"), 0, "too large");
    check_refused(BYTES("l\x01\0\0\0\xff\xff"), 0, "too large");
    check_refused(BYTES("f\x03"
                        "1.x"),
                  0, "is none");
    check_refused(BYTES("f\0"), 0, "is none");
    check_refused(BYTES("f\x03"
                        "1\0"
                        "1"),
                  0, "is none");
    /* A tuple in which its own number stands: going in there is as far as it goes. */
    check_refused(BYTES("\xa9\x01r\0\0\0\0"), 2, "itself");
    check_refused(BYTES("\xa9\x02i\1\0\0\0r\0\0\0\0"), 4, "itself");
}

static void test_names(void)
{
    struct ar_marshal_object o;

    start(BYTES("N"));
    tap_ok(ar_marshal_next(&reader, &o) && o.kind == AR_MARSHAL_OTHER, "None is none of them");
    tap_ok(strcmp(ar_marshal_kind_name(&reader, &o), "None") == 0, "and has a name");
    start(BYTES("\xdb\x01\0\0\0N"));
    ar_marshal_next(&reader, &o);
    tap_ok(strcmp(ar_marshal_kind_name(&reader, &o), "a list") == 0, "so has a list");
    start(BYTES("!"));
    ar_marshal_next(&reader, &o);
    tap_ok(strcmp(ar_marshal_kind_name(&reader, &o), "something unknown") == 0, "and the rest");
}

/* Any bytes, made of letters that mean something: the sanitizers watch. */
static void test_random_bytes(void)
{
    static const char letters[] = "NTFSiIlgfstuaAzZ()[{0rR\xe9\xe7\xfb\xa9\xa8\xda\xf4\xf2";
    struct dice d = {7};
    size_t n_objects = 0;

    for (int round = 0; round < 20000; round++) {
        char bytes[64];
        struct ar_marshal_object o, entered[8];
        size_t n = dice_below(&d, sizeof bytes), n_entered = 0;

        for (size_t i = 0; i < n; i++)
            bytes[i] = dice_below(&d, 2) ? letters[dice_below(&d, sizeof letters - 1)]
                                         : (char)dice_below(&d, 4);
        start(bytes, n);
        for (int i = 0; i < 200 && ar_marshal_next(&reader, &o); i++, n_objects++) {
            if (o.next && n_entered < 8)
                entered[n_entered++] = o;
            else if (o.next)
                break;
            if (n_entered && dice_below(&d, 4) == 0)
                ar_marshal_leave(&reader, &entered[--n_entered]);
        }
    }
    tap_ok(n_objects > 20000, "%zu objects in random bytes", n_objects);
}

static void test_no_memory(void)
{
    struct ar_marshal_object o;

    start(BYTES("\xda\x01x"));
    alloc_fail_after(0);

    bool read = ar_marshal_next(&reader, &o);

    alloc_restore();
    tap_ok(!read && reader.status == AR_NOMEM, "no memory is said to be that");
}

int main(void)
{
    test_texts();
    test_numbers();
    test_containers();
    test_references();
    test_known();
    test_tuples_and_counts();
    test_keys();
    test_figures();
    test_no_shortcut_back_there();
    test_reference_in_reference();
    test_refused();
    test_names();
    test_random_bytes();
    test_no_memory();
    ar_marshal_free(&reader);
    free(copy);
    return tap_done();
}

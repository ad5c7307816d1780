// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/formula.h"

#include "tap.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {"a", "b", "page-faults", "page", "faults", "perf::X", "n.1"};
static const double values[] = {6, 4, 100, 7, 2, 11, 13};

static int number_of(const char *name, size_t n_name, void *context)
{
    (void)context;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n_name && strncmp(names[i], name, n_name) == 0)
            return (int)i;
    return -1;
}

static double value_of(const char *text)
{
    struct ar_formula f;
    struct ar_error err;

    return ar_formula_parse(&f, text, number_of, NULL, &err) == AR_OK ? ar_formula_value(&f, values)
                                                                      : -12345;
}

static const char *trouble_with(const char *text)
{
    static struct ar_error err;
    struct ar_formula f;

    snprintf(err.text, sizeof err.text, "none");
    return ar_formula_parse(&f, text, number_of, NULL, &err) < 0 ? err.text : "parsed";
}

static void test_values(void)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"a", 6},
        {"a+b*2", 14},
        {"(a+b)*2", 20},
        {"a-b-1", 1},
        {"a/b/2", 0.75},
        {" a / ( b ) ", 1.5},
        {"-a", -6},
        {"2*-a", -12},
        {"--a", 6},
        {"a*64/1e2", 3.84},
        {".5*b", 2},
        {"page-faults", 100},
        {"page -faults", 5},
        {"page - faults", 5},
        {"page-faults-page", 93},
        {"perf::X*n.1", 143},
        {"a-(b-(1-2))", 1},
        {"1e3-a", 994},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        tap_ok(fabs(value_of(cases[i].text) - cases[i].value) < 1e-9, "%s is %g", cases[i].text,
               cases[i].value);
    tap_ok(isnan(value_of("a/0")) && isnan(value_of("1+a/(b-4)")), "no value of a division by 0");
}

static void test_troubles(void)
{
    static const struct {
        const char *text, *trouble;
    } cases[] = {
        {"", "a number or name is missing at its end"},
        {"a+", "a number or name is missing at its end"},
        {"a b", "an operation is missing before \"b\""},
        {"(a", "a ) is missing before \"\""},
        {"a)", "an operation is missing before \")\""},
        {"a*/b", "a number or name is missing before \"/b\""},
        {"a+c-d", "no metric c-d in it"},
        {"a % b", "an operation is missing before \"% b\""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        tap_ok(strcmp(trouble_with(cases[i].text), cases[i].trouble) == 0, "\"%s\": %s",
               cases[i].text, trouble_with(cases[i].text));
}

static void test_limits(void)
{
    char text[4096];

    memset(text, '(', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    tap_ok(strstr(trouble_with(text), "parentheses") != NULL, "too many parentheses");
    memset(text, '-', sizeof text - 1);
    tap_ok(strstr(trouble_with(text), "parentheses") != NULL, "too many minuses");
    for (size_t i = 0; i < sizeof text - 1; i++)
        text[i] = i % 2 ? '+' : 'a';
    tap_ok(strstr(trouble_with(text), "more than") != NULL, "too many steps");
    text[63] = '\0'; /* 32 names and 31 operations */
    tap_ok(value_of(text) == 32 * 6, "as many as there is room for");
    snprintf(text, sizeof text, "a-(a-(a-(a-(a-(a-(a-(a)))))))");
    tap_ok(strcmp(trouble_with(text), "parsed") == 0, "deep ones");
}

int main(void)
{
    test_values();
    test_troubles();
    test_limits();
    return tap_done();
}

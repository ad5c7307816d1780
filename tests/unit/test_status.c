// SPDX-License-Identifier: BSD-3-Clause
#include "base/status.h"

#include "tap.h"

#include <string.h>

static void test_texts(void)
{
    tap_ok(strcmp(ar_status_text(AR_OK), "ok") == 0, "AR_OK is ok");
    tap_ok(strcmp(ar_status_text(AR_NOMEM), "out of memory") == 0, "AR_NOMEM has its text");
    tap_ok(ar_status_text((enum ar_status) - 99) != NULL,
           "a code that there is not has a text too");
#define X(name, value, text)                                                                       \
    tap_ok((name == AR_OK || name < 0) && *ar_status_text(name), "%s is 0 or negative", #name);
    AR_STATUS_LIST(X)
#undef X
}

static void test_fail(void)
{
    struct ar_error err;
    char longer[2 * sizeof err.text];

    tap_ok(ar_fail(&err, AR_IO, "%s: %d", "x", 7) == AR_IO, "the status is given back");
    tap_ok(strcmp(err.text, "x: 7") == 0, "the text is written");
    tap_ok(ar_fail(NULL, AR_BAD, "%s", "nobody reads this") == AR_BAD, "nobody has to read it");

    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    ar_fail(&err, AR_IO, "%s", longer);
    tap_ok(strlen(err.text) == sizeof err.text - 1, "a long text is cut off");
}

int main(void)
{
    test_texts();
    test_fail();
    return tap_done();
}

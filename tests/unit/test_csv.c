// SPDX-License-Identifier: BSD-3-Clause
/* Cells of comma-separated values: quoted where they must be, and never a formula. */
#include "export/csv.h"

#include "tap.h"

#include <string.h>

static void check(const char *text, const char *expected)
{
    struct ar_csv sheet = {0};

    ar_csv_text(&sheet, text);
    if (!tap_ok(sheet.out.n == strlen(expected) &&
                    memcmp(sheet.out.data, expected, sheet.out.n) == 0,
                "%s", expected))
        tap_note("found %.*s", (int)sheet.out.n, (const char *)sheet.out.data);
    ar_bytes_free(&sheet.out);
}

int main(void)
{
    struct ar_csv sheet = {0};

    check("MPI_Send", "MPI_Send");
    check("a,b", "\"a,b\"");
    check("say \"yes\"", "\"say \"\"yes\"\"\"");
    check("\"", "\"\"\"\"");
    check("a;b", "\"a;b\"");
    check("=1+2", "'=1+2");
    check("+x", "'+x");
    check("-x", "'-x");
    check("@SUM(A1)", "'@SUM(A1)");
    check("=cmd|' /C calc'!A0,\"x\"", "\"'=cmd|' /C calc'!A0,\"\"x\"\"\"");
    check("\uff1d1", "'\uff1d1");
    check("a=b", "a=b");
    check("\t=x\r\n\033[2J\u202e", "?=x???[2J?");

    ar_csv_number(&sheet, -5);
    ar_csv_ratio(&sheet, -0.25, 6);
    ar_csv_integer(&sheet, 7);
    tap_ok(sheet.out.n == 10 && memcmp(sheet.out.data, "-5,-0.25,7", 10) == 0,
           "numbers stay numbers");
    ar_bytes_free(&sheet.out);
    return tap_done();
}

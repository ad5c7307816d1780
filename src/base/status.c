// SPDX-License-Identifier: BSD-3-Clause
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

const char *ar_status_text(enum ar_status status)
{
    switch (status) {
#define X(name, value, text)                                                                       \
    case name:                                                                                     \
        return text;
        AR_STATUS_LIST(X)
#undef X
    }
    return "unknown status";
}

enum ar_status ar_fail(struct ar_error *err, enum ar_status status, const char *fmt, ...)
{
    if (err) {
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(err->text, sizeof err->text, fmt, ap);
        va_end(ap);
    }
    return status;
}

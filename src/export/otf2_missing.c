// SPDX-License-Identifier: BSD-3-Clause
/* In place of otf2.c where its library was not there when allranks was built, and where there is no operating system. */
#include "export/otf2.h"

enum ar_status ar_otf2_save(struct ar_profile *p, const struct ar_export_choice *which,
                            const char *path, ar_export_tell_fn *tell, struct ar_error *err)
{
    (void)p, (void)which, (void)path, (void)tell;
    return ar_fail(
        err, AR_UNSUPPORTED,
        "allranks was built without OTF2 (install libotf2-trace-dev, or OTF2 3.0 with its "
        "headers, and build allranks again)");
}

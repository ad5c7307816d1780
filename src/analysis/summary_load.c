// SPDX-License-Identifier: BSD-3-Clause
/* A summary by the path of its run: the part of summary.h that needs the operating system. */
#include "analysis/load.h"
#include "analysis/summary.h"

enum ar_status ar_summary_load(struct ar_summary *out, const char *path, bool with_waits,
                               struct ar_error *err)
{
    struct ar_profile p;
    enum ar_status status = ar_load_packed(&p, path, err);

    if (status < 0)
        return status;
    status = ar_summary_take(out, &p, with_waits);
    out->path = path;
    return status < 0 ? ar_fail(err, status, "out of memory") : AR_OK;
}

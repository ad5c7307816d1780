// SPDX-License-Identifier: BSD-3-Clause
#include "open/open.h"

#include "analysis/load.h"

enum ar_status ar_run_open(struct ar_run **out, const struct ar_run_choice *choice,
                           struct ar_error *err)
{
    struct ar_profile p;
    enum ar_status status = ar_load_packed(&p, choice->path, err);

    *out = NULL;
    return status < 0 ? status : ar_run_of(out, &p, choice, err);
}

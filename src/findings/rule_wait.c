// SPDX-License-Identifier: BSD-3-Clause
/*
 * wait: ranks wait in a collective operation, and none of the other rules knows why that is so.
 *
 * Fires on every such wait that is worth a sentence: as where the late one is another rank each time, where several
 * functions share the blame, or where the late one had waited itself.
 * Says who waited where, for whom, and what most of the time went into.
 */
#include "findings/findings.h"

void ar_rule_wait(struct ar_evidence *e)
{
    for (size_t i = 0; i < e->n_stories; i++)
        if (!e->stories[i].is_told)
            ar_tell_story(e, &e->stories[i], "wait", e->stories[i].site->place, "");
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * late_sender: a rank waits for a message that is sent late.
 *
 * Fires on every such wait that is worth a sentence and that no other rule explains better.
 * Says who waited where, for whom, and what the sender did meanwhile.
 */
#include "findings/findings.h"

void ar_rule_late_sender(struct ar_evidence *e)
{
    for (size_t i = 0; i < e->n_stories; i++)
        if (!e->stories[i].is_told && e->stories[i].site->class == AR_WAIT_LATE_SENDER)
            ar_tell_story(e, &e->stories[i], "late_sender", e->stories[i].site->place, "");
}

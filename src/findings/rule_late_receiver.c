// SPDX-License-Identifier: BSD-3-Clause
/*
 * late_receiver: a sender waits until a receiver takes its message, as large ones do.
 *
 * Fires on every such wait that is worth a sentence and that no other rule explains better.
 * Says who waited where, for whom, and what the receiver did meanwhile.
 */
#include "findings/findings.h"

void ar_rule_late_receiver(struct ar_evidence *e)
{
    for (size_t i = 0; i < e->n_stories; i++)
        if (!e->stories[i].is_told && e->stories[i].site->class == AR_WAIT_LATE_RECEIVER)
            ar_tell_story(e, &e->stories[i], "late_receiver", e->stories[i].site->place, "");
}

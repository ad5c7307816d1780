// SPDX-License-Identifier: BSD-3-Clause
/* Synchronising calls of a profile: see profile.h. */
#include "format/profile.h"

#include <stdlib.h>
#include <string.h>

enum ar_status ar_profile_sync(struct ar_profile *p, struct ar_profile_sync sync,
                               const struct ar_profile_part *parts)
{
    if (ar_grow((void **)&p->syncs, &p->cap_syncs, p->n_syncs + 1, sizeof *p->syncs) < 0 ||
        ar_grow((void **)&p->parts, &p->cap_parts, p->n_parts + sync.n_parts + 1,
                sizeof *p->parts) < 0)
        return AR_NOMEM;
    sync.first_part = (uint32_t)p->n_parts;
    if (sync.n_parts)
        memcpy(p->parts + p->n_parts, parts, sync.n_parts * sizeof *parts);
    p->n_parts += sync.n_parts;
    p->syncs[p->n_syncs++] = sync;
    return AR_OK;
}

/* Parts of what is left out stay, and nothing leads to them. */
void ar_profile_renumber_syncs(struct ar_profile *p, const uint32_t *numbers)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_syncs; i++) {
        p->syncs[n] = p->syncs[i];
        p->syncs[n].location = numbers[p->syncs[i].location];
        n += p->syncs[n].location != AR_NO_ID;
    }
    p->n_syncs = n;
}

static bool is_in_order(const struct ar_profile *p)
{
    uint64_t next_part = 0;

    for (size_t i = 0; i < p->n_syncs; i++) {
        if (i && p->syncs[i - 1].location > p->syncs[i].location)
            return false;
        if (p->syncs[i].first_part != next_part)
            return false;
        next_part += p->syncs[i].n_parts;
    }
    return next_part == p->n_parts;
}

/* Those of a location keep their order; parts come in the order of the calls that they are of. */
static void lay_out(struct ar_profile *p, uint32_t *start, struct ar_profile_sync *syncs,
                    struct ar_profile_part *parts)
{
    uint32_t n_parts = 0;

    for (size_t i = 0; i < p->n_syncs; i++)
        start[p->syncs[i].location + 1]++;
    for (size_t i = 0; i < p->n_locations; i++)
        start[i + 1] += start[i];
    for (size_t i = 0; i < p->n_syncs; i++)
        syncs[start[p->syncs[i].location]++] = p->syncs[i];
    for (size_t i = 0; i < p->n_syncs; i++) {
        memcpy(parts + n_parts, p->parts + syncs[i].first_part, syncs[i].n_parts * sizeof *parts);
        syncs[i].first_part = n_parts;
        n_parts += syncs[i].n_parts;
    }
    p->n_parts = n_parts;
}

enum ar_status ar_profile_sort_syncs(struct ar_profile *p)
{
    if (is_in_order(p))
        return AR_OK;

    uint32_t *start = calloc(p->n_locations + 2, sizeof *start);
    struct ar_profile_sync *syncs = calloc(p->n_syncs + 1, sizeof *syncs);
    struct ar_profile_part *parts = malloc((p->n_parts + 1) * sizeof *parts);

    if (!start || !syncs || !parts) {
        free(start);
        free(syncs);
        free(parts);
        return AR_NOMEM;
    }
    p->cap_syncs = p->n_syncs + 1;
    p->cap_parts = p->n_parts + 1;
    lay_out(p, start, syncs, parts);
    free(start);
    free(p->syncs);
    free(p->parts);
    p->syncs = syncs;
    p->parts = parts;
    return AR_OK;
}

const char *ar_sync_kind_name(uint32_t kind)
{
    static const char *const names[AR_N_SYNC_KINDS] = {
        [AR_SYNC_NONE] = "none",           [AR_SYNC_BARRIER] = "barrier", [AR_SYNC_ALL] = "all",
        [AR_SYNC_FROM_ROOT] = "from_root", [AR_SYNC_TO_ROOT] = "to_root", [AR_SYNC_SCAN] = "scan",
        [AR_SYNC_SEND] = "send",           [AR_SYNC_RECEIVE] = "receive", [AR_SYNC_PROBE] = "probe",
    };

    return kind < AR_N_SYNC_KINDS ? names[kind] : "none";
}

int64_t ar_process_clock_ns(const struct ar_process *process, uint64_t since_start_ns)
{
    const struct ar_clock_link *first = &process->clock_links[AR_CLOCK_AT_INIT];
    const struct ar_clock_link *last = &process->clock_links[AR_CLOCK_AT_FINALIZE];
    uint64_t at = process->start_mono_ns + since_start_ns;
    double offset = (double)first->offset_ns;

    if (!first->at_ns)
        offset = 0;
    else if (last->at_ns > first->at_ns)
        offset += (double)(last->offset_ns - first->offset_ns) *
                  ((double)at - (double)first->at_ns) / (double)(last->at_ns - first->at_ns);
    return (int64_t)at + (int64_t)offset;
}

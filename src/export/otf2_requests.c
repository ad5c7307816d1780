// SPDX-License-Identifier: BSD-3-Clause
#include "export/otf2_requests.h"

/* So many ended ones may lie in between: making the map anew costs as much as it has entries. */
#define FEW 1024

static enum ar_status forget_ended(struct ar_otf2_requests *all)
{
    struct ar_idmap left = {0};

    for (size_t i = 0; i < all->operations.n_slots; i++) {
        const struct ar_idmap_slot *slot = &all->operations.slots[i];

        if (slot->key && slot->value != AR_NO_ID &&
            ar_idmap_put(&left, slot->key, slot->value) < 0) {
            ar_idmap_free(&left);
            return AR_NOMEM;
        }
    }
    ar_idmap_free(&all->operations);
    all->operations = left;
    return AR_OK;
}

/* The number may come from a damaged file; 0 is none. */
static uint64_t key_of(uint64_t request)
{
    return request ? request : 1;
}

enum ar_status ar_otf2_requests_post(struct ar_otf2_requests *all, uint64_t request,
                                     uint32_t operation)
{
    uint64_t key = key_of(request);

    if (all->operations.n_used > 2 * all->n_open + FEW && forget_ended(all) < 0)
        return AR_NOMEM;
    all->n_open += ar_idmap_get(&all->operations, key, AR_NO_ID) == AR_NO_ID;
    return ar_idmap_put(&all->operations, key, operation);
}

uint32_t ar_otf2_requests_end(struct ar_otf2_requests *all, uint64_t request)
{
    uint64_t key = key_of(request);
    uint32_t operation = ar_idmap_get(&all->operations, key, AR_NO_ID);

    /* Without memory it stays open, which does no harm. */
    if (operation != AR_NO_ID && ar_idmap_put(&all->operations, key, AR_NO_ID) == AR_OK)
        all->n_open--;
    return operation;
}

void ar_otf2_requests_free(struct ar_otf2_requests *all)
{
    ar_idmap_free(&all->operations);
    all->n_open = 0;
}

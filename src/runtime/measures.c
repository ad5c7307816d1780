// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/measures.h"

#include <string.h>

uint32_t ar_measure_begin(const struct ar_measure *measure)
{
    struct ar_bytes bytes = {0};
    uint32_t number = 0;

    if (ar_measure_is_sound(measure))
        ar_measure_encode(measure, &bytes);

    struct ar_record head = {.kind = AR_RECORD_MEASURE, .n_linetable = (uint32_t)bytes.n};

    if (bytes.n && !bytes.bad)
        number = ar_livemap_record(&head, NULL, NULL, bytes.data);
    ar_bytes_free(&bytes);
    return number < AR_FIRST_MEASURE + AR_MAX_MEASURES ? number : 0;
}

uint64_t *ar_measure_row(struct ar_thread *t, struct ar_node *node, uint32_t number,
                         const uint64_t *words, size_t n_words)
{
    struct ar_values block = {.kind = number};

    memcpy(block.words, words, n_words * sizeof *words);
    block.words[0] = (uint64_t)ar_live_ref(node) << 32 | (uint32_t)words[0];

    struct ar_values *added = ar_tree_values_add(t, node, &block);

    if (added)
        return added->words;
    ar_livemap_lost(AR_LOST_ROWS, 1);
    return NULL;
}

uint64_t *ar_measure_find_row(const struct ar_node *node, uint32_t number, uint32_t key)
{
    for (uint32_t ref = node->values_ref; ref;) {
        struct ar_values *values = ar_live_ptr(ref);

        if (values->kind == number && (uint32_t)values->words[0] == key)
            return values->words;
        ref = values->next_ref;
    }
    return NULL;
}

void ar_measure_event(struct ar_thread *t, struct ar_extent **extent, uint32_t number,
                      const uint64_t *words, size_t n_words)
{
    size_t n_bytes = n_words * sizeof *words;
    void *row = ar_extent_take(extent, (enum ar_extent_kind)number, t->slot->number, n_bytes);

    if (!row) {
        ar_livemap_lost(AR_LOST_ROWS, 1);
        return;
    }
    memcpy(row, words, n_bytes);
    ar_extent_publish(*extent, n_bytes);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "format/live_values.h"

#include "live_image.h"
#include "tap.h"

static struct ar_live live;
static struct ar_error error;

static void test_ticks(void)
{
    struct ar_node node = {.ticks = 700};

    tap_ok(ar_live_ticks(&node, 3000) == 700, "finished calls");
    node.ticks = 700 - 2900;
    tap_ok(ar_live_ticks(&node, 3000) == 800, "and an open one, until now");
    node.ticks = -4000;
    tap_ok(ar_live_ticks(&node, 3000) == 0, "which has not begun yet");
}

/* Blocks that lead from one to the next are followed for as many as a node can have, not for ever. */
static void test_chains(void)
{
    image_start();

    size_t nodes = image_extent(AR_EXTENT_NODES, 0, 1);
    size_t values = image_extent(AR_EXTENT_VALUES, 0, 1);
    uint32_t root = image_node(nodes, 0, 0, 2000, 1);
    struct ar_values *last = image_values(values, root, AR_VALUES_ESTIMATE);

    for (int i = 0; i < 3; i++)
        image_values(values, root, AR_FIRST_MEASURE);
    tap_ok(ar_live_from_bytes(&live, image.bytes, image.n_bytes, "image", &error) == AR_OK,
           "a short chain");
    tap_ok(ar_live_values(&live, ar_live_at(&live, root), AR_VALUES_ESTIMATE), "its end");
    tap_ok(!ar_live_values(&live, ar_live_at(&live, root), AR_VALUES_TASK), "what is not in it");
    ar_live_close(&live);
    for (int i = 0; i < 20; i++)
        image_values(values, root, AR_FIRST_MEASURE);
    last->next_ref = image_node_at(root)->values_ref; /* in a circle, too */
    tap_ok(ar_live_from_bytes(&live, image.bytes, image.n_bytes, "image", &error) == AR_OK,
           "a long chain");
    tap_ok(!ar_live_values(&live, ar_live_at(&live, root), AR_VALUES_ESTIMATE), "its end");
    tap_ok(!ar_live_values(&live, ar_live_at(&live, root), AR_VALUES_TASK), "one without an end");
    ar_live_close(&live);
}

int main(void)
{
    test_ticks();
    test_chains();
    return tap_done();
}

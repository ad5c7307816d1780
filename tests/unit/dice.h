// SPDX-License-Identifier: BSD-3-Clause
/*
 * dice: random numbers that are the same in every run, so that a failure can be repeated.
 *
 *     struct dice d = {42};
 *     if (dice_below(&d, 6) == 5) ...
 */
#pragma once

#include <stdint.h>

struct dice {
    uint64_t state;
};

static inline uint64_t dice_roll(struct dice *d)
{
    uint64_t x = d->state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint32_t dice_below(struct dice *d, uint32_t n)
{
    return (uint32_t)((dice_roll(d) >> 32) * n >> 32);
}

/* Of any size: as many bits as the dice say. */
static inline uint64_t dice_number(struct dice *d)
{
    uint64_t number = dice_roll(d);

    return number >> dice_below(d, 64);
}

// SPDX-License-Identifier: BSD-3-Clause
/* The part of clock.h that reads no clock. */
#include "base/clock.h"

struct ar_scale ar_scale_between(const struct ar_stamp *a, const struct ar_stamp *b)
{
    if (b->ticks <= a->ticks || b->mono_ns <= a->mono_ns)
        return (struct ar_scale){1.0};
    return (struct ar_scale){(double)(b->mono_ns - a->mono_ns) / (double)(b->ticks - a->ticks)};
}

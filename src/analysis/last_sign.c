// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/last_sign.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

/* The offset changes by less than a millisecond in a run: whichever was measured will do. */
static bool find_offset(const struct ar_live_header *header, int64_t *offset_ns)
{
    for (int i = 0; i < AR_N_CLOCK_INSTANTS; i++)
        if (header->clock_links[i].at_ns) {
            *offset_ns = header->clock_links[i].offset_ns;
            return true;
        }
    *offset_ns = 0;
    return false;
}

static struct ar_sign sign_of(const struct ar_live_header *header, uint64_t newest_ticks)
{
    double scale = ar_scale_between(&header->start, &header->latest).ns_per_tick;
    uint64_t ticks = newest_ticks > header->start.ticks ? newest_ticks - header->start.ticks : 0;
    uint64_t ns = (uint64_t)ar_whole_ns((double)ticks * scale);
    struct ar_sign sign = {.mono_ns = header->start.mono_ns + ns,
                           .real_ns = header->start.real_ns + ns};

    memcpy(sign.host, header->host, sizeof sign.host);
    sign.is_linked = find_offset(header, &sign.offset_ns);
    return sign;
}

/* A process without an offset, as a child, is on the clock of its host like all others. */
static void take_newer(struct ar_sign *old, const struct ar_sign *sign)
{
    if (sign->mono_ns > old->mono_ns) {
        old->mono_ns = sign->mono_ns;
        old->real_ns = sign->real_ns;
    }
    if (!old->is_linked && sign->is_linked) {
        old->offset_ns = sign->offset_ns;
        old->is_linked = true;
    }
}

enum ar_status ar_signs_add(struct ar_signs *signs, const char *path)
{
    struct ar_live_header header;
    uint64_t newest_ticks;
    size_t i = 0;

    if (!ar_live_read_newest(path, &header, &newest_ticks))
        return AR_OK;

    struct ar_sign sign = sign_of(&header, newest_ticks);
    bool is_running = ar_live_is_running(&header);

    signs->n_running += is_running;
    signs->n_silent += header.state == AR_LIVE_RUNNING && !is_running;
    while (i < signs->n && strcmp(signs->items[i].host, sign.host) != 0)
        i++;
    if (i < signs->n) {
        take_newer(&signs->items[i], &sign);
        return AR_OK;
    }
    if (ar_grow((void **)&signs->items, &signs->cap, signs->n + 1, sizeof *signs->items) < 0)
        return AR_NOMEM;
    signs->items[signs->n++] = sign;
    return AR_OK;
}

/* When that was, by the monotonic clock of the host of `header`. */
static uint64_t mono_ns_of(const struct ar_sign *sign, const struct ar_live_header *header)
{
    int64_t offset_ns;

    if (strcmp(sign->host, header->host) == 0)
        return sign->mono_ns;
    if (sign->is_linked && find_offset(header, &offset_ns))
        return sign->mono_ns + (uint64_t)(sign->offset_ns - offset_ns);
    return header->start.mono_ns + (sign->real_ns - header->start.real_ns);
}

uint64_t ar_signs_ticks(const struct ar_signs *signs, const struct ar_live_header *header)
{
    double scale = ar_scale_between(&header->start, &header->latest).ns_per_tick;
    uint64_t newest_ns = 0;

    if (signs->n_running || signs->n_silent < 2 || header->is_child ||
        header->state != AR_LIVE_RUNNING)
        return 0;
    for (size_t i = 0; i < signs->n; i++) {
        uint64_t ns = mono_ns_of(&signs->items[i], header) - header->start.mono_ns;

        /* Before it began is no time of its own; what no run can last is damage. */
        if (ns > newest_ns && ns < (uint64_t)1 << 60)
            newest_ns = ns;
    }
    return header->start.ticks + (uint64_t)ar_whole_ns((double)newest_ns / scale);
}

void ar_signs_free(struct ar_signs *signs)
{
    free(signs->items);
    *signs = (struct ar_signs){0};
}

// SPDX-License-Identifier: BSD-3-Clause
#include "cli/mpi_text.h"

#include "cli/screen.h"

#include <string.h>

#define N_BUFFERS 16
#define BUFFER_BYTES 256

static char *next_buffer(void)
{
    static char buffers[N_BUFFERS][BUFFER_BYTES];
    static int n;

    return buffers[n++ % N_BUFFERS];
}

const char *ar_show_comm(const struct ar_profile *p, uint32_t comm)
{
    const struct ar_comm *c = comm ? &p->comms[comm - 1] : NULL;
    char *text = next_buffer();

    if (!c)
        return "not known";
    if (c->name)
        return ar_strtab_text(&p->strings, c->name);
    snprintf(text, BUFFER_BYTES, "%s of %u", ar_comm_origin_name(c->origin), c->size);
    return text;
}

const char *ar_show_comm_place(const struct ar_profile *p, uint32_t comm)
{
    uint32_t made_at = comm ? p->comms[comm - 1].made_at : 0;

    return made_at ? ar_show_place(p, made_at - 1) : "";
}

const char *ar_show_peer(const struct ar_profile *p, const struct ar_mpi_row *row)
{
    uint32_t peer = row->world_peer < AR_PEER_UNKNOWN ? row->world_peer : row->peer;
    char *text = next_buffer();

    if (row->world_peer < AR_PEER_UNKNOWN)
        snprintf(text, BUFFER_BYTES, "rank %u", row->world_peer);
    else if (peer == AR_PEER_ALL)
        snprintf(text, BUFFER_BYTES, "all of them");
    else if (peer == AR_PEER_OTHERS)
        snprintf(text, BUFFER_BYTES, "several: no room");
    else if (peer == AR_PEER_NULL) /* as root of a collective call on an intercommunicator */
        snprintf(text, BUFFER_BYTES, "MPI_PROC_NULL");
    else if (peer == AR_PEER_UNKNOWN)
        snprintf(text, BUFFER_BYTES, "not known");
    else
        snprintf(text, BUFFER_BYTES, "%u of %s", peer, ar_show_comm(p, row->comm));
    return text;
}

const char *ar_show_size_class(uint32_t size_class)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    char *text = next_buffer();
    uint32_t low = size_class ? size_class - 1 : 0; /* as a power of two */

    if (size_class < 2)
        snprintf(text, BUFFER_BYTES, "%u B", size_class);
    else if (low < 10)
        snprintf(text, BUFFER_BYTES, "%u-%u B", 1u << low, (2u << low) - 1);
    else if (low % 10 == 9)
        snprintf(text, BUFFER_BYTES, "512 %s-1 %s", units[low / 10], units[low / 10 + 1]);
    else
        snprintf(text, BUFFER_BYTES, "%u-%u %s", 1u << low % 10, 2u << low % 10, units[low / 10]);
    return text;
}

/* Three digits and a letter; below a thousand as it is. */
static void shorten(double value, char *text, size_t n_text)
{
    static const char letters[] = " kMGTPE";
    size_t i = 0;

    for (; value >= 999.5 && letters[i + 1]; i++)
        value /= 1000;
    if (i == 0)
        snprintf(text, n_text, "%.0f", value);
    else
        snprintf(text, n_text, value < 9.95 ? "%.1f%c" : "%.0f%c", value, letters[i]);
}

const char *ar_show_short_bytes(double n)
{
    char *text = next_buffer();

    shorten(n, text, BUFFER_BYTES);
    return text;
}

const char *ar_show_short_count(uint64_t n, size_t n_columns)
{
    const char *whole = ar_show_count(n);
    char *text = next_buffer();

    if (strlen(whole) <= n_columns)
        return whole;
    shorten((double)n, text, BUFFER_BYTES);
    return text;
}

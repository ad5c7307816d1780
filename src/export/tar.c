// SPDX-License-Identifier: BSD-3-Clause
#include "export/tar.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* As it lies in the archive: numbers are octal texts. */
struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8];
    char type, linked_to[100];
    char magic[6], version[2];
    char user[32], group[32], device_major[8], device_minor[8], prefix[155];
    char rest[12];
};

_Static_assert(sizeof(struct header) == AR_TAR_BLOCK, "a header takes one block");

static void put_octal(char *field, size_t n_field, uint64_t value)
{
    snprintf(field, n_field, "%0*" PRIo64, (int)n_field - 1, value);
}

/* The sum of all bytes, where its own field counts as spaces. Six digits, a zero byte and a space are the old form, which all readers know. */
static void put_checksum(struct header *h)
{
    const unsigned char *bytes = (const unsigned char *)h;
    uint64_t sum = 0;

    memset(h->checksum, ' ', sizeof h->checksum);
    for (size_t i = 0; i < sizeof *h; i++)
        sum += bytes[i];
    put_octal(h->checksum, sizeof h->checksum - 1, sum);
}

void ar_tar_begin(struct ar_bytes *out, const char *name, uint64_t n_bytes, uint64_t mtime_s)
{
    struct header h = {.type = '0', .magic = "ustar", .version = {'0', '0'}};

    snprintf(h.name, sizeof h.name, "%s", name);
    put_octal(h.mode, sizeof h.mode, 0644);
    put_octal(h.uid, sizeof h.uid, 0);
    put_octal(h.gid, sizeof h.gid, 0);
    put_octal(h.size, sizeof h.size, n_bytes);
    put_octal(h.mtime, sizeof h.mtime, mtime_s < AR_TAR_MOST_BYTES ? mtime_s : AR_TAR_MOST_BYTES);
    put_checksum(&h);
    ar_bytes_put(out, &h, sizeof h);
}

static void put_zeros(struct ar_bytes *out, size_t n_bytes)
{
    static const char zeros[2 * AR_TAR_BLOCK];

    ar_bytes_put(out, zeros, n_bytes);
}

static size_t n_missing(uint64_t n_bytes)
{
    return (size_t)(-n_bytes % AR_TAR_BLOCK);
}

void ar_tar_end_member(struct ar_bytes *out, uint64_t n_bytes)
{
    put_zeros(out, n_missing(n_bytes));
}

void ar_tar_end(struct ar_bytes *out)
{
    put_zeros(out, 2 * AR_TAR_BLOCK);
}

uint64_t ar_tar_member_bytes(uint64_t n_bytes)
{
    return AR_TAR_BLOCK + n_bytes + n_missing(n_bytes);
}

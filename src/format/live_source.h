// SPDX-License-Identifier: BSD-3-Clause
/*
 * live_source: the bytes that a reader of live files copies from, shared by the file's two halves.
 *
 * livefile.c checks and copies a live file that is in memory, or that a function reads piece by piece; it needs no operating system.
 * live_open.c opens files by their paths, and supplies that function.
 */
#pragma once

#include "format/livefile.h"

/* A file that is of no use is no reason to lose the files next to it. */
#define AR_LIVE_AWAY "(move it away to read the others)"

/*
 * What is copied from: memory, or a file if `read` is not NULL. The kernel copies aligned words whole, too. A file is not mapped,
 * since one that becomes shorter meanwhile would end this process by SIGBUS.
 */
struct ar_live_source {
    const unsigned char *bytes; /* of memory */
    /* Reads a piece that lies within the file, into memory that is zero. */
    enum ar_status (*read)(const struct ar_live_source *from, void *zeros, size_t at,
                           size_t n_bytes, struct ar_error *err);
    int fd;           /* for `read` */
    bool is_written;  /* its process runs */
    size_t n_bytes;   /* of all of it */
    const char *name; /* for messages */
};

/* `out` says how it is to be read, and is otherwise empty. On failure there is nothing to free. */
AR_MUST_CHECK enum ar_status
ar_live_read_source(struct ar_live *out, const struct ar_live_source *from, struct ar_error *err);
/* Of a file that is in memory as a whole: fails if an extent is damaged. */
AR_MUST_CHECK enum ar_status ar_live_check_extents(const void *bytes, size_t n_bytes,
                                                   const char *name, struct ar_error *err);
bool ar_live_length_is_sound(const struct ar_live_header *header, uint64_t n_bytes);
/* The newest stamp of a thread; 0: no thread has one. */
uint64_t ar_live_newest_ticks(const struct ar_live_source *from, uint64_t n_used);
/* Texts in the header end within their field, whatever the file says. */
void ar_live_terminate_texts(struct ar_live_header *header);
/* Sets the message, and returns AR_NOMEM. */
enum ar_status ar_live_no_memory(size_t n_bytes, const char *name, struct ar_error *err);

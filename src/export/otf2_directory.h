// SPDX-License-Identifier: BSD-3-Clause
/*
 * otf2_directory: the directory of an archive, which is there as a whole or not at all.
 *
 * The files are written to a directory beside their places, and get their names when all are complete. Other files in the directory stay as
 * they are. An archive that allranks has written before is replaced; any other is refused.
 *
 *     struct ar_otf2_directory d;
 *     if (ar_otf2_directory_begin(&d, path, &err) < 0) ...
 *     … write to d.part …
 *     if (all is well) status = ar_otf2_directory_end(&d, &err); else ar_otf2_directory_drop(&d);
 */
#pragma once

#include "base/status.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define AR_OTF2_NAME "traces"
/* What an archive of allranks says of its maker; it is looked for in the anchor file. */
#define AR_OTF2_CREATOR "allranks"

struct ar_otf2_directory {
    char path[PATH_MAX];
    char part[PATH_MAX]; /* where the archive is written */
    bool is_new;         /* the directory was not there */
};

AR_MUST_CHECK enum ar_status ar_otf2_directory_begin(struct ar_otf2_directory *d, const char *path,
                                                     struct ar_error *err);
/*
 * Is a file of the archive complete, as far as one can see? `kind` is "evt" or "def" of a location, and NULL for the definitions of all.
 * AR_IO: no. libotf2 3.0 keeps up to 4 MiB of a file until it is closed, and does not say when the disk is full then.
 */
AR_MUST_CHECK enum ar_status ar_otf2_directory_check(const struct ar_otf2_directory *d,
                                                     const char *kind, uint64_t location,
                                                     uint64_t least_bytes, struct ar_error *err);
AR_MUST_CHECK enum ar_status ar_otf2_directory_end(struct ar_otf2_directory *d,
                                                   struct ar_error *err);
void ar_otf2_directory_drop(struct ar_otf2_directory *d);

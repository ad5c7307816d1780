// SPDX-License-Identifier: BSD-3-Clause
/*
 * own_file: a live file of this very process, for units of the runtime that need a tree but no
 * process of their own.
 *
 *     own_file_make();                 // once; also makes the scratch directory
 *     uint32_t f = own_file_function("f");
 *     ...
 *     scratch_remove();
 */
#pragma once

#include "runtime/identity.h"
#include "runtime/livemap.h"
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void own_file_make(void)
{
    struct ar_identity identity;

    scratch_make();
    if (ar_identity_find(&identity, scratch_dir, NULL) < 0 ||
        ar_livemap_create(&identity, 64 << 20, NULL) < 0) {
        printf("Bail out! no live file\n");
        exit(2);
    }
}

static inline uint32_t own_file_function(const char *name)
{
    struct ar_record head = {.kind = AR_RECORD_FUNCTION,
                             .function_kind = AR_FUNCTION_PYTHON,
                             .n_name = (uint32_t)strlen(name)};
    uint32_t number = ar_livemap_record(&head, name, "", NULL);

    if (!number) {
        printf("Bail out! no function\n");
        exit(2);
    }
    return number;
}

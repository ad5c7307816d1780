// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/pyversion.h"

#include <stdio.h>

static const char *level_of(uint32_t version)
{
    switch (version >> 4 & 0xF) {
    case 0xA:
        return "a";
    case 0xB:
        return "b";
    case 0xC:
        return "rc";
    default:
        return "";
    }
}

void ar_python_text(uint32_t version, char text[AR_PYTHON_TEXT_BYTES])
{
    int n = snprintf(text, AR_PYTHON_TEXT_BYTES, "%u.%u.%u", version >> 24, version >> 16 & 0xFF,
                     version >> 8 & 0xFF);

    if (!AR_PYTHON_IS_FINAL(version))
        snprintf(text + n, AR_PYTHON_TEXT_BYTES - (size_t)n, "%s%u", level_of(version),
                 version & 0xF);
}

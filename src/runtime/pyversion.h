// SPDX-License-Identifier: BSD-3-Clause
/*
 * pyversion: which CPythons the runtime is for, and whether one that runs is one that it was built
 * for. Needs no Python: meson reads the range from here before it compiles anything else.
 *
 * Versions are numbers as in PY_VERSION_HEX: 0x030F00F0 is 3.15.0, 0x030F00A2 is 3.15.0a2.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The versions 3.x whose frames pyframe.h knows. pyproject.toml states the same range for pip. */
#define AR_PYTHON_MINOR_FIRST 9
#define AR_PYTHON_MINOR_LAST 15

#define AR_PYTHON_IS_KNOWN(version)                                                                \
    ((version) >> 16 >= (0x0300 | AR_PYTHON_MINOR_FIRST) &&                                        \
     (version) >> 16 <= (0x0300 | AR_PYTHON_MINOR_LAST))

#define AR_PYTHON_IS_FINAL(version) (((version)&0xF0) == 0xF0)

/*
 * Layouts are settled with the first final release of a version. Before that they change from one
 * pre-release to the next, under the same name of the extension module.
 */
static inline bool ar_python_fits(uint32_t built_for, uint32_t running)
{
    if (built_for == running)
        return true;
    return built_for >> 16 == running >> 16 && AR_PYTHON_IS_FINAL(built_for) &&
           AR_PYTHON_IS_FINAL(running);
}

enum { AR_PYTHON_TEXT_BYTES = 24 };

/* As Python itself writes it: 3.15.0a2. */
void ar_python_text(uint32_t version, char text[AR_PYTHON_TEXT_BYTES]);

// SPDX-License-Identifier: BSD-3-Clause
/*
 * import_system: which Python functions are the import system's own.
 *
 * They are known by their file, which is frozen into the interpreter. Runtime, folded trees and the
 * stacks of `where` and `top` ask here, so that an import is the same to all of them.
 */
#pragma once

#include "format/profile.h"

/* By the file of a Python function; modules are also imported from zip files. */
bool ar_is_import_system(const char *file);
/* The same of a function of a profile. */
bool ar_function_imports(const struct ar_profile *p, uint32_t function);

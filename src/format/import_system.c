// SPDX-License-Identifier: BSD-3-Clause
#include "format/import_system.h"

#include "base/text.h"

bool ar_is_import_system(const char *file)
{
    return ar_starts_with(file, "<frozen importlib") || ar_starts_with(file, "<frozen zipimport");
}

bool ar_function_imports(const struct ar_profile *p, uint32_t function)
{
    const struct ar_function *f = &p->functions[function];

    return f->kind == AR_FUNCTION_PYTHON &&
           ar_is_import_system(ar_strtab_text(&p->strings, f->file));
}

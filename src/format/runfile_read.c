// SPDX-License-Identifier: BSD-3-Clause
#include "base/file.h"
#include "format/runfile.h"

#include <stdlib.h>

enum ar_status ar_run_read(struct ar_profile *out, const char *path, struct ar_error *err)
{
    unsigned char *bytes;
    struct stat st;
    enum ar_status status = ar_file_read(path, &bytes, &st, err);

    if (status == AR_OK)
        status = ar_run_decode(out, bytes, (size_t)st.st_size, path, err);
    free(bytes);
    return status;
}

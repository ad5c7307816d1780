// SPDX-License-Identifier: BSD-3-Clause
/*
 * limits: what the system lets this process do.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * May a file become that large? Beyond the limit (ulimit -f) the kernel does not only refuse but
 * sends SIGXFSZ, which kills: code that makes a file larger asks first.
 */
bool ar_file_may_have(uint64_t n_bytes);

// SPDX-License-Identifier: BSD-3-Clause
/*
 * child_waits: a rank that is late because it waits for a process that it has started, as a compiler.
 *
 * Such time is that of functions of Python's own library, whose names say nothing: findings say what it is. What a child
 * was started as is known of Python programs that were recorded with it.
 */
#pragma once

#include "findings/findings.h"

/*
 * ", waiting for a child process (python convert.py)", if most of the function's own time is that; else "".
 * `process` is the rank that is late; AR_NO_ID: several.
 */
const char *ar_show_child_wait(const struct ar_evidence *e, uint32_t function, uint32_t process);

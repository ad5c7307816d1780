// SPDX-License-Identifier: BSD-3-Clause
/*
 * c_identity: functions in C stay equal to what they were equal to, and keep their hashes.
 *
 * The interpreter makes both of the address in the definition. With a stub in it, sets made before,
 * such as os.supports_dir_fd, would not find their members any more, and two names for one function
 * would be different. So the type's own functions are given a copy of the object that has the
 * function's own address.
 *
 * Threads: under the GIL. Stays until the process ends.
 */
#pragma once

void ar_c_identity_keep(void);

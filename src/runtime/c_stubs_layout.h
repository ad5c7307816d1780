// SPDX-License-Identifier: BSD-3-Clause
/* c_stubs_layout: what the stubs, in assembler, and their records, in C, have to agree on. */
#pragma once

#define AR_C_N_STUBS 32768
#define AR_C_STUB_BYTES 16
#define AR_C_RECORD_BYTES 64

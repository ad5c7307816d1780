// SPDX-License-Identifier: BSD-3-Clause
/*
 * hidden: for variables that every event reads. -fvisibility=hidden is about definitions; one that is
 * only declared is taken to be another library's, and its address is looked up first.
 */
#pragma once

#define AR_HIDDEN __attribute__((visibility("hidden")))

// SPDX-License-Identifier: BSD-3-Clause
/*
 * c_scan: which functions in C there are, and when they get a stub.
 *
 * When the recording starts all types and modules are looked through, and after that each
 * module in C at the end of its initialisation. The functions of _imp that do that are functions in C
 * themselves: their stubs call functions of ours which look at what they have made. A module's own
 * dictionary does not name all of its types (re.Pattern); those are found among the latest subclasses of
 * object and type.
 *
 * Left alone are functions whose addresses CPython compares, since a stub would not be recognised:
 *   object.__new__ and those of other types, which share one address: classes made later would lose
 *       the constructor they inherit (their calls are seen through the function objects);
 *   object.__getstate__: what cannot be pickled would be;
 *   _json.encode_basestring and …_ascii: the encoder would lose its quick way with strings;
 * and allranks' own.
 *
 * Nothing here runs code of the program, and no object is kept from one scan to the next: each
 * interpreter has objects of its own.
 *
 * Threads: under the GIL. A pending exception is kept.
 */
#pragma once

#include "runtime/engine.h"
#include "runtime/pyframe.h"

/* A module of that name has been initialised. */
typedef void ar_module_fn(PyObject *module, const char *name);

/* With AR_BUILTINS_NONE only modules are found, for ar_c_scan_tell. */
void ar_c_scan_start(enum ar_builtins builtins);
/* Before that: which function is called for each module that is there then, and each one in C that follows. */
void ar_c_scan_tell(ar_module_fn *initialised);

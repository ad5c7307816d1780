// SPDX-License-Identifier: BSD-3-Clause
/* findings_text: what holds a program back, on the screen and in JSON. */
#pragma once

#include "export/json.h"
#include "run/run.h"

/*
 * Under a title, as many as go on `n_lines`, and the first in any case; 0 lines: all of them. Returns how many
 * lines it took, none where there is nothing to say.
 */
size_t ar_print_findings(const struct ar_findings *f, const char *path, size_t n_lines);
/* How efficient the run is; returns how many lines it took. */
size_t ar_print_efficiency(const struct ar_findings *f);
/* The members "efficiency" and "findings" of an object about a run. */
AR_MUST_CHECK enum ar_status ar_json_findings(struct ar_json *j, struct ar_run *run);
/* A word of a command that is to be pasted into a shell. */
void ar_print_word(const char *word);

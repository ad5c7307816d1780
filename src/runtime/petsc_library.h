// SPDX-License-Identifier: BSD-3-Clause
/*
 * petsc_library: what is read from PETSc's library: names of events and stages, its version, and the work that it has counted.
 *
 * Since 3.20 PETSc is asked for names. Until 3.19 those of events are read where its header, which is public, has them, and those of stages
 * are noted when they are registered.
 *
 * Life cycle: ar_petsc_read_library once, ar_petsc_begins whenever PETSc is initialised; then the rest. Threads: that which runs PETSc.
 */
#pragma once

#include "runtime/elf_slots.h"

/* Calls nothing in it. */
void ar_petsc_read_library(const struct ar_object *object);
void ar_petsc_begins(void);

/* NULL: it has none; nor has the stage that is the whole program. */
const char *ar_petsc_event_name(int event);
const char *ar_petsc_stage_name(int stage);
void ar_petsc_name_stage(int stage, const char *name);
/* "PETSc Release Version 3.18.5, Feb 27, 2023"; "" where it does not say. */
void ar_petsc_version(char *text, size_t n_text);

enum ar_petsc_work {
    AR_PETSC_FLOPS,
    AR_PETSC_MESSAGES,
    AR_PETSC_BYTES,
    AR_PETSC_REDUCTIONS,
    AR_N_PETSC_WORK
};
/* Since PETSc began, AR_N_PETSC_WORK numbers. */
void ar_petsc_read_work(double *work);

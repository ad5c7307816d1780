// SPDX-License-Identifier: BSD-3-Clause
/*
 * after_run: a command that is started when the process ends and has written the run file, with the path of that as its last
 * word. The process waits for it.
 *
 * With MPI the run is written in MPI_Finalize, which mpi4py calls when the interpreter is gone. So this is done in C, at the
 * very end, when other ranks are not waiting any more.
 *
 * A rank that a signal ends makes its launcher end all others. So where that is known, the command is started while all ranks are in MPI_Finalize,
 * and it is in a session of its own.
 *
 * Life cycle: ar_after_run_set once, after the recording has started; ar_after_run at the end, or where the program ends
 * the recording itself. It does nothing in a process that has written no run, nor in a child that has outlived the others: that
 * one's run stays as it is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The words are copied. false: no memory. */
bool ar_after_run_set(const char *const *words, size_t n_words);
void ar_after_run(void);
/* The interpreter will end the process by SIGINT. */
void ar_after_run_expect_signal(void);
/* In MPI_Finalize, when the run is there: starts the command if so, and does not wait for it. */
void ar_after_run_if_signal(void);

// SPDX-License-Identifier: BSD-3-Clause
/*
 * commands: one function a subcommand; each gets its own name as argv[0] and returns an exit
 * status.
 */
#pragma once

int ar_command_counters(int argc, char **argv);
int ar_command_lines(int argc, char **argv);
int ar_command_run(int argc, char **argv);
int ar_command_report(int argc, char **argv);
int ar_command_mpi(int argc, char **argv);
int ar_command_ranks(int argc, char **argv);
int ar_command_waits(int argc, char **argv);
int ar_command_diff(int argc, char **argv);
int ar_command_scale(int argc, char **argv);
int ar_command_where(int argc, char **argv);
int ar_command_top(int argc, char **argv);
int ar_command_info(int argc, char **argv);
int ar_command_dump(int argc, char **argv);
int ar_command_timeline(int argc, char **argv);
int ar_command_trace(int argc, char **argv);
int ar_command_export(int argc, char **argv);
int ar_command_merge(int argc, char **argv);
int ar_command_recover(int argc, char **argv);
int ar_command_clean(int argc, char **argv);
int ar_command_install_shims(int argc, char **argv);

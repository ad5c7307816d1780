// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/load.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/screen.h"

#include <getopt.h>
#include <malloc.h>
#include <string.h>

static const struct {
    const char *name;
    int (*call)(int, char **);
    const char *summary;
} commands[] = {
    {"run", ar_command_run, "record a Python program, alone or on every rank"},
    {"report", ar_command_report, "where the time goes, and on which rank"},
    {"mpi", ar_command_mpi, "what MPI costs, where, and who talks to whom"},
    {"waits", ar_command_waits, "who waited for whom, and which line made them wait"},
    {"lines", ar_command_lines, "which lines take the time, with their source"},
    {"ranks", ar_command_ranks, "a function across ranks: least, most, mean, which rank"},
    {"diff", ar_command_diff, "what got slower or faster between runs, and whether that is noise"},
    {"scale", ar_command_scale, "runs on more and more ranks: what scales, and what stops"},
    {"where", ar_command_where, "where every process and thread is now, or was when it died"},
    {"top", ar_command_top, "a running job, live: its processes and hot functions"},
    {"info", ar_command_info, "what a file holds, how it was made, what was lost"},
    {"trace", ar_command_trace, "switch the traces of a running job on or off"},
    {"dump", ar_command_dump, "the events of a trace, one per line"},
    {"timeline", ar_command_timeline, "what each rank did when, as a picture of its trace"},
    {"counters", ar_command_counters,
     "what this machine can count: page faults, instructions, ..."},
    {"export", ar_command_export, "write a run in another tool's format, such as pstats"},
    {"merge", ar_command_merge,
     "make one run of live files, of several runs, or of cProfile's files"},
    {"recover", ar_command_recover, "make a run of whatever killed processes left"},
    {"clean", ar_command_clean, "list what dead jobs left, and remove it if told to"},
    {"install-shims", ar_command_install_shims,
     "let programs that use another profiler find allranks in its place"},
};

#define N_COMMANDS (sizeof commands / sizeof *commands)

static void print_usage(FILE *to)
{
    ar_print_own(to, "usage: allranks COMMAND ...\n\n"
                     "The profiler for Python programs that run under MPI.\n\n"
                     "    mpiexec -n 64 python -m allranks heat.py --steps 1000\n"
                     "    allranks report heat.allranks\n\n"
                     "commands:\n");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        char line[160];

        snprintf(line, sizeof line, "  %-13s %s\n", commands[i].name, commands[i].summary);
        ar_print_own(to, line);
    }
    ar_print_own(to, "\nallranks COMMAND --help says more.\n");
}

static int run_command(int argc, char **argv)
{
    const char *name = argv[1];

    /* What is freed is needed again for the next file: given back, it would have to be touched anew. */
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    ar_load_tell = ar_progress_files;
    opterr = 0; /* commands say themselves what they do not understand */
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].call(argc - 1, argv + 1);
    return ar_complain("%s: no such command (try: allranks --help; to record a program: allranks "
                       "run %s)",
                       name, name);
}

static int run(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    if (argc < 2) {
        print_usage(stderr);
        return AR_EXIT_BAD;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_usage(stdout);
        return AR_EXIT_OK;
    }
    if (strcmp(name, "--version") == 0) {
        ar_print("allranks %s\n", AR_PACKAGE_VERSION);
        return AR_EXIT_OK;
    }
    return run_command(argc, argv);
}

int main(int argc, char **argv)
{
    ar_printing_begin();
    return ar_printing_end(run(argc, argv));
}

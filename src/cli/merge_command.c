// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/load.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/screen.h"
#include "cli/selecting.h"

#include <getopt.h>

static const char usage[] =
    "usage: allranks merge DIR|RUN... -o FILE\n"
    "\n"
    "Make one run file of the live files in directories, of single live files, of several\n"
    "run files, or of files of cProfile, one rank each. Patterns may be in quotes:\n"
    "'base.*.part'. What is read is left as it is. Every file must be\n"
    "sound: what can be had of damaged ones, too, is had by: allranks recover\n";

int ar_command_merge(int argc, char **argv)
{
    const char *output = NULL;
    const struct ar_option options[] = {
        AR_HEADING("options"),
        AR_OUTPUT_OPTION(&output, "the run file to write; an existing one is not overwritten,\n"
                                  "FILE-2 is written instead. A name that ends in .pstats, .prof,\n"
                                  ".dat or .out makes it a file for pstats, with all ranks\n"
                                  "summed up"),
        AR_HELP_OPTION,
    };
    struct ar_profile p;
    struct ar_error err;
    int status =
        ar_options_parse(argc, argv, options, sizeof options / sizeof *options, usage, NULL);

    if (status >= 0)
        return status;
    if (optind == argc || !output)
        return ar_complain("what into which file? (usage: allranks merge DIR|RUN... -o FILE)");
    ar_load_traces = true;
    if (ar_load_all(&p, argv + optind, (size_t)(argc - optind), &err) < 0)
        return ar_complain("%s", err.text);
    if (*ar_load_remark())
        ar_note("allranks: %s\n", ar_load_remark());
    ar_note_newer_parts(&p, argc - optind == 1 ? argv[optind] : "what is merged",
                        "they are not in the result");

    status = ar_check_whole(&p);
    if (status < 0)
        status = ar_write_run(&p, output);
    ar_profile_free(&p);
    return status;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/load.h"
#include "cli/commands.h"
#include "cli/screen.h"
#include "cli/selecting.h"

#include <getopt.h>

static const char usage[] =
    "usage: allranks merge DIR|RUN... -o FILE\n"
    "\n"
    "Make one run file of the live files in directories, of single live files, of several\n"
    "run files, or of files of cProfile, one rank each. Patterns may be in quotes:\n"
    "'base.*.part'. What is read is left as it is. Every file must be\n"
    "sound: what can be had of damaged ones, too, is had by: allranks recover\n"
    "\n"
    "options:\n"
    "  -o, --output FILE  the run file to write; an existing one is not overwritten,\n"
    "                     FILE-2 is written instead. A name that ends in .prof or .pstats\n"
    "                     makes it a file for pstats, with all ranks summed up\n"
    "  -h, --help         show this help\n";

int ar_command_merge(int argc, char **argv)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    const char *output = NULL;
    struct ar_profile p;
    struct ar_error err;

    for (int c; (c = getopt_long(argc, argv, ":o:h", options, NULL)) != -1;) {
        if (c == 'o') {
            output = optarg;
        } else if (c == 'h') {
            ar_print_own(stdout, usage);
            return AR_EXIT_OK;
        } else {
            return ar_complain_option(c, argv);
        }
    }
    if (optind == argc || !output)
        return ar_complain("what into which file? (usage: allranks merge DIR|RUN... -o FILE)");
    if (ar_load_all(&p, argv + optind, (size_t)(argc - optind), &err) < 0)
        return ar_complain("%s", err.text);
    if (*ar_load_remark())
        ar_note("allranks: %s\n", ar_load_remark());
    ar_note_newer_parts(&p, argc - optind == 1 ? argv[optind] : "what is merged",
                        "they are not in the result");

    int status = ar_write_run(&p, output);

    ar_profile_free(&p);
    return status;
}

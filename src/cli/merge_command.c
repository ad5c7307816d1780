// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/load.h"
#include "cli/commands.h"
#include "cli/screen.h"
#include "format/runfile.h"

#include <getopt.h>
#include <stdlib.h>

static const char usage[] =
    "usage: allranks merge DIR|RUN... -o FILE\n"
    "\n"
    "Make one run file of the live files in directories, of single live files, or of\n"
    "several run files. What is read is left as it is.\n"
    "\n"
    "options:\n"
    "  -o, --output FILE  the run file to write; an existing one is not overwritten,\n"
    "                     FILE-2 is written instead\n"
    "  -h, --help         show this help\n";

static void say_what_was_written(const struct ar_profile *p, const char *path)
{
    fprintf(stderr, "allranks: %s in ", ar_show_items(p->n_processes, "process", "processes"));
    ar_print_text(stderr, path);
    fprintf(stderr, "; see: allranks report ");
    ar_print_text(stderr, path);
    fprintf(stderr, "\n");
}

static int merge(struct ar_profile *p, const char *output)
{
    struct ar_bytes bytes = {0};
    struct ar_error err;
    char written[4096];
    int status = AR_EXIT_OK;

    if (ar_run_encode(p, &bytes) < 0)
        status = ar_complain("out of memory");
    else if (ar_run_write(&bytes, output, written, sizeof written, &err) < 0)
        status = ar_complain("%s", err.text);
    else
        say_what_was_written(p, written);
    ar_bytes_free(&bytes);
    return status;
}

int ar_command_merge(int argc, char **argv)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    const char *output = NULL;
    struct ar_profile p;
    struct ar_error err;
    int status = AR_EXIT_OK;

    for (int c; (c = getopt_long(argc, argv, ":o:h", options, NULL)) != -1;) {
        if (c == 'o') {
            output = optarg;
        } else if (c == 'h') {
            fputs(usage, stdout);
            return AR_EXIT_OK;
        } else {
            return ar_complain_option(c, argv);
        }
    }
    if (optind == argc || !output)
        return ar_complain("what into which file? (usage: allranks merge DIR|RUN... -o FILE)");
    if (ar_profile_init(&p) < 0)
        return ar_complain("out of memory");
    for (int i = optind; i < argc && status == AR_EXIT_OK; i++)
        if (ar_load_into(&p, argv[i], &err) < 0)
            status = ar_complain("%s", err.text);
    if (status == AR_EXIT_OK)
        status = merge(&p, output);
    ar_profile_free(&p);
    return status;
}

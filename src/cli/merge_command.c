// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/load.h"
#include "cli/commands.h"
#include "cli/screen.h"
#include "export/pstats.h"
#include "format/runfile.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: allranks merge DIR|RUN... -o FILE\n"
    "\n"
    "Make one run file of the live files in directories, of single live files, of several\n"
    "run files, or of files of cProfile, one rank each. Patterns may be in quotes:\n"
    "'base.*.part'. What is read is left as it is.\n"
    "\n"
    "options:\n"
    "  -o, --output FILE  the run file to write; an existing one is not overwritten,\n"
    "                     FILE-2 is written instead. A name that ends in .prof or .pstats\n"
    "                     makes it a file for pstats, with all ranks summed up\n"
    "  -h, --help         show this help\n";

static bool wants_pstats(const char *output)
{
    const char *dot = strrchr(output, '.');

    return dot && (strcmp(dot, ".prof") == 0 || strcmp(dot, ".pstats") == 0);
}

static enum ar_status encode(struct ar_profile *p, const char *output, struct ar_bytes *bytes,
                             struct ar_error *err)
{
    struct ar_pstats_choice all = {0};

    if (wants_pstats(output))
        return ar_pstats_encode(p, &all, bytes, err);
    return ar_run_encode(p, bytes) < 0 ? ar_fail(err, AR_NOMEM, "out of memory") : AR_OK;
}

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

    if (encode(p, output, &bytes, &err) < 0)
        status = ar_complain("%s: %s", output, err.text);
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
    if (ar_load_all(&p, argv + optind, (size_t)(argc - optind), &err) < 0)
        return ar_complain("%s", err.text);

    int status = merge(&p, output);

    ar_profile_free(&p);
    return status;
}

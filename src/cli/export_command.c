// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/load.h"
#include "cli/commands.h"
#include "cli/screen.h"
#include "export/pstats.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: allranks export RUN -f FORMAT [--rank N] [-o FILE]\n"
    "\n"
    "Write a run in another tool's format.\n"
    "\n"
    "formats:\n"
    "  pstats             for Python's pstats, snakeviz, gprof2dot; all ranks summed up,\n"
    "                     or one of them\n"
    "\n"
    "options:\n"
    "  -f, --format NAME  the format\n"
    "      --rank N       this rank only\n"
    "  -o, --output FILE  the file to write (default: RUN.pstats, or RUN.N.pstats for a\n"
    "                     rank; - is standard output)\n"
    "  -h, --help         show this help\n";

struct request {
    const char *run, *format, *output;
    struct ar_pstats_choice choice;
};

static bool parse_rank(const char *text, struct ar_pstats_choice *choice)
{
    char *end;
    unsigned long rank = strtoul(text, &end, 10);

    if (end == text || *end || rank >= AR_RANK_NONE)
        return false;
    *choice = (struct ar_pstats_choice){.one_rank = true, .world_rank = (uint32_t)rank};
    return true;
}

/* Returns an exit status, or -1 to go on. */
static int parse(int argc, char **argv, struct request *request)
{
    static const struct option options[] = {{"format", required_argument, NULL, 'f'},
                                            {"rank", required_argument, NULL, 'r'},
                                            {"output", required_argument, NULL, 'o'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};

    for (int c; (c = getopt_long(argc, argv, ":f:o:h", options, NULL)) != -1;)
        switch (c) {
        case 'f':
            request->format = optarg;
            break;
        case 'o':
            request->output = optarg;
            break;
        case 'r':
            if (!parse_rank(optarg, &request->choice))
                return ar_complain("--rank %s: not a rank", optarg);
            break;
        case 'h':
            fputs(usage, stdout);
            return AR_EXIT_OK;
        default:
            return ar_complain_option(c, argv);
        }
    if (argc - optind != 1)
        return ar_complain("one run is needed (usage: allranks export RUN -f pstats)");
    if (!request->format)
        return ar_complain("which format? (usage: allranks export %s -f pstats)", argv[optind]);
    if (strcmp(request->format, "pstats") != 0)
        return ar_complain("%s: no such format (there is: pstats)", request->format);
    request->run = argv[optind];
    return -1;
}

static void default_name(const struct request *request, char *name, size_t n_name)
{
    char stem[256];

    ar_stem(request->run, stem, sizeof stem);
    if (request->choice.one_rank)
        snprintf(name, n_name, "%s.%u.pstats", stem, request->choice.world_rank);
    else
        snprintf(name, n_name, "%s.pstats", stem);
}

int ar_command_export(int argc, char **argv)
{
    struct request request = {0};
    struct ar_profile p;
    struct ar_bytes bytes = {0};
    struct ar_error err;
    char name[300];
    int status = parse(argc, argv, &request);

    if (status >= 0)
        return status;
    if (ar_load(&p, request.run, &err) < 0)
        return ar_complain("%s", err.text);
    default_name(&request, name, sizeof name);
    if (ar_pstats_encode(&p, &request.choice, &bytes, &err) < 0)
        status = ar_complain("%s: %s", request.run, err.text);
    else
        status = ar_write_output(request.output ? request.output : name, &bytes);
    if (status == AR_EXIT_OK && !request.output) {
        fprintf(stderr, "allranks: wrote ");
        ar_print_text(stderr, name);
        fprintf(stderr, "\n");
    }
    ar_bytes_free(&bytes);
    ar_profile_free(&p);
    return status;
}

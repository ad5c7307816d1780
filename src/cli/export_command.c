// SPDX-License-Identifier: BSD-3-Clause
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/screen.h"
#include "cli/selecting.h"
#include "export/pstats.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] =
    "usage: allranks export [options] RUN -f FORMAT [-o FILE]\n"
    "\n"
    "Write a run in another tool's format. RUN may also be a file of cProfile, or a pattern\n"
    "for those of all ranks: 'cpu_*.prof'.\n"
    "\n"
    "formats:\n"
    "  pstats             for Python's pstats, snakeviz, gprof2dot; all ranks summed up,\n"
    "                     or one of them\n"
    "\n"
    "options:\n"
    "  -f, --format NAME  the format\n"
    "      --rank N       this rank only\n"
    "  -o, --output FILE  the file to write (default: RUN.pstats, or RUN.N.pstats for a\n"
    "                     rank; - is standard output); needed where RUN is a pattern\n"
    "  -q, --quiet        do not say what was written, and how many times are estimated\n"
    "  -h, --help         show this help\n"
    "\n" AR_SELECTION_USAGE;

struct request {
    const char *run, *format, *output;
    struct ar_pstats_choice choice;
    struct ar_selection selection;
    bool quiet;
    char name[300]; /* where no other is given */
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

static bool are_one_file(const char *a, const char *b)
{
    struct stat one, other;

    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* A pattern is no name, and what is read is not written over. */
static int name_output(struct request *request)
{
    char stem[256], rank[32] = "";

    ar_stem(request->run, stem, sizeof stem);
    if (request->choice.one_rank)
        snprintf(rank, sizeof rank, ".%u", request->choice.world_rank);
    snprintf(request->name, sizeof request->name, "%s%s.pstats", stem, rank);
    if ((access(request->run, F_OK) != 0 && strpbrk(request->run, "*?[")) ||
        are_one_file(request->run, request->name))
        return ar_complain("into which file? (usage: allranks export %s -f pstats -o FILE)",
                           ar_quote(request->run));
    return -1;
}

/* Returns an exit status, or -1 to go on. */
static int parse(int argc, char **argv, struct request *request)
{
    const char *rank = NULL;
    const struct ar_option options[] = {
        {.name = "format", .letter = 'f', .kind = AR_OPTION_TEXT, .to = &request->format},
        {.name = "rank", .kind = AR_OPTION_TEXT, .to = &rank},
        {.name = "output", .letter = 'o', .kind = AR_OPTION_TEXT, .to = &request->output},
        {.name = "quiet", .letter = 'q', .kind = AR_OPTION_FLAG, .to = &request->quiet},
        AR_SELECTION_OPTIONS(&request->selection),
    };
    int status = ar_options_parse(argc, argv, options, sizeof options / sizeof *options, usage);

    if (status >= 0)
        return status;
    if (rank && !parse_rank(rank, &request->choice))
        return ar_complain("--rank %s: not a rank", rank);
    if (argc - optind != 1)
        return ar_complain_runs(argc - optind, "export RUN -f pstats");
    if (!request->format)
        return ar_complain("which format? (usage: allranks export %s -f pstats)",
                           ar_quote(argv[optind]));
    if (strcmp(request->format, "pstats") != 0)
        return ar_complain("%s: no such format (there is: pstats)", request->format);
    request->run = argv[optind];
    return request->output ? -1 : name_output(request);
}

/* A name that was given need not be said; what the file cannot say has to be. */
static void say_what_was_written(const struct request *request, size_t n_estimated)
{
    const char *name = request->output ? request->output : request->name;

    if (n_estimated)
        ar_note("allranks: wrote %s: times of %s are estimated from some of the calls\n", name,
                ar_show_items(n_estimated, "function in C", "functions in C"));
    else if (!request->output)
        ar_note("allranks: wrote %s\n", name);
}

int ar_command_export(int argc, char **argv)
{
    struct request request = {0};
    struct ar_run *run;
    struct ar_bytes bytes = {0};
    struct ar_error err;
    size_t n_estimated = 0;
    int status = parse(argc, argv, &request);

    if (status < 0)
        status = ar_open_run(
            &run, &(struct ar_run_choice){.path = request.run, .selection = &request.selection});
    if (status >= 0)
        return status;
    if (ar_pstats_encode(ar_run_profile(run, AR_FORM_RECORDED), &request.choice, &bytes,
                         &n_estimated, &err) < 0)
        status = ar_complain("%s: %s", request.run, err.text);
    else
        status = ar_write_output(request.output ? request.output : request.name, &bytes);
    if (status == AR_EXIT_OK && !request.quiet)
        say_what_was_written(&request, n_estimated);
    ar_bytes_free(&bytes);
    ar_run_close(run);
    return status;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/load.h"
#include "analysis/traces.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/screen.h"
#include "cli/selecting.h"
#include "cli/time_window.h"
#include "cli/trace_notes.h"
#include "export/exporters.h"
#include "export/sink.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage_start[] =
    "usage: allranks export [options] RUN -f FORMAT [-o FILE]\n"
    "\n"
    "Write a run in another tool's format. RUN may also be a file of cProfile, or a pattern\n"
    "for those of all ranks: 'cpu_*.prof'.\n"
    "\n"
    "formats:\n";

struct request {
    const char *run, *output;
    const struct ar_exporter *exporter;
    struct ar_export_choice choice;
    struct ar_selection selection;
    struct ar_time_window window;
    bool quiet;
    char name[300]; /* where no other is given */
};

/* "pstats", "pstats|…": the names of all formats. */
static const char *list_formats(const char *separator)
{
    static char text[256];
    size_t n = 0;

    for (const struct ar_exporter *e = ar_exporters; e->name && n < sizeof text; e++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? separator : "", e->name);
    return text;
}

static void put(struct ar_bytes *out, const char *text)
{
    ar_bytes_put(out, text, strlen(text));
}

/* The name stands before the first line of what the format is for, and nothing before the others. */
static void put_format(struct ar_bytes *out, const struct ar_exporter *exporter)
{
    const char *name = exporter->name;
    char line[128];

    for (const char *at = exporter->help; at; name = "") {
        const char *end = strchrnul(at, '\n');

        snprintf(line, sizeof line, "  %-18s %.*s\n", name, (int)(end - at), at);
        put(out, line);
        at = *end ? end + 1 : NULL;
    }
}

/* What stands before the options. NULL: no memory. */
static char *write_usage(void)
{
    struct ar_bytes out = {0};

    put(&out, usage_start);
    for (const struct ar_exporter *e = ar_exporters; e->name; e++)
        put_format(&out, e);
    ar_bytes_u8(&out, '\0');
    return out.bad ? NULL : (char *)out.data;
}

static bool parse_rank(const char *text, struct ar_export_choice *choice)
{
    char *end;
    unsigned long rank = strtoul(text, &end, 10);

    if (end == text || *end || rank >= AR_RANK_NONE)
        return false;
    choice->one_rank = true;
    choice->world_rank = (uint32_t)rank;
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
    snprintf(request->name, sizeof request->name, "%s%s%s", stem, rank,
             request->exporter->suffixes[0]);
    if ((access(request->run, F_OK) != 0 && strpbrk(request->run, "*?[")) ||
        are_one_file(request->run, request->name))
        return ar_complain("into which file? (usage: allranks export %s -f %s -o FILE)",
                           ar_quote(request->run), request->exporter->name);
    return -1;
}

/* What the format can be of. Returns an exit status, or -1 to go on. */
static int check_choice(struct request *request)
{
    const struct ar_exporter *exporter = request->exporter;

    if (request->choice.one_rank && !exporter->one_rank)
        return ar_complain("--rank: %s is of all ranks that are selected (try: --ranks %u)",
                           exporter->name, request->choice.world_rank);
    if (!request->window.from && !request->window.to)
        return -1;
    if (!exporter->has_window)
        return ar_complain("--from, --to: %s is always of all of the time", exporter->name);
    if (!ar_window_read(&request->window))
        return AR_EXIT_BAD;
    request->choice.from_ns = request->window.from_ns;
    request->choice.to_ns = request->window.to_ns;
    return -1;
}

/* The format that was named, or that the name of the output asks for. NULL: complains itself. */
static const struct ar_exporter *choose_format(const struct request *request, const char *name)
{
    const struct ar_exporter *exporter = name              ? ar_exporter_named(name)
                                         : request->output ? ar_exporter_of_file(request->output)
                                                           : NULL;

    if (name && !exporter)
        ar_complain("%s: no such format (there is: %s)", name, list_formats(", "));
    else if (!exporter)
        ar_complain("which format? (usage: allranks export %s -f %s)", ar_quote(request->run),
                    list_formats("|"));
    return exporter;
}

/* Returns an exit status, or -1 to go on. */
static int parse(int argc, char **argv, struct request *request)
{
    const char *rank = NULL, *format = NULL;
    const struct ar_option options[] = {
        AR_HEADING("options"),
        {.name = "format",
         .letter = 'f',
         .kind = AR_OPTION_TEXT,
         .to = &format,
         .value = "NAME",
         .help = "the format (default: by the ending of FILE)"},
        {.name = "rank",
         .kind = AR_OPTION_TEXT,
         .to = &rank,
         .value = "N",
         .help = "this rank only (pstats; of other formats: --ranks)"},
        AR_WINDOW_OPTIONS(&request->window),
        AR_OUTPUT_OPTION(&request->output,
                         "the file to write (default: RUN and the ending of the format, as\n"
                         "RUN.pstats, or RUN.N.pstats for a rank; - is standard output);\n"
                         "needed where RUN is a pattern"),
        {.name = "quiet",
         .letter = 'q',
         .kind = AR_OPTION_FLAG,
         .to = &request->quiet,
         .help = "do not say what was written, and how many times are estimated"},
        AR_HELP_OPTION,
        AR_SELECTION_OPTIONS(&request->selection),
    };
    char *usage = write_usage(), example[300];
    int status = ar_options_parse(argc, argv, options, sizeof options / sizeof *options,
                                  usage ? usage : "", NULL);

    free(usage);
    if (status >= 0)
        return status;
    if (rank && !parse_rank(rank, &request->choice))
        return ar_complain("--rank %s: not a rank", rank);
    snprintf(example, sizeof example, "export RUN -f %s", list_formats("|"));
    if (argc - optind != 1)
        return ar_complain_runs(argc - optind, example);
    request->run = argv[optind];
    request->exporter = choose_format(request, format);
    if (!request->exporter)
        return AR_EXIT_BAD;
    status = check_choice(request);
    return status >= 0 || request->output ? status : name_output(request);
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

static void tell(uint64_t n_done, uint64_t n_all)
{
    char text[64];

    snprintf(text, sizeof text, "writing: %d %%", n_all ? (int)(100 * n_done / n_all) : 0);
    ar_progress(text);
}

/* Formats of traces show times that may have been moved; of a window without any there is nothing to write. */
static enum ar_status look_at_traces(const struct request *request, const struct ar_profile *p,
                                     struct ar_error *err)
{
    struct ar_traces traces;
    enum ar_status status;

    if (ar_traces_open(&traces, p, NULL) < 0)
        return AR_OK; /* what the format says of it */
    if (!request->quiet)
        ar_note_clocks(request->run, &traces);
    status = ar_traces_check_window(&traces, request->choice.from_ns, err);
    ar_traces_close(&traces);
    return status;
}

/* A format that writes its files itself. */
static int save(const struct request *request, struct ar_profile *p)
{
    const char *path = request->output ? request->output : request->name;
    struct ar_error err;
    enum ar_status status;

    if (strcmp(path, "-") == 0)
        return ar_complain("-o -: %s is not written to standard output", request->exporter->name);
    status = look_at_traces(request, p, &err);
    if (status == AR_OK)
        status = request->exporter->save(p, &request->choice, path, tell, &err);
    ar_progress(NULL);
    return status < 0 ? ar_complain_of(request->run, &err) : AR_EXIT_OK;
}

/* Large files are of use only if their readers can hold them. */
static void warn_of_size(const struct request *request, const struct ar_profile *p)
{
    uint64_t n_events = 0, most = request->exporter->most_events;
    struct ar_traces traces;

    if (!most || request->quiet || request->choice.to_ns ||
        ar_traces_open_as_compared(&traces, p, NULL) < 0)
        return;
    n_events = traces.n_events;
    ar_traces_close(&traces);
    if (n_events > most)
        ar_note("allranks: warning: %s has %s events; most programs that read %s hold no more than "
                "%s (try: -f perfetto, or --ranks, --from and --to)\n",
                request->run, ar_show_count(n_events), request->exporter->name,
                ar_show_count(most));
}

/* A format that is written block by block. */
static int stream(const struct request *request, struct ar_profile *p)
{
    struct ar_output_file file;
    struct ar_sink sink = {.take = ar_output_file_write, .to = &file};
    struct ar_error err;
    const char *path = request->output ? request->output : request->name;

    if (look_at_traces(request, p, &err) < 0)
        return ar_complain_of(request->run, &err);
    if (ar_output_file_open(&file, path, &err) < 0)
        return ar_complain("%s", err.text);
    warn_of_size(request, p);

    enum ar_status status = request->exporter->encode(p, &request->choice, &sink, tell, &err);
    bool is_of_run = status < 0 && status != AR_IO;

    status = ar_sink_end(&sink, status, &err);
    status = ar_output_file_close(&file, status, &err);
    ar_progress(NULL);
    if (is_of_run)
        return ar_complain_of(request->run, &err);
    return status < 0 ? ar_complain("%s", err.text) : AR_EXIT_OK;
}

int ar_command_export(int argc, char **argv)
{
    struct request request = {0};
    struct ar_run *run;
    struct ar_bytes bytes = {0};
    struct ar_error err;
    size_t n_estimated = 0;
    int status = parse(argc, argv, &request);

    /* Formats that are made in memory have no events. */
    ar_load_traces = status < 0 && !request.exporter->write;
    if (status < 0)
        status = ar_open_run(
            &run, &(struct ar_run_choice){.path = request.run, .selection = &request.selection});
    if (status >= 0)
        return status;
    if (request.exporter->encode)
        status = stream(&request, ar_run_profile(run, AR_FORM_RECORDED));
    else if (request.exporter->save)
        status = save(&request, ar_run_profile(run, AR_FORM_RECORDED));
    else if (request.exporter->write(ar_run_profile(run, AR_FORM_RECORDED), &request.choice, &bytes,
                                     &n_estimated, &err) < 0)
        status = ar_complain_of(request.run, &err);
    else
        status = ar_write_output(request.output ? request.output : request.name, &bytes);
    if (status == AR_EXIT_OK && !request.quiet)
        say_what_was_written(&request, n_estimated);
    ar_bytes_free(&bytes);
    ar_run_close(run);
    return status;
}

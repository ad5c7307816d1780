// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/leftovers.h"
#include "analysis/load.h"
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/screen.h"
#include "cli/shown.h"
#include "export/tables_json.h"
#include "format/live_names.h"
#include "run/subjects.h"

#include <dirent.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] =
    "usage: allranks clean [options] [DIR...]\n"
    "\n"
    "List what jobs have left behind: live files of killed processes, and run files that\n"
    "were not written to their end. Nothing is removed without --remove, and never what\n"
    "belongs to a job that has a living process on this host, nor anything that is not\n"
    "allranks' own. To have what was recorded first: allranks recover DIR/JOB\n"
    "\n"
    "DIR is a directory of jobs, of a single job, or of run files (default: those where\n"
    "allranks run puts live files, which are $ALLRANKS_LIVE_DIR and allranks-UID below\n"
    "/dev/shm, $TMPDIR and /tmp, and the current directory).\n";

/* Run files that may have been made of a job are looked into, but not without end. */
#define MOST_CANDIDATES 16
#define LARGEST_CANDIDATE ((off_t)256 << 20)

struct request {
    bool removes, other_hosts, is_dry;
    int json; /* enum ar_json_version */
    uint64_t older_than_ns;
};

struct removal {
    size_t n_jobs, n_files;
    uint64_t n_bytes;
};

/* ---- the run file of a job ------------------------------------------------------------------- */

static bool holds_process(const char *path, const struct ar_left_file *live)
{
    struct ar_profile p;
    struct ar_error err;
    bool found = false;

    if (ar_load(&p, path, &err) < 0)
        return false;
    for (size_t i = 0; i < p.n_processes; i++)
        found = found || (p.processes[i].pid == live->pid &&
                          p.processes[i].start_real_ns == live->start_real_ns);
    ar_profile_free(&p);
    return found;
}

/* NAME.allranks, NAME-2.allranks …, written since the process began. */
static bool is_candidate(const char *path, const char *name, const char *output,
                         const struct ar_left_file *live)
{
    size_t n_stem = strlen(output) - strlen(".allranks");
    struct stat st;

    return strncmp(name, output, n_stem) == 0 &&
           (strcmp(name + n_stem, ".allranks") == 0 || name[n_stem] == '-') &&
           stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= LARGEST_CANDIDATE &&
           (uint64_t)st.st_mtim.tv_sec + 1 >= live->start_real_ns / 1000000000u;
}

static bool find_run_in(const char *directory, const char *output, const struct ar_left_file *live,
                        char *path, size_t n_path)
{
    DIR *dir = opendir(directory);
    bool found = false;
    int n = 0;

    for (struct dirent *entry; dir && !found && n < MOST_CANDIDATES && (entry = readdir(dir));) {
        snprintf(path, n_path, "%s/%s", directory, entry->d_name);
        if (is_candidate(path, entry->d_name, output, live)) {
            found = holds_process(path, live);
            n++;
        }
    }
    if (dir)
        closedir(dir);
    return found;
}

static const struct ar_left_file *smallest_live(const struct ar_left_job *job)
{
    const struct ar_left_file *smallest = NULL;

    for (size_t i = 0; i < job->n_files; i++)
        if (job->files[i].has_header && (!smallest || job->files[i].n_bytes < smallest->n_bytes))
            smallest = &job->files[i];
    return smallest;
}

/*
 * Where `allranks run` would have written it. A run file that was given another name is not found:
 * then nothing is claimed.
 */
static bool find_run(const struct ar_left_job *job, char *path, size_t n_path)
{
    const struct ar_left_file *live = smallest_live(job);
    struct ar_finds finds = {0};
    struct ar_profile p;
    struct ar_error err;
    char live_path[8192], output[2048];
    bool found = false;

    *path = '\0';
    if (!live || ar_profile_init(&p) < 0)
        return false;
    snprintf(live_path, sizeof live_path, "%s/%s", job->path, live->name);
    if (ar_load_what_is_left(&p, live_path, &finds, &err) == AR_OK) {
        ar_default_output(&p, output, sizeof output);
        found = find_run_in(ar_profile_fact_text(&p, "directory"), output, live, path, n_path);
    }
    ar_finds_free(&finds);
    ar_profile_free(&p);
    if (!found)
        *path = '\0';
    return found;
}

/* ---- what there is --------------------------------------------------------------------------- */

static bool may_be_removed(const struct ar_left_job *job, const struct request *request)
{
    return job->state == AR_LEFT_SILENT || job->state == AR_LEFT_FINISHED ||
           (job->state == AR_LEFT_ELSEWHERE && request->other_hosts);
}

static bool is_old_enough(const struct ar_left_job *job, const struct request *request)
{
    uint64_t now = ar_clock_ns(CLOCK_REALTIME);

    return !request->older_than_ns ||
           (now > job->latest_real_ns && now - job->latest_real_ns >= request->older_than_ns);
}

static const char *host_of(const struct ar_left_job *job)
{
    for (size_t i = 0; i < job->n_files; i++)
        if (job->files[i].host[0])
            return job->files[i].host;
    return "-";
}

static const char *state_of(const struct ar_left_job *job)
{
    if (job->state == AR_LEFT_ELSEWHERE && strcmp(host_of(job), "-") == 0)
        return "unknown"; /* it ended before it said where it was */
    return job->state == AR_LEFT_FINISHED ? "dead" : ar_left_state_name(job->state);
}

static void print_job(const struct ar_left_job *job, const char *run)
{
    const char *name = strrchr(job->path, '/');
    char ranks[32] = "-";

    if (job->world_size)
        snprintf(ranks, sizeof ranks, "%zu/%u", job->n_ranks, job->world_size);
    ar_print_fit(!job->is_job ? "(not finished)" : name ? name + 1 : job->path, 28, AR_KEEP_END);
    ar_print("  ");
    ar_print_fit(host_of(job), 14, AR_KEEP_START);
    ar_print("  %-19s %9zu %9s %9s  %-9s  %s\n",
             job->start_real_ns ? ar_show_date(job->start_real_ns) : "-", job->n_processes, ranks,
             ar_show_bytes(job->n_bytes), state_of(job), *run ? run : "-");
}

static void print_directory(const char *path, size_t n_path)
{
    ar_print("\n%.*s\n%-28s  %-14s  %-19s %9s %9s %9s  %-9s  %s\n", (int)n_path, path, "job",
             "host", "started", "processes", "ranks", "size", "state", "run file");
}

/* Where the job's name begins in its path; of run files the whole is the directory. */
static size_t directory_bytes(const struct ar_left_job *job)
{
    const char *slash = strrchr(job->path, '/');

    return job->is_job ? (slash && slash > job->path ? (size_t)(slash - job->path) : 1)
                       : strlen(job->path);
}

static bool remove_job(const struct ar_left_job *job, const struct request *request,
                       struct removal *removal)
{
    if (!request->removes || request->is_dry || !may_be_removed(job, request))
        return false;
    size_t n = ar_leftovers_remove(job, &removal->n_bytes);

    removal->n_files += n;
    removal->n_jobs++;
    return n == job->n_files;
}

static void print_end(const struct ar_leftovers *left, const struct request *request,
                      const struct removal *removal, size_t n_shown)
{
    size_t n_removable = 0;

    for (size_t i = 0; i < left->n_jobs; i++)
        n_removable +=
            is_old_enough(&left->jobs[i], request) && may_be_removed(&left->jobs[i], request);
    if (!n_shown)
        ar_print("nothing is left of any job\n");
    else if (request->removes && !request->is_dry)
        ar_print("\nremoved %s, %s\n", ar_show_items(removal->n_files, "file", "files"),
                 ar_show_bytes(removal->n_bytes));
    else if (n_removable)
        ar_print("\nto have what was recorded: allranks recover DIR/JOB; to remove what is dead: "
                 "allranks clean --remove\n");
}

static void print_all(const struct ar_leftovers *left, const struct request *request)
{
    struct removal removal = {0};
    const char *last = "";
    size_t n_last = 0, n_shown = 0;

    for (size_t i = 0; i < left->n_jobs; i++) {
        const struct ar_left_job *job = &left->jobs[i];
        char run[4096];

        if (!is_old_enough(job, request))
            continue;
        if (directory_bytes(job) != n_last || strncmp(job->path, last, n_last) != 0) {
            last = job->path;
            n_last = directory_bytes(job);
            print_directory(last, n_last);
        }
        find_run(job, run, sizeof run);
        print_job(job, run);
        remove_job(job, request, &removal);
        n_shown++;
    }
    print_end(left, request, &removal, n_shown);
}

/* ---- as JSON ---------------------------------------------------------------------------------- */

static void put_job_1(struct ar_json *j, const struct ar_left_row *row)
{
    const struct ar_left_job *job = row->job;

    ar_json_open(j, NULL, '{');
    ar_json_text(j, "path", job->path);
    if (job->start_real_ns) {
        ar_json_text(j, "host", row->host);
        ar_json_integer(j, "start_real_ns", job->start_real_ns);
    } else {
        ar_json_null(j, "host");
        ar_json_null(j, "start_real_ns");
    }
    ar_json_integer(j, "latest_real_ns", job->latest_real_ns);
    ar_json_integer(j, "processes", job->n_processes);
    ar_json_integer(j, "ranks", job->n_ranks);
    ar_json_integer(j, "world_size", job->world_size);
    ar_json_integer(j, "files", job->n_files);
    ar_json_integer(j, "bytes", job->n_bytes);
    ar_json_text(j, "state", row->state);
    if (*row->run)
        ar_json_text(j, "run", row->run);
    else
        ar_json_null(j, "run");
    ar_json_bool(j, "removed", row->is_removed);
    ar_json_close(j, '}');
}

static int print_json_1(const struct ar_shown_leftovers *shown)
{
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};

    ar_json_open(&j, NULL, '{');
    ar_json_text(&j, "schema", "allranks.clean");
    ar_json_integer(&j, "version", 1);
    ar_json_open(&j, "jobs", '[');
    for (size_t i = 0; i < shown->n_rows; i++)
        put_job_1(&j, &shown->rows[i]);
    ar_json_close(&j, ']');
    ar_json_integer(&j, "files_removed", shown->n_removed);
    ar_json_integer(&j, "bytes_removed", shown->removed_bytes);
    ar_json_end(&j);
    return ar_print_json(&j, AR_OK);
}

static int print_json_2(const struct ar_shown_leftovers *shown)
{
    static const char *const tables[] = {"clean", "clean_jobs", NULL};
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};
    enum ar_status status;

    ar_json_begin(&j, "clean");
    status = ar_json_tables(&j, &(struct ar_subject){.leftovers = shown}, tables);
    ar_json_end(&j);
    return ar_print_json(&j, status);
}

/* Removes the jobs that are to be removed, too. */
static enum ar_status fill_row(struct ar_left_row *row, const struct ar_left_job *job,
                               const struct request *request, struct removal *removal)
{
    char run[4096];

    find_run(job, run, sizeof run);
    *row = (struct ar_left_row){
        .job = job, .host = host_of(job), .state = state_of(job), .run = strdup(run)};
    if (row->run)
        row->is_removed = remove_job(job, request, removal);
    return row->run ? AR_OK : AR_NOMEM;
}

static int print_json(const struct ar_leftovers *left, const struct request *request)
{
    struct ar_left_row *rows = calloc(left->n_jobs + 1, sizeof *rows);
    struct ar_shown_leftovers shown = {.rows = rows};
    struct removal removal = {0};
    enum ar_status status = rows ? AR_OK : AR_NOMEM;
    int exit_status;

    for (size_t i = 0; i < left->n_jobs && status == AR_OK; i++)
        if (is_old_enough(&left->jobs[i], request))
            status = fill_row(&rows[shown.n_rows++], &left->jobs[i], request, &removal);
    shown.n_removed = removal.n_files;
    shown.removed_bytes = removal.n_bytes;
    if (status < 0)
        exit_status = ar_complain("out of memory");
    else
        exit_status = request->json == AR_JSON_1 ? print_json_1(&shown) : print_json_2(&shown);
    for (size_t i = 0; i < shown.n_rows; i++)
        free(rows[i].run);
    free(rows);
    return exit_status;
}

/* ---- where to look --------------------------------------------------------------------------- */

static int look_everywhere(struct ar_leftovers *left, struct ar_error *err)
{
    const char *chosen = getenv("ALLRANKS_LIVE_DIR");

    if (chosen && *chosen && ar_leftovers_find(left, chosen, err) < 0)
        return -1;
    for (unsigned i = 0; i < AR_N_LIVE_PLACES; i++) {
        char path[4096];

        if (ar_live_place(i) && ar_live_name_home(path, sizeof path, ar_live_place(i)) &&
            access(path, R_OK) == 0 && ar_leftovers_find(left, path, err) < 0)
            return -1;
    }
    return ar_leftovers_find_parts(left, ".", err) < 0 ? -1 : 0;
}

static int look_at(struct ar_leftovers *left, char **paths, int n, struct ar_error *err)
{
    if (n == 0)
        return look_everywhere(left, err);
    for (int i = 0; i < n; i++) {
        if (access(paths[i], F_OK) != 0) {
            ar_fail(err, AR_IO, "%s: no such directory", paths[i]);
            return -1;
        }
        if (ar_leftovers_find(left, paths[i], err) < 0 ||
            ar_leftovers_find_parts(left, paths[i], err) < 0)
            return -1;
    }
    return 0;
}

static bool parse_age(const char *text, uint64_t *ns)
{
    static const struct {
        char unit;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 7 * 86400}};
    char *end;
    double value = strtod(text, &end);

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (end > text && *end == units[i].unit && end[1] == '\0' && value > 0 && value < 1e6) {
            *ns = (uint64_t)(value * units[i].seconds * 1e9);
            return true;
        }
    return false;
}

static int parse(int argc, char **argv, struct request *request)
{
    const char *older_than = NULL;
    const struct ar_option options[] = {
        AR_HEADING("options"),
        {.name = "remove",
         .kind = AR_OPTION_FLAG,
         .to = &request->removes,
         .help = "remove the dead jobs that are listed"},
        {.name = "other-hosts",
         .kind = AR_OPTION_FLAG,
         .to = &request->other_hosts,
         .help = "... those of other hosts too, whose processes cannot be seen\n"
                 "from here"},
        {.name = "older-than",
         .kind = AR_OPTION_TEXT,
         .to = &older_than,
         .value = "AGE",
         .help = "only what has not been written to for so long: 90s, 30m, 12h,\n"
                 "2d, 4w"},
        AR_JSON_OPTION(&request->json, "the same"),
        {.name = "dry-run",
         .letter = 'n',
         .kind = AR_OPTION_FLAG,
         .to = &request->is_dry,
         .help = "remove nothing, whatever else is said"},
        AR_HELP_OPTION,
    };
    int status =
        ar_options_parse(argc, argv, options, sizeof options / sizeof *options, usage, NULL);

    if (status < 0 && older_than && !parse_age(older_than, &request->older_than_ns))
        return ar_complain("--older-than %s: not an age, such as 12h or 2d", older_than);
    return status;
}

int ar_command_clean(int argc, char **argv)
{
    struct ar_leftovers left = {0};
    struct request request = {.json = AR_NO_JSON};
    struct ar_error err;
    int status = parse(argc, argv, &request);

    if (status >= 0)
        return status;
    status = AR_EXIT_OK;
    if (look_at(&left, argv + optind, argc - optind, &err) < 0)
        status = ar_complain("%s", err.text);
    else if (request.json != AR_NO_JSON)
        status = print_json(&left, &request);
    else
        print_all(&left, &request);
    ar_leftovers_free(&left);
    return status;
}

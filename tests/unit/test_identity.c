// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/identity.h"

#include "base/process.h"
#include "format/livefile.h"
#include "scratch.h"
#include "tap.h"

#include <inttypes.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define N_ITEMS(array) (sizeof(array) / sizeof *(array))

static struct ar_identity identity;
static struct ar_error error;

/* Whatever launcher runs the tests is not to be seen. */
static void forget_launchers(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "PMIX_RANK",
                                        "PMIX_NAMESPACE",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "PMI_JOBID",
                                        "MV2_COMM_WORLD_RANK",
                                        "MV2_COMM_WORLD_SIZE",
                                        "SLURM_PTY_PORT",
                                        "PMI_SPAWNED",
                                        "OMPI_PARENT_PORT",
                                        "SLURM_PROCID",
                                        "SLURM_NTASKS",
                                        "SLURM_JOB_ID",
                                        "SLURM_STEP_ID",
                                        "SLURM_NODEID",
                                        "SLURM_STEP_TASKS_PER_NODE",
                                        "OMPI_COMM_WORLD_LOCAL_SIZE",
                                        "MPI_LOCALNRANKS",
                                        "MV2_COMM_WORLD_LOCAL_SIZE",
                                        "OMPI_MCA_ess_base_jobid"};

    for (size_t i = 0; i < N_ITEMS(names); i++)
        unsetenv(names[i]);
}

static bool find(void)
{
    bool found = ar_identity_find(&identity, scratch_dir, &error) == AR_OK;

    if (!found)
        tap_note("%s", error.text);
    return found;
}

static const char *live_name(void)
{
    return strrchr(identity.live_path, '/') + 1;
}

/* ---- who ------------------------------------------------------------------------------------- */

static void test_alone(void)
{
    char job[64], name[128], host[256];
    unsigned long long start = ar_process_start((uint32_t)getpid());

    forget_launchers();
    tap_ok(find(), "without a launcher");
    tap_ok(identity.pid == (uint32_t)getpid() && identity.parent_pid == (uint32_t)getppid(),
           "it knows itself and its parent");
    tap_ok(identity.pid_start == start && start > 0, "and when it was started");
    tap_ok(identity.world_rank == AR_RANK_NONE && identity.world_size == 0, "it has no rank");
    tap_ok(gethostname(host, sizeof host) == 0 && strncmp(identity.host, host, 63) == 0, "host");
    snprintf(job, sizeof job, "pid%d-%llu", (int)getpid(), start);
    tap_ok(strcmp(identity.job, job) == 0, "it is a job of its own: %s", identity.job);
    snprintf(name, sizeof name, "p%d-%llu.live", (int)getpid(), start);
    tap_ok(strcmp(live_name(), name) == 0, "its file: %s", live_name());
    tap_ok(strncmp(identity.live_path, identity.job_dir, strlen(identity.job_dir)) == 0 &&
               strcmp(strrchr(identity.job_dir, '/') + 1, job) == 0,
           "in the directory of its job");
    ar_identity_leave(&identity);
}

static void check_rank(const char *variable, const char *text, uint32_t expected)
{
    setenv(variable, text, 1);
    tap_ok(find() && identity.world_rank == expected, "%s=%s", variable, text);
    ar_identity_leave(&identity);
    unsetenv(variable);
}

static void test_ranks(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                            "MV2_COMM_WORLD_RANK", "SLURM_PROCID"};

    forget_launchers();
    check_rank("SLURM_PROCID", "3", AR_RANK_NONE); /* a batch script has it too */
    setenv("SLURM_STEP_ID", "0", 1);
    for (size_t i = 0; i < N_ITEMS(variables); i++)
        check_rank(variables[i], "3", 3);
    check_rank("PMI_RANK", "0", 0);
    check_rank("PMI_RANK", "4294967294", 4294967294u);
    check_rank("PMI_RANK", "4294967295", AR_RANK_NONE);
    check_rank("PMI_RANK", "4294967296", AR_RANK_NONE);
    check_rank("PMI_RANK", "99999999999999999999999", AR_RANK_NONE);
    check_rank("PMI_RANK", "-1", AR_RANK_NONE);
    check_rank("PMI_RANK", "3x", AR_RANK_NONE);
    check_rank("PMI_RANK", "", AR_RANK_NONE);
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_NTASKS", "1", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
    check_rank("OMPI_COMM_WORLD_RANK", "5", 5); /* mpirun within an allocation of Slurm */
    tap_ok(identity.world_size == 8, "the launcher's size, not Slurm's");
}

/* "4": all tasks are on one node; "2(x3),1": two on each of three, one on the fourth. */
static void test_ranks_of_this_node(void)
{
    static const struct {
        const char *list, *node;
        uint32_t expected;
    } cases[] = {
        {"4", "0", 4},
        {"4", "1", 0},
        {"2(x3),1", "2", 2},
        {"2(x3),1", "3", 1},
        {"2(x3),1", "4", 0},
        {"1,3(x2)", "1", 3},
        {"", "0", 0},
        {"x", "0", 0},
        {"2(x", "1", 0},
        {"2", "", 0},
        {"99999999999999999999", "0", 0},
    };

    forget_launchers();
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_STEP_ID", "0", 1);
    for (size_t i = 0; i < N_ITEMS(cases); i++) {
        setenv("SLURM_STEP_TASKS_PER_NODE", cases[i].list, 1);
        setenv("SLURM_NODEID", cases[i].node, 1);
        tap_ok(find() && identity.local_size == cases[i].expected, "node %s of %s has %u",
               cases[i].node, cases[i].list, cases[i].expected);
        ar_identity_leave(&identity);
    }
    setenv("MPI_LOCALNRANKS", "6", 1);
    tap_ok(find() && identity.local_size == 6, "hydra below Slurm knows better");
    ar_identity_leave(&identity);
    forget_launchers();
}

struct setting {
    const char *name, *value;
};

#define N_SETTINGS 6

static void check_rank_and_size(const struct setting *settings, uint32_t rank, uint32_t size,
                                const char *what)
{
    forget_launchers();
    for (size_t i = 0; i < N_SETTINGS && settings[i].name; i++)
        setenv(settings[i].name, settings[i].value, 1);
    tap_ok(find() && identity.world_rank == rank && identity.world_size == size, "%s", what);
    tap_ok(identity.root_rank == rank, "... which its children are to know");
    ar_identity_leave(&identity);
    forget_launchers();
}

/* Variables that were left there by somebody else, or contradict each other. */
static void test_what_is_not_believed(void)
{
    static const struct {
        struct setting settings[N_SETTINGS];
        uint32_t rank, size;
        const char *what;
    } cases[] = {
        {{{"OMPI_COMM_WORLD_RANK", "2"},
          {"OMPI_COMM_WORLD_SIZE", "4"},
          {"PMI_RANK", "1"},
          {"PMI_SIZE", "3"}},
         2,
         4,
         "Open MPI's first"},
        {{{"PMIX_RANK", "0"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "3"}},
         0,
         0,
         "PMIx before PMI, whose size is not PMIx's"},
        {{{"PMIX_RANK", "1"}, {"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "8"}},
         1,
         8,
         "PMIx below Slurm"},
        {{{"PMI_RANK", "1"},
          {"PMI_SIZE", "3"},
          {"SLURM_STEP_ID", "0"},
          {"SLURM_PROCID", "0"},
          {"SLURM_NTASKS", "1"}},
         1,
         3,
         "hydra below Slurm"},
        {{{"PMI_RANK", "3"}, {"PMI_SIZE", "3"}},
         AR_RANK_NONE,
         0,
         "a rank that is not below its size"},
        {{{"PMI_RANK", "3"},
          {"PMI_SIZE", "3"},
          {"MV2_COMM_WORLD_RANK", "1"},
          {"MV2_COMM_WORLD_SIZE", "2"}},
         1,
         2,
         "... and another launcher's that is"},
        {{{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}},
         3,
         4,
         "a task of srun"},
        {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}},
         AR_RANK_NONE,
         0,
         "a shell of salloc, or a batch script"},
        {{{"SLURM_STEP_ID", "4294967290"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}},
         AR_RANK_NONE,
         0,
         "a shell of salloc that is an interactive step"},
        {{{"SLURM_STEP_ID", "1"},
          {"SLURM_PTY_PORT", "33333"},
          {"SLURM_PROCID", "0"},
          {"SLURM_NTASKS", "4"}},
         AR_RANK_NONE,
         0,
         "a shell of srun --pty"},
    };

    for (size_t i = 0; i < N_ITEMS(cases); i++)
        check_rank_and_size(cases[i].settings, cases[i].rank, cases[i].size, cases[i].what);
}

/* hydra says that a world was spawned, and does not name it. */
static void test_spawned_world(void)
{
    static const struct setting settings[N_SETTINGS] = {
        {"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"PMI_SPAWNED", "1"}};

    forget_launchers();
    setenv("PMI_RANK", "0", 1);
    setenv("PMI_SIZE", "2", 1);
    char parents[64];

    tap_ok(find(), "a rank");
    snprintf(parents, sizeof parents, "%s", identity.job);
    ar_identity_leave(&identity);
    setenv("PMI_SPAWNED", "1", 1);
    tap_ok(find() && strcmp(identity.job, parents) != 0, "a world that was spawned is another job");
    ar_identity_leave(&identity);
    check_rank_and_size(settings, 0, 2, "with ranks of its own");
}

static void check_job(const char *expected)
{
    tap_ok(find() && strcmp(identity.job, expected) == 0, "job %s", identity.job);
    tap_ok(strncmp(live_name(), "r7-p", 4) == 0, "file %s", live_name());
    ar_identity_leave(&identity);
}

static void test_jobs(void)
{
    forget_launchers();
    setenv("PMIX_RANK", "7", 1);
    setenv("SLURM_JOB_ID", "4711", 1);
    setenv("SLURM_STEP_ID", "2", 1);
    check_job("slurm4711.2");
    setenv("PMIX_NAMESPACE", "prterun-node7-99@1", 1);
    check_job("jobprterun-node7-99_1");
    setenv("PMIX_NAMESPACE", "../../etc/x y\n", 1);
    check_job("job.._.._etc_x_y_");
    forget_launchers();
    tap_ok(find() && strncmp(identity.job, "pid", 3) == 0, "without a rank no job id is believed");
    ar_identity_leave(&identity);
}

/* Runs the body in a child and gives back whether it said yes. */
static bool in_child(bool (*body)(void))
{
    int status = 1;
    pid_t child = fork();

    if (child == 0)
        _exit(body() ? 0 : 1);
    return waitpid(child, &status, 0) == child && status == 0;
}

static char launcher_job[64];

static bool has_the_launchers_job(void)
{
    return find() && strcmp(identity.job, launcher_job) == 0;
}

static bool has_it_below_a_shell(void)
{
    prctl(PR_SET_NAME, "sh"); /* a fork has its parent's name */
    return in_child(has_the_launchers_job);
}

/* As hydra does it: no job id, but all ranks have one ancestor with a name that is known. */
static bool is_a_launcher(void)
{
    uint32_t pid = (uint32_t)getpid();

    prctl(PR_SET_NAME, "hydra_pmi_proxy");
    snprintf(launcher_job, sizeof launcher_job, "launcher%u-%" PRIu64, pid, ar_process_start(pid));
    return in_child(has_the_launchers_job) && in_child(has_it_below_a_shell);
}

static void test_launcher_without_job_id(void)
{
    forget_launchers();
    setenv("PMI_RANK", "7", 1);
    tap_ok(in_child(is_a_launcher), "ranks of one launcher are one job, in a shell or not");
    tap_ok(find() && strncmp(identity.job, "launcher", 8) == 0, "%s", identity.job);
    ar_identity_leave(&identity);
    forget_launchers();
}

/* The host comes first in it and may be long; what tells jobs apart comes last. */
static void test_long_job_names(void)
{
    static const char *const ids[] = {
        "prterun-ip-10-0-12-34.eu-central-1.compute.internal-11111@1",
        "prterun-ip-10-0-12-34.eu-central-1.compute.internal-22222@1"};
    char jobs[2][64];

    forget_launchers();
    setenv("PMIX_RANK", "7", 1);
    for (int i = 0; i < 2; i++) {
        setenv("PMIX_NAMESPACE", ids[i], 1);
        tap_ok(find(), "job %s", identity.job);
        memcpy(jobs[i], identity.job, sizeof jobs[i]);
        ar_identity_leave(&identity);
    }
    tap_ok(strcmp(jobs[0], jobs[1]) != 0, "two jobs on one node have two names");
    forget_launchers();
}

static bool is_no_rank(void)
{
    return find() && identity.world_rank == AR_RANK_NONE && strncmp(identity.job, "pid", 3) == 0;
}

/* What a recorded rank starts has its environment, and is not that rank. */
static void test_below_a_rank(void)
{
    forget_launchers();
    setenv("PMIX_RANK", "7", 1);
    setenv("PMIX_NAMESPACE", "job", 1);
    tap_ok(find() && identity.world_rank == 7, "a rank");
    scratch_write(identity.live_path, "", 0);
    tap_ok(in_child(is_no_rank), "below it there is none");
    unlink(identity.live_path);
    tap_ok(!in_child(is_no_rank), "unless it was not recorded");
    ar_identity_leave(&identity);
    forget_launchers();
}

static void test_process_start(void)
{
    uint64_t start = ar_process_start((uint32_t)getpid());
    pid_t child = fork();

    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    tap_ok(ar_process_start((uint32_t)child) == 0, "a process that is gone has no start");
    tap_ok(ar_process_start(1) > 0 || access("/proc/1/stat", R_OK) != 0, "the first one has");
    prctl(PR_SET_NAME, ") R 1 (2 3");
    tap_ok(ar_process_start((uint32_t)getpid()) == start, "whatever its name");
}

/* ---- where ----------------------------------------------------------------------------------- */

static unsigned mode_of(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

static void test_directories(void)
{
    char dir[512];
    mode_t mask = umask(0);

    snprintf(dir, sizeof dir, "%s", scratch_path("new"));
    tap_ok(ar_identity_find(&identity, dir, &error) == AR_OK, "a new directory");
    tap_ok(mode_of(dir) == 0700 && mode_of(identity.job_dir) == 0700, "both are ours alone");
    tap_ok(ar_identity_find(&identity, dir, &error) == AR_OK, "again, they are there");
    ar_identity_leave(&identity);
    tap_ok(access(identity.job_dir, F_OK) != 0, "the job's is removed");
    tap_ok(access(dir, F_OK) == 0, "the one that was given is not");
    umask(mask);
}

static void test_leaving_files(void)
{
    tap_ok(find(), "found");
    scratch_write(identity.live_path, "x", 1);
    ar_identity_leave(&identity);
    tap_ok(scratch_holds(identity.live_path, "x", 1), "a directory with files in it stays");
    unlink(identity.live_path);
    ar_identity_leave(&identity);
    tap_ok(access(identity.job_dir, F_OK) != 0, "until it is empty");
}

static void check_refused(const char *live_dir, const char *text)
{
    tap_ok(ar_identity_find(&identity, live_dir, &error) == AR_IO && strstr(error.text, text),
           "refused: %.100s", error.text);
}

static void test_places_that_cannot_be(void)
{
    char dir[AR_PATH_BYTES + 10]; /* longer than any text of an error */

    check_refused(scratch_path("none/none"), "No such file");
    scratch_write(scratch_path("file"), "", 0);
    check_refused(scratch_path("file"), "Not a directory");
    memset(dir, 'a', sizeof dir - 1);
    dir[sizeof dir - 1] = '\0';
    check_refused(dir, "aaaa");
}

/* Somebody else was there first: the name of a job is no secret. */
static void test_planted_directories(void)
{
    static const char *const text = "not a directory that only you can write to";
    char job_dir[AR_PATH_BYTES];

    tap_ok(find(), "found");
    memcpy(job_dir, identity.job_dir, sizeof job_dir);
    ar_identity_leave(&identity);

    mkdir(scratch_path("theirs"), 0700);
    tap_ok(symlink(scratch_path("theirs"), job_dir) == 0, "a link to a directory");
    check_refused(scratch_dir, text);
    unlink(job_dir);
    scratch_write(job_dir, "", 0);
    check_refused(scratch_dir, text);
    unlink(job_dir);
    mkdir(job_dir, 0700);
    chmod(job_dir, 0770);
    check_refused(scratch_dir, text);
    chmod(job_dir, 0702);
    check_refused(scratch_dir, text);
    chmod(job_dir, 0700);
    if (chown(job_dir, 65534, 65534) == 0) /* only root can give it away */
        check_refused(scratch_dir, text);
    rmdir(job_dir);
    tap_ok(find(), "and without it all is well");
    ar_identity_leave(&identity);
}

static void test_default_place(void)
{
    char own[32];

    snprintf(own, sizeof own, "/allranks-%u/pid", (unsigned)geteuid());
    tap_ok(ar_identity_find(&identity, NULL, &error) == AR_OK && strstr(identity.job_dir, own) &&
               mode_of(identity.job_dir) == 0700,
           "by default: %s", identity.job_dir);
    ar_identity_leave(&identity);
    tap_ok(access(identity.job_dir, F_OK) != 0, "nothing is left of it");
}

/* ---- what a parent passes on ------------------------------------------------------------------- */

static enum ar_status join(const char *stem)
{
    return ar_identity_join(&identity, stem, &error);
}

static void test_joining(void)
{
    char stem[256];

    forget_launchers();
    mkdir(scratch_path("job"), 0700);
    snprintf(stem, sizeof stem, "%s/job/p12-34", scratch_dir);
    tap_ok(join(stem) == AR_OK && identity.is_child && identity.root_pid == 12 &&
               identity.root_start == 34 && identity.root_rank == AR_RANK_NONE,
           "a child of a process");
    tap_ok(strcmp(identity.job_dir, scratch_path("job")) == 0 && strcmp(identity.job, "job") == 0,
           "in the directory of its job");
    snprintf(stem, sizeof stem, "%s/job/r7-p12-18446744073709551615", scratch_dir);
    tap_ok(join(stem) == AR_OK && identity.root_rank == 7 && identity.world_rank == 7 &&
               identity.root_start == UINT64_MAX,
           "a child of a rank");
    rmdir(scratch_path("job"));
}

/* The environment may hold anything, and Python has to start. */
static void test_odd_stems(void)
{
    static const char *const stems[] = {
        "",    "/",    "//",     "p1-2", "/p1-2",   "job/p1-2",   "./job/p1-2", "/r1-p1-2",
        "/p1", "/p1-", "/p-1-2", "/job", "/r-p1-2", "/%s%n/p1-2", "/p1-2/",
    };
    static const char *const names[] = {
        "",
        "p",
        "p1",
        "p1-",
        "p-1",
        "p1--2",
        "p-1-2",
        "p+1-2",
        "p 1-2",
        "p01-2",
        "p1-02",
        "p1-2 ",
        "p1-2x",
        "p1-2.live",
        "p1-2.c3-4",
        "r",
        "r1",
        "r1-",
        "r1-p",
        "r1-p1",
        "r-1-p1-2",
        "r01-p1-2",
        "r4294967295-p1-2",
        "r4294967296-p1-2",
        "p4294967297-2",
        "xp1-2",
        "P1-2",
        "p1-18446744073709551616",
        "p1-99999999999999999999999",
        "p0x1-2",
        "p1-2\np3-4",
        "p1_2",
        "p%d-%d",
        "p1-2\xff",
        "..",
        ".",
        "r1-p1-2-3",
        "r1-r1-p1-2",
    };
    char stem[256];
    static char endless[100000];

    for (size_t i = 0; i < N_ITEMS(stems); i++)
        tap_ok(join(stems[i]) < 0, "not a recording: '%s'", stems[i]);
    mkdir(scratch_path("job"), 0700);
    for (size_t i = 0; i < N_ITEMS(names); i++) {
        snprintf(stem, sizeof stem, "%s/job/%s", scratch_dir, names[i]);
        tap_ok(join(stem) < 0, "nor in a directory of ours: number %zu", i);
    }
    memset(endless, 'x', sizeof endless - 1);
    endless[0] = '/';
    for (size_t n = 4000; n < 4200; n += 7) {
        snprintf(endless + n, sizeof endless - n, "/p1-2");
        if (join(endless) >= 0)
            tap_ok(false, "a path of %zu bytes", n);
        endless[n] = endless[n + 1] = endless[n + 2] = endless[n + 3] = endless[n + 4] = 'x';
    }
    tap_ok(scratch_count(scratch_path("job"), "") == 0, "and nothing was made");
    rmdir(scratch_path("job"));
}

static void test_joining_makes_nothing(void)
{
    char stem[256];

    snprintf(stem, sizeof stem, "%s/gone/p12-34", scratch_dir);
    tap_ok(join(stem) == AR_IO && access(scratch_path("gone"), F_OK) != 0,
           "a directory that is gone stays gone");
    mkdir(scratch_path("open"), 0700);
    chmod(scratch_path("open"), 0777);
    snprintf(stem, sizeof stem, "%s/open/p12-34", scratch_dir);
    tap_ok(join(stem) == AR_IO, "nor one that others can write to");
    tap_ok(symlink("open", scratch_path("link")) == 0, "a link");
    chmod(scratch_path("open"), 0700);
    snprintf(stem, sizeof stem, "%s/link/p12-34", scratch_dir);
    tap_ok(join(stem) == AR_IO, "nor one behind a link");
    close(open(scratch_path("file"), O_CREAT | O_WRONLY, 0600));
    snprintf(stem, sizeof stem, "%s/file/p12-34", scratch_dir);
    tap_ok(join(stem) == AR_IO, "nor a file");
}

int main(void)
{
    scratch_make();
    test_alone();
    test_ranks();
    test_ranks_of_this_node();
    test_what_is_not_believed();
    test_spawned_world();
    test_jobs();
    test_launcher_without_job_id();
    test_long_job_names();
    test_below_a_rank();
    test_directories();
    test_leaving_files();
    test_places_that_cannot_be();
    test_planted_directories();
    test_default_place();
    test_process_start();
    test_joining();
    test_odd_stems();
    test_joining_makes_nothing();
    scratch_remove();
    return tap_done();
}

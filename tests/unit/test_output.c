// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/output.h"

#include "scratch.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static struct ar_identity identity;

static void check(const char *name, bool per_rank, const char *expected)
{
    char path[AR_PATH_BYTES];

    ar_output_set(name, per_rank);
    ar_output_name(&identity, path);
    tap_ok(strcmp(path, expected) == 0, "%s%s: %s", name, per_rank ? ", per rank" : "", path);
}

static void test_words(void)
{
    check("/d/heat.allranks", false, "/d/heat.allranks");
    check("/d/{rank}.allranks", false, "/d/7.allranks");
    check("/d/{host}-{pid}.{job}", false, "/d/node_1-4711.jobx");
    check("/d/{{rank}}", false, "/d/{rank}");
    check("/d/{{{rank}}}", false, "/d/{7}");
    check("/d/a}b{", false, "/d/a}b{");
    check("/d/{nobody}", false, "/d/{nobody}");
    setenv("SLURM_JOB_ID", "99", 1);
    check("/d/{job}", false, "/d/99");
    unsetenv("SLURM_JOB_ID");
}

static void test_a_file_for_each_rank(void)
{
    check("/d.x/heat.allranks", true, "/d.x/heat.7.allranks");
    check("/d.x/heat", true, "/d.x/heat.7");
    check("/d.x/.heat", true, "/d.x/.heat.7");
    check("/d/{rank}-heat.allranks", true, "/d/7-heat.allranks");
    check("/d/{{rank}}.allranks", true, "/d/{rank}.7.allranks");
    identity.root_rank = AR_RANK_NONE;
    check("/d/heat.allranks", true, "/d/heat.allranks");
    check("/d/{rank}.allranks", true, "/d/0.allranks");
    identity.root_rank = 7;
}

/* As long as a name can be, and longer than that. */
static void test_long_names(void)
{
    char name[2 * AR_PATH_BYTES], path[AR_PATH_BYTES];

    for (size_t n = AR_PATH_BYTES - 20; n < AR_PATH_BYTES + 20; n++) {
        memset(name, 'x', n);
        memcpy(name + n, ".{rank}", sizeof ".{rank}");
        ar_output_set(name, n % 2);
        ar_output_name(&identity, path);
        if (memchr(path, '\0', sizeof path) == NULL || strspn(path, "x") > n)
            tap_ok(false, "a name of %zu bytes", n);
    }
    tap_ok(true, "long names are cut off");
}

static void test_a_slash_at_the_end(void)
{
    check("/d/heat/", false, "/d/heat");
    check("/d/heat//", true, "/d/heat.7");
    check("/", false, "/");
}

static void check_place(const char *name, enum ar_status expected, const char *elsewhere)
{
    char path[AR_PATH_BYTES];
    struct ar_error err = {""};

    ar_output_set(name, false);
    tap_ok(ar_output_check(&identity, &err) == expected, "%s: %s", name, err.text);
    ar_output_name_elsewhere(&identity, path);
    tap_ok(strcmp(path, elsewhere) == 0, "%s can be recovered to %s", name, path);
}

static void test_places(void)
{
    char name[512], elsewhere[512];
    const char *directory = scratch_make();

    snprintf(name, sizeof name, "%s/heat.allranks", directory);
    check_place(name, AR_OK, name);
    check_place(directory, AR_EXISTS, directory);
    if (chdir(directory) < 0)
        tap_ok(false, "a directory to be in");
    snprintf(name, sizeof name, "%s/missing/heat.allranks", directory);
    snprintf(elsewhere, sizeof elsewhere, "%s/heat.allranks", directory);
    check_place(name, AR_IO, elsewhere);
    check_place("/dev/null/heat.allranks", AR_IO, elsewhere);
    tap_ok(rmdir(directory) == 0, "nothing stays of looking");
    setenv("HOME", "/nowhere", 1);
    setenv("TMPDIR", "/tmp", 1);
    check_place("/dev/null/heat.allranks", AR_IO, "/tmp/heat.allranks");
}

int main(void)
{
    identity =
        (struct ar_identity){.root_rank = 7, .root_pid = 4711, .host = "node/1", .job = "jobx"};
    unsetenv("SLURM_JOB_ID");
    unsetenv("PBS_JOBID");
    unsetenv("LSB_JOBID");
    test_words();
    test_a_file_for_each_rank();
    test_long_names();
    test_a_slash_at_the_end();
    test_places();
    return tap_done();
}

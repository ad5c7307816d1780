// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/output.h"

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
    return tap_done();
}

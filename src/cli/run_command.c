// SPDX-License-Identifier: BSD-3-Clause
/*
 * allranks run, allranks install-shims: hand over to `python -m allranks`, which has all of it, help
 * included. The Python is the one that allranks is installed with: it stands in the same directory.
 */
#include "cli/commands.h"
#include "cli/screen.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool python_beside_us(char *path, size_t n_path)
{
    char own[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    char *slash;

    if (n <= 0)
        return false;
    own[n] = '\0';
    slash = strrchr(own, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return snprintf(path, n_path, "%s/python3", own) < (int)n_path && access(path, X_OK) == 0;
}

/*
 * As `python -m allranks`, which would load a dozen modules of its own to find ours. With -c the
 * current directory comes first; allranks is not looked for there, which would be one more
 * directory to read for every rank.
 */
static const char start[] = "import sys\n"
                            "here = sys.path[:1] == [''] and sys.path.pop(0)\n"
                            "from allranks._launch import main\n"
                            "if here == '':\n"
                            "    sys.path.insert(0, here)\n"
                            "main()\n";

static int hand_over(int argc, char **argv)
{
    char python[PATH_MAX];
    char **command = calloc((size_t)argc + 4, sizeof *command);

    if (!command)
        return ar_complain("out of memory");
    if (!python_beside_us(python, sizeof python))
        snprintf(python, sizeof python, "python3");
    command[0] = python;
    command[1] = (char *)"-c";
    command[2] = (char *)start;
    memcpy(command + 3, argv, (size_t)argc * sizeof *command);
    unsetenv("ALLRANKS_CHILD"); /* a run of its own, also below a program that is recorded */
    execvp(python, command);
    free(command);
    return ar_complain("%s: %s", python, strerror(errno));
}

int ar_command_run(int argc, char **argv)
{
    return hand_over(argc, argv);
}

int ar_command_install_shims(int argc, char **argv)
{
    return hand_over(argc, argv);
}

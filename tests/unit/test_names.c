// SPDX-License-Identifier: BSD-3-Clause
/* Functions as people call them. */
#include "analysis/names.h"

#include "sample_profile.h"
#include "tap.h"

static struct ar_profile p;

static bool is_shown(enum ar_function_kind kind, const char *name, const char *file,
                     const char *expected)
{
    char room[AR_NAME_BYTES];
    const char *plain = ar_plain_name(&p, sample_function_in(&p, kind, name, file, 1), room);

    if (strcmp(plain, expected) != 0)
        tap_note("%s", plain);
    return strcmp(plain, expected) == 0;
}

static bool is_module(const char *file, const char *expected)
{
    return is_shown(AR_FUNCTION_PYTHON, "<module>", file, expected);
}

static void test_packages(void)
{
    tap_ok(is_module("/v/lib/python3.11/site-packages/numpy/linalg/__init__.py", "numpy.linalg") &&
               is_module("/usr/lib/python3/dist-packages/mpi4py/__init__.py", "mpi4py"),
           "the code of a package that is installed");
    tap_ok(is_module("/usr/lib/python3.13/xml/dom/__init__.py", "xml.dom"), "or of Python's own");
    tap_ok(is_module("/home/ada/solver/mesh/__init__.py", "mesh") &&
               is_module("x/__init__.py", "x") && is_module("/__init__.py", ""),
           "of another it is not known what is around it");
    tap_ok(is_module("/home/ada/heat.py", "<module>") && is_module("__init__.py", "<module>"),
           "a module is no package");
    tap_ok(is_shown(AR_FUNCTION_PYTHON, "setup", "/x/numpy/__init__.py", "setup"),
           "nor is a function in one");
}

int main(void)
{
    sample_start(&p);
    test_packages();
    tap_ok(is_shown(AR_FUNCTION_BUILTIN, "method 'append' of 'list' objects", "", "list.append") &&
               is_shown(AR_FUNCTION_BUILTIN, "built-in method builtins.len", "", "len"),
           "C functions");
    tap_ok(is_shown(AR_FUNCTION_MPI, "MPI_Send_c", "", "MPI_Send"), "MPI functions");
    ar_profile_free(&p);
    return tap_done();
}

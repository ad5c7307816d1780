// SPDX-License-Identifier: BSD-3-Clause
/* Functions as Score-P's Python bindings name them. */
#include "analysis/scorep_names.h"

#include "sample_profile.h"
#include "tap.h"

static struct ar_profile p;

static bool is_called(struct ar_function f, const char *expected)
{
    char room[AR_NAME_BYTES];
    uint32_t id;

    sample_must(ar_profile_function(&p, f, &id));
    const char *name = ar_scorep_name(&p, id, room);

    if (strcmp(name, expected) != 0)
        tap_note("%s", name);
    return strcmp(name, expected) == 0;
}

/* Each of them is a function of its own: two of one file and line would be one, with the first one's module. */
static bool is_python(const char *module, const char *name, const char *file, const char *expected)
{
    static uint32_t line;
    struct ar_function f = {.kind = AR_FUNCTION_PYTHON,
                            .name = sample_text(&p, name),
                            .file = sample_text(&p, file),
                            .module = sample_text(&p, module),
                            .first_line = ++line};

    return is_called(f, expected);
}

static bool is_other(enum ar_function_kind kind, const char *name, const char *expected)
{
    struct ar_function f = {
        .kind = kind, .name = sample_text(&p, name), .file = sample_text(&p, "")};

    return is_called(f, expected);
}

static void test_python(void)
{
    tap_ok(is_python("heat", "relax", "/h/heat.py", "heat:relax") &&
               is_python("__main__", "<module>", "/h/run.py", "__main__:<module>"),
           "a function has its module in front of it");
    tap_ok(is_python("heat", "Grid.relax", "/h/heat.py", "heat.Grid:relax") &&
               is_python("a.b", "Outer.Inner.f", "/h/b.py", "a.b.Inner:f"),
           "a method its class, too");
    tap_ok(is_python("heat", "outer.<locals>.inner", "/h/heat.py", "heat:inner") &&
               is_python("heat", "f.<locals>.<listcomp>", "/h/heat.py", "heat:<listcomp>") &&
               is_python("heat", "Grid.f.<locals>.<lambda>", "/h/heat.py", "heat:<lambda>"),
           "what is in a function has none");
    tap_ok(is_python("heat", "f.<locals>.Local.go", "/h/heat.py", "heat.Local:go"),
           "but a class in a function is one");
    tap_ok(is_python("", "f", "/h/heat.py", "heat:f") &&
               is_python("", "C.f", "/h/mesh/__init__.py", "mesh.C:f") &&
               is_python("", "f", "<string>", "<string>:f") &&
               is_python("", "f", "", "unknown:f") &&
               is_python("", "f", "/__init__.py", "unknown:f"),
           "where there is no module, the file is taken");
    tap_ok(is_python("m", "", "/h/m.py", "m:unknown") && is_python("m", ".", "/h/m.py", "m:.") &&
               is_python("m", "a.", "/h/m.py", "m:a.") && is_python("m", ".a", "/h/m.py", "m:.a") &&
               is_python("m", "a..b", "/h/m.py", "m:b"),
           "names that are none do no harm");
}

static void test_regions(void)
{
    enum ar_function_kind region = AR_FUNCTION_REGION;

    tap_ok(is_other(region, "assemble", "user:assemble") &&
               is_other(region, "assemble(level=2)", "user:assemble(level=2)"),
           "regions are the user's");
    tap_ok(is_other(region, "__main__:foo", "__main__:foo") &&
               is_other(region, "user:x", "user:x") &&
               is_other(region, "user_instrumenter:x(n=1)", "user_instrumenter:x(n=1)"),
           "a prefix that is there stays");
    tap_ok(is_other(region, "load(path='a:b')", "user:load(path='a:b')"),
           "a parameter has no prefix");
    tap_ok(is_other(region, ":again", "again") && is_other(region, ":", "user::") &&
               is_other(region, "", "user:"),
           "a colon in front is for names without any");
}

static void test_c(void)
{
    enum ar_function_kind c = AR_FUNCTION_BUILTIN;

    tap_ok(is_other(c, "built-in method numpy.dot", "numpy:dot") &&
               is_other(c, "built-in method builtins.len", "builtins:len") &&
               is_other(c, "built-in method numpy.linalg._umath.det", "numpy.linalg._umath:det") &&
               is_other(c, "built-in method fromkeys", "builtins:fromkeys"),
           "functions of modules");
    tap_ok(is_other(c, "method 'append' of 'list' objects", "list:append") &&
               is_other(c, "method 'Allreduce' of 'mpi4py.MPI.Comm' objects",
                        "mpi4py.MPI.Comm:Allreduce") &&
               is_other(c, "method 'strange", "builtins:strange"),
           "methods");
    tap_ok(is_other(c, "type list", "builtins:list") &&
               is_other(c, "type numpy.ndarray", "numpy:ndarray") &&
               is_other(c, "built-in method __new__ of type object at 0x1", "type:__new__"),
           "types");
    tap_ok(is_other(c, "ufunc add", "numpy:add") && is_other(c, "other", "builtins:other"),
           "ufuncs, and what is unknown");
}

static void test_others(void)
{
    tap_ok(is_other(AR_FUNCTION_MPI, "MPI_Allreduce", "MPI_Allreduce") &&
               is_other(AR_FUNCTION_MPI, "MPI_Send_c", "MPI_Send"),
           "MPI functions");
    tap_ok(is_other(AR_FUNCTION_OPERATION, "Comm.bcast", "mpi4py.MPI.Comm:bcast") &&
               is_other(AR_FUNCTION_OPERATION, "mpi4py.MPI.Comm.send", "mpi4py.MPI.Comm:send") &&
               is_other(AR_FUNCTION_OPERATION, "Init", "mpi4py.MPI:Init"),
           "methods of mpi4py");
    tap_ok(is_other(AR_FUNCTION_THREAD, "Thread-1 (work)", "thread:Thread-1 (work)") &&
               is_other(AR_FUNCTION_THREAD, "", "thread:main") &&
               is_other(AR_FUNCTION_TASK, "fetch", "task:fetch") &&
               is_other(AR_FUNCTION_IMPORT, "(import)", "import:(import)") &&
               is_other(AR_FUNCTION_PROCESS, "child.py", "process:child.py") &&
               is_other(AR_FUNCTION_UNASSIGNED, "len, list.append", "unassigned:len, list.append"),
           "threads, tasks, imports and child processes");
}

/* Of three bytes each, so that the room ends in the middle of one, whatever stands in front. */
static void test_length(void)
{
    char name[3 * AR_NAME_BYTES + 1] = "", room[AR_NAME_BYTES];
    static const char *const modules[] = {"m", "mm", "mmm"};
    bool is_whole = true;

    for (int i = 0; i < AR_NAME_BYTES; i++)
        strcat(name, "\xe2\x82\xac");
    for (int i = 0; i < 3; i++) {
        struct ar_function f = {.kind = AR_FUNCTION_PYTHON,
                                .name = sample_text(&p, name),
                                .file = sample_text(&p, "x"),
                                .module = sample_text(&p, modules[i]),
                                .first_line = 1000 + (uint32_t)i};
        uint32_t id;

        sample_must(ar_profile_function(&p, f, &id));
        const char *cut = ar_scorep_name(&p, id, room), *colon = strchr(cut, ':');

        is_whole = is_whole && colon && strlen(colon + 1) % 3 == 0 &&
                   strlen(cut) >= AR_NAME_BYTES - 4 && strncmp(colon + 1, name, 3) == 0;
    }
    tap_ok(is_whole, "a name is cut between characters");
}

int main(void)
{
    sample_start(&p);
    test_python();
    test_regions();
    test_c();
    test_others();
    test_length();
    ar_profile_free(&p);
    return tap_done();
}

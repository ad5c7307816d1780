// SPDX-License-Identifier: BSD-3-Clause
#include "format/trace_class.h"

#include "format/import_system.h"
#include "format/mpi_functions.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *key, *label;
} names[AR_N_TRACE_CLASSES] = {
    [AR_CLASS_NONE] = {"not_recorded", "not recorded"},
    [AR_CLASS_OTHER] = {"other", "other"},
    [AR_CLASS_PYTHON] = {"python", "Python"},
    [AR_CLASS_C] = {"c", "C functions"},
    [AR_CLASS_REGION] = {"region", "regions"},
    [AR_CLASS_IMPORT] = {"import", "imports"},
    [AR_CLASS_IO] = {"io", "I/O"},
    [AR_CLASS_SLEEP] = {"sleep", "sleep, locks"},
    [AR_CLASS_MPI4PY] = {"mpi4py", "mpi4py"},
    [AR_CLASS_MPI] = {"mpi_other", "MPI other"},
    [AR_CLASS_P2P] = {"mpi_p2p", "MPI point-to-point"},
    [AR_CLASS_COLLECTIVE] = {"mpi_collective", "MPI collective"},
    [AR_CLASS_WAIT] = {"mpi_wait", "MPI wait"},
};

const char *ar_trace_class_key(enum ar_trace_class class)
{
    return names[class].key;
}

const char *ar_trace_class_label(enum ar_trace_class class)
{
    return names[class].label;
}

/* ---- C functions ------------------------------------------------------------------------------ */

static bool has_part(const char *name, const char *const *parts, size_t n_parts)
{
    for (size_t i = 0; i < n_parts; i++)
        if (strstr(name, parts[i]))
            return true;
    return false;
}

bool ar_is_file_function(const char *name)
{
    static const char *const parts[] = {
        " of '_io.",      "method _io.open", "method io.open", "posix.open",
        "posix.read",     "posix.write",     "posix.pread",    "posix.pwrite",
        "posix.readv",    "posix.writev",    "posix.fsync",    "posix.fdatasync",
        "posix.sendfile", "'tofile'",        "fromfile",       " of '_csv."};

    return !strstr(name, "_io.StringIO") && !strstr(name, "_io.BytesIO") &&
           has_part(name, parts, sizeof parts / sizeof *parts);
}

static bool is_sleep(const char *name)
{
    static const char *const parts[] = {
        "time.sleep",         "'acquire' of '_thread.", "'__enter__' of '_thread.",
        "_thread.RLock",      "'acquire' of '_multi",   "'__enter__' of '_multi",
        "posix.wait",         "select.select",          " of 'select.",
        "_queue.SimpleQueue", "of '_socket.socket'"};

    return has_part(name, parts, sizeof parts / sizeof *parts);
}

static enum ar_trace_class class_of_c(const char *name, enum ar_trace_class above)
{
    if (above == AR_CLASS_IMPORT)
        return AR_CLASS_IMPORT;
    if (ar_is_file_function(name))
        return AR_CLASS_IO;
    return is_sleep(name) ? AR_CLASS_SLEEP : AR_CLASS_C;
}

/* ---- MPI -------------------------------------------------------------------------------------- */

static enum ar_trace_class class_of_mpi(const char *name)
{
    static const struct {
        const char *class;
        enum ar_trace_class as;
    } classes[] = {
        {"p2p", AR_CLASS_P2P},
        {"collective", AR_CLASS_COLLECTIVE},
        {"neighbour", AR_CLASS_COLLECTIVE},
        {"wait", AR_CLASS_WAIT},
        {"probe", AR_CLASS_WAIT},
        {"io", AR_CLASS_IO},
        {"file", AR_CLASS_IO},
    };
    const struct ar_mpi_function *function = ar_mpi_function_named(name);

    for (size_t i = 0; function && i < sizeof classes / sizeof *classes; i++)
        if (strcmp(function->class, classes[i].class) == 0)
            return classes[i].as;
    return AR_CLASS_MPI;
}

/* ---- all -------------------------------------------------------------------------------------- */

/* Modules of the program itself may do its work while they are imported. */
static bool is_of_library(const char *file)
{
    static const char *const parts[] = {"/site-packages/", "/dist-packages/", "/lib/python",
                                        "<frozen "};

    return has_part(file, parts, sizeof parts / sizeof *parts);
}

static enum ar_trace_class class_of_python(const struct ar_profile *p, uint32_t function,
                                           enum ar_trace_class above)
{
    const char *file = ar_strtab_text(&p->strings, p->functions[function].file);

    if (ar_function_imports(p, function) || (above == AR_CLASS_IMPORT && is_of_library(file)))
        return AR_CLASS_IMPORT;
    return AR_CLASS_PYTHON;
}

enum ar_trace_class ar_trace_class_of(const struct ar_profile *p, uint32_t node,
                                      enum ar_trace_class above)
{
    uint32_t function = p->nodes[node].function;
    const struct ar_function *f = &p->functions[function];
    const char *name = ar_strtab_text(&p->strings, f->name);

    switch ((enum ar_function_kind)f->kind) {
    case AR_FUNCTION_PYTHON:
        return class_of_python(p, function, above);
    case AR_FUNCTION_TASK:
        return AR_CLASS_PYTHON;
    case AR_FUNCTION_MPI:
        return class_of_mpi(name);
    case AR_FUNCTION_BUILTIN:
        return class_of_c(name, above);
    case AR_FUNCTION_UNASSIGNED:
        return above == AR_CLASS_IMPORT ? AR_CLASS_IMPORT : AR_CLASS_C;
    case AR_FUNCTION_REGION:
        return ar_function_is_pause(p, function) ? AR_CLASS_NONE : AR_CLASS_REGION;
    case AR_FUNCTION_IMPORT:
        return AR_CLASS_IMPORT;
    case AR_FUNCTION_OPERATION:
        return AR_CLASS_MPI4PY;
    case AR_FUNCTION_THREAD:
    case AR_FUNCTION_OURS:
    case AR_FUNCTION_PROCESS:
        break;
    }
    return AR_CLASS_OTHER;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/petsc_library.h"

#include <stdio.h>
#include <string.h>

/* Until 3.19: the beginnings of _n_PetscStageLog, _n_PetscEventRegLog and PetscEventRegInfo. */
struct event_info {
    const char *name;
    int class_id;
    int is_collective; /* of some builds there is more */
};

struct event_log {
    int n, n_max;
    const struct event_info *infos;
};

struct stage_log {
    int n, n_max;
    void *stack;
    int current;
    void *stages;
    const struct event_log *events;
};

#define FIRST_CLASS_ID 1211211 /* PETSC_SMALLEST_CLASSID */
#define MOST_CLASSES 4096

/* What is summed up, each of up to four variables of the library. */
#define MOST_PARTS 4

static const char *const work_names[AR_N_PETSC_WORK][MOST_PARTS] = {
    [AR_PETSC_FLOPS] = {"petsc_TotalFlops"},
    [AR_PETSC_MESSAGES] = {"petsc_irecv_ct", "petsc_isend_ct", "petsc_recv_ct", "petsc_send_ct"},
    [AR_PETSC_BYTES] = {"petsc_irecv_len", "petsc_isend_len", "petsc_recv_len", "petsc_send_len"},
    [AR_PETSC_REDUCTIONS] = {"petsc_allreduce_ct", "petsc_gather_ct", "petsc_scatter_ct"},
};

#define MOST_STAGES 512

static struct {
    int (*get_stage_log)(struct stage_log **log); /* until 3.19 */
    int (*event_name)(int event, const char **name);
    int (*stage_name)(int stage, const char **name);
    int (*version)(char *text, size_t n_text);
    const double *work[AR_N_PETSC_WORK][MOST_PARTS];
    size_t event_stride;           /* 0: not known yet */
    char stages[MOST_STAGES][256]; /* names, until 3.19 */
} library;

/* ---- names ------------------------------------------------------------------------------------ */

static const struct event_info *info_at(const struct event_log *log, size_t stride, size_t i)
{
    return (const struct event_info *)((const char *)log->infos + i * stride);
}

/* Programs in C often have 0 for events of their own. */
static bool is_class_id(int id)
{
    return id == 0 || (id >= FIRST_CLASS_ID && id < FIRST_CLASS_ID + MOST_CLASSES);
}

/* No name is read: what is not a name would be no address. Memory is looked at that is there by the smallest stride. */
static bool is_stride(const struct event_log *log, size_t stride)
{
    size_t n_bytes = (size_t)log->n * sizeof(struct event_info);

    for (size_t i = 0; (i + 1) * stride <= n_bytes && i < 64; i++) {
        const struct event_info *info = info_at(log, stride, i);

        if (!is_class_id(info->class_id) || (info->is_collective & ~1))
            return false;
    }
    return n_bytes >= 4 * stride;
}

/* What follows in an event_info depends on how PETSc was built. */
static size_t find_stride(const struct event_log *log)
{
    for (size_t stride = sizeof(struct event_info); stride <= 32; stride += 8)
        if (is_stride(log, stride))
            return stride;
    return 0;
}

static const char *name_in_stage_log(int event)
{
    struct stage_log *log = NULL;

    if (!library.get_stage_log || library.get_stage_log(&log) || !log || !log->events)
        return NULL;
    if (!library.event_stride)
        library.event_stride = find_stride(log->events);
    if (!library.event_stride || event >= log->events->n)
        return NULL;
    return info_at(log->events, library.event_stride, (size_t)event)->name;
}

const char *ar_petsc_event_name(int event)
{
    const char *name = NULL;

    if (library.event_name)
        return library.event_name(event, &name) ? NULL : name;
    return name_in_stage_log(event);
}

/* The first is the whole program. */
const char *ar_petsc_stage_name(int stage)
{
    const char *name = NULL;

    if (stage <= 0)
        return NULL;
    if (library.stage_name)
        return library.stage_name(stage, &name) ? NULL : name;
    return stage < MOST_STAGES ? library.stages[stage] : NULL;
}

void ar_petsc_name_stage(int stage, const char *name)
{
    if (stage > 0 && stage < MOST_STAGES)
        snprintf(library.stages[stage], sizeof library.stages[0], "%s", name);
}

void ar_petsc_version(char *text, size_t n_text)
{
    text[0] = '\0';
    if (library.version)
        library.version(text, n_text);
    text[n_text - 1] = '\0';
}

/* ---- work ------------------------------------------------------------------------------------- */

void ar_petsc_read_work(double *work)
{
    for (size_t i = 0; i < AR_N_PETSC_WORK; i++) {
        work[i] = 0;
        for (size_t k = 0; k < MOST_PARTS && library.work[i][k]; k++)
            work[i] += *library.work[i][k];
    }
}

/* ---- what it has ------------------------------------------------------------------------------- */

static void find_work(const struct ar_object *object)
{
    for (size_t i = 0; i < AR_N_PETSC_WORK; i++) {
        size_t n = 0;

        for (size_t k = 0; k < MOST_PARTS && work_names[i][k]; k++) {
            library.work[i][n] = ar_object_variable(object, work_names[i][k], sizeof(double));
            n += library.work[i][n] != NULL;
        }
    }
}

void ar_petsc_read_library(const struct ar_object *object)
{
    library.get_stage_log =
        (int (*)(struct stage_log **))ar_object_function(object, "PetscLogGetStageLog");
    library.event_name =
        (int (*)(int, const char **))ar_object_function(object, "PetscLogEventGetName");
    library.stage_name =
        (int (*)(int, const char **))ar_object_function(object, "PetscLogStageGetName");
    library.version = (int (*)(char *, size_t))ar_object_function(object, "PetscGetVersion");
    find_work(object);
}

void ar_petsc_begins(void)
{
    library.event_stride = 0;
}

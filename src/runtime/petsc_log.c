// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/petsc_log.h"

#include "base/text.h"
#include "runtime/annotations.h"
#include "runtime/livemap.h"
#include "runtime/mpi_abi.h"
#include "runtime/petsc_library.h"
#include "runtime/recording_options.h"

#include <stdio.h>
#include <string.h>

/* ---- PETSc's own ------------------------------------------------------------------------------ */

typedef int event_fn(int event, int unused, void *o1, void *o2, void *o3, void *o4);
typedef int handler_event_fn(void *handler, int event, void *o1, void *o2, void *o3, void *o4);

/* PetscLogHandlerHot, since 3.20. */
struct hot {
    void *handler;
    handler_event_fn *event_begin, *event_end;
    void *others[3];
};

#define N_HOT 4
#define OURS (N_HOT - 1) /* PETSc takes the first that has no handler */

static struct {
    bool is_wanted; /* logging is to be switched on */
    bool is_found, is_initialized, has_said, is_viewing;
    struct ar_object library, extension; /* petsc4py's */
    size_t n_others;                     /* further libraries of PETSc */

    event_fn **begin, **end, *real_begin, *real_end; /* until 3.19 */
    struct hot *hot;                                 /* since 3.20 */
} petsc;

/* ---- names ------------------------------------------------------------------------------------ */

/* An event is 2 * its number, a stage one more. */
#define STAGE 1u

static const char *name_of(uint32_t id)
{
    return id & STAGE ? ar_petsc_stage_name((int)(id / 2)) : ar_petsc_event_name((int)(id / 2));
}

#define KIND(NAME, UNIT)                                                                           \
    {                                                                                              \
        .name = (NAME), .unit = (UNIT), .combine = AR_COMBINE_SUM, .scope = AR_SCOPE_INCLUSIVE     \
    }

static struct ar_annotator annotator = {
    .name_of = name_of,
    .read_work = ar_petsc_read_work,
    .n_work = AR_N_PETSC_WORK,
    .metrics = {[AR_PETSC_FLOPS] = KIND("petsc_flops", "1"),
                [AR_PETSC_MESSAGES] = KIND("petsc_messages", "1"),
                [AR_PETSC_BYTES] = KIND("petsc_message_bytes", "B"),
                [AR_PETSC_REDUCTIONS] = KIND("petsc_reductions", "1")},
};

/* ---- events ----------------------------------------------------------------------------------- */

/* By petsc4py for the program: that need not be ended in the call that begins it. */
static bool is_by_python(const void *caller)
{
    return ar_object_contains(&petsc.extension, caller);
}

static int our_begin(int event, int unused, void *o1, void *o2, void *o3, void *o4)
{
    bool stays = is_by_python(__builtin_return_address(0));
    int status = petsc.real_begin(event, unused, o1, o2, o3, o4);

    if (status == 0)
        ar_annotation_begin(&annotator, 2 * (uint32_t)event, stays);
    return status;
}

static int our_end(int event, int unused, void *o1, void *o2, void *o3, void *o4)
{
    ar_annotation_end(&annotator, 2 * (uint32_t)event, AR_ANNOTATION_ID);
    return petsc.real_end(event, unused, o1, o2, o3, o4);
}

static int our_handler_begin(void *none, int event, void *o1, void *o2, void *o3, void *o4)
{
    (void)none, (void)o1, (void)o2, (void)o3, (void)o4;
    ar_annotation_begin(&annotator, 2 * (uint32_t)event, is_by_python(__builtin_return_address(0)));
    return 0;
}

static int our_handler_end(void *none, int event, void *o1, void *o2, void *o3, void *o4)
{
    (void)none, (void)o1, (void)o2, (void)o3, (void)o4;
    ar_annotation_end(&annotator, 2 * (uint32_t)event, AR_ANNOTATION_ID);
    return 0;
}

/* ---- logging ---------------------------------------------------------------------------------- */

static void say(const char *what)
{
    if (!petsc.has_said && ar_live_base)
        ar_livemap_fact("petsc-log", what);
    petsc.has_said = true;
}

static bool is_logging(void)
{
    bool has_handler = false;

    for (size_t i = 0; petsc.hot && i < N_HOT; i++)
        has_handler |= petsc.hot[i].handler != NULL;
    return has_handler || (petsc.begin && *petsc.begin && *petsc.end);
}

/* A log of Jumpshot's is known by its address to the library. */
static bool is_replaceable(const event_fn *begin)
{
    return (void *)begin != ar_object_function(&petsc.library, "PetscLogEventBeginMPE");
}

static void chain_functions(void)
{
    event_fn *begin = *petsc.begin, *end = *petsc.end;

    if (!begin || !end || !is_replaceable(begin))
        return;
    if (begin != our_begin)
        petsc.real_begin = begin;
    if (end != our_end)
        petsc.real_end = end;
    *petsc.begin = our_begin;
    *petsc.end = our_end;
    say("recorded");
}

static void fill_hot_slot(void)
{
    struct hot *slot = &petsc.hot[OURS];

    if (slot->handler) {
        say("not recorded: four log handlers are active");
    } else if (is_logging()) {
        slot->event_begin = our_handler_begin;
        slot->event_end = our_handler_end;
        say("recorded");
    } else {
        slot->event_begin = slot->event_end = NULL;
    }
}

/* After whatever may have switched logging on or off. */
static void follow_logging(void)
{
    if (!petsc.is_initialized || !ar_live_base)
        return;
    if (petsc.hot)
        fill_hot_slot();
    else if (petsc.begin)
        chain_functions();
}

/* ---- what is called instead ------------------------------------------------------------------- */

typedef int any_fn(void *, void *, void *, void *);

enum call {
    INITIALIZE,
    INITIALIZE_WITHOUT,
    FINALIZE,
    LOG_VIEW,
    STAGE_REGISTER,
    STAGE_PUSH,
    STAGE_POP,
    DEFAULT_BEGIN,
    ALL_BEGIN,
    NESTED_BEGIN,
    TRACE_BEGIN,
    LEGACY_BEGIN,
    LOG_SET,
    HANDLER_START,
    HANDLER_STOP,
    N_CALLS
};

static any_fn *real[N_CALLS];

/*
 * A handler belongs to a communicator, and to make one takes a number that all its ranks have to agree on. A rank that is not
 * recorded makes none, so ours is of MPI_COMM_SELF.
 */
static bool start_own_handler(const struct ar_mpi_abi *abi)
{
    int (*create)(uint64_t, void **) =
        (int (*)(uint64_t, void **))ar_object_function(&petsc.library, "PetscLogHandlerCreate");
    int (*set_type)(void *, const char *) =
        (int (*)(void *, const char *))ar_object_function(&petsc.library, "PetscLogHandlerSetType");
    int (*destroy)(void **) =
        (int (*)(void **))ar_object_function(&petsc.library, "PetscLogHandlerDestroy");
    void *handler = NULL;

    if (!create || !set_type || !destroy || !real[HANDLER_START] ||
        create(abi->ask.self(), &handler))
        return false;

    bool is_started =
        set_type(handler, "default") == 0 && real[HANDLER_START](handler, NULL, NULL, NULL) == 0;

    return destroy(&handler) == 0 && is_started; /* what was started is held */
}

/* NULL: there is none, or more than one. */
static const struct ar_mpi_abi *only_mpi(void)
{
    const struct ar_mpi_abi *const all[] = {&ar_mpi_openmpi, &ar_mpi_mpich, &ar_mpi_standard, NULL};
    const struct ar_mpi_abi *found = NULL;
    size_t n = 0;

    for (size_t i = 0; all[i]; i++)
        if (all[i]->library) {
            found = all[i];
            n++;
        }
    return n == 1 ? found : NULL;
}

static void switch_on(void)
{
    const struct ar_mpi_abi *abi = only_mpi();
    bool is_on = petsc.hot && abi
                     ? start_own_handler(abi)
                     : real[DEFAULT_BEGIN] && real[DEFAULT_BEGIN](NULL, NULL, NULL, NULL) == 0;

    if (!is_on)
        say("not recorded: it could not be switched on");
}

/* Of "PETSc Release Version 3.18.5, Feb 27, 2023" the number. */
static void say_version(void)
{
    char text[256] = "";

    ar_petsc_version(text, sizeof text);

    char *number = text + strcspn(text, "0123456789");

    number[strcspn(number, ", ")] = '\0';
    ar_livemap_fact("petsc", *number ? number : "of an unknown version");
}

static void note_initialized(void)
{
    petsc.is_initialized = true;
    ar_petsc_begins();
    ar_annotator_forget(&annotator);
    if (!ar_live_base)
        return;
    say_version();
    if (!petsc.hot && !petsc.begin)
        say("not recorded: PETSc was built without it");
    if (petsc.is_wanted && !is_logging())
        switch_on();
    follow_logging();
}

static int our_initialize(void *argc, void *args, void *file, void *help)
{
    int status = real[INITIALIZE](argc, args, file, help);

    if (status == 0)
        note_initialized();
    return status;
}

static int our_initialize_without(void)
{
    int status = real[INITIALIZE_WITHOUT](NULL, NULL, NULL, NULL);

    if (status == 0)
        note_initialized();
    return status;
}

static int our_finalize(void)
{
    int status = real[FINALIZE](NULL, NULL, NULL, NULL);

    petsc.is_initialized = false;
    return status;
}

/* It takes all stages off while it prints. */
static int our_log_view(void *viewer)
{
    petsc.is_viewing = true;

    int status = real[LOG_VIEW](viewer, NULL, NULL, NULL);

    petsc.is_viewing = false;
    return status;
}

static int our_stage_register(const char *name, int *stage)
{
    int status = real[STAGE_REGISTER]((void *)name, stage, NULL, NULL);

    if (status == 0 && name)
        ar_petsc_name_stage(*stage, name);
    return status;
}

static int our_stage_push(int stage)
{
    bool stays = is_by_python(__builtin_return_address(0));
    int status = real[STAGE_PUSH]((void *)(intptr_t)stage, NULL, NULL, NULL);

    if (status == 0 && !petsc.is_viewing)
        ar_annotation_begin(&annotator, 2 * (uint32_t)stage + STAGE, stays);
    return status;
}

static int our_stage_pop(void)
{
    if (!petsc.is_viewing)
        ar_annotation_end(&annotator, STAGE, STAGE);
    return real[STAGE_POP](NULL, NULL, NULL, NULL);
}

#define AND_FOLLOW(NAME, CALL)                                                                     \
    static int NAME(void *a, void *b, void *c, void *d)                                            \
    {                                                                                              \
        int status = real[CALL](a, b, c, d);                                                       \
                                                                                                   \
        follow_logging();                                                                          \
        return status;                                                                             \
    }

AND_FOLLOW(our_default_begin, DEFAULT_BEGIN)
AND_FOLLOW(our_all_begin, ALL_BEGIN)
AND_FOLLOW(our_nested_begin, NESTED_BEGIN)
AND_FOLLOW(our_trace_begin, TRACE_BEGIN)
AND_FOLLOW(our_legacy_begin, LEGACY_BEGIN)
AND_FOLLOW(our_log_set, LOG_SET)
AND_FOLLOW(our_handler_start, HANDLER_START)
AND_FOLLOW(our_handler_stop, HANDLER_STOP)

static const struct {
    const char *name;
    void *ours;
} calls[N_CALLS] = {
    [INITIALIZE] = {"PetscInitialize", (void *)our_initialize},
    [INITIALIZE_WITHOUT] = {"PetscInitializeNoArguments", (void *)our_initialize_without},
    [FINALIZE] = {"PetscFinalize", (void *)our_finalize},
    [LOG_VIEW] = {"PetscLogView", (void *)our_log_view},
    [STAGE_REGISTER] = {"PetscLogStageRegister", (void *)our_stage_register},
    [STAGE_PUSH] = {"PetscLogStagePush", (void *)our_stage_push},
    [STAGE_POP] = {"PetscLogStagePop", (void *)our_stage_pop},
    [DEFAULT_BEGIN] = {"PetscLogDefaultBegin", (void *)our_default_begin},
    [ALL_BEGIN] = {"PetscLogAllBegin", (void *)our_all_begin},
    [NESTED_BEGIN] = {"PetscLogNestedBegin", (void *)our_nested_begin},
    [TRACE_BEGIN] = {"PetscLogTraceBegin", (void *)our_trace_begin},
    [LEGACY_BEGIN] = {"PetscLogLegacyCallbacksBegin", (void *)our_legacy_begin},
    [LOG_SET] = {"PetscLogSet", (void *)our_log_set},
    [HANDLER_START] = {"PetscLogHandlerStart", (void *)our_handler_start},
    [HANDLER_STOP] = {"PetscLogHandlerStop", (void *)our_handler_stop},
};

/* ---- the library ------------------------------------------------------------------------------ */

static void find_functions(const struct ar_object *object)
{
    for (size_t i = 0; i < N_CALLS; i++)
        real[i] = (any_fn *)ar_object_function(object, calls[i].name);
}

static bool is_found(void)
{
    return petsc.is_found;
}

/* Of several, as of real and of complex numbers, one: both would have events of the same numbers. */
static bool found(const struct ar_object *object)
{
    if (petsc.is_found) {
        if (object->dynamic != petsc.library.dynamic && petsc.n_others++ == 0)
            ar_livemap_fact("petsc", "a second library: its log is not recorded");
        return false;
    }
    petsc.is_found = true;
    petsc.library = *object;
    petsc.library.name = "";
    find_functions(object);
    ar_petsc_read_library(object);
    petsc.hot = ar_object_variable(object, "PetscLogHandlers", N_HOT * sizeof *petsc.hot);
    petsc.begin = ar_object_variable(object, "PetscLogPLB", sizeof *petsc.begin);
    petsc.end = ar_object_variable(object, "PetscLogPLE", sizeof *petsc.end);
    if (!petsc.end)
        petsc.begin = NULL;
    ar_annotator_begin(&annotator);
    return true;
}

/* A lazy slot leads into its own object. What it will be bound to is known as long as there is one library. */
static bool leads_here(const struct ar_object *object, const void *target)
{
    return ar_object_contains(&petsc.library, target) ||
           (ar_object_contains(object, target) && petsc.n_others == 0);
}

static void redirect_slot(const struct ar_object *object, const char *name, void **slot,
                          void *context)
{
    void *target = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

    (void)context;
    for (size_t i = 0; target && i < N_CALLS; i++)
        if (real[i] && strcmp(name, calls[i].name) == 0 && leads_here(object, target))
            ar_slot_set(object, slot, calls[i].ours);
}

static void *wrapper(const void *function)
{
    for (size_t i = 0; i < N_CALLS; i++)
        if (real[i] && (const void *)real[i] == function)
            return calls[i].ours;
    return NULL;
}

static void redirect(const struct ar_object *object)
{
    ar_slots_each(object, "Petsc", redirect_slot, NULL);
    if (!petsc.extension.end && ar_object_function(object, "PyInit_PETSc")) {
        petsc.extension = *object;
        petsc.extension.name = "";
    }
}

const struct ar_followed ar_petsc_followed = {
    .function = "PetscInitialize",
    .found = found,
    .is_found = is_found,
    .prefix = "Petsc",
    .redirect = redirect,
    .wrapper = wrapper,
};

static enum ar_status start(const struct ar_options *options, struct ar_error *err)
{
    (void)err;
    petsc.is_wanted = options->petsc_log;
    return AR_OK;
}

const struct ar_source ar_source_petsc = {.name = "petsc", .start = start};

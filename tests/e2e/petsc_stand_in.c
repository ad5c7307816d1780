// SPDX-License-Identifier: BSD-3-Clause
/*
 * For test_petsc: a library with what allranks knows of PETSc since 3.20, for machines that have an older one. It has two events
 * and two stages; events go through four slots, as PETSc's macro has it. What it logs itself is counted in `n_logged`.
 */
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

typedef int event_fn(void *handler, int event, void *, void *, void *, void *);

struct hot {
    void *handler;
    event_fn *begin, *end;
    void *others[3];
};

EXPORTED struct hot PetscLogHandlers[4];
EXPORTED double petsc_TotalFlops, petsc_isend_ct, petsc_isend_len, petsc_allreduce_ct;
EXPORTED int n_logged;

static int count(void *handler, int event, void *a, void *b, void *c, void *d)
{
    (void)event, (void)a, (void)b, (void)c, (void)d;
    n_logged += handler == &n_logged;
    return 0;
}

EXPORTED int PetscInitialize(int *n_args, char ***args, const char *file, const char *help)
{
    (void)n_args, (void)args, (void)file, (void)help;
    return 0;
}

EXPORTED int PetscFinalize(void)
{
    memset(PetscLogHandlers, 0, sizeof PetscLogHandlers);
    petsc_TotalFlops = 0;
    return 0;
}

EXPORTED int PetscGetVersion(char *text, size_t n)
{
    strncpy(text, "PETSc Release Version 3.99.1, some day", n);
    return 0;
}

EXPORTED int PetscLogHandlerStart(void *handler)
{
    int i = 0;

    while (i < 4 && PetscLogHandlers[i].handler)
        i++;
    if (i == 4)
        return 1;
    PetscLogHandlers[i] = (struct hot){.handler = handler, .begin = count, .end = count};
    return 0;
}

EXPORTED int PetscLogHandlerStop(void *handler)
{
    for (int i = 0; i < 4; i++)
        if (PetscLogHandlers[i].handler == handler)
            PetscLogHandlers[i] = (struct hot){0};
    return 0;
}

EXPORTED int PetscLogDefaultBegin(void)
{
    return PetscLogHandlerStart(&n_logged);
}

EXPORTED int PetscLogEventGetName(int event, const char **name)
{
    *name = event == 1 ? "first event" : "second event   ";
    return event < 1 || event > 2;
}

EXPORTED int PetscLogStageGetName(int stage, const char **name)
{
    *name = stage == 1 ? "a stage" : "another stage";
    return stage < 1 || stage > 2;
}

EXPORTED int PetscLogStagePush(int stage)
{
    return stage < 0 || stage > 2;
}

EXPORTED int PetscLogStagePop(void)
{
    return 0;
}

static void begin(int event)
{
    for (int i = 0; i < 4; i++)
        if (PetscLogHandlers[i].begin)
            PetscLogHandlers[i].begin(PetscLogHandlers[i].handler, event, 0, 0, 0, 0);
}

static void end(int event)
{
    for (int i = 0; i < 4; i++)
        if (PetscLogHandlers[i].end)
            PetscLogHandlers[i].end(PetscLogHandlers[i].handler, event, 0, 0, 0, 0);
}

/* The second event in the first, `n` times. */
EXPORTED int works(int n)
{
    begin(1);
    for (int i = 0; i < n; i++) {
        begin(2);
        petsc_TotalFlops += 3;
        petsc_isend_ct += 1;
        petsc_isend_len += 8;
        end(2);
    }
    petsc_allreduce_ct += 1;
    end(1);
    return 0;
}

/* An error in the second. */
EXPORTED int fails(void)
{
    begin(1);
    begin(2);
    return 1;
}

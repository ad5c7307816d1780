// SPDX-License-Identifier: BSD-3-Clause
/*
 * A stand-in for libpapi 7.0 whose counters are known to the digit.
 *
 * They count what a thread does by calling stand_in_work(n): each event grows by n times a number of its own. As PAPI does, it keeps
 * one running set per component and thread, takes four events of the processor at most, and is started again in a forked child,
 * where native events have other numbers.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define VERSION (7 << 24)
#define EINVALID (-1)
#define ENOEVNT (-7)
#define ECNFLCT (-8)
#define ENOTRUN (-9)
#define EISRUN (-10)
#define ENOEVST (-11)
#define MOST_SETS 256
#define MOST_TOGETHER 4

static const struct event {
    unsigned code;
    const char *name;
    int component;
    long long per_unit; /* of work; 0: it is known, and cannot be added */
    const char *text;
} events[] = {
    {0x80000000, "PAPI_L1_DCM", 0, 7, "Level 1 data cache misses"},
    {0x80000008, "PAPI_L3_TCM", 0, 1, "Level 3 cache misses"},
    {0x8000002e, "PAPI_BR_MSP", 0, 0, "Conditional branch instructions mispredicted"},
    {0x80000032, "PAPI_TOT_INS", 0, 10, "Instructions completed"},
    {0x8000003b, "PAPI_TOT_CYC", 0, 4, "Total cycles"},
    {0x80000066, "PAPI_FP_OPS", 0, 3, "Floating point operations"},
    {0x40000001, "stand_in:::ENERGY", 1, 100, "Energy"},
};
#define N_EVENTS (sizeof events / sizeof *events)

struct set {
    int is_used, is_running, n;
    pthread_t owner;
    const struct event *events[MOST_TOGETHER];
    long long since;
};

static struct set sets[MOST_SETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t process;
static unsigned n_restarts;
static __thread long long work; /* of this thread */

void stand_in_work(long long n)
{
    work += n;
}

static unsigned code_of(const struct event *event)
{
    return event->code & 0x80000000 ? event->code : event->code + n_restarts;
}

static const struct event *find(unsigned code)
{
    for (size_t i = 0; i < N_EVENTS; i++)
        if (code_of(&events[i]) == code)
            return &events[i];
    return NULL;
}

static struct set *find_set(int number)
{
    return number >= 0 && number < MOST_SETS && sets[number].is_used ? &sets[number] : NULL;
}

int PAPI_library_init(int version)
{
    if (version != VERSION)
        return EINVALID;
    if (process != getpid())
        memset(sets, 0, sizeof sets);
    n_restarts += process && process != getpid();
    process = getpid();
    return VERSION;
}

int PAPI_thread_init(unsigned long (*thread)(void))
{
    return thread ? 0 : EINVALID;
}

int PAPI_unregister_thread(void)
{
    return 0;
}

char *PAPI_strerror(int why)
{
    return why == ENOEVNT    ? "Event does not exist"
           : why == EINVALID ? "Invalid argument"
                             : "Failure";
}

int PAPI_event_name_to_code(const char *name, int *code)
{
    for (size_t i = 0; i < N_EVENTS; i++)
        if (strcmp(events[i].name, name) == 0) {
            *code = (int)code_of(&events[i]);
            return 0;
        }
    return ENOEVNT;
}

int PAPI_event_code_to_name(int code, char *name)
{
    const struct event *event = find((unsigned)code);

    if (event)
        strcpy(name, event->name);
    return event ? 0 : ENOEVNT;
}

int PAPI_get_event_component(int code)
{
    const struct event *event = find((unsigned)code);

    return event ? event->component : ENOEVNT;
}

int PAPI_get_event_info(int code, void *to)
{
    const struct event *event = find((unsigned)code);

    if (!event)
        return ENOEVNT;
    strcpy((char *)to + 4, event->name);
    strcpy((char *)to + 4 + 1024 + 64, event->text);
    return 0;
}

int PAPI_enum_event(int *code, int modifier)
{
    for (size_t i = 0; i < N_EVENTS; i++)
        if (events[i].code > (unsigned)*code && modifier == 0) {
            *code = (int)events[i].code;
            return events[i].code & 0x80000000 ? 0 : ENOEVNT;
        }
    return ENOEVNT;
}

int PAPI_create_eventset(int *number)
{
    int answer = ENOEVST;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST_SETS && answer; i++)
        if (!sets[i].is_used) {
            sets[i] = (struct set){.is_used = 1, .owner = pthread_self()};
            *number = i;
            answer = 0;
        }
    pthread_mutex_unlock(&lock);
    return answer;
}

int PAPI_add_event(int number, int code)
{
    struct set *set = find_set(number);
    const struct event *event = find((unsigned)code);

    if (!set)
        return ENOEVST;
    if (!event || !event->per_unit)
        return ENOEVNT;
    if (set->n == MOST_TOGETHER || (set->n && set->events[0]->component != event->component))
        return ECNFLCT;
    set->events[set->n++] = event;
    return 0;
}

static int is_busy(const struct set *set)
{
    for (int i = 0; i < MOST_SETS; i++)
        if (&sets[i] != set && sets[i].is_used && sets[i].is_running && sets[i].n && set->n &&
            pthread_equal(sets[i].owner, set->owner) &&
            sets[i].events[0]->component == set->events[0]->component)
            return 1;
    return 0;
}

int PAPI_start(int number)
{
    struct set *set = find_set(number);

    if (!set || !set->n)
        return ENOEVST;
    if (is_busy(set))
        return EISRUN;
    set->is_running = 1;
    set->since = work;
    return 0;
}

int PAPI_read(int number, long long *values)
{
    struct set *set = find_set(number);

    if (!set || !pthread_equal(set->owner, pthread_self()))
        return ENOEVST;
    if (!set->is_running)
        return ENOTRUN;
    for (int i = 0; i < set->n; i++)
        values[i] = (work - set->since) * set->events[i]->per_unit;
    return 0;
}

int PAPI_stop(int number, long long *values)
{
    int answer = PAPI_read(number, values);

    if (answer == 0)
        sets[number].is_running = 0;
    return answer;
}

int PAPI_cleanup_eventset(int number)
{
    struct set *set = find_set(number);

    if (!set || set->is_running)
        return EISRUN;
    set->n = 0;
    return 0;
}

int PAPI_destroy_eventset(int *number)
{
    struct set *set = find_set(*number);

    if (!set || set->n)
        return EINVALID;
    set->is_used = 0;
    *number = -1;
    return 0;
}

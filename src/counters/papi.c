// SPDX-License-Identifier: BSD-3-Clause
#include "counters/papi.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* PAPI's numbers, the same from 5.0 on. */
#define PAPI_OK 0
#define PAPI_ENOEVNT (-7)
#define PAPI_ECNFLCT (-8)
#define PAPI_EISRUN (-10)
#define PAPI_EPERM (-15)
#define PAPI_NULL (-1)
#define PAPI_PRESET_MASK ((int)0x80000000)
#define PAPI_ENUM_EVENTS 0

/* Functions of the library, each with its type. */
#define EACH_FUNCTION(X)                                                                           \
    X(int, library_init, (int version))                                                            \
    X(int, thread_init, (unsigned long (*thread)(void)))                                           \
    X(int, unregister_thread, (void))                                                              \
    X(char *, strerror, (int why))                                                                 \
    X(int, event_name_to_code, (const char *name, int *code))                                      \
    X(int, event_code_to_name, (int code, char *name))                                             \
    X(int, get_event_component, (int code))                                                        \
    X(int, get_event_info, (int code, void *info))                                                 \
    X(int, enum_event, (int *code, int modifier))                                                  \
    X(int, create_eventset, (int *set))                                                            \
    X(int, add_event, (int set, int code))                                                         \
    X(int, start, (int set))                                                                       \
    X(int, read, (int set, long long *values))                                                     \
    X(int, stop, (int set, long long *values))                                                     \
    X(int, cleanup_eventset, (int set))                                                            \
    X(int, destroy_eventset, (int *set))

#define DECLARE(type, name, parameters) type(*name) parameters;
static struct {
    pthread_mutex_t lock; /* of loading; a forked child makes it anew */
    bool is_tried, is_loaded;
    uint32_t n_forks;
    char version[16];
    char why_not[256];
    EACH_FUNCTION(DECLARE)
} lib = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- loading ---------------------------------------------------------------------------------- */

static void *open_numbered(int major, int newest_minor)
{
    char name[32];
    void *library = NULL;

    for (int minor = newest_minor; minor >= 0 && !library; minor--) {
        snprintf(name, sizeof name, "libpapi.so.%d.%d", major, minor);
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

/* The plain name belongs to the package for developers, which compute nodes need not have. */
static void *open_library(void)
{
    const char *named = getenv("ALLRANKS_PAPI");

    if (named && *named)
        return dlopen(named, RTLD_NOW | RTLD_LOCAL);

    void *library = dlopen("libpapi.so", RTLD_NOW | RTLD_LOCAL);

    for (int major = 7; major >= 5 && !library; major--)
        library = open_numbered(major, 9);
    return library;
}

static const char *find_functions(void *library)
{
#define FIND(type, name, parameters)                                                               \
    *(void **)&lib.name = dlsym(library, "PAPI_" #name);                                           \
    if (!lib.name)                                                                                 \
        return "PAPI_" #name;
    EACH_FUNCTION(FIND)
    return NULL;
}

static unsigned long own_thread(void)
{
    return (unsigned long)pthread_self();
}

/*
 * The library takes only the version that it is itself, and does not say which. It answers by that number.
 * In a forked child the same call starts it anew.
 */
static int initialise(void)
{
    int answer = 0;

    for (int major = 7; major >= 5; major--)
        for (int minor = 9; minor >= 0; minor--) {
            int version = major << 24 | minor << 16;

            answer = lib.library_init(version);
            if (answer == version) {
                snprintf(lib.version, sizeof lib.version, "%d.%d", major, minor);
                return lib.thread_init(own_thread);
            }
        }
    return answer < 0 ? answer : PAPI_NULL;
}

static void load(void)
{
    void *library = open_library();
    const char *lacks = library ? find_functions(library) : NULL;
    const char *named = getenv("ALLRANKS_PAPI");

    if (!library) {
        snprintf(lib.why_not, sizeof lib.why_not, "%.200s",
                 named && *named ? dlerror() : "PAPI is not installed here (package libpapi)");
    } else if (lacks) {
        snprintf(lib.why_not, sizeof lib.why_not, "this PAPI has no %s (5.0 or later is needed)",
                 lacks);
    } else {
        int answer = initialise();

        lib.is_loaded = answer == PAPI_OK;
        if (!lib.is_loaded)
            snprintf(lib.why_not, sizeof lib.why_not, "PAPI does not start: %.160s",
                     lib.strerror(answer));
    }
}

static enum ar_status need(struct ar_error *err)
{
    int saved_errno = errno;

    pthread_mutex_lock(&lib.lock);
    if (!lib.is_tried) {
        lib.is_tried = true;
        load();
    }
    pthread_mutex_unlock(&lib.lock);
    errno = saved_errno;
    return lib.is_loaded ? AR_OK : ar_fail(err, AR_UNSUPPORTED, "%s", lib.why_not);
}

enum ar_status ar_papi_version(const char **version, struct ar_error *err)
{
    enum ar_status status = need(err);

    *version = status == AR_OK ? lib.version : "";
    return status;
}

/* Another thread of the parent may have held the lock. The library itself is started again when it is needed. */
void ar_papi_forked(void)
{
    lib.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    lib.n_forks++;
    if (lib.is_loaded)
        lib.is_tried = lib.is_loaded = false;
}

/* ---- names ------------------------------------------------------------------------------------ */

static enum ar_status refuse(int why, struct ar_error *err)
{
    switch (why) {
    case PAPI_ECNFLCT:
        return ar_fail(err, AR_UNSUPPORTED,
                       "the processor cannot count it together with the others (ask for fewer)");
    case PAPI_EISRUN:
        return ar_fail(err, AR_UNSUPPORTED,
                       "PAPI already counts for this thread, and can do so only once (ask for "
                       "counters in one place)");
    case PAPI_EPERM:
        return ar_fail(err, AR_UNSUPPORTED,
                       "not permitted (kernel.perf_event_paranoid: ask your administrator)");
    default:
        return ar_fail(err, AR_UNSUPPORTED, "PAPI %s: %.160s (try: allranks counters)", lib.version,
                       lib.strerror(why));
    }
}

enum ar_status ar_papi_code(int *code, const char *name, struct ar_error *err)
{
    enum ar_status status = need(err);
    char copy[AR_PAPI_NAME_BYTES]; /* older ones take a name that is not const */

    if (status < 0)
        return status;
    snprintf(copy, sizeof copy, "%s", name);

    int answer = lib.event_name_to_code(copy, code);

    if (answer == PAPI_ENOEVNT)
        return ar_fail(err, AR_BAD, "PAPI %s has no such event here (try: papi_avail)",
                       lib.version);
    return answer == PAPI_OK ? AR_OK : refuse(answer, err);
}

enum ar_status ar_papi_name(char name[AR_PAPI_NAME_BYTES], int code, struct ar_error *err)
{
    enum ar_status status = need(err);
    char text[1024] = "";

    if (status < 0)
        return status;

    int answer = lib.event_code_to_name(code, text);

    if (answer != PAPI_OK)
        return ar_fail(err, AR_BAD, "PAPI %s has no such event here (%.100s)", lib.version,
                       lib.strerror(answer));
    snprintf(name, AR_PAPI_NAME_BYTES, "%.*s", AR_PAPI_NAME_BYTES - 1, text);
    return AR_OK;
}

/*
 * What PAPI says of an event is a struct that grew at its end: a number, the name in 1,024 bytes, a label in 64, a sentence in
 * 1,024. If the name is where it is expected, the rest is, too.
 */
void ar_papi_describe(char *text, size_t n_text, int code)
{
    static const size_t name_at = 4, sentence_at = 4 + 1024 + 64;
    char *info = calloc(1, 1 << 16);
    char name[AR_PAPI_NAME_BYTES];

    *text = '\0';
    if (info && ar_papi_name(name, code, NULL) == AR_OK &&
        lib.get_event_info(code, info) == PAPI_OK && strcmp(info + name_at, name) == 0)
        snprintf(text, n_text, "%.1000s", info + sentence_at);
    free(info);
}

bool ar_papi_next_preset(int *code)
{
    if (need(NULL) < 0)
        return false;
    if (*code == 0) {
        *code = PAPI_PRESET_MASK;
        return true;
    }
    return lib.enum_event(code, PAPI_ENUM_EVENTS) == PAPI_OK;
}

/* ---- sets ------------------------------------------------------------------------------------- */

/* The set of the event's component; -1 where there is none yet and none can be made. */
static int set_for(struct ar_papi *out, int code, int *why)
{
    int component = lib.get_event_component(code);

    for (size_t i = 0; i < out->n_sets; i++)
        if (out->components[i] == component)
            return (int)i;

    int *set = &out->sets[out->n_sets];

    *set = PAPI_NULL;
    *why = lib.create_eventset(set);
    if (*why != PAPI_OK)
        return -1;
    out->components[out->n_sets] = component;
    return (int)out->n_sets++;
}

static int add_all(struct ar_papi *out, const int *codes, size_t n)
{
    int why = PAPI_OK;

    while (out->n < n) {
        int set = set_for(out, codes[out->n], &why);

        if (set < 0)
            return why;
        why = lib.add_event(out->sets[set], codes[out->n]);
        if (why != PAPI_OK)
            return why;
        out->set_of[out->n++] = (uint8_t)set;
    }
    return PAPI_OK;
}

/* A set that cannot be started is the fault of its last event. */
static int start_all(struct ar_papi *out, size_t *which)
{
    for (size_t set = 0; set < out->n_sets; set++) {
        int why = lib.start(out->sets[set]);

        if (why == PAPI_OK)
            continue;
        for (size_t i = 0; i < out->n; i++)
            if (out->set_of[i] == set)
                *which = i;
        return why;
    }
    return PAPI_OK;
}

enum ar_status ar_papi_open(struct ar_papi *out, const int *codes, size_t n, size_t *which,
                            struct ar_error *err)
{
    enum ar_status status = need(err);

    *out = (struct ar_papi){.n_forks = lib.n_forks};
    *which = 0;
    if (status < 0)
        return status;

    int saved_errno = errno;
    int why = add_all(out, codes, n);

    *which = out->n;
    if (why == PAPI_OK)
        why = start_all(out, which);
    if (why != PAPI_OK) {
        status = refuse(why, err);
        ar_papi_close(out);
    }
    errno = saved_errno;
    return status;
}

bool ar_papi_read(struct ar_papi *papi, uint64_t *values)
{
    int saved_errno = errno;
    bool is_there = papi->n > 0 && papi->n_forks == lib.n_forks;

    for (size_t set = 0; set < papi->n_sets && is_there; set++) {
        long long read[AR_MAX_COUNTERS];
        size_t n = 0;

        is_there = lib.read(papi->sets[set], read) == PAPI_OK;
        for (size_t i = 0; i < papi->n && is_there; i++)
            if (papi->set_of[i] == set)
                values[i] = (uint64_t)read[n++];
    }
    errno = saved_errno;
    return is_there;
}

/* Sets of the parent are unknown to a library that was started again. */
void ar_papi_close(struct ar_papi *papi)
{
    int saved_errno = errno;
    bool is_own = papi->n_forks == lib.n_forks && lib.is_loaded;
    long long ignored[AR_MAX_COUNTERS];

    for (; papi->n_sets && is_own; papi->n_sets--) {
        int *set = &papi->sets[papi->n_sets - 1];

        lib.stop(*set, ignored); /* fails where it never started */
        lib.cleanup_eventset(*set);
        lib.destroy_eventset(set);
    }
    papi->n_sets = 0;
    papi->n = 0;
    errno = saved_errno;
}

void ar_papi_leave_thread(void)
{
    int saved_errno = errno;

    if (lib.is_loaded)
        lib.unregister_thread();
    errno = saved_errno;
}

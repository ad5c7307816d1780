// SPDX-License-Identifier: BSD-3-Clause
#include "export/otf2_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Debian's name of OTF2 3.0, and its authors' own. Those without a number are for developers. */
static const char *const names[] = {"libopen-trace-format2.so.10", "libotf2.so.10", "libotf2.so"};

static struct {
    pthread_mutex_t lock;
    char text[256];
} complaint = {.lock = PTHREAD_MUTEX_INITIALIZER};

static OTF2_ErrorCode keep_complaint(void *unused, const char *file, uint64_t line,
                                     const char *function, OTF2_ErrorCode code, const char *format,
                                     va_list arguments)
{
    (void)unused, (void)file, (void)line, (void)function;
    pthread_mutex_lock(&complaint.lock);
    if (!*complaint.text)
        vsnprintf(complaint.text, sizeof complaint.text, format, arguments);
    pthread_mutex_unlock(&complaint.lock);
    return code;
}

const char *ar_otf2_complaint(void)
{
    static char text[sizeof complaint.text];

    pthread_mutex_lock(&complaint.lock);
    memcpy(text, complaint.text, sizeof text);
    *complaint.text = '\0';
    pthread_mutex_unlock(&complaint.lock);
    return text;
}

enum ar_status ar_otf2_refuse(const struct ar_otf2_library *lib, OTF2_ErrorCode code,
                              struct ar_error *err)
{
    const char *text = ar_otf2_complaint();

    return ar_fail(err, AR_IO, "libotf2: %s%s%s", lib->Error_GetDescription(code),
                   *text ? ": " : "", text);
}

static void *open_library(void)
{
    const char *named = getenv("ALLRANKS_OTF2");
    void *library = NULL;

    if (named && *named)
        return dlopen(named, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* NULL: all of them are there. */
static const char *find_functions(struct ar_otf2_library *out, void *library)
{
#define FIND(name)                                                                                 \
    *(void **)&out->name = dlsym(library, "OTF2_" #name);                                          \
    if (!out->name)                                                                                \
        return "OTF2_" #name;
    AR_OTF2_FUNCTIONS(FIND)
#undef FIND
    return NULL;
}

enum ar_status ar_otf2_load(struct ar_otf2_library *out, struct ar_error *err)
{
    void *library = open_library();
    const char *named = getenv("ALLRANKS_OTF2"), *lacks;

    if (!library && named && *named)
        return ar_fail(err, AR_UNSUPPORTED, "%.400s", dlerror());
    if (!library)
        return ar_fail(err, AR_UNSUPPORTED,
                       "OTF2 is not installed here (Debian: libotf2-trace-dev; elsewhere set "
                       "ALLRANKS_OTF2 to the path of libotf2.so)");
    lacks = find_functions(out, library);
    if (lacks) {
        dlclose(library);
        return ar_fail(err, AR_UNSUPPORTED,
                       "this libotf2 has no %s (version 3.0 or later is needed)", lacks);
    }
    out->Error_RegisterCallback(keep_complaint, NULL);
    return AR_OK;
}

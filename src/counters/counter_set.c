// SPDX-License-Identifier: BSD-3-Clause
#include "counters/counter_set.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static uint32_t n_forks; /* of this process's line, as far as ar_counter_set_forked was called */

/* ---- which ------------------------------------------------------------------------------------ */

/* Names of the kernel have neither PAPI's prefix nor that of one of its components. */
static bool is_papi_name(const char *name)
{
    return strncmp(name, "PAPI_", 5) == 0 || strstr(name, "::") != NULL;
}

static enum ar_status find_papi(struct ar_counter *out, const char *name, struct ar_error *err)
{
    enum ar_status status = ar_papi_code(&out->papi_code, name, err);

    out->event = NULL;
    out->unit = "1";
    out->n_forks = n_forks;
    if (status < 0 && !is_papi_name(name))
        return ar_fail(err, AR_BAD, "no such counter (try: allranks counters)");
    return status < 0 ? status : ar_counter_try(out, err);
}

static enum ar_status find_kernel(struct ar_counter *out, const struct ar_event *event,
                                  struct ar_error *err)
{
    out->event = event;
    out->unit = event->unit;
    return ar_counter_try(out, err);
}

/* Of two reasons the kernel's is shown: it says what would help, where PAPI says that there is no such event. */
enum ar_status ar_counter_find(struct ar_counter *out, const char *name, struct ar_error *err)
{
    const struct ar_event *event = ar_event_find(name);
    enum ar_status status = AR_BAD;

    *out = (struct ar_counter){.unit = "1"};
    if (strlen(name) >= sizeof out->name)
        return ar_fail(err, AR_BAD, "a name has at most %zu characters (try: allranks counters)",
                       sizeof out->name - 1);
    snprintf(out->name, sizeof out->name, "%s", name);
    if (!event || is_papi_name(name))
        status = find_papi(out, name, err);
    if (status < 0 && event)
        status = find_kernel(out, event, err);
    return status;
}

enum ar_status ar_counter_try(const struct ar_counter *counter, struct ar_error *err)
{
    struct ar_counter_set set;
    size_t which;
    enum ar_status status = ar_counter_set_open(&set, counter, 1, &which, err);

    if (status == AR_OK)
        ar_counter_set_close(&set);
    return status;
}

/* ---- a thread --------------------------------------------------------------------------------- */

/* Presets have the same number always, native events only until PAPI is started again. */
static enum ar_status code_of(const struct ar_counter *counter, int *code, struct ar_error *err)
{
    *code = counter->papi_code;
    return counter->n_forks == n_forks ? AR_OK : ar_papi_code(code, counter->name, err);
}

/* What counts as the `i`-th of one source is the `*which`-th of all. */
static size_t position_of(const struct ar_counter *counters, size_t n, bool is_papi, size_t i)
{
    for (size_t k = 0; k < n; k++)
        if ((counters[k].event == NULL) == is_papi && i-- == 0)
            return k;
    return 0;
}

enum ar_status ar_counter_set_open(struct ar_counter_set *out, const struct ar_counter *counters,
                                   size_t n, size_t *which, struct ar_error *err)
{
    const struct ar_event *events[AR_MAX_COUNTERS];
    int codes[AR_MAX_COUNTERS];
    size_t n_events = 0, n_codes = 0, of_source = 0;
    enum ar_status status = AR_OK;

    *out = (struct ar_counter_set){.n = n};
    *which = 0;
    if (n > AR_MAX_COUNTERS)
        return ar_fail(err, AR_BAD, "more than %d counters (ask for fewer)", AR_MAX_COUNTERS);
    for (size_t i = 0; i < n && status == AR_OK; i++) {
        *which = i;
        out->from_papi[i] = counters[i].event == NULL;
        if (counters[i].event)
            events[n_events++] = counters[i].event;
        else
            status = code_of(&counters[i], &codes[n_codes++], err);
    }
    if (status < 0) {
        out->n = 0;
        return status;
    }
    if (n_events) {
        status = ar_perf_open(&out->perf, events, n_events, &of_source, err);
        *which = position_of(counters, n, false, of_source);
    }
    if (status == AR_OK && n_codes) {
        status = ar_papi_open(&out->papi, codes, n_codes, &of_source, err);
        *which = position_of(counters, n, true, of_source);
    }
    if (status < 0)
        ar_counter_set_close(out);
    return status;
}

bool ar_counter_set_read(struct ar_counter_set *set, uint64_t *values)
{
    uint64_t kernel[AR_MAX_COUNTERS] = {0}, papi[AR_MAX_COUNTERS] = {0};
    size_t n_kernel = 0, n_papi = 0;

    if (!set->papi.n)
        return ar_perf_read(&set->perf, values);
    if ((set->perf.n && !ar_perf_read(&set->perf, kernel)) || !ar_papi_read(&set->papi, papi))
        return false;
    for (size_t i = 0; i < set->n; i++)
        values[i] = set->from_papi[i] ? papi[n_papi++] : kernel[n_kernel++];
    return true;
}

void ar_counter_set_close(struct ar_counter_set *set)
{
    ar_perf_close(&set->perf);
    ar_papi_close(&set->papi);
    set->n = 0;
}

void ar_counter_set_leave_thread(void)
{
    ar_papi_leave_thread();
}

bool ar_counter_set_is_scaled(const struct ar_counter_set *set)
{
    return set->perf.is_scaled;
}

/* A recording and an object of the program may both say so; sets that were opened since then are the child's. */
void ar_counter_set_forked(void)
{
    static pid_t known;
    pid_t here = getpid();

    if (here == known)
        return;
    known = here;
    n_forks++;
    ar_perf_forked();
    ar_papi_forked();
}

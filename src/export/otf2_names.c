// SPDX-License-Identifier: BSD-3-Clause
#include "export/otf2_names.h"

#include "base/bytes.h"
#include "format/trace_bytes.h"

#include <stdlib.h>
#include <string.h>

#define MOST_TEXT ((size_t)1 << 16)

enum ar_status ar_otf2_names_init(struct ar_otf2_names *names)
{
    uint32_t id;

    *names = (struct ar_otf2_names){.lock = PTHREAD_MUTEX_INITIALIZER};
    return ar_strtab_put(&names->strings, "", 0, &id);
}

void ar_otf2_names_free(struct ar_otf2_names *names)
{
    ar_strtab_free(&names->strings);
    ar_idmap_free(&names->parameters.ids);
    ar_idmap_free(&names->counters.ids);
    free(names->parameters.items);
    free(names->counters.items);
}

/* Readers take strings for UTF-8, and for ended by the first zero. */
static bool is_clean(const char *text, size_t n)
{
    for (size_t at = 0, step; at < n; at += step) {
        step = ar_utf8_length(text + at, n - at);
        if (!step || !text[at])
            return false;
    }
    return true;
}

static char *cleaned(const char *text, size_t n)
{
    char *copy = malloc(n + 1);

    if (!copy)
        return NULL;
    memcpy(copy, text, n);
    for (size_t at = 0; at < n;) {
        size_t step = ar_utf8_length(copy + at, n - at);

        if (!step || !copy[at]) {
            copy[at] = '?';
            step = 1;
        }
        at += step;
    }
    return copy;
}

static enum ar_status put(struct ar_otf2_names *names, const char *text, size_t n, uint32_t *id)
{
    char *copy = NULL;
    enum ar_status status;

    if (n > MOST_TEXT)
        n = MOST_TEXT;
    if (!is_clean(text, n) && !(copy = cleaned(text, n)))
        return AR_NOMEM;
    status = ar_strtab_put(&names->strings, copy ? copy : text, n, id);
    free(copy);
    return status;
}

enum ar_status ar_otf2_string(struct ar_otf2_names *names, const char *text, size_t n, uint32_t *id)
{
    enum ar_status status;

    pthread_mutex_lock(&names->lock);
    status = put(names, text, n, id);
    pthread_mutex_unlock(&names->lock);
    return status;
}

static enum ar_status put_parameter(struct ar_otf2_parameters *to, uint32_t name, uint8_t type,
                                    uint32_t *id)
{
    uint64_t key = ((uint64_t)name << 8 | type) + 1;

    *id = ar_idmap_get(&to->ids, key, AR_NO_ID);
    if (*id != AR_NO_ID)
        return AR_OK;
    if (ar_grow((void **)&to->items, &to->cap, to->n + 1, sizeof *to->items) < 0 ||
        ar_idmap_put(&to->ids, key, (uint32_t)to->n) < 0)
        return AR_NOMEM;
    *id = (uint32_t)to->n;
    to->items[to->n++] = (struct ar_otf2_parameter){name, type};
    return AR_OK;
}

enum ar_status ar_otf2_parameter(struct ar_otf2_names *names, const char *name, size_t n_name,
                                 uint8_t type, uint32_t *id)
{
    enum ar_status status;
    uint32_t string;

    pthread_mutex_lock(&names->lock);
    status = put(names, name, n_name, &string);
    if (status == AR_OK)
        status = put_parameter(type == AR_TRACE_COUNTER ? &names->counters : &names->parameters,
                               string, type, id);
    pthread_mutex_unlock(&names->lock);
    return status;
}

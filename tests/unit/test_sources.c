// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/sources.h"

#include "format/live_profile.h"
#include "format/profile.h"
#include "own_file.h"
#include "runtime/tree.h"
#include "tap.h"

#include <pthread.h>
#include <string.h>

/* What happened, a word each: "a+" a starts, "a-" it is stopped, "a=" it describes itself … */
static char happened[256];

static void note(const char *what)
{
    strcat(happened, happened[0] ? " " : "");
    strcat(happened, what);
}

static bool has_happened(const char *wanted)
{
    bool has = strcmp(happened, wanted) == 0;

    if (!has)
        tap_note("%s", happened);
    happened[0] = '\0';
    return has;
}

#define SOURCE(letter, status, text)                                                               \
    static enum ar_status letter##_start(const struct ar_options *options, struct ar_error *err)   \
    {                                                                                              \
        (void)options;                                                                             \
        note(#letter "+");                                                                         \
        return (status) == AR_OK ? AR_OK : ar_fail(err, status, "%s", text);                       \
    }                                                                                              \
    static void letter##_stop(enum ar_source_end why)                                              \
    {                                                                                              \
        note(why == AR_SOURCE_CANCELLED ? #letter "x" : #letter "-");                              \
    }                                                                                              \
    static void letter##_thread_starts(struct ar_thread *t)                                        \
    {                                                                                              \
        (void)t;                                                                                   \
        note(#letter "(");                                                                         \
    }                                                                                              \
    static void letter##_thread_ends(struct ar_thread *t)                                          \
    {                                                                                              \
        (void)t;                                                                                   \
        note(#letter ")");                                                                         \
    }                                                                                              \
    static void letter##_fork(enum ar_fork_step step)                                              \
    {                                                                                              \
        note(step == AR_FORK_BEFORE ? #letter "<" : #letter ">");                                  \
    }                                                                                              \
    static void letter##_describe(ar_fact_fn *fact)                                                \
    {                                                                                              \
        note(#letter "=");                                                                         \
        fact(#letter, "described");                                                                \
    }                                                                                              \
    static const struct ar_source letter = {                                                       \
        #letter,                                                                                   \
        letter##_start,                                                                            \
        letter##_stop,                                                                             \
        letter##_thread_starts,                                                                    \
        letter##_thread_ends,                                                                      \
        letter##_fork,                                                                             \
        letter##_describe,                                                                         \
    };

SOURCE(a, AR_OK, "")
SOURCE(b, AR_UNSUPPORTED, "no such counters")
SOURCE(c, AR_OK, "")
SOURCE(d, AR_BAD, "it is broken")
static const struct ar_source nothing = {.name = "nothing"};

static void *attach(void *unused)
{
    (void)unused;
    return ar_thread_self();
}

static void run_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, attach, NULL) == 0)
        pthread_join(thread, NULL);
}

static const char *fact_of(const struct ar_profile *p, const char *key)
{
    for (size_t i = 0; i < p->n_facts; i++)
        if (strcmp(ar_strtab_text(&p->strings, p->facts[i].key), key) == 0)
            return ar_strtab_text(&p->strings, p->facts[i].value);
    return "";
}

static void check_facts(void)
{
    struct ar_profile p;
    struct ar_live live;
    struct ar_error err;

    if (ar_profile_init(&p) < 0 ||
        ar_live_from_bytes(&live, ar_live_base, ar_livemap_allocated(), "mapping", &err) < 0)
        return;
    tap_ok(ar_profile_add_live(&p, &live, 0, &err) == AR_OK &&
               strcmp(fact_of(&p, "a"), "described") == 0,
           "facts are in the live file");
    tap_ok(strcmp(fact_of(&p, "b"), "not recorded: no such counters") == 0,
           "and why a source is not there");
    ar_live_close(&live);
    ar_profile_free(&p);
}

static void test_life(void)
{
    static const struct ar_source *const table[] = {&a, &b, &nothing, &c, NULL};
    struct ar_error err;

    tap_ok(ar_sources_start(table, NULL, &err) == AR_OK && has_happened("a+ a( b+ c+ c( c= a="),
           "they start in their order, and the first thread with them");
    run_thread();
    tap_ok(has_happened("a( c( a) c)"), "another thread is told to those that are here");
    ar_sources_fork(AR_FORK_BEFORE);
    ar_sources_fork(AR_FORK_PARENT);
    tap_ok(has_happened("a< c< a> c>"), "locks are taken in their order, and given back");
    ar_sources_stop(AR_SOURCE_PYTHON_ENDS);
    tap_ok(has_happened("c- a-"), "they stop from the last to the first");
}

static void test_failure(void)
{
    static const struct ar_source *const table[] = {&a, &b, &c, &d, &nothing, NULL};
    struct ar_error err;

    tap_ok(ar_sources_start(table, NULL, &err) == AR_BAD && strcmp(err.text, "it is broken") == 0,
           "one that fails says why");
    tap_ok(has_happened("a+ a( b+ c+ c( d+ cx ax"), "and those before it are stopped again");
}

int main(void)
{
    own_file_make();
    if (!ar_thread_self()) {
        printf("Bail out! no thread\n");
        return 2;
    }
    test_life();
    check_facts();
    test_failure();
    ar_threads_stop();
    scratch_remove();
    return tap_done();
}

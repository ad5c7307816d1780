// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/read_ahead.h"

#include <stddef.h>

#ifdef __wasm__

struct ar_read_ahead *ar_read_ahead_start(ar_fill_batch *fill, void *owner, unsigned n_batches)
{
    (void)fill, (void)owner, (void)n_batches;
    return NULL;
}

void ar_read_ahead_wait(struct ar_read_ahead *ahead)
{
    (void)ahead;
}

void ar_read_ahead_release(struct ar_read_ahead *ahead)
{
    (void)ahead;
}

void ar_read_ahead_stop(struct ar_read_ahead *ahead)
{
    (void)ahead;
}

#else

#include <pthread.h>
#include <stdlib.h>

struct ar_read_ahead {
    ar_fill_batch *fill;
    void *owner;
    unsigned n_batches;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t changed;
    uint64_t n_filled, n_emptied; /* the batches between the two numbers are full */
    bool has_stopped;
};

static uint64_t n_full(const struct ar_read_ahead *a)
{
    return a->n_filled - a->n_emptied;
}

/* Waking a thread takes as long as filling a batch: a thread that has to wait waits until half of the ring is empty. */
static uint64_t half(const struct ar_read_ahead *a)
{
    return a->n_batches / 2;
}

/* Waits for an empty batch. false: the reader has stopped. */
static bool has_room(struct ar_read_ahead *a)
{
    pthread_mutex_lock(&a->lock);
    if (n_full(a) == a->n_batches)
        while (n_full(a) > half(a) && !a->has_stopped)
            pthread_cond_wait(&a->changed, &a->lock);

    bool continues = !a->has_stopped;

    pthread_mutex_unlock(&a->lock);
    return continues;
}

static void count(struct ar_read_ahead *a, uint64_t *number)
{
    pthread_mutex_lock(&a->lock);
    ++*number;
    if (n_full(a) == 1 || n_full(a) == half(a))
        pthread_cond_signal(&a->changed); /* only one of the two threads can be waiting */
    pthread_mutex_unlock(&a->lock);
}

static void *fill_all(void *argument)
{
    struct ar_read_ahead *a = argument;
    bool is_last = false;

    for (uint64_t number = 0; !is_last && has_room(a); number++) {
        is_last = !a->fill(a->owner, number);
        count(a, &a->n_filled);
    }
    return NULL;
}

static void free_all(struct ar_read_ahead *a)
{
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->changed);
    free(a);
}

struct ar_read_ahead *ar_read_ahead_start(ar_fill_batch *fill, void *owner, unsigned n_batches)
{
    struct ar_read_ahead *a = malloc(sizeof *a);

    if (!a)
        return NULL;
    *a = (struct ar_read_ahead){.fill = fill, .owner = owner, .n_batches = n_batches};
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    if (pthread_create(&a->thread, NULL, fill_all, a) == 0)
        return a;
    free_all(a);
    return NULL;
}

void ar_read_ahead_wait(struct ar_read_ahead *a)
{
    pthread_mutex_lock(&a->lock);
    while (n_full(a) == 0)
        pthread_cond_wait(&a->changed, &a->lock);
    pthread_mutex_unlock(&a->lock);
}

void ar_read_ahead_release(struct ar_read_ahead *a)
{
    count(a, &a->n_emptied);
}

void ar_read_ahead_stop(struct ar_read_ahead *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->has_stopped = true;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    free_all(a);
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/mpi_message.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_POLLS_AT_ONCE 64
#define N_POLLS_A_PAUSE 8 /* then it is doubled */
#define FIRST_PAUSE_NS 50000
#define LONGEST_PAUSE_NS 1000000
#define N_POLLS_BETWEEN_LOOKS 64

static struct ar_message *make(const struct ar_mpi_link *link, bool is_receive, size_t n_bytes)
{
    struct ar_message *m = malloc(sizeof *m + n_bytes);

    if (m)
        *m = (struct ar_message){.link = link, .is_receive = is_receive};
    return m;
}

/* Where MPI refuses there is nothing on its way. */
static struct ar_message *unless_refused(struct ar_message *m, enum ar_status status)
{
    if (status == AR_OK)
        return m;
    free(m);
    return NULL;
}

struct ar_message *ar_message_send(const struct ar_mpi_link *link, int to, int tag,
                                   const void *bytes, size_t n_bytes)
{
    struct ar_message *m = make(link, false, n_bytes);

    if (!m)
        return NULL;
    if (n_bytes)
        memcpy(m->bytes, bytes, n_bytes);
    return unless_refused(m, link->send(&m->pending, to, tag, m->bytes, (int)n_bytes));
}

struct ar_message *ar_message_expect(const struct ar_mpi_link *link, int from, int tag,
                                     size_t n_bytes)
{
    struct ar_message *m = make(link, true, n_bytes);

    if (!m)
        return NULL;
    return unless_refused(m, link->receive(&m->pending, from, tag, m->bytes, (int)n_bytes));
}

enum ar_message_state ar_message_poll(struct ar_message *m)
{
    bool is_done = false;

    if (!m)
        return AR_MESSAGE_FAILED;
    if (m->state != AR_MESSAGE_PENDING)
        return m->state;
    if (m->link->test(&m->pending, &is_done, &m->n_bytes) < 0)
        m->state = AR_MESSAGE_FAILED;
    else if (is_done)
        m->state = AR_MESSAGE_DONE;
    return m->state;
}

/* Is the memory ours again? After a failure MPI does not say whether it is through with it. */
static bool is_given_back(struct ar_message *m)
{
    enum ar_message_state state = ar_message_poll(m);

    if (state != AR_MESSAGE_PENDING)
        return state == AR_MESSAGE_DONE;
    if (m->is_receive)
        return m->link->cancel(&m->pending);
    m->link->abandon(&m->pending);
    return false;
}

void ar_message_end(struct ar_message *m)
{
    if (m && is_given_back(m))
        free(m);
}

/*
 * Many ranks may share a core with the one that they wait for: pauses of 50 us all along would leave it
 * nothing, as the polls of 64 ranks fill two cores.
 */
bool ar_message_pause(unsigned *n_polls)
{
    struct timespec pause = {.tv_nsec = LONGEST_PAUSE_NS};
    unsigned n = ++*n_polls;

    if (n < N_POLLS_AT_ONCE)
        return false;

    unsigned n_doublings = (n - N_POLLS_AT_ONCE) / N_POLLS_A_PAUSE;

    if (n_doublings < 5 && (FIRST_PAUSE_NS << n_doublings) < LONGEST_PAUSE_NS)
        pause.tv_nsec = FIRST_PAUSE_NS << n_doublings;
    nanosleep(&pause, NULL);
    return n % N_POLLS_BETWEEN_LOOKS == 0;
}

static bool wait_for(struct ar_message *m, int rank, bool (*keep_waiting)(int))
{
    unsigned n_polls = 0;

    while (ar_message_poll(m) == AR_MESSAGE_PENDING)
        if (ar_message_pause(&n_polls) && !keep_waiting(rank))
            return false;
    return ar_message_poll(m) == AR_MESSAGE_DONE;
}

bool ar_message_put(const struct ar_mpi_link *link, int to, int tag, const void *bytes,
                    size_t n_bytes, bool (*keep_waiting)(int rank))
{
    struct ar_message *m = ar_message_send(link, to, tag, bytes, n_bytes);
    bool is_done = wait_for(m, to, keep_waiting);

    ar_message_end(m);
    return is_done;
}

bool ar_message_get(const struct ar_mpi_link *link, int from, int tag, void *bytes, size_t n_bytes,
                    bool (*keep_waiting)(int rank))
{
    struct ar_message *m = ar_message_expect(link, from, tag, n_bytes);
    bool has_come = wait_for(m, from, keep_waiting) && m->n_bytes == n_bytes;

    if (has_come)
        memcpy(bytes, m->bytes, n_bytes);
    ar_message_end(m);
    return has_come;
}

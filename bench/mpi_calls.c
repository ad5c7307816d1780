// SPDX-License-Identifier: BSD-3-Clause
/*
 * MPI calls of this process to itself, in loops that time themselves; a library for mpi.py to load, so
 * that what stands between a caller and MPI is measured, and not Python. Built with the mpicc of the
 * library that is to be measured.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_COLD_BYTES ((size_t)32 << 20) /* more than any cache of a core */

static double out[8], in[8];
static unsigned char *cold;

static double now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return (uint64_t)now_ns();
#endif
}

static void allreduce(void)
{
    MPI_Allreduce(out, in, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

static void sendrecv(void)
{
    MPI_Sendrecv(out, 8, MPI_DOUBLE, 0, 1, in, 8, MPI_DOUBLE, 0, 1, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
}

static void three(void)
{
    MPI_Request requests[2];

    MPI_Irecv(in, 8, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &requests[0]);
    MPI_Isend(out, 8, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static double hot(void (*body)(void), int n)
{
    double start = now_ns();

    for (int i = 0; i < n; i++)
        body();
    return (now_ns() - start) / n;
}

/* Nothing of what the call needs is in a cache any more. */
static double one_cold(void (*body)(void))
{
    memset(cold, cold[0] + 1, N_COLD_BYTES);

    double start = now_ns();

    body();
    return now_ns() - start;
}

static double clock_read(int n)
{
    volatile uint64_t sink = 0;
    double start = now_ns();

    for (int i = 0; i < n; i++)
        sink = ticks();
    (void)sink;
    return (now_ns() - start) / n;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double cold_median(void (*body)(void))
{
    enum { N = 101 };
    double found[N];

    for (int i = 0; i < N; i++)
        found[i] = one_cold(body);
    qsort(found, N, sizeof *found, compare);
    return found[N / 2];
}

/* Fills `figures`: clock read, hot allreduce, sendrecv, three; the same cold. ns, of all calls of a body. */
__attribute__((visibility("default"))) int bench_mpi(double *figures, int n, int n_tries)
{
    static void (*const bodies[])(void) = {allreduce, sendrecv, three};

    cold = calloc(1, N_COLD_BYTES);
    if (!cold || MPI_Init(NULL, NULL) != MPI_SUCCESS)
        return 1;
    for (int i = 0; i < 7; i++)
        figures[i] = 1e30;
    for (int try = 0; try < n_tries; try++) {
        double clock = clock_read(100000);

        figures[0] = clock < figures[0] ? clock : figures[0];
        for (int i = 0; i < 3; i++) {
            double found = hot(bodies[i], n);

            figures[1 + i] = found < figures[1 + i] ? found : figures[1 + i];
        }
    }
    for (int i = 0; i < 3; i++)
        figures[4 + i] = cold_median(bodies[i]);
    free(cold);
    return MPI_Finalize();
}

// SPDX-License-Identifier: BSD-3-Clause
#include "export/otf2.h"

#include "export/otf2_definitions.h"
#include "export/otf2_directory.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EVENT_CHUNK ((uint64_t)1 << 20)
/* A definition has to fit into a chunk, and the largest is the group of all ranks, at five bytes for each. */
#define LEAST_DEFINITION_CHUNK ((uint64_t)4 << 20)
#define MOST_DEFINITION_CHUNK ((uint64_t)16 << 20)

/* ---- what the library asks -------------------------------------------------------------------- */

struct OTF2_LockObject {
    pthread_mutex_t mutex;
};

static OTF2_CallbackCode make_lock(void *unused, OTF2_Lock *lock)
{
    (void)unused;
    *lock = malloc(sizeof **lock);
    if (!*lock)
        return OTF2_CALLBACK_ERROR;
    pthread_mutex_init(&(*lock)->mutex, NULL);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode destroy_lock(void *unused, OTF2_Lock lock)
{
    (void)unused;
    pthread_mutex_destroy(&lock->mutex);
    free(lock);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode take_lock(void *unused, OTF2_Lock lock)
{
    (void)unused;
    pthread_mutex_lock(&lock->mutex);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode give_lock(void *unused, OTF2_Lock lock)
{
    (void)unused;
    pthread_mutex_unlock(&lock->mutex);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_FlushType flush(void *work, OTF2_FileType type, OTF2_LocationRef location, void *caller,
                            bool is_last)
{
    (void)type, (void)location, (void)caller, (void)is_last;
    return atomic_load(&((struct ar_otf2_work *)work)->is_stopped) ? OTF2_NO_FLUSH : OTF2_FLUSH;
}

/* One chunk for each writer: a full one is written before it is used again. Without this the library takes 128 MiB. */
struct chunk {
    bool is_used;
    unsigned char bytes[] __attribute__((aligned(16)));
};

static void *take_chunk(void *unused, OTF2_FileType type, OTF2_LocationRef location, void **own,
                        uint64_t n_bytes)
{
    struct chunk *chunk = *own;

    (void)unused, (void)type, (void)location;
    if (!chunk)
        *own = chunk = calloc(1, sizeof *chunk + n_bytes);
    if (!chunk || chunk->is_used)
        return NULL;
    chunk->is_used = true;
    return chunk->bytes;
}

static void give_chunks(void *unused, OTF2_FileType type, OTF2_LocationRef location, void **own,
                        bool is_last)
{
    struct chunk *chunk = *own;

    (void)unused, (void)type, (void)location;
    if (!chunk)
        return;
    chunk->is_used = false;
    if (is_last) {
        free(chunk);
        *own = NULL;
    }
}

static const OTF2_LockingCallbacks locking = {NULL, make_lock, destroy_lock, take_lock, give_lock};
static const OTF2_FlushCallbacks flushing = {flush, NULL};
static const OTF2_MemoryCallbacks memory = {take_chunk, give_chunks};

/* ---- the archive ------------------------------------------------------------------------------ */

static enum ar_status refuse(const struct ar_otf2_work *work, OTF2_ErrorCode code,
                             struct ar_error *err)
{
    return code == OTF2_SUCCESS ? AR_OK : ar_otf2_refuse(work->lib, code, err);
}

static OTF2_ErrorCode set_up(const struct ar_otf2_work *work)
{
    const struct ar_otf2_library *lib = work->lib;
    OTF2_ErrorCode code = lib->Archive_SetSerialCollectiveCallbacks(work->archive);

    if (code == OTF2_SUCCESS)
        code = lib->Archive_SetLockingCallbacks(work->archive, &locking, NULL);
    if (code == OTF2_SUCCESS)
        code = lib->Archive_SetFlushCallbacks(work->archive, &flushing, (void *)work);
    if (code == OTF2_SUCCESS)
        code = lib->Archive_SetMemoryCallbacks(work->archive, &memory, NULL);
    if (code == OTF2_SUCCESS)
        code = lib->Archive_SetCreator(work->archive, AR_OTF2_CREATOR);
    if (code == OTF2_SUCCESS)
        code = lib->Archive_SetDescription(work->archive, ar_profile_fact_text(work->p, "command"));
    return code;
}

static enum ar_status open_archive(struct ar_otf2_work *work, uint32_t n_ranks,
                                   const char *directory, struct ar_error *err)
{
    uint64_t chunk = (uint64_t)16 * n_ranks;

    chunk = chunk < LEAST_DEFINITION_CHUNK  ? LEAST_DEFINITION_CHUNK
            : chunk > MOST_DEFINITION_CHUNK ? MOST_DEFINITION_CHUNK
                                            : chunk;
    ar_otf2_complaint(); /* forget what was said before */
    work->archive =
        work->lib->Archive_Open(directory, AR_OTF2_NAME, OTF2_FILEMODE_WRITE, EVENT_CHUNK, chunk,
                                OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (!work->archive)
        return ar_fail(err, AR_IO, "libotf2: %s", ar_otf2_complaint());
    return refuse(work, set_up(work), err);
}

/* ---- events ----------------------------------------------------------------------------------- */

struct job {
    struct ar_otf2_work *work;
    struct ar_otf2_written *written; /* by location */
    size_t *order;                   /* traces, the longest first */
    _Atomic size_t next;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    size_t n_working;
    enum ar_status status;
    struct ar_error err;
};

static void fail(struct job *job, enum ar_status status, const struct ar_error *err)
{
    atomic_store(&job->work->is_stopped, true);
    pthread_mutex_lock(&job->lock);
    if (job->status == AR_OK) {
        job->status = status;
        job->err = *err;
    }
    pthread_mutex_unlock(&job->lock);
}

static enum ar_status write_location(struct job *job, size_t thread, struct ar_error *err)
{
    struct ar_otf2_work *work = job->work;
    uint32_t location = work->traces->items[thread].location;
    OTF2_EvtWriter *evt = work->lib->Archive_GetEvtWriter(work->archive, location);
    OTF2_ErrorCode code;
    enum ar_status status;

    if (!evt)
        return ar_fail(err, AR_IO, "libotf2: %s", ar_otf2_complaint());
    status = ar_otf2_write_events(work, thread, evt, &job->written[location], err);
    if (status == AR_IO)
        return status;
    code = work->lib->Archive_CloseEvtWriter(work->archive, evt);
    return status < 0 ? status : refuse(work, code, err);
}

static void *write_locations(void *argument)
{
    struct job *job = argument;
    struct ar_error err;

    for (;;) {
        size_t i = atomic_fetch_add(&job->next, 1);
        enum ar_status status;

        if (i >= job->work->traces->n || atomic_load(&job->work->is_stopped))
            break;
        status = write_location(job, job->order[i], &err);
        if (status < 0)
            fail(job, status, &err);
    }
    pthread_mutex_lock(&job->lock);
    job->n_working--;
    pthread_cond_signal(&job->changed);
    pthread_mutex_unlock(&job->lock);
    return NULL;
}

#define MOST_THREADS 32

static size_t n_processors(void)
{
    cpu_set_t all;
    size_t n = sched_getaffinity(0, sizeof all, &all) == 0 ? (size_t)CPU_COUNT(&all) : 1;

    return n < 1 ? 1 : n > MOST_THREADS ? MOST_THREADS : n;
}

/* Until all have ended; says ten times a second how far they are. */
static void wait_for(struct job *job, ar_export_tell_fn *tell)
{
    uint64_t n_all = job->work->traces->n_events;

    pthread_mutex_lock(&job->lock);
    while (job->n_working) {
        struct timespec until;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&job->changed, &job->lock, &until);
        if (tell && job->n_working) {
            uint64_t n_done = atomic_load(&job->work->n_done);

            pthread_mutex_unlock(&job->lock);
            tell(n_done < n_all ? n_done : n_all, n_all);
            pthread_mutex_lock(&job->lock);
        }
    }
    pthread_mutex_unlock(&job->lock);
}

static void run_threads(struct job *job, ar_export_tell_fn *tell)
{
    pthread_t threads[MOST_THREADS];
    size_t n = n_processors(), n_started = 0;

    if (n > job->work->traces->n)
        n = job->work->traces->n;
    job->n_working = n;
    while (n_started < n && pthread_create(&threads[n_started], NULL, write_locations, job) == 0)
        n_started++;
    pthread_mutex_lock(&job->lock);
    job->n_working -= n - n_started;
    if (!n_started)
        job->n_working = 1;
    pthread_mutex_unlock(&job->lock);
    if (!n_started)
        write_locations(job);
    wait_for(job, tell);
    for (size_t i = 0; i < n_started; i++)
        pthread_join(threads[i], NULL);
}

static int by_length(const void *a, const void *b, void *context)
{
    const struct ar_traces *traces = context;
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    uint64_t x = traces->items[i].n_events, y = traces->items[j].n_events;

    if (x != y)
        return x > y ? -1 : 1;
    return (i > j) - (i < j);
}

static enum ar_status write_threads(struct ar_otf2_work *work, struct ar_otf2_written *written,
                                    ar_export_tell_fn *tell, struct ar_error *err)
{
    struct job job = {.work = work,
                      .written = written,
                      .order = calloc(work->traces->n + 1, sizeof *job.order),
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .changed = PTHREAD_COND_INITIALIZER};

    if (!job.order)
        return ar_fail(err, AR_NOMEM, "out of memory");
    for (size_t i = 0; i < work->traces->n; i++)
        job.order[i] = i;
    qsort_r(job.order, work->traces->n, sizeof *job.order, by_length, (void *)work->traces);
    run_threads(&job, tell);
    free(job.order);
    if (job.status < 0)
        *err = job.err;
    return job.status;
}

/* Of locations without a trace, too, readers look for a file. */
static enum ar_status write_nothing(struct ar_otf2_work *work, uint64_t location,
                                    struct ar_error *err)
{
    OTF2_EvtWriter *evt = work->lib->Archive_GetEvtWriter(work->archive, location);

    if (!evt)
        return ar_fail(err, AR_IO, "libotf2: %s", ar_otf2_complaint());
    return refuse(work, work->lib->Archive_CloseEvtWriter(work->archive, evt), err);
}

static enum ar_status write_empty(struct ar_otf2_work *work, struct ar_otf2_world *world,
                                  struct ar_error *err)
{
    const struct ar_traces *traces = work->traces;
    enum ar_status status = AR_OK;
    size_t next = 0;

    ar_otf2_world_end(world, work);
    for (uint64_t i = 0; i < ar_otf2_n_locations(work->p, world) && status == AR_OK; i++) {
        if (next < traces->n && traces->items[next].location == i)
            next++;
        else
            status = write_nothing(work, i, err);
    }
    return status;
}

static enum ar_status write_all_events(struct ar_otf2_work *work, struct ar_otf2_world *world,
                                       struct ar_otf2_written *written, ar_export_tell_fn *tell,
                                       struct ar_error *err)
{
    enum ar_status status = refuse(work, work->lib->Archive_OpenEvtFiles(work->archive), err);

    if (status == AR_OK)
        status = write_threads(work, written, tell, err);
    if (status == AR_OK)
        status = write_empty(work, world, err);
    if (status == AR_OK)
        status = refuse(work, work->lib->Archive_CloseEvtFiles(work->archive), err);
    return status;
}

/* ---- definitions ------------------------------------------------------------------------------ */

/* Nothing is in them, but readers look for them. */
static enum ar_status write_local_definitions(struct ar_otf2_work *work, uint64_t n,
                                              struct ar_error *err)
{
    OTF2_ErrorCode code = work->lib->Archive_OpenDefFiles(work->archive);

    for (uint64_t i = 0; i < n && code == OTF2_SUCCESS; i++) {
        OTF2_DefWriter *writer = work->lib->Archive_GetDefWriter(work->archive, i);

        if (!writer)
            return ar_fail(err, AR_IO, "libotf2: %s", ar_otf2_complaint());
        code = work->lib->Archive_CloseDefWriter(work->archive, writer);
    }
    if (code == OTF2_SUCCESS)
        code = work->lib->Archive_CloseDefFiles(work->archive);
    return refuse(work, code, err);
}

/*
 * libotf2 3.0 writes beyond the end of its memory when it writes again to a file that could not be written. So after such a failure
 * nothing is closed: the command ends.
 */
static enum ar_status write_archive(struct ar_otf2_work *work, struct ar_otf2_world *world,
                                    struct ar_otf2_written *written, const char *directory,
                                    ar_export_tell_fn *tell, struct ar_error *err)
{
    enum ar_status status;
    OTF2_ErrorCode code = OTF2_SUCCESS;

    status = open_archive(work, world->n_ranks, directory, err);
    if (status == AR_OK)
        status = write_all_events(work, world, written, tell, err);
    if (status == AR_OK)
        status = write_local_definitions(work, ar_otf2_n_locations(work->p, world), err);
    if (status == AR_OK)
        status = ar_otf2_define(work, world, written, err);
    if (work->archive && status != AR_IO)
        code = work->lib->Archive_Close(work->archive);
    if (status == AR_OK)
        status = refuse(work, code, err);
    return status;
}

static enum ar_status check_files(const struct ar_otf2_directory *d,
                                  const struct ar_otf2_work *work,
                                  const struct ar_otf2_world *world,
                                  const struct ar_otf2_written *written, struct ar_error *err)
{
    enum ar_status status = ar_otf2_directory_check(d, NULL, 0, 0, err);

    for (uint64_t i = 0; i < ar_otf2_n_locations(work->p, world) && status == AR_OK; i++) {
        status = ar_otf2_directory_check(
            d, "evt", i, i < work->p->n_locations ? written[i].least_bytes : 0, err);
        if (status == AR_OK)
            status = ar_otf2_directory_check(d, "def", i, 0, err);
    }
    return status;
}

/* ---- all of it -------------------------------------------------------------------------------- */

static enum ar_status write_directory(struct ar_otf2_work *work, struct ar_otf2_world *world,
                                      const char *path, ar_export_tell_fn *tell,
                                      struct ar_error *err)
{
    struct ar_otf2_written *written = calloc(work->p->n_locations + 1, sizeof *written);
    struct ar_otf2_directory directory;
    enum ar_status status;

    if (!written)
        return ar_fail(err, AR_NOMEM, "out of memory");
    status = ar_otf2_directory_begin(&directory, path, err);
    if (status == AR_OK) {
        status = write_archive(work, world, written, directory.part, tell, err);
        if (status == AR_OK)
            status = check_files(&directory, work, world, written, err);
        if (status < 0)
            ar_otf2_directory_drop(&directory);
        else
            status = ar_otf2_directory_end(&directory, err);
    }
    free(written);
    return status;
}

static enum ar_status write_world(struct ar_otf2_work *work, const char *path,
                                  ar_export_tell_fn *tell, struct ar_error *err)
{
    struct ar_otf2_world world;
    enum ar_status status = ar_otf2_world_find(&world, work->p, err);

    if (status < 0)
        return status;
    status = write_directory(work, &world, path, tell, err);
    ar_otf2_world_free(&world);
    return status;
}

static enum ar_status prepare(struct ar_otf2_work *work)
{
    work->comms = ar_otf2_comms(work->p);
    if (!work->comms || ar_otf2_names_init(&work->names) < 0)
        return AR_NOMEM;
    return ar_comm_members_begin(&work->members, work->p);
}

enum ar_status ar_otf2_save(struct ar_profile *p, const struct ar_export_choice *which,
                            const char *path, ar_export_tell_fn *tell, struct ar_error *err)
{
    struct ar_otf2_library lib;
    struct ar_traces traces;
    struct ar_otf2_work work = {.lib = &lib,
                                .p = p,
                                .traces = &traces,
                                .from_ns = which->from_ns,
                                .to_ns = ar_export_end(which),
                                .lock = PTHREAD_MUTEX_INITIALIZER};
    enum ar_status status = ar_otf2_load(&lib, err);

    if (status == AR_OK)
        status = ar_traces_open_or_none(&traces, p, err);
    if (status < 0)
        return status;
    status = prepare(&work) < 0 ? ar_fail(err, AR_NOMEM, "out of memory")
                                : write_world(&work, path, tell, err);
    ar_comm_members_free(&work.members);
    ar_otf2_names_free(&work.names);
    free((void *)work.comms);
    ar_traces_close(&traces);
    return status;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/mpi_comms.h"

#include "base/idmap.h"
#include "runtime/livemap.h"
#include "runtime/mpi_abi.h"

#include <string.h>

#define MAX_COMMS 1024    /* at a time */
#define MAX_RECORDS 16384 /* ever: 2 MiB of the live file */
#define MAX_HANDLES 4096  /* and freed ones that are remembered: 128 KiB */

uint64_t ar_comm_generation = 1;

/* What there is no room for; it has no number, and nobody waits on it. */
static struct ar_mpi_comm nameless;

static struct {
    pthread_mutex_t lock;
    struct ar_idmap by_handle; /* index in `comms`; AR_NO_ID: freed */
    struct ar_idmap repeated;  /* how often members alone made one of the same kind */
    struct ar_mpi_comm comms[MAX_COMMS];
    uint32_t free_ones[MAX_COMMS];
    uint32_t n_comms, n_free;
    uint32_t n_records, n_names;
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- finding --------------------------------------------------------------------------------- */

static uint64_t key_of(const struct ar_mpi_abi *abi, uint64_t handle)
{
    return ar_pair_key(handle, (uint64_t)(uintptr_t)abi);
}

static struct ar_mpi_comm *find(const struct ar_mpi_abi *abi, uint64_t handle)
{
    uint32_t i = ar_idmap_get(&known.by_handle, key_of(abi, handle), AR_NO_ID);

    return i == AR_NO_ID ? NULL : &known.comms[i];
}

/* A slot for a handle, with whatever it meant before forgotten; NULL: there are too many. */
static struct ar_mpi_comm *take_slot(const struct ar_mpi_abi *abi, uint64_t handle)
{
    struct ar_mpi_comm *old = find(abi, handle);
    uint32_t i = old            ? (uint32_t)(old - known.comms)
                 : known.n_free ? known.free_ones[known.n_free - 1]
                                : known.n_comms;

    if (i == MAX_COMMS || ar_idmap_put(&known.by_handle, key_of(abi, handle), i) < 0)
        return NULL;
    if (!old && known.n_free)
        known.n_free--;
    else if (!old)
        known.n_comms++;
    return &known.comms[i];
}

static void changed(void)
{
    __atomic_fetch_add(&ar_comm_generation, 1, __ATOMIC_RELEASE);
}

/* ---- recording ------------------------------------------------------------------------------- */

static uint32_t record(const struct ar_mpi_comm *comm, const char *name, uint32_t parent,
                       const struct ar_comm_making *making)
{
    struct ar_live_comm facts = {
        .identity = comm->identity,
        .parent = parent,
        .origin = making->origin,
        .size = comm->size,
        .remote_size = comm->remote_size,
        .rank = comm->rank,
        .made_ref = making->node ? ar_live_ref(making->node) : 0,
        .is_hidden = making->is_hidden,
        .side = comm->side,
    };
    struct ar_record head = {
        .kind = AR_RECORD_COMM, .n_name = (uint32_t)strlen(name), .n_linetable = sizeof facts};

    if (known.n_records == MAX_RECORDS || !ar_livemap_record(&head, name, "", &facts))
        return 0;
    return ++known.n_records;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    return ar_pair_key(a, b);
}

/* How often this has been made. There is an end to how many kinds are told apart: 0 beyond it. */
static uint64_t identity_of_next(uint64_t kind)
{
    uint32_t n = ar_idmap_get(&known.repeated, kind, 0) + 1;

    if ((n == 1 && known.repeated.n_used == MAX_RECORDS) ||
        ar_idmap_put(&known.repeated, kind, n) < 0)
        return 0;
    return mix(kind, n);
}

/* Members alone make these: what they have in common is who they are, and how often they did it. */
static uint64_t identity_of_members(const struct ar_mpi_comm *comm, uint64_t seed, uint64_t tag)
{
    return identity_of_next(mix(mix(seed, tag), mix(comm->first_world_rank, comm->size)));
}

/* Both sides have to come to the same: the lower of the two first ranks goes first. */
static uint64_t identity_of_two(const struct ar_mpi_comm *comm, uint32_t there, uint64_t tag)
{
    uint32_t here = comm->first_world_rank;
    uint64_t pair = here < there ? mix(here, there) : mix(there, here);

    if (here == AR_RANK_NONE || there == AR_RANK_NONE)
        return 0;
    return identity_of_next(mix(pair, mix(tag, (uint64_t)comm->size + comm->remote_size)));
}

/*
 * All that MPI says of a new one. It is asked before the lock is taken: a thread inside MPI may hold
 * a lock of MPI's and come to us for ours, as an attribute's callback does that frees another
 * communicator.
 */
struct answers {
    struct ar_mpi_comm comm;
    uint32_t first_remote; /* world rank of the remote group's first; AR_RANK_NONE: there is none */
    struct ar_comm_facts facts;
};

/* The same on both sides of one that has two. */
static uint32_t first_of_all(const struct answers *said)
{
    uint32_t here = said->comm.first_world_rank, there = said->first_remote;

    return there < here ? there : here;
}

static uint64_t identity_of(const struct answers *said, const struct ar_mpi_comm *parent,
                            const struct ar_comm_making *making)
{
    const struct ar_mpi_comm *comm = &said->comm;

    switch (making->origin) {
    case AR_COMM_WORLD:
        return mix(AR_COMM_WORLD, 1);
    case AR_COMM_SELF:
        return mix(AR_COMM_SELF, comm->first_world_rank);
    case AR_COMM_GROUP:
        return identity_of_members(comm, parent ? parent->identity : 0, making->tag);
    case AR_COMM_INTER:
        return identity_of_two(comm, said->first_remote, making->tag);
    case AR_COMM_UNKNOWN:
    case AR_COMM_SPAWN:
    case AR_COMM_CONNECT:
    case AR_COMM_PARENT:
        return 0;
    default:
        if (!parent || !parent->identity)
            return 0;
        return mix(mix(parent->identity, parent->n_made), first_of_all(said));
    }
}

/*
 * A duplicate is as its parent, and may not be there yet (MPI_Comm_idup); windows and files have
 * their communicator's members.
 */
static bool is_like_parent(enum ar_comm_origin origin)
{
    return origin == AR_COMM_DUP || origin == AR_COMM_WINDOW || origin == AR_COMM_FILE;
}

static void describe(struct answers *said, struct ar_mpi_abi *abi, const struct ar_mpi_comm *parent,
                     const struct ar_comm_making *making)
{
    bool is_comm = !(making->made & AR_MPI_NOT_COMM);
    struct ar_mpi_comm *comm = &said->comm;
    struct ar_comm_facts *facts = &said->facts;

    *comm = (struct ar_mpi_comm){.abi = abi, .members = is_comm ? making->made : making->parent};
    comm->first_world_rank = said->first_remote = AR_RANK_NONE;
    facts->name[0] = '\0';
    if (parent && is_like_parent(making->origin)) {
        comm->size = parent->size;
        comm->remote_size = parent->remote_size;
        comm->rank = parent->rank;
        comm->side = parent->side;
        comm->first_world_rank = parent->first_world_rank;
    } else if (is_comm && abi->ask.describe(making->made, facts)) {
        comm->size = facts->size;
        comm->remote_size = facts->remote_size;
        comm->rank = facts->rank;
        comm->first_world_rank = facts->first_world_rank;
    }
    if (!comm->remote_size)
        return;
    said->first_remote =
        ar_comm_world_rank(parent && is_like_parent(making->origin) ? parent : comm, 0);
    comm->side = said->first_remote < comm->first_world_rank;
}

static struct ar_mpi_comm *add(const struct answers *said, struct ar_mpi_comm *parent,
                               const struct ar_comm_making *making)
{
    struct ar_mpi_comm *comm = take_slot(said->comm.abi, making->made);

    if (!comm) {
        if (making->origin != AR_COMM_UNKNOWN) /* or it is looked up at each of its calls */
            ar_livemap_lost(AR_LOST_COMMS, 1);
        return &nameless;
    }
    *comm = said->comm;
    comm->identity = identity_of(said, parent, making);
    comm->number = record(comm, said->facts.name, parent ? parent->number : 0, making);
    if (!comm->number)
        ar_livemap_lost(AR_LOST_COMMS, 1);
    changed();
    return comm;
}

/* ---- what others call ------------------------------------------------------------------------ */

static struct ar_mpi_comm *find_locked(const struct ar_mpi_abi *abi, uint64_t handle,
                                       uint64_t *generation)
{
    pthread_mutex_lock(&known.lock);
    struct ar_mpi_comm *comm = find(abi, handle);

    *generation = ar_comm_generation;
    pthread_mutex_unlock(&known.lock);
    return comm;
}

/* Another thread may have added it while MPI was asked. */
static struct ar_mpi_comm *add_first_seen(struct ar_mpi_abi *abi, uint64_t handle,
                                          uint64_t *generation)
{
    struct ar_comm_making first_seen = {.made = handle};
    struct answers said;

    if (handle == abi->ask.world())
        first_seen.origin = AR_COMM_WORLD;
    else if (handle == abi->ask.self())
        first_seen.origin = AR_COMM_SELF;
    describe(&said, abi, NULL, &first_seen);
    pthread_mutex_lock(&known.lock);
    struct ar_mpi_comm *comm = find(abi, handle);

    if (!comm)
        comm = add(&said, NULL, &first_seen);
    *generation = ar_comm_generation;
    pthread_mutex_unlock(&known.lock);
    return comm;
}

static void remember(struct ar_comm_cache *cache, uint64_t handle, struct ar_mpi_comm *comm,
                     uint64_t generation)
{
    size_t i = ar_comm_slot(handle);

    if (cache->generation != generation)
        *cache = (struct ar_comm_cache){.generation = generation};
    cache->slots[i].handle = handle;
    cache->slots[i].comm = comm == &nameless ? NULL : comm;
}

struct ar_mpi_comm *ar_comm_look_up(struct ar_comm_cache *cache, struct ar_mpi_abi *abi,
                                    uint64_t handle)
{
    uint64_t generation;

    if (!handle)
        return &nameless;

    struct ar_mpi_comm *comm = find_locked(abi, handle, &generation);

    if (!comm)
        comm = add_first_seen(abi, handle, &generation);
    remember(cache, handle, comm, generation);
    return comm;
}

struct ar_mpi_comm *ar_comm_find_other(struct ar_comm_cache *cache, const struct ar_mpi_abi *abi,
                                       uint64_t handle)
{
    uint64_t generation;
    struct ar_mpi_comm *comm = handle ? find_locked(abi, handle, &generation) : NULL;

    if (comm)
        remember(cache, handle, comm, generation);
    return comm;
}

uint32_t ar_comm_world_rank(const struct ar_mpi_comm *comm, int peer)
{
    uint64_t members = __atomic_load_n(&comm->members, __ATOMIC_RELAXED);

    if (!comm->abi || !members || peer < 0)
        return AR_RANK_NONE;
    return comm->abi->ask.world_rank(members, peer);
}

void ar_comm_made(struct ar_comm_cache *cache, struct ar_mpi_abi *abi,
                  const struct ar_comm_making *making)
{
    struct ar_mpi_comm *parent = making->parent ? ar_comm_of(cache, abi, making->parent) : NULL;
    struct answers said;

    if (making->made)
        describe(&said, abi, parent, making);
    pthread_mutex_lock(&known.lock);
    if (making->made)
        add(&said, parent, making);
    /* Also where this process is not a member: others count it. */
    if (parent && making->origin != AR_COMM_GROUP && making->origin != AR_COMM_INTER)
        parent->n_made++;
    pthread_mutex_unlock(&known.lock);
}

/* MPI must not be asked about a handle that is freed: windows, and requests under way, outlive it. */
static void forget_members(const struct ar_mpi_abi *abi, uint64_t handle)
{
    for (uint32_t i = 0; i < known.n_comms; i++)
        if (known.comms[i].abi == abi && known.comms[i].members == handle)
            __atomic_store_n(&known.comms[i].members, 0, __ATOMIC_RELAXED);
}

bool ar_comm_is_known(const struct ar_mpi_abi *abi, uint64_t handle)
{
    pthread_mutex_lock(&known.lock);
    bool is_known = find(abi, handle) != NULL;

    pthread_mutex_unlock(&known.lock);
    return is_known;
}

/* A handle may come again or not: of those that are freed none need be remembered. */
static void forget_freed(void)
{
    struct ar_idmap others = {0};

    for (size_t i = 0; i < known.by_handle.n_slots; i++) {
        const struct ar_idmap_slot *slot = &known.by_handle.slots[i];

        if (slot->key && slot->value != AR_NO_ID &&
            ar_idmap_put(&others, slot->key, slot->value) < 0) {
            ar_idmap_free(&others);
            return;
        }
    }
    ar_idmap_free(&known.by_handle);
    known.by_handle = others;
}

struct ar_mpi_comm ar_comm_unmade(struct ar_mpi_abi *abi, uint64_t handle)
{
    struct ar_mpi_comm was = {0};

    pthread_mutex_lock(&known.lock);
    forget_members(abi, handle);

    struct ar_mpi_comm *comm = find(abi, handle);

    if (comm)
        was = *comm;
    if (comm && ar_idmap_put(&known.by_handle, key_of(abi, handle), AR_NO_ID) == AR_OK) {
        known.free_ones[known.n_free++] = (uint32_t)(comm - known.comms);
        if (known.by_handle.n_used >= MAX_HANDLES)
            forget_freed();
        changed();
    }
    pthread_mutex_unlock(&known.lock);
    return was;
}

void ar_comm_named(struct ar_mpi_abi *abi, uint64_t handle, const char *name)
{
    struct ar_comm_cache cache = {0};
    struct ar_mpi_comm *comm = ar_comm_of(&cache, abi, handle);
    struct ar_record head = {
        .kind = AR_RECORD_COMM_NAME, .other = comm->number, .n_name = (uint32_t)strlen(name)};

    pthread_mutex_lock(&known.lock);
    if (comm->number && known.n_names < MAX_RECORDS && ar_livemap_record(&head, name, "", NULL))
        known.n_names++;
    pthread_mutex_unlock(&known.lock);
}

void ar_comms_forking(enum ar_fork_step step)
{
    ar_fork_lock(&known.lock, step);
}

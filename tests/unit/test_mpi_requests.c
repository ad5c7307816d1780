// SPDX-License-Identifier: BSD-3-Clause
/* Requests by hand, and a random sequence of posts and ends beside a list that is searched. */
#include "runtime/mpi_requests.h"

#include "dice.h"
#include "tap.h"

#include <pthread.h>
#include <string.h>

#define SHARED 0x1000 /* a handle that the library gives to whatever was done at once */

static struct ar_request request(uint64_t handle, uint64_t ticks)
{
    return (struct ar_request){.handle = handle,
                               .post_ticks = ticks,
                               .tag = (int)ticks,
                               .is_active = true,
                               .may_share = true};
}

static uint64_t end(uint64_t handle)
{
    struct ar_request r;

    return ar_request_end(handle, UINT64_MAX, &r) ? r.post_ticks : 0;
}

static void add(uint64_t handle, uint64_t ticks)
{
    struct ar_request r = request(handle, ticks);

    if (!ar_request_add(&r))
        tap_ok(false, "there is room");
}

static void check_one(void)
{
    struct ar_request found;

    tap_ok(ar_requests_followed() == 0 && end(7) == 0, "at first there is none");
    add(7, 100);
    tap_ok(ar_requests_followed() == 1, "one");
    tap_ok(ar_request_find(7, UINT64_MAX, &found) && found.tag == 100 &&
               !ar_request_find(8, UINT64_MAX, &found) && ar_requests_followed() == 1,
           "it is found, and stays");
    tap_ok(end(8) == 0 && end(7) == 100 && end(7) == 0, "it ends once");
    tap_ok(ar_requests_followed() == 0, "and is forgotten");
}

static void check_same_handle(void)
{
    for (uint64_t i = 1; i <= 5; i++)
        add(SHARED, i);
    add(7, 50);
    tap_ok(end(SHARED) == 1 && end(SHARED) == 2, "of equal handles the first one ends first");
    add(SHARED, 6);
    for (uint64_t i = 3; i <= 6; i++)
        tap_ok(end(SHARED) == i, "then number %d", (int)i);
    tap_ok(end(SHARED) == 0 && end(7) == 50, "no more of them, and the other one is there");
}

static uint64_t end_in_call(uint64_t handle, uint64_t call_ticks)
{
    struct ar_request r;

    return ar_request_end(handle, call_ticks, &r) ? r.post_ticks : 0;
}

static void add_alone(uint64_t handle, uint64_t ticks)
{
    struct ar_request r = request(handle, ticks);

    r.may_share = false;
    tap_ok(ar_request_add(&r), "posted");
}

/* The end of the one before was not seen. */
static void check_replaced(void)
{
    add_alone(7, 100);
    add_alone(7, 200);
    tap_ok(end_in_call(7, 300) == 200 && end(7) == 0, "a handle that comes again is the new one's");
    tap_ok(ar_requests_followed() == 0, "the old one is forgotten");
    add_alone(7, 100);
    add_alone(7, 200);
    tap_ok(end_in_call(7, 150) == 100 && end_in_call(7, 300) == 200,
           "another thread's call that began before ends the old one");
    add(7, 100);
    add_alone(7, 200);
    tap_ok(end_in_call(7, 200) == 200, "an old one that might share its handle does not share it");
    for (uint64_t ticks = 1; ticks <= 3; ticks++)
        add_alone(7, ticks);
    ar_request_forget(7, 4);
    tap_ok(ar_requests_followed() == 0, "the new one is freed, and those before it are gone");
}

static void check_persistent(void)
{
    struct ar_request r = request(9, 1), out;

    r.is_persistent = true;
    r.is_active = false;
    tap_ok(ar_request_add(&r) && !ar_request_end(9, UINT64_MAX, &out), "prepared, it cannot end");
    tap_ok(ar_request_start(9, NULL, NULL, 10, &out) && out.post_ticks == 10, "started");
    tap_ok(end(9) == 10 && end(9) == 0, "it ends, once a start");
    tap_ok(ar_request_start(9, NULL, NULL, 20, &out) && end(9) == 20, "and again");
    tap_ok(ar_requests_followed() == 1, "it is there as long as it is not freed");
    ar_request_forget(9, UINT64_MAX);
    tap_ok(ar_requests_followed() == 0 && !ar_request_start(9, NULL, NULL, 30, &out), "freed");
    ar_request_forget(9, UINT64_MAX);
    tap_ok(true, "twice does no harm");
}

static void check_full(void)
{
    uint32_t n = 0;
    struct ar_request r = request(0, 1);

    for (; n < 1000000; n++) {
        r.handle = n + 1;
        if (!ar_request_add(&r))
            break;
    }
    tap_ok(n >= 10000 && n < 1000000, "there is an end of the room: %u", n);
    tap_ok(end(5) == 1, "what was there is there");
    r.handle = 5000000;
    tap_ok(ar_request_add(&r) && end(5000000) == 1, "with room for one more, one more");
    for (uint32_t i = 0; i < n; i++)
        end(i + 1);
    tap_ok(ar_requests_followed() == 0, "all gone");
}

/* The same with a plain list, in which the first one is looked for. */
#define MAX_LIST 3000
static struct {
    uint64_t handle, ticks;
} list[MAX_LIST];
static int n_list;

static uint64_t end_in_list(uint64_t handle)
{
    for (int i = 0; i < n_list; i++)
        if (list[i].handle == handle) {
            uint64_t ticks = list[i].ticks;

            memmove(&list[i], &list[i + 1], (size_t)(--n_list - i) * sizeof *list);
            return ticks;
        }
    return 0;
}

static void check_random(void)
{
    struct dice dice = {42};
    int n_wrong = 0;

    for (uint64_t step = 1; step < 200000; step++) {
        uint64_t handle = 1 + dice_below(&dice, 40) * 65536;

        if (n_list < MAX_LIST && dice_below(&dice, 100) < 51) {
            add(handle, step);
            list[n_list].handle = handle;
            list[n_list++].ticks = step;
        } else {
            n_wrong += end(handle) != end_in_list(handle);
        }
    }
    tap_ok(n_wrong == 0 && ar_requests_followed() == (uint32_t)n_list,
           "200,000 posts and ends as in a list: %d wrong", n_wrong);
    while (n_list)
        n_wrong += end(list[0].handle) != end_in_list(list[0].handle);
    tap_ok(n_wrong == 0 && ar_requests_followed() == 0, "to the last one");
}

static void *post_and_end(void *arg)
{
    uint64_t base = (uint64_t)(uintptr_t)arg, n_wrong = 0;

    for (uint64_t i = 1; i <= 20000; i++) {
        add(base + i % 7, i);
        n_wrong += end(base + i % 7) != i;
    }
    return (void *)(uintptr_t)n_wrong;
}

static void check_threads(void)
{
    pthread_t threads[4];
    uint64_t n_wrong = 0;

    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, post_and_end, (void *)(i * 1000 + 1));
    for (int i = 0; i < 4; i++) {
        void *wrong;

        pthread_join(threads[i], &wrong);
        n_wrong += (uint64_t)(uintptr_t)wrong;
    }
    tap_ok(n_wrong == 0 && ar_requests_followed() == 0, "four threads at once");
}

static void check_fork(void)
{
    add(3, 1);
    ar_requests_forking(AR_FORK_BEFORE);
    ar_requests_forking(AR_FORK_PARENT);
    tap_ok(ar_requests_followed() == 1, "the parent's requests are its own");
    ar_requests_forking(AR_FORK_BEFORE);
    ar_requests_forking(AR_FORK_CHILD);
    tap_ok(ar_requests_followed() == 0 && end(3) == 0, "a child has none");
    add(3, 2);
    tap_ok(end(3) == 2, "but may have");
}

int main(void)
{
    check_one();
    check_same_handle();
    check_replaced();
    check_persistent();
    check_full();
    check_random();
    check_threads();
    check_fork();
    return tap_done();
}

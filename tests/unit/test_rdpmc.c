// SPDX-License-Identifier: BSD-3-Clause
/* Against a page and registers of our own, since few machines for tests have any. */
#include "counters/perf.h"
#include "counters/rdpmc.h"

#include "tap.h"

#include <linux/perf_event.h>
#include <string.h>

static struct perf_event_mmap_page page, other;
static uint64_t registers[8];
static int n_reads, change_at;

static uint64_t read_register(uint32_t reg)
{
    if (++n_reads == change_at) { /* the thread is put onto another processor meanwhile */
        page.lock += 2;
        page.index = 4;
        page.offset = 5000;
    }
    return registers[reg];
}

static void reset(void)
{
    page = (struct perf_event_mmap_page){
        .index = 3, .offset = 1000, .pmc_width = 48, .time_enabled = 70, .time_running = 70};
    page.cap_user_rdpmc = 1;
    other = page;
    other.index = 2;
    memset(registers, 0, sizeof registers);
    n_reads = change_at = 0;
}

static void test_one(void)
{
    uint64_t value = 0;

    reset();
    registers[2] = 234;
    tap_ok(ar_rdpmc_read(&page, read_register, &value) && value == 1234,
           "what the register holds is added: %d", (int)value);
    registers[2] = (UINT64_C(1) << 48) - 100;
    tap_ok(ar_rdpmc_read(&page, read_register, &value) && value == 900,
           "a register of 48 bits is signed: %d", (int)value);
    page.pmc_width = 0;
    registers[2] = 5;
    tap_ok(ar_rdpmc_read(&page, read_register, &value) && value == 1005, "no width means 64 bits");
}

static void test_changes(void)
{
    uint64_t value = 0;

    reset();
    registers[2] = 1;
    registers[3] = 2;
    change_at = 1;
    tap_ok(ar_rdpmc_read(&page, read_register, &value) && value == 5002 && n_reads == 2,
           "a page that changes meanwhile is read again: %d", (int)value);
}

static void test_refused(void)
{
    uint64_t value = 77;

    reset();
    page.index = 0;
    tap_ok(!ar_rdpmc_read(&page, read_register, &value), "in no register at present");
    reset();
    page.time_running = 69;
    tap_ok(!ar_rdpmc_read(&page, read_register, &value), "it took turns");
    reset();
    page.cap_user_rdpmc = 0;
    tap_ok(!ar_rdpmc_read(&page, read_register, &value), "it is not allowed");
    reset();
    tap_ok(!ar_rdpmc_read(&page, NULL, &value), "there is no such instruction");
    tap_ok(value == 77 && n_reads == 0, "the instruction is not executed then");
}

/* Two events in one group: by registers if both are in one, and by the kernel if one of them is not. */
static void test_group(void)
{
    struct ar_perf perf = {.fds = {-1, -1},
                           .leaders = {0, 0},
                           .pages = {&page, &other},
                           .rdpmc = read_register,
                           .n = 2};
    uint64_t values[2] = {0, 0};

    reset();
    registers[2] = 10;
    registers[1] = 20;
    tap_ok(ar_perf_read(&perf, values) && values[0] == 1010 && values[1] == 1020,
           "a group without the kernel: %d, %d", (int)values[0], (int)values[1]);
    other.index = 0;
    tap_ok(!ar_perf_read(&perf, values), "one is in no register: the kernel is asked for both");
}

int main(void)
{
    test_one();
    test_changes();
    test_refused();
    test_group();
    return tap_done();
}

// SPDX-License-Identifier: BSD-3-Clause
/* For test_elf_slots: a library whose functions another one calls. */

int slots_add(int a, int b);
int slots_subtract(int a, int b);
extern double slots_count;

__attribute__((visibility("default"))) double slots_count = 2.5;

__attribute__((visibility("default"))) int slots_add(int a, int b)
{
    return a + b;
}

__attribute__((visibility("default"))) int slots_subtract(int a, int b)
{
    return a - b;
}

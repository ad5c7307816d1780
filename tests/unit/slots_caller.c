// SPDX-License-Identifier: BSD-3-Clause
/* For test_elf_slots: a library that calls functions of another one, linked in several ways. */

int slots_add(int a, int b);
int slots_subtract(int a, int b);
int caller_add(int a, int b);
int caller_add_by_pointer(int a, int b);
int caller_subtract(int a, int b);

/*
 * Filled in by the dynamic linker as well, but a datum: written to, so that no compiler knows what
 * is in it.
 */
int (*volatile caller_pointer)(int, int) = slots_add;

__attribute__((visibility("default"))) int caller_add(int a, int b)
{
    return slots_add(a, b);
}

__attribute__((visibility("default"))) int caller_add_by_pointer(int a, int b)
{
    return caller_pointer(a, b);
}

__attribute__((visibility("default"))) int caller_subtract(int a, int b)
{
    return slots_subtract(a, b);
}

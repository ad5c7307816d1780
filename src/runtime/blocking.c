// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/blocking.h"

#include "base/text.h"
#include "runtime/tree.h"

#include <string.h>

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; i < n; i++)
        if (strcmp(dot ? dot + 1 : name, names[i]) == 0)
            return true;
    return false;
}

bool ar_blocks_in_python(const char *name, const char *file)
{
    static const char *const files[] = {"/threading.py", "/queue.py", "/selectors.py"};
    static const char *const names[] = {"wait", "wait_for", "join",  "_wait_for_tstate_lock",
                                        "get",  "put",      "select"};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (ar_ends_with(file, files[i]))
            return is_one_of(name, names, sizeof names / sizeof *names);
    return false;
}

bool ar_blocks_in_c(const char *name)
{
    static const char *const names[] = {"acquire", "join", "get", "select", "poll"};

    return is_one_of(name, names, sizeof names / sizeof *names);
}

bool ar_main_thread_is_blocked(void)
{
    const struct ar_live_thread *main_slot = ar_threads_main();
    uint32_t ref = main_slot ? __atomic_load_n(&main_slot->current_ref, __ATOMIC_RELAXED) : 0;
    const struct ar_node *node = ref ? ar_live_ptr(ref) : NULL;

    return node && ar_tree_is_marked((uint32_t)node->key, AR_MARK_BLOCKS);
}

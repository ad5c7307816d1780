// SPDX-License-Identifier: BSD-3-Clause
/* wait_words: a wait as a sentence, the same in `allranks waits` and among findings. */
#pragma once

#include "findings/child_waits.h"
#include "findings/wait_reasons.h"

/* Nothing ends it, neither a full stop nor a NUL. */
void ar_put_words(struct ar_bytes *out, const char *text);
/* As a shell takes it for one word: quoted if it has to be. */
void ar_put_shell_word(struct ar_bytes *out, const char *word);
/* Modules of Python itself and those installed beside them: files that few users have written. */
bool ar_is_installed(const struct ar_profile *p, uint32_t function);
/* All that sentences need besides the wait itself. */
struct ar_wait_words {
    const struct ar_profile *p;
    const struct ar_child_waits *children;
    double all_ns; /* wall time of all ranks */
};

/*
 * "solver.py:61 solve", "… and the functions it calls"; of code that the user has not written also from where it is
 * called; "waiting for a child process (gcc -c x.c) in build.py:5 compile". `process`: whose it is; AR_NO_ID: several.
 */
void ar_put_cause(struct ar_bytes *out, const struct ar_wait_words *w, uint32_t node,
                  bool with_callees, uint32_t process);
/* "ranks 1-7 waited 41.3 s (38 %) at solver.py:88 allreduce for rank 0, which spent it in …" */
void ar_put_wait(struct ar_bytes *out, const struct ar_wait_words *w,
                 const struct ar_wait_site *site);
/* Of so much of it, which one rank is to blame for, or several in turns, and the reason for most of that. */
void ar_put_wait_for(struct ar_bytes *out, const struct ar_wait_words *w,
                     const struct ar_wait_site *site, double ns,
                     const struct ar_wait_reason *reason);
/* Of so much of it, and the reason for a good part of that; NULL: none that is known. */
void ar_put_part_of_wait(struct ar_bytes *out, const struct ar_wait_words *w,
                         const struct ar_wait_site *site, double ns,
                         const struct ar_wait_reason *reason);

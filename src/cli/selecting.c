// SPDX-License-Identifier: BSD-3-Clause
#include "cli/selecting.h"

#include "analysis/load.h"
#include "cli/screen.h"
#include "open/open.h"

#include <string.h>

void ar_note_newer_parts(const struct ar_profile *p, const char *path, const char *what_then)
{
    if (p->n_unknown_sections)
        ar_note("allranks: note: %s has %s that only a newer allranks can read: %s\n", path,
                ar_show_items(p->n_unknown_sections, "part", "parts"), what_then);
}

int ar_check_whole(const struct ar_profile *p)
{
    const char *path;
    uint64_t n_missing = ar_bulks_missing(&p->bulks, &path);

    if (n_missing && ar_load_traces)
        return ar_complain("%s: the file is cut off: %s of its trace are missing (copy it again)",
                           path, ar_show_bytes(n_missing));
    if (n_missing)
        ar_note("allranks: %s: the file is cut off: %s of its trace are missing, the profile is "
                "whole (copy it again)\n",
                path, ar_show_bytes(n_missing));
    return -1;
}

int ar_open_run(struct ar_run **out, const struct ar_run_choice *choice)
{
    struct ar_error err;
    int status;

    if (ar_run_open(out, choice, &err) < 0)
        return ar_complain("%s", err.text);
    ar_note_newer_parts(ar_run_profile(*out, AR_FORM_RECORDED), choice->path, "left out here");
    status = ar_check_whole(ar_run_profile(*out, AR_FORM_RECORDED));
    if (status >= 0) {
        ar_run_close(*out);
        *out = NULL;
    }
    return status;
}

static void put(struct ar_bytes *out, const char *text)
{
    ar_bytes_put(out, text, strlen(text));
}

static void put_words(struct ar_bytes *out, const char *what, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        put(out, i == 0 && out->n ? ", " : "");
        put(out, i == 0 ? what : ",");
        put(out, " ");
        put(out, words[i]);
    }
}

size_t ar_print_selection(const struct ar_selection *s)
{
    struct ar_bytes out = {0};
    size_t n;

    if (ar_selection_is_all(s))
        return 0;
    put_words(&out, s->ranks && strpbrk(s->ranks, "-,") ? "only ranks" : "only rank", &s->ranks,
              s->ranks != NULL);
    put_words(&out, "only thread", &s->thread, s->thread != NULL);
    put_words(&out, "only region", s->regions.items, s->regions.n);
    put_words(&out, "only functions", s->include.items, s->include.n);
    put_words(&out, "without", s->exclude.items, s->exclude.n);
    ar_bytes_u8(&out, '\0');
    n = out.bad ? 0 : ar_count_columns((char *)out.data, 80);
    ar_print_fit(out.bad ? "" : (char *)out.data, n < 80 ? n : 80, AR_KEEP_START);
    ar_print("\n");
    ar_bytes_free(&out);
    return 1;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "cli/doubt_text.h"

#include "cli/screen.h"

#include <math.h>
#include <stdio.h>

const char *ar_show_doubted(struct ar_doubt doubt, double ns, double unit_ns)
{
    char *text = ar_text_buffer();

    snprintf(text, AR_TEXT_BYTES, "%s%s",
             doubt.marks & AR_MARK_PARTIAL     ? ">"
             : doubt.marks & AR_MARK_ESTIMATED ? "~"
                                               : "",
             ar_show_time(ns, unit_ns));
    return text;
}

void ar_mark_shown(struct ar_marks_shown *shown, struct ar_doubt doubt, size_t n_ranks)
{
    double error_ns = ar_doubt_error(doubt, n_ranks);

    shown->marks |= doubt.marks;
    if (error_ns > shown->error_ns)
        shown->error_ns = error_ns;
}

const char *ar_show_mean(const struct ar_spread *s, size_t n_ranks, double unit_ns,
                         struct ar_marks_shown *shown)
{
    ar_mark_shown(shown, s->doubt, n_ranks);
    return ar_show_doubted(s->doubt, s->mean, unit_ns);
}

size_t ar_count_marks(const struct ar_marks_shown *shown)
{
    return (shown->marks & (AR_MARK_ESTIMATED | AR_MARK_PARTIAL)) != 0;
}

/* Two standard errors are 19 of 20 cases. */
static const char *show_error(const struct ar_marks_shown *shown)
{
    char *text = ar_text_buffer();

    if (shown->marks & AR_MARK_NO_ERROR)
        snprintf(text, AR_TEXT_BYTES, "with an error that is not known");
    else
        snprintf(text, AR_TEXT_BYTES, "to within %s in 19 of 20 cases",
                 ar_show_duration(2 * shown->error_ns));
    return text;
}

size_t ar_print_marks(const struct ar_marks_shown *shown)
{
    bool is_partial = shown->marks & AR_MARK_PARTIAL;
    bool is_estimated = shown->marks & AR_MARK_ESTIMATED;

    if (!ar_count_marks(shown))
        return 0;
    ar_print(" %s", ar_dim());
    if (is_estimated)
        ar_print("~ estimated%s, %s%s", is_partial ? "" : " from some of the calls",
                 show_error(shown), is_partial ? "   " : "");
    if (is_partial)
        ar_print("> at least%s", is_estimated ? " (--budget)" : ": timed no more, see --budget");
    ar_print("%s\n", ar_plain());
    return 1;
}

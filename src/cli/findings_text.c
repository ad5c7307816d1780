// SPDX-License-Identifier: BSD-3-Clause
#include "cli/findings_text.h"

#include "cli/efficiency_text.h"
#include "cli/screen.h"

#define INDENT 4
#define TITLE_LINES 2 /* with the empty one before it */
/* Between a sentence and its command. */
#define GAP 2

void ar_print_word(const char *word)
{
    struct ar_bytes text = {0};

    ar_put_shell_word(&text, word);
    ar_bytes_u8(&text, 0);
    ar_print("%s", text.bad ? word : (const char *)text.data);
    ar_bytes_free(&text);
}

static bool fits_behind(const char *command, size_t at, size_t n_columns)
{
    return at + GAP + ar_count_columns(command, SIZE_MAX) <= n_columns;
}

static size_t lines_of(const struct ar_finding *finding, size_t n_columns)
{
    size_t at = 0, n_lines = ar_count_wrapped(finding->text, n_columns, INDENT, &at);

    return n_lines + !fits_behind(finding->command, at, n_columns);
}

/* At the end of the last line where there is room, else on one of its own; on the right. */
static void print_command(const char *command, size_t at, size_t n_columns)
{
    size_t n = ar_count_columns(command, SIZE_MAX);

    if (!fits_behind(command, at, n_columns)) {
        ar_print("\n");
        at = 0;
    }
    ar_print("%*s%s", (int)(at + n < n_columns ? n_columns - at - n : 0), "", ar_dim());
    ar_print("%s", command);
    ar_print("%s\n", ar_plain());
}

static void print_finding(const struct ar_finding *finding, size_t number, size_t n_columns)
{
    size_t at = 0;

    ar_print("%s%2zu%s  ", ar_bold(), number, ar_plain());
    ar_print_wrapped(finding->text, n_columns, INDENT, &at);
    print_command(finding->command, at, n_columns);
}

size_t ar_print_findings(const struct ar_findings *f, const char *path, size_t n_lines)
{
    size_t n_columns = ar_screen_columns() - 1, n = TITLE_LINES, i = 0;

    if (f->n == 0)
        return 0;
    ar_print("\n%sWhat holds it back%s   waits are sums over ranks, %% is of all ranks' time\n",
             ar_bold(), ar_plain());
    for (; i < f->n; i++) {
        size_t n_next = lines_of(&f->items[i], n_columns);
        bool is_last = i + 1 == f->n;

        if (i && n_lines && n + n_next + !is_last > n_lines)
            break;
        print_finding(&f->items[i], i + 1, n_columns);
        n += n_next;
    }
    if (i == f->n)
        return n;
    ar_print("    %s%zu more: allranks report --rows 0 ", ar_dim(), f->n - i);
    ar_print_word(path);
    ar_print("%s\n", ar_plain());
    return n + 1;
}

size_t ar_print_efficiency(const struct ar_findings *f)
{
    return f->efficiency.wall_ns > 0 && ar_print("%s\n", ar_show_efficiency(&f->efficiency)) > 0;
}

/* ---- for programs ----------------------------------------------------------------------------- */

static void put_finding(struct ar_json *j, const struct ar_profile *p, const struct ar_finding *f)
{
    ar_json_open(j, NULL, '{');
    ar_json_text(j, "rule", f->rule);
    ar_json_text(j, "text", f->text);
    ar_json_number(j, "won_ns", f->won_ns);
    ar_json_text(j, "command", f->command);
    if (f->place.function == AR_NO_ID) {
        ar_json_null(j, "file");
        ar_json_null(j, "line");
    } else {
        ar_json_text(j, "file", ar_place_file(p, f->place));
        ar_json_integer(j, "line", f->place.line);
    }
    ar_json_open(j, "ranks", '[');
    for (size_t i = 0; i < f->n_processes; i++)
        if (p->processes[f->processes[i]].world_rank != AR_RANK_NONE)
            ar_json_integer(j, NULL, p->processes[f->processes[i]].world_rank);
    ar_json_close(j, ']');
    ar_json_close(j, '}');
}

enum ar_status ar_json_findings(struct ar_json *j, struct ar_run *run)
{
    const struct ar_profile *p = ar_run_profile(run, AR_FORM_FOLDED);
    const struct ar_findings *f = ar_run_findings(run);

    if (!f)
        return AR_NOMEM;
    ar_json_efficiency(j, "efficiency", &f->efficiency);
    ar_json_open(j, "findings", '[');
    for (size_t i = 0; i < f->n; i++)
        put_finding(j, p, &f->items[i]);
    ar_json_close(j, ']');
    return AR_OK;
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * run_tables: all tables of a run as JSON, from the bytes of a run file, a live file or a pstats file.
 *
 * tools/check_wasm.py builds it twice: as a WebAssembly module, which run_tables.mjs calls, and as a program for this machine.
 * Both must give the same answer.
 *
 *     module     bytes = reserve(n_bytes), then answer = show(bytes, n_bytes): text from answer_text() on
 *     program    run_tables FILE >ANSWER
 */
#include "export/tables_json.h"
#include "format/live_profile.h"
#include "format/livefile.h"
#include "format/runfile.h"
#include "import/pstats_read.h"

#include <stdlib.h>
#include <string.h>

#ifdef __wasm__
#define EXPORT(name) __attribute__((export_name(#name)))
#else
#define EXPORT(name) static
#endif

static enum ar_status add_live(struct ar_profile *p, const void *bytes, size_t n_bytes,
                               struct ar_error *err)
{
    struct ar_live live;
    enum ar_status status = ar_live_from_bytes(&live, bytes, n_bytes, "live file", err);

    if (status < 0)
        return status;
    status = ar_profile_init(p);
    if (status == AR_OK)
        status = ar_profile_add_live(p, &live, 0, err);
    if (status < 0)
        ar_profile_free(p);
    ar_live_close(&live);
    return status;
}

/* Takes the bytes over. */
static enum ar_status read_profile(struct ar_profile *p, unsigned char *bytes, size_t n_bytes,
                                   struct ar_error *err)
{
    enum ar_status status;

    if (n_bytes >= 8 && memcmp(bytes, AR_RUN_MAGIC, 8) == 0)
        return ar_run_take_packed(p, bytes, n_bytes, "run file", err);
    if (ar_pstats_is(bytes, n_bytes))
        status = ar_pstats_decode(p, bytes, n_bytes, "pstats file", err);
    else
        status = add_live(p, bytes, n_bytes, err);
    free(bytes);
    return status;
}

static enum ar_status put_tables(struct ar_json *j, struct ar_run *run)
{
    enum ar_status status = AR_OK;

    ar_json_begin(j, "tables");
    ar_json_about(j, run);
    for (size_t i = 0; ar_shown_tables[i] && status == AR_OK; i++)
        if (ar_shown_tables[i]->about == AR_ABOUT_RUN)
            status = ar_json_table(j, ar_run_subject(run), ar_shown_tables[i]->name, NULL);
    ar_json_end(j);
    return status;
}

static enum ar_status show_bytes(struct ar_bytes *out, unsigned char *bytes, size_t n_bytes,
                                 struct ar_error *err)
{
    struct ar_run_choice choice = {.path = "run", .form = AR_FORM_FOLDED, .callers = "work"};
    struct ar_json j = {.out = out};
    struct ar_profile p;
    struct ar_run *run;
    enum ar_status status = read_profile(&p, bytes, n_bytes, err);

    if (status < 0)
        return status;
    if (ar_profile_families(&p) < 0) {
        ar_profile_free(&p);
        return ar_fail(err, AR_NOMEM, "out of memory");
    }
    status = ar_run_of(&run, &p, &choice, err);
    if (status < 0)
        return status;
    status = put_tables(&j, run);
    ar_run_close(run);
    return status < 0 || out->bad ? ar_fail(err, AR_NOMEM, "out of memory") : AR_OK;
}

static struct ar_bytes answer;

/* Takes the bytes over. Returns the length of the answer: JSON, or why there is none. */
EXPORT(show) size_t show(unsigned char *bytes, size_t n_bytes)
{
    struct ar_error err;

    ar_bytes_free(&answer);
    answer = (struct ar_bytes){0};
    if (show_bytes(&answer, bytes, n_bytes, &err) < 0) {
        ar_bytes_free(&answer);
        answer = (struct ar_bytes){0};
        ar_bytes_put(&answer, err.text, strlen(err.text));
    }
    return answer.n;
}

EXPORT(reserve) unsigned char *reserve(size_t n_bytes)
{
    return malloc(n_bytes ? n_bytes : 1);
}

EXPORT(answer_text) const unsigned char *answer_text(void)
{
    return answer.data;
}

#ifndef __wasm__
#include <stdio.h>

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;

    if (!file || fseek(file, 0, SEEK_END) < 0)
        return 2;

    long length = ftell(file);
    size_t n_bytes = length > 0 ? (size_t)length : 0;
    unsigned char *bytes = reserve(n_bytes);

    rewind(file);
    if (!bytes || fread(bytes, 1, n_bytes, file) != n_bytes)
        return 2;
    fclose(file);

    size_t n_answer = show(bytes, n_bytes);
    size_t n_written = fwrite(answer_text(), 1, n_answer, stdout);

    ar_bytes_free(&answer);
    return n_written == n_answer && fflush(stdout) == 0 ? 0 : 1;
}
#endif

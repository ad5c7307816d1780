// SPDX-License-Identifier: BSD-3-Clause
/*
 * status: how a function says that it failed.
 *
 * Every function that can fail returns `enum ar_status`: AR_OK or a negative code. The text for
 * people goes into a `struct ar_error` that the caller owns; it may be NULL where it is not read
 * (the runtime counts).
 *
 *     struct ar_error err;
 *     if (ar_load(&p, path, &err) < 0)
 *         fprintf(stderr, "allranks: error: %s\n", err.text);
 */
#pragma once

#define AR_STATUS_LIST(X)                                                                          \
    X(AR_OK, 0, "ok")                                                                              \
    X(AR_NOMEM, -1, "out of memory")                                                               \
    X(AR_IO, -2, "input or output failed")                                                         \
    X(AR_BAD, -3, "not a valid file")                                                              \
    X(AR_FULL, -4, "no room left")                                                                 \
    X(AR_UNSUPPORTED, -5, "not supported")                                                         \
    X(AR_EXISTS, -6, "already exists")

enum ar_status {
#define X(name, value, text) name = value,
    AR_STATUS_LIST(X)
#undef X
};

#define AR_MUST_CHECK __attribute__((warn_unused_result))

struct ar_error {
    char text[512];
};

const char *ar_status_text(enum ar_status status);

/* Writes the text, if anybody wants it, and returns `status`, so that a failure is one line. */
enum ar_status ar_fail(struct ar_error *err, enum ar_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

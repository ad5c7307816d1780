// SPDX-License-Identifier: BSD-3-Clause
/* runfile_layout: the numbers that writer and reader of a run file share; see docs/file-format.md. */
#pragma once

enum ar_section_kind {
    AR_SECTION_STRINGS = 1,
    AR_SECTION_FACTS = 2,
    AR_SECTION_FUNCTIONS = 3,
    AR_SECTION_NODES = 4,
    AR_SECTION_PROCESSES = 5,
    AR_SECTION_LOCATIONS = 6,
    AR_SECTION_METRIC = 7,   /* one a metric, up to version 4 */
    AR_SECTION_COMMS = 8,    /* the following only where there are any */
    AR_SECTION_MESSAGES = 9, /* up to version 9, and the next */
    AR_SECTION_REQUESTS = 10,
    AR_SECTION_SYNCS = 11,       /* in version 5 only: passed over */
    AR_SECTION_SETS = 12,        /* of locations, that rows of metrics have */
    AR_SECTION_MATRIX = 13,      /* one a metric */
    AR_SECTION_OLD_STREAMS = 14, /* versions 6 to 8 */
    AR_SECTION_STREAMS_9 = 15,   /* in version 9 */
    AR_SECTION_OPEN_CALLS = 16,  /* in version 9 */
    AR_SECTION_TABLE = 17,       /* one a table */
    AR_SECTION_STREAMS = 18,     /* one a kind of streams */
    AR_SECTION_BULKS = 19,       /* which bulks there are; from version 11 on, and the next */
    AR_SECTION_BULK = 20,        /* their bytes, behind all others: not read with the run */
    AR_N_SECTION_KINDS
};

enum { AR_CODEC_PLAIN = 0, AR_CODEC_APART = 1 };

/* A run without bulk is written in the version before. */
#define AR_RUN_VERSION_WITH_BULK 11

#define AR_RUN_HEADER_BYTES 16
#define AR_RUN_ENTRY_BYTES 40

// SPDX-License-Identifier: BSD-3-Clause
/*
 * annotations: regions that a library names, as nodes of the tree, with the work that the library counts in them.
 *
 *     library ──> its own file (petsc_log.c) ──> annotations ──> tree, measures
 *
 * A library that has begin and end for parts of its work is an annotator: it gives a name for each of its numbers, and says
 * how much work it has counted so far. Its own file finds it and calls these functions:
 *
 *     static struct ar_annotator mine = {.name_of = name_of, .read_work = read_work, .n_work = 2, .metrics = kinds};
 *
 *     ar_annotator_begin(&mine);                          // when the library is found
 *     ar_annotation_begin(&mine, id, by_python);          // the library begins an event
 *     ar_annotation_end(&mine, id, AR_ANNOTATION_ID);
 *
 * What the library counts between begin and end is added to the node when the event ends, so of an event that was open when the
 * process was killed this call's work is missing.
 *
 * A region that the library's own code begins ends with the call around it, at the latest: after an error nothing else ends it. One
 * that the program begins from Python stays open until it is ended, as those of regions.h do.
 *
 * Threads: any, with or without the GIL. Begin and end of one region are in one thread. Failure: the region is counted as lost.
 */
#pragma once

#include "format/metric.h"
#include "runtime/sources.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AR_MOST_WORK 4
#define AR_ANNOTATION_PAGES 64
#define AR_ANNOTATIONS_PER_PAGE 256u

struct ar_annotator {
    /* NULL: it is no region. Ids are below AR_ANNOTATION_PAGES * AR_ANNOTATIONS_PER_PAGE. */
    const char *(*name_of)(uint32_t id);
    /* What has been done since the process began, `n_work` numbers. */
    void (*read_work)(double *work);
    size_t n_work;
    struct ar_metric_kind metrics[AR_MOST_WORK];
    uint32_t measure;                     /* its number; 0: there is no room for it */
    uint32_t *pages[AR_ANNOTATION_PAGES]; /* by id: number of the region, with one bit more */
};

/* Once, before its first region. */
void ar_annotator_begin(struct ar_annotator *a);
/* Ids are given anew: names are asked for again. No region of its own may begin meanwhile. */
void ar_annotator_forget(struct ar_annotator *a);

/* `stays`: until it is ended, whatever is left around it. */
void ar_annotation_begin(struct ar_annotator *a, uint32_t id, bool stays);
/* Of the innermost open region whose id is `id` in these bits. Nothing where there is none, as of one that began before the recording. */
#define AR_ANNOTATION_ID UINT32_MAX
void ar_annotation_end(struct ar_annotator *a, uint32_t id, uint32_t bits);

extern const struct ar_source ar_source_annotations;

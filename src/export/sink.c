// SPDX-License-Identifier: BSD-3-Clause
#include "export/sink.h"

enum ar_status ar_sink_flush(struct ar_sink *sink, struct ar_error *err)
{
    enum ar_status status;

    if (sink->block.bad)
        return ar_fail(err, AR_NOMEM, "out of memory");
    if (!sink->block.n)
        return AR_OK;
    status = sink->take(sink->to, sink->block.data, sink->block.n, err);
    sink->n_bytes += sink->block.n;
    sink->block.n = 0;
    return status;
}

enum ar_status ar_sink_end(struct ar_sink *sink, enum ar_status status, struct ar_error *err)
{
    if (status == AR_OK)
        status = ar_sink_flush(sink, err);
    ar_bytes_free(&sink->block);
    return status;
}

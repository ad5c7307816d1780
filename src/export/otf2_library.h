// SPDX-License-Identifier: BSD-3-Clause
/*
 * otf2_library: the functions of libotf2 that traces are written with.
 *
 * The library is loaded when it is first needed, so that the command starts without it, and works where it is not installed. Its
 * header is needed when allranks is built: types are those of the header. ALLRANKS_OTF2 names another library than the
 * system's.
 *
 *     struct ar_otf2_library lib;
 *     if (ar_otf2_load(&lib, &err) < 0) ...
 *     lib.Archive_Open(…);
 *
 * The library would print what goes wrong. Here the first complaint is kept, for the message that fails: ar_otf2_complaint.
 */
#pragma once

#include "base/status.h"

#include <otf2/otf2.h>

#define AR_OTF2_FUNCTIONS(X)                                                                       \
    X(Archive_Open)                                                                                \
    X(Archive_Close)                                                                               \
    X(Archive_SetCreator)                                                                          \
    X(Archive_SetDescription)                                                                      \
    X(Archive_SetMachineName)                                                                      \
    X(Archive_SetFlushCallbacks)                                                                   \
    X(Archive_SetMemoryCallbacks)                                                                  \
    X(Archive_SetSerialCollectiveCallbacks)                                                        \
    X(Archive_SetLockingCallbacks)                                                                 \
    X(Archive_OpenEvtFiles)                                                                        \
    X(Archive_CloseEvtFiles)                                                                       \
    X(Archive_OpenDefFiles)                                                                        \
    X(Archive_CloseDefFiles)                                                                       \
    X(Archive_GetEvtWriter)                                                                        \
    X(Archive_CloseEvtWriter)                                                                      \
    X(Archive_GetDefWriter)                                                                        \
    X(Archive_CloseDefWriter)                                                                      \
    X(Archive_GetGlobalDefWriter)                                                                  \
    X(Archive_CloseGlobalDefWriter)                                                                \
    X(Error_RegisterCallback)                                                                      \
    X(Error_GetDescription)                                                                        \
    X(EvtWriter_GetNumberOfEvents)                                                                 \
    X(EvtWriter_Enter)                                                                             \
    X(EvtWriter_Leave)                                                                             \
    X(EvtWriter_MeasurementOnOff)                                                                  \
    X(EvtWriter_MpiSend)                                                                           \
    X(EvtWriter_MpiIsend)                                                                          \
    X(EvtWriter_MpiIsendComplete)                                                                  \
    X(EvtWriter_MpiIrecvRequest)                                                                   \
    X(EvtWriter_MpiRecv)                                                                           \
    X(EvtWriter_MpiIrecv)                                                                          \
    X(EvtWriter_MpiRequestCancelled)                                                               \
    X(EvtWriter_MpiCollectiveBegin)                                                                \
    X(EvtWriter_MpiCollectiveEnd)                                                                  \
    X(EvtWriter_NonBlockingCollectiveRequest)                                                      \
    X(EvtWriter_NonBlockingCollectiveComplete)                                                     \
    X(EvtWriter_ParameterString)                                                                   \
    X(EvtWriter_ParameterInt)                                                                      \
    X(EvtWriter_ParameterUnsignedInt)                                                              \
    X(EvtWriter_Metric)                                                                            \
    X(GlobalDefWriter_WriteClockProperties)                                                        \
    X(GlobalDefWriter_WriteString)                                                                 \
    X(GlobalDefWriter_WriteParadigm)                                                               \
    X(GlobalDefWriter_WriteSystemTreeNode)                                                         \
    X(GlobalDefWriter_WriteSystemTreeNodeDomain)                                                   \
    X(GlobalDefWriter_WriteLocationGroup)                                                          \
    X(GlobalDefWriter_WriteLocation)                                                               \
    X(GlobalDefWriter_WriteRegion)                                                                 \
    X(GlobalDefWriter_WriteParameter)                                                              \
    X(GlobalDefWriter_WriteMetricMember)                                                           \
    X(GlobalDefWriter_WriteMetricClass)                                                            \
    X(GlobalDefWriter_WriteGroup)                                                                  \
    X(GlobalDefWriter_WriteComm)

struct ar_otf2_library {
#define DECLARE(name) __typeof__(OTF2_##name) *name;
    AR_OTF2_FUNCTIONS(DECLARE)
#undef DECLARE
};

/* AR_UNSUPPORTED: it is not here, or too old. It stays loaded. */
AR_MUST_CHECK enum ar_status ar_otf2_load(struct ar_otf2_library *out, struct ar_error *err);

/* What it complained about first since it was asked last, or "". */
const char *ar_otf2_complaint(void);
/* `status` with the text "cannot write PATH: why", from a code of the library. */
enum ar_status ar_otf2_refuse(const struct ar_otf2_library *lib, OTF2_ErrorCode code,
                              struct ar_error *err);

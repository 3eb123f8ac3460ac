/* The calls that captures in each mode forbid, as observed with driver version 580. */
#include "driver.h"
#include <pthread.h>

enum { GLOBAL, THREAD_LOCAL, RELAXED, UNSUPPORTED = 900, INVALIDATED, CAPTURED_EVENT = 907, WRONG_THREAD };

static CUcontext context;
static CUstream captured, other;
static CUevent event;

static CUresult allocate(void) {
    CUdeviceptr address;
    return cuMemAlloc_v2(&address, 64);
}

static CUresult allocate_in_order(void) {
    CUdeviceptr address;
    return cuMemAllocAsync(&address, 64, other);
}

static CUresult query(void) {
    return cuEventQuery(event);
}

static CUresult synchronize(void) {
    return cuStreamSynchronize(other);
}

static CUresult copy(void) {
    static CUdeviceptr x, y;
    if (x == 0) return cuMemAlloc_v2(&x, 4) + cuMemAlloc_v2(&y, 4) + cuMemsetD8_v2(x, 1, 4);
    return cuMemcpyDtoD_v2(y, x, 4);
}

static CUresult wait_for_all(void) {
    return cuCtxSynchronize();
}

static CUresult end(void) {
    CUgraph graph;
    return cuStreamEndCapture(captured, &graph);
}

/* A call by a thread whose own mode is `mode`. */
typedef struct {
    CUresult (*call)(void);
    int mode;
    CUresult result;
} Call;

static void *perform(void *argument) {
    Call *call = argument;
    int before = call->mode;
    OK(cuCtxSetCurrent(context));
    OK(cuThreadExchangeStreamCaptureMode(&before));
    HOLDS(before == GLOBAL);
    call->result = call->call();
    OK(cuThreadExchangeStreamCaptureMode(&before));
    HOLDS(before == call->mode);
    return NULL;
}

static CUresult in_another_thread(Call call) {
    pthread_t thread;
    HOLDS(pthread_create(&thread, NULL, perform, &call) == 0 && pthread_join(thread, NULL) == 0);
    return call.result;
}

/* Makes a call during a capture in the given mode. The capture remains valid if the call is allowed. */
static void expect(CUresult expected, int mode, Call call, int elsewhere) {
    OK(cuStreamBeginCapture_v2(captured, mode));
    CUresult result = elsewhere ? in_another_thread(call) : (perform(&call), call.result);
    EXPECT(expected, result);
    EXPECT(expected == 0 ? 0 : INVALIDATED, end());
}

int main(void) {
    start();
    OK(cuCtxGetCurrent(&context));
    OK(cuStreamCreate(&captured, 1));
    OK(cuStreamCreate(&other, 1));
    OK(cuEventCreate(&event, 0));
    OK(cuEventRecord(event, other));
    OK(copy());
    OK(cuCtxSynchronize());

    CUresult (*const unsafe[])(void) = {allocate, allocate_in_order, query, synchronize};
    for (int i = 0; i < 4; i++) {
        /* From the capturing thread: its own mode may relax that of the capture. */
        for (int mode = GLOBAL; mode <= RELAXED; mode++)
            for (int own = GLOBAL; own <= RELAXED; own++)
                expect(mode == RELAXED || own == RELAXED ? 0 : UNSUPPORTED, mode, (Call){unsafe[i], own, 0}, 0);
        /* From another thread. */
        for (int mode = GLOBAL; mode <= RELAXED; mode++)
            for (int own = GLOBAL; own <= RELAXED; own++)
                expect(mode == GLOBAL && own == GLOBAL ? UNSUPPORTED : 0, mode, (Call){unsafe[i], own, 0}, 1);
    }
    for (int mode = GLOBAL; mode <= RELAXED; mode++) {
        expect(0, mode, (Call){copy, GLOBAL, 0}, 0);
        expect(UNSUPPORTED, mode, (Call){wait_for_all, RELAXED, 0}, 0);
        /* Unless the mode is relaxed, only the thread that began a capture may end it; the capture ends in either case. */
        OK(cuStreamBeginCapture_v2(captured, mode));
        EXPECT(mode == RELAXED ? 0 : WRONG_THREAD, in_another_thread((Call){end, GLOBAL, 0}));
        OK(cuStreamSynchronize(captured));
    }
    /* An event recorded in a capture has no status and cannot be waited for; an attempt invalidates the capture. */
    CUresult (*const request[])(CUevent) = {cuEventQuery, cuEventSynchronize};
    for (int mode = GLOBAL; mode <= RELAXED; mode++)
        for (int i = 0; i < 2; i++) {
            CUevent recorded;
            OK(cuEventCreate(&recorded, 0));
            OK(cuStreamBeginCapture_v2(captured, mode));
            OK(cuEventRecord(recorded, captured));
            EXPECT(CAPTURED_EVENT, request[i](recorded));
            EXPECT(INVALIDATED, end());
            EXPECT(1, cuEventQuery(recorded));
            OK(cuEventDestroy_v2(recorded));
        }
    puts("done");
    return 0;
}

/* The order of operations on one stream, between streams, and with the default stream. */
#include "driver.h"

#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

/* An operation that blocks while the program holds the gate. */
static void pass(void *unused) {
    (void)unused;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
}

static void append(void *digit) {
    putchar(*(char *)digit);
}

static void *wait_for_stream(void *stream) {
    start();
    OK(cuStreamSynchronize((CUstream)stream));
    return NULL;
}

static void *wait_for_context(void *unused) {
    (void)unused;
    start();
    OK(cuCtxSynchronize());
    return NULL;
}

/* While another thread waits for a stream or for the context, operations submitted by this one keep their order. */
static void order_while_another_thread_waits(CUdeviceptr x, CUstream one, CUstream apart, CUevent event) {
    CUstream gone;
    pthread_t waiting;

    pthread_mutex_lock(&gate);
    OK(cuLaunchHostFunc(one, pass, NULL));
    OK(cuMemsetD32Async(x, 21, 1, one));
    OK(cuEventRecord(event, one));
    OK(cuStreamWaitEvent(apart, event, 0));
    pthread_create(&waiting, NULL, wait_for_stream, apart);
    usleep(20000);
    OK(cuMemsetD32Async(x, 22, 1, apart));
    usleep(20000);
    EXPECT(NOT_READY, cuStreamQuery(apart));
    pthread_mutex_unlock(&gate);
    pthread_join(waiting, NULL);
    OK(cuStreamSynchronize(apart));

    /* An operation of the default stream waits for those of a blocking stream that has been destroyed. */
    OK(cuStreamCreate(&gone, 0));
    pthread_mutex_lock(&gate);
    OK(cuLaunchHostFunc(gone, pass, NULL));
    OK(cuMemsetD32Async(x, 23, 1, gone));
    OK(cuStreamDestroy_v2(gone));
    pthread_create(&waiting, NULL, wait_for_context, NULL);
    usleep(20000);
    OK(cuMemsetD32Async(x, 24, 1, NULL));
    OK(cuEventRecord(event, NULL));
    usleep(20000);
    EXPECT(NOT_READY, cuEventQuery(event));
    pthread_mutex_unlock(&gate);
    pthread_join(waiting, NULL);
    OK(cuEventSynchronize(event));
}

int main(void) {
    CUstream one, two, apart;
    CUevent before, after;
    CUdeviceptr x;
    float *host, ms;
    unsigned word = 0;

    start();
    OK(cuStreamCreate(&one, 0));
    OK(cuStreamCreate(&two, 0));
    OK(cuStreamCreate(&apart, 1)); /* CU_STREAM_NON_BLOCKING */
    OK(cuEventCreate(&before, 0));
    OK(cuEventCreate(&after, 0));
    OK(cuMemAlloc_v2(&x, 4096));

    /* While one stream is busy, the default stream waits for it, blocking streams wait for the default stream, and others do not wait. */
    pthread_mutex_lock(&gate);
    OK(cuEventRecord(before, one));
    OK(cuLaunchHostFunc(one, pass, NULL));
    OK(cuEventRecord(after, one));
    EXPECT(NOT_READY, cuStreamQuery(one));
    EXPECT(NOT_READY, cuEventQuery(after));
    OK(cuEventSynchronize(before));
    EXPECT(NOT_READY, cuEventElapsedTime(&ms, before, after));
    OK(cuStreamSynchronize(two));
    OK(cuMemsetD32Async(x, 7, 1, NULL));
    OK(cuMemsetD32Async(x + 4, 7, 1, two));
    OK(cuMemsetD32Async(x + 8, 7, 1, apart));
    OK(cuStreamSynchronize(apart));
    usleep(20000);
    EXPECT(NOT_READY, cuStreamQuery(NULL));
    EXPECT(NOT_READY, cuStreamQuery(two));
    pthread_mutex_unlock(&gate);
    OK(cuCtxSynchronize());
    OK(cuStreamQuery(two));
    OK(cuEventElapsedTime(&ms, before, after));
    HOLDS(ms >= 20);

    /* An event orders two streams. */
    pthread_mutex_lock(&gate);
    OK(cuLaunchHostFunc(one, pass, NULL));
    OK(cuMemsetD32Async(x, 11, 1, one));
    OK(cuEventRecord(after, one));
    OK(cuStreamWaitEvent(apart, after, 0));
    OK(cuMemHostAlloc((void **)&host, 4096, 0));
    OK(cuMemcpyDtoHAsync_v2(host, x, 4, apart));
    usleep(5000);
    EXPECT(NOT_READY, cuStreamQuery(apart));
    pthread_mutex_unlock(&gate);
    OK(cuStreamSynchronize(apart));
    memcpy(&word, host, 4);
    HOLDS(word == 11);

    /* Pageable memory may be changed after the call. */
    pthread_mutex_lock(&gate);
    OK(cuLaunchHostFunc(one, pass, NULL));
    word = 5;
    OK(cuMemcpyHtoDAsync_v2(x, &word, 4, one));
    word = 6;
    pthread_mutex_unlock(&gate);
    OK(cuMemcpyDtoH_v2(&word, x, 4));
    HOLDS(word == 5);

    order_while_another_thread_waits(x, one, apart, after);

    /* A kernel on pinned memory, which has the same address on the host and in kernels. */
    for (int i = 0; i < 100; ++i) {
        host[i] = i;
    }
    OK(launch(scale(), (CUdeviceptr)(uintptr_t)(host + 100), (CUdeviceptr)(uintptr_t)host, 2, 100, one));
    OK(cuStreamSynchronize(one));
    HOLDS(host[199] == 198);

    /* A stream that is destroyed completes its operations in order. */
    for (const char *digit = "12345"; *digit; ++digit) {
        OK(cuLaunchHostFunc(two, append, (void *)digit));
    }
    OK(cuEventRecord(after, two));
    OK(cuStreamDestroy_v2(two));
    OK(cuEventSynchronize(after));
    OK(cuMemFreeHost(host));
    puts(" done");
    return 0;
}

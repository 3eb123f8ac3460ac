//! Functions of the interface that the library does not implement: they return `cudaErrorNotSupported`.

use std::ffi::CStr;

use crate::driver::report_unsupported;
use crate::error::{Error, call};

macro_rules! absent {
    ($($name:ident)*) => {
        $(
            /// The real function has arguments, which this one does not read.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name() -> Error {
                const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => c"",
                };
                call(|| {
                    report_unsupported(NAME);
                    Err(Error::NOT_SUPPORTED)
                })
            }
        )*
    };
}

absent! {
    cudaArrayGetMemoryRequirements
    cudaArrayGetPlane
    cudaArrayGetSparseProperties
    cudaDestroyExternalMemory
    cudaDestroyExternalSemaphore
    cudaDevResourceGenerateDesc
    cudaDevSmResourceSplit
    cudaDevSmResourceSplitByCount
    cudaDeviceFlushGPUDirectRDMAWrites
    cudaDeviceGetDevResource
    cudaDeviceGetExecutionCtx
    cudaDeviceGetHostAtomicCapabilities
    cudaDeviceGetNvSciSyncAttributes
    cudaDeviceGetP2PAtomicCapabilities
    cudaDeviceGetTexture1DLinearMaxWidth
    cudaDeviceRegisterAsyncNotification
    cudaDeviceUnregisterAsyncNotification
    cudaEGLStreamConsumerAcquireFrame
    cudaEGLStreamConsumerConnect
    cudaEGLStreamConsumerConnectWithFlags
    cudaEGLStreamConsumerDisconnect
    cudaEGLStreamConsumerReleaseFrame
    cudaEGLStreamProducerConnect
    cudaEGLStreamProducerDisconnect
    cudaEGLStreamProducerPresentFrame
    cudaEGLStreamProducerReturnFrame
    cudaEventCreateFromEGLSync
    cudaExecutionCtxDestroy
    cudaExecutionCtxGetDevResource
    cudaExecutionCtxGetDevice
    cudaExecutionCtxGetId
    cudaExecutionCtxRecordEvent
    cudaExecutionCtxStreamCreate
    cudaExecutionCtxSynchronize
    cudaExecutionCtxWaitEvent
    cudaExternalMemoryGetMappedBuffer
    cudaExternalMemoryGetMappedMipmappedArray
    cudaFreeMipmappedArray
    cudaGLGetDevices
    cudaGLMapBufferObject
    cudaGLMapBufferObjectAsync
    cudaGLRegisterBufferObject
    cudaGLSetBufferObjectMapFlags
    cudaGLSetGLDevice
    cudaGLUnmapBufferObject
    cudaGLUnmapBufferObjectAsync
    cudaGLUnregisterBufferObject
    cudaGetExportTable
    cudaGetMipmappedArrayLevel
    cudaGetSurfaceObjectResourceDesc
    cudaGetTextureObjectResourceDesc
    cudaGetTextureObjectResourceViewDesc
    cudaGetTextureObjectTextureDesc
    cudaGraphAddExternalSemaphoresSignalNode
    cudaGraphAddExternalSemaphoresWaitNode
    cudaGraphChildGraphNodeGetGraph
    cudaGraphConditionalHandleCreate
    cudaGraphConditionalHandleCreate_v2
    cudaGraphDebugDotPrint
    cudaGraphExecExternalSemaphoresSignalNodeSetParams
    cudaGraphExecExternalSemaphoresWaitNodeSetParams
    cudaGraphExternalSemaphoresSignalNodeGetParams
    cudaGraphExternalSemaphoresSignalNodeSetParams
    cudaGraphExternalSemaphoresWaitNodeGetParams
    cudaGraphExternalSemaphoresWaitNodeSetParams
    cudaGraphReleaseUserObject
    cudaGraphRetainUserObject
    cudaGraphicsEGLRegisterImage
    cudaGraphicsGLRegisterBuffer
    cudaGraphicsGLRegisterImage
    cudaGraphicsMapResources
    cudaGraphicsResourceGetMappedEglFrame
    cudaGraphicsResourceGetMappedMipmappedArray
    cudaGraphicsResourceGetMappedPointer
    cudaGraphicsResourceSetMapFlags
    cudaGraphicsSubResourceGetMappedArray
    cudaGraphicsUnmapResources
    cudaGraphicsUnregisterResource
    cudaGraphicsVDPAURegisterOutputSurface
    cudaGraphicsVDPAURegisterVideoSurface
    cudaGreenCtxCreate
    cudaImportExternalMemory
    cudaImportExternalSemaphore
    cudaIpcCloseMemHandle
    cudaIpcGetEventHandle
    cudaIpcGetMemHandle
    cudaIpcOpenEventHandle
    cudaIpcOpenMemHandle
    cudaLaunchCooperativeKernelMultiDevice
    cudaLibraryGetUnifiedFunction
    cudaLogsCurrent
    cudaLogsDumpToFile
    cudaLogsDumpToMemory
    cudaLogsRegisterCallback
    cudaLogsUnregisterCallback
    cudaMallocMipmappedArray
    cudaMemDiscardAndPrefetchBatchAsync
    cudaMemDiscardAndPrefetchBatchAsync_ptsz
    cudaMemDiscardBatchAsync
    cudaMemDiscardBatchAsync_ptsz
    cudaMemGetLocationInfo
    cudaMemPoolExportPointer
    cudaMemPoolExportToShareableHandle
    cudaMemPoolImportFromShareableHandle
    cudaMemPoolImportPointer
    cudaMemcpyArrayToArray
    cudaMemcpyArrayToArray_ptds
    cudaMipmappedArrayGetMemoryRequirements
    cudaMipmappedArrayGetSparseProperties
    cudaSetDoubleForDevice
    cudaSetDoubleForHost
    cudaSetValidDevices
    cudaSignalExternalSemaphoresAsync
    cudaSignalExternalSemaphoresAsync_ptsz
    cudaSignalExternalSemaphoresAsync_v2
    cudaSignalExternalSemaphoresAsync_v2_ptsz
    cudaStreamBeginRecaptureToGraph
    cudaStreamBeginRecaptureToGraph_ptsz
    cudaStreamGetDevResource
    cudaStreamGetDevResource_ptsz
    cudaSubgridCreate
    cudaSubgridWorkerGridCreate
    cudaSubgridWorksetCreate
    cudaThreadExit
    cudaThreadGetCacheConfig
    cudaThreadGetLimit
    cudaThreadSetCacheConfig
    cudaThreadSetLimit
    cudaThreadSynchronize
    cudaUserObjectCreate
    cudaUserObjectRelease
    cudaUserObjectRetain
    cudaVDPAUGetDevice
    cudaVDPAUSetVDPAUDevice
    cudaWaitExternalSemaphoresAsync
    cudaWaitExternalSemaphoresAsync_ptsz
    cudaWaitExternalSemaphoresAsync_v2
    cudaWaitExternalSemaphoresAsync_v2_ptsz
}

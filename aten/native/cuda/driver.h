// driver.h: the part of the CUDA driver that weft needs, as a table filled from whatever library is there. No header of NVIDIA's:
// the types are its ABI, which has not changed since driver 525 (symbols with _v2 are that driver's).
#ifndef WEFT_CUDA_DRIVER_H
#define WEFT_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUlaunchAttribute {
  int id;
  char pad[4];
  char value[64];
} CUlaunchAttribute;
typedef struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute *attrs;
  unsigned numAttrs;
} CUlaunchConfig;
typedef struct CUkernelNodeParams {  // CUDA_KERNEL_NODE_PARAMS_v2
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  void **kernelParams, **extra;
  void *kern;
  CUcontext ctx;
} CUkernelNodeParams;

enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_DEINITIALIZED = 4,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_NOT_READY = 600,
};
enum {
  CU_STREAM_NON_BLOCKING = 1,
  CU_EVENT_BLOCKING_SYNC = 1,
  CU_EVENT_DISABLE_TIMING = 2,
  CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
  CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908,
  CU_CAPTURE_GLOBAL = 0,
  CU_CAPTURE_THREAD_LOCAL = 1,
  CU_CAPTURE_RELAXED = 2,
  CU_GRAPH_NODE_TYPE_KERNEL = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
};

// field, symbol in the library, arguments
#define WEFT_CUDA_DRIVER(X)                                                                                                     \
  X(cuInit, cuInit, (unsigned))                                                                                               \
  X(cuGetErrorName, cuGetErrorName, (CUresult, const char **))                                                                \
  X(cuGetErrorString, cuGetErrorString, (CUresult, const char **))                                                            \
  X(cuDriverGetVersion, cuDriverGetVersion, (int *))                                                                          \
  X(cuDeviceGetCount, cuDeviceGetCount, (int *))                                                                              \
  X(cuDeviceGet, cuDeviceGet, (int *, int))                                                                                   \
  X(cuDeviceGetName, cuDeviceGetName, (char *, int, int))                                                                     \
  X(cuDeviceGetUuid, cuDeviceGetUuid_v2, (void *, int))                                                                       \
  X(cuDeviceTotalMem, cuDeviceTotalMem_v2, (size_t *, int))                                                                   \
  X(cuDeviceGetAttribute, cuDeviceGetAttribute, (int *, int, int))                                                            \
  X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext *, int))                                                   \
  X(cuCtxGetCurrent, cuCtxGetCurrent, (CUcontext *))                                                                          \
  X(cuCtxSetCurrent, cuCtxSetCurrent, (CUcontext))                                                                            \
  X(cuCtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange, (int *, int *))                                                 \
  X(cuCtxSynchronize, cuCtxSynchronize, (void))                                                                               \
  X(cuMemGetInfo, cuMemGetInfo_v2, (size_t *, size_t *))                                                                      \
  X(cuMemAlloc, cuMemAlloc_v2, (CUdeviceptr *, size_t))                                                                       \
  X(cuMemFree, cuMemFree_v2, (CUdeviceptr))                                                                                   \
  X(cuMemHostAlloc, cuMemHostAlloc, (void **, size_t, unsigned))                                                              \
  X(cuMemFreeHost, cuMemFreeHost, (void *))                                                                                   \
  X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream))                                   \
  X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUstream))                                         \
  X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, CUstream))                                    \
  X(cuMemcpyPeerAsync, cuMemcpyPeerAsync, (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream))                 \
  X(cuMemsetD8Async, cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream))                                         \
  X(cuMemsetD16Async, cuMemsetD16Async, (CUdeviceptr, unsigned short, size_t, CUstream))                                      \
  X(cuMemsetD32Async, cuMemsetD32Async, (CUdeviceptr, unsigned, size_t, CUstream))                                            \
  X(cuPointerGetAttribute, cuPointerGetAttribute, (void *, int, CUdeviceptr))                                                 \
  X(cuStreamCreateWithPriority, cuStreamCreateWithPriority, (CUstream *, unsigned, int))                                      \
  X(cuStreamDestroy, cuStreamDestroy_v2, (CUstream))                                                                          \
  X(cuStreamSynchronize, cuStreamSynchronize, (CUstream))                                                                     \
  X(cuStreamQuery, cuStreamQuery, (CUstream))                                                                                 \
  X(cuStreamWaitEvent, cuStreamWaitEvent, (CUstream, CUevent, unsigned))                                                      \
  X(cuStreamIsCapturing, cuStreamIsCapturing, (CUstream, int *))                                                              \
  X(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v2, (CUstream, int *, uint64_t *, CUgraph *, const CUgraphNode **, size_t *))  \
  X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, (int *))                                            \
  X(cuEventCreate, cuEventCreate, (CUevent *, unsigned))                                                                      \
  X(cuEventDestroy, cuEventDestroy_v2, (CUevent))                                                                             \
  X(cuEventRecord, cuEventRecord, (CUevent, CUstream))                                                                        \
  X(cuEventQuery, cuEventQuery, (CUevent))                                                                                    \
  X(cuEventSynchronize, cuEventSynchronize, (CUevent))                                                                        \
  X(cuEventElapsedTime, cuEventElapsedTime, (float *, CUevent, CUevent))                                                      \
  X(cuModuleLoadData, cuModuleLoadData, (CUmodule *, const void *))                                                           \
  X(cuModuleUnload, cuModuleUnload, (CUmodule))                                                                               \
  X(cuModuleGetFunction, cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                                         \
  X(cuFuncGetAttribute, cuFuncGetAttribute, (int *, int, CUfunction))                                                         \
  X(cuFuncSetAttribute, cuFuncSetAttribute, (CUfunction, int, int))                                                           \
  X(cuLaunchKernelEx, cuLaunchKernelEx, (const CUlaunchConfig *, CUfunction, void **, void **))                               \
  X(cuStreamBeginCapture, cuStreamBeginCapture_v2, (CUstream, int))                                                           \
  X(cuStreamEndCapture, cuStreamEndCapture, (CUstream, CUgraph *))                                                            \
  X(cuGraphCreate, cuGraphCreate, (CUgraph *, unsigned))                                                                      \
  X(cuGraphAddKernelNode, cuGraphAddKernelNode_v2, (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const CUkernelNodeParams *)) \
  X(cuGraphInstantiate, cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, unsigned long long))                            \
  X(cuGraphGetNodes, cuGraphGetNodes, (CUgraph, CUgraphNode *, size_t *))                                                     \
  X(cuGraphNodeGetType, cuGraphNodeGetType, (CUgraphNode, int *))                                                             \
  X(cuGraphKernelNodeGetParams, cuGraphKernelNodeGetParams_v2, (CUgraphNode, CUkernelNodeParams *))                           \
  X(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams_v2, (CUgraphExec, CUgraphNode, const CUkernelNodeParams *)) \
  X(cuGraphLaunch, cuGraphLaunch, (CUgraphExec, CUstream))                                                                    \
  X(cuGraphExecDestroy, cuGraphExecDestroy, (CUgraphExec))                                                                    \
  X(cuGraphDestroy, cuGraphDestroy, (CUgraph))

// What a library may export beside them, to be told what the caching allocator keeps back and gives out, in the order of a
// stream: a checker then sees memory used that nobody owns. Real drivers have neither.
#define WEFT_CUDA_WATCHER(X)                                                                                                    \
  X(held, weftMemoryHeld, (CUstream, CUdeviceptr, size_t))                                                                    \
  X(given, weftMemoryGiven, (CUstream, CUdeviceptr, size_t))

namespace weft::cuda {

struct Driver {
#define X(field, symbol, args) CUresult(*field) args;
  WEFT_CUDA_DRIVER(X)
  WEFT_CUDA_WATCHER(X)
#undef X
};

extern Driver driver;  // filled by `open_driver`

// Opens $WEFT_LIBCUDA or libcuda.so.1, once; NULL, or why there is none (kept until the next try). Another try is made where
// WEFT_LIBCUDA has changed since the last that failed.
const char *open_driver();
bool driver_is_open();

}  // namespace weft::cuda
#endif

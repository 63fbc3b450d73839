// devices.cpp: devices, contexts, and what codes are called.
#include "machine.h"

namespace cudasim {
const std::pair<CUresult, const char *> NAMES[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS"}, {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"}, {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"}, {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"}, {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"}, {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"}, {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"}, {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
    {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"},
    {CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"},
    {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"},
    {CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"},
    {CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
    {CUDA_ERROR_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE"},
    {CUDA_ERROR_STREAM_CAPTURE_MERGE, "CUDA_ERROR_STREAM_CAPTURE_MERGE"},
    {CUDA_ERROR_CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT"}};

} // namespace cudasim

API cuInit(unsigned) { ENTER(false); return CUDA_SUCCESS; }
API cuDriverGetVersion(int *v) { ENTER(false); return *v = CUDA_VERSION, CUDA_SUCCESS; }
API cuDeviceGetCount(int *n) { ENTER(false); return *n = m.devices, CUDA_SUCCESS; }
API cuDeviceGet(CUdevice *d, int i) {
  ENTER(false);
  if (i < 0 || i >= m.devices) return CUDA_ERROR_INVALID_DEVICE;
  return *d = i, CUDA_SUCCESS;
}
API cuDeviceGetName(char *name, int n, CUdevice) { ENTER(false); return snprintf(name, n, "cudasim"), CUDA_SUCCESS; }
API cuDeviceGetUuid(CUuuid *u, CUdevice d) { ENTER(false); return memset(u, 1 + d, sizeof *u), CUDA_SUCCESS; }
API cuDeviceGetPCIBusId(char *s, int n, CUdevice d) { ENTER(false); return snprintf(s, n, "0000:%02x:00.0", d), CUDA_SUCCESS; }
API cuDeviceTotalMem(size_t *n, CUdevice) { ENTER(false); return *n = m.memory, CUDA_SUCCESS; }
API cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice) {
  ENTER(false);
  switch ((int)a) { // an H200
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *v = 9; break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *v = 0; break;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *v = 132; break;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *v = 32; break;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *v = 1024; break;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *v = 2048; break;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK: *v = 65536; break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *v = 49152; break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *v = 232448; break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: *v = 233472; break;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *v = 60 << 20; break;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: *v = 1980000; break;
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: *v = 3201000; break;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: *v = 6144; break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *v = 0x7fffffff; break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y: case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *v = 65535; break;
  case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED: case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
  case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH: case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS: *v = 1; break;
  default: *v = 0;
  }
  return CUDA_SUCCESS;
}
API cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) {
  ENTER(false);
  NEED(d >= 0 && d < m.devices);
  return m.retained[d]++, *c = &m.context[d], CUDA_SUCCESS;
}
API cuDevicePrimaryCtxRelease(CUdevice d) { ENTER(false, true); return m.retained[d]--, CUDA_SUCCESS; }
API cuDevicePrimaryCtxGetState(CUdevice d, unsigned *f, int *a) { ENTER(false); return *f = 0, *a = m.retained[d] > 0, CUDA_SUCCESS; }
API cuCtxGetCurrent(CUcontext *c) { ENTER(false); return *c = contexts.empty() ? nullptr : contexts.back(), CUDA_SUCCESS; }
API cuCtxSetCurrent(CUcontext c) {
  ENTER(false);
  if (!contexts.empty()) contexts.pop_back();
  if (c) contexts.push_back(c);
  return CUDA_SUCCESS;
}
API cuCtxPushCurrent(CUcontext c) { ENTER(false); return contexts.push_back(c), CUDA_SUCCESS; }
API cuCtxPopCurrent(CUcontext *c) {
  ENTER();
  if (c) *c = contexts.back();
  return contexts.pop_back(), CUDA_SUCCESS;
}
API cuCtxGetDevice(CUdevice *d) { ENTER(); return *d = here(), CUDA_SUCCESS; }
API cuCtxGetStreamPriorityRange(int *least, int *greatest) { ENTER(); return *least = 0, *greatest = -5, CUDA_SUCCESS; }
API cuCtxGetApiVersion(CUcontext, unsigned *v) { ENTER(); return *v = 3020, CUDA_SUCCESS; }
API cuCtxGetLimit(size_t *v, CUlimit) { ENTER(); return *v = 0, CUDA_SUCCESS; }
API cuCtxSetLimit(CUlimit, size_t) { ENTER(); return CUDA_SUCCESS; }
API cuCtxSynchronize() {
  ENTER();
  if (CUresult e = unsafe_in_capture()) return e;
  complete_all(api.lock, here());
  return m.sticky;
}
// ---- errors
API cuGetErrorName(CUresult code, const char **s) {
  for (auto &n : NAMES)
    if (n.first == code) return *s = n.second, CUDA_SUCCESS;
  return *s = "CUDA_ERROR", CUDA_ERROR_INVALID_VALUE;
}
API cuGetErrorString(CUresult code, const char **s) {
  if (code != CUDA_SUCCESS && code == m.sticky) return *s = m.fault.c_str(), CUDA_SUCCESS;
  return cuGetErrorName(code, s);
}
API cuGetProcAddress(const char *name, void **f, int version, cuuint64_t, CUdriverProcAddressQueryResult *status) {
  Api api(__func__, false, true);
  static void *self = [] { Dl_info i; dladdr((void *)&cudasim_delta, &i); return dlopen(i.dli_fname, RTLD_NOW | RTLD_NOLOAD); }();
  *f = nullptr;
  for (const char *suffix : {"_v4", "_v3", "_v2", ""}) {
    if (version < 12000 && suffix[0] && suffix[2] > '2') continue;
    if (!strcmp(name, "cuGraphInstantiate") && version >= 12000) name = "cuGraphInstantiateWithFlags";
    if ((*f = dlsym(self, (std::string(name) + suffix).c_str()))) break;
  }
  if (m.trace && !*f) fprintf(stderr, "cudasim: no %s (%d)\n", name, version);
  if (status) *status = *f ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *f ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

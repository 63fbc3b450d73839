// kernels.cpp: images, functions, launches.
#include "machine.h"

namespace cudasim {
CUresult run_kernel(const shared_ptr<Kernel> &k) {
  if (!k->function->module->alive) {
    Lock lock(m.mutex);
    return broke(CUDA_ERROR_INVALID_HANDLE, std::string(k->launch.name) + ": its module was unloaded"), m.sticky;
  }
  return (CUresult)m.run(&k->launch);
}

CUresult prepare_kernel(shared_ptr<Kernel> &out, CUfunction f, const uint32_t *grid, const uint32_t *block, uint32_t shared,
                        void **params) {
  NEED(f && f->module->alive);
  uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
  NEED(grid[0] && grid[1] && grid[2] && grid[0] <= 0x7fffffffu && grid[1] <= 65535 && grid[2] <= 65535);
  NEED(threads && threads <= 1024);
  if ((int)threads > f->about.max_threads) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  NEED((int)shared <= f->max_dynamic); // more than 48 KiB must be asked for by cuFuncSetAttribute
  NEED(params || !f->about.n_params);
  auto k = std::make_shared<Kernel>();
  k->function = f;
  k->launch = CudasimLaunch{};
  k->launch.module = f->module->key, k->launch.name = f->about.name, k->launch.shared = shared, k->launch.cluster = 1;
  k->launch.device = here(), k->launch.n_params = f->about.n_params;
  memcpy(k->launch.grid, grid, sizeof k->launch.grid), memcpy(k->launch.block, block, sizeof k->launch.block);
  for (int i = 0; i < f->about.n_params; i++)
    k->bytes.emplace_back((char *)params[i], (char *)params[i] + f->about.sizes[i]);
  for (auto &b : k->bytes) k->params.push_back(b.data());
  k->launch.params = k->params.data();
  out = k;
  return CUDA_SUCCESS;
}
CUresult load(Api &api, const void *image, CUmodule *out) {
  NEED(image && m.load);
  size_t bytes = 0;
  const unsigned char *b = (const unsigned char *)image;
  if (!memcmp(b, "\x7f" "ELF", 4)) {
    uint64_t sections;
    uint16_t each, count;
    memcpy(&sections, b + 40, 8), memcpy(&each, b + 58, 2), memcpy(&count, b + 60, 2);
    bytes = sections + (uint64_t)each * count;
    uint64_t programs;
    memcpy(&programs, b + 32, 8), memcpy(&each, b + 54, 2), memcpy(&count, b + 56, 2);
    bytes = std::max(bytes, programs + (uint64_t)each * count);
  } else if (!memcmp(b, "CUDASIM1", 8)) memcpy(&bytes, b + 8, 8);
  else bytes = strlen((const char *)image) + 1; // PTX
  auto mod = std::make_unique<CUmod_st>();
  mod->device = here();
  std::vector<CudasimFunction> found(64);
  api.lock.unlock(); // Python code, which may free objects whose ends call the driver
  int n = m.load(image, bytes, found.data(), 64, &mod->key);
  api.lock.lock();
  if (n <= 0) return CUDA_ERROR_INVALID_IMAGE;
  for (int i = 0; i < n; i++) {
    mod->functions.push_back(std::make_unique<CUfunc_st>());
    mod->functions.back()->module = mod.get();
    mod->functions.back()->about = found[i];
  }
  m.modules.insert(*out = mod.release());
  return CUDA_SUCCESS;
}
CUresult find(CUmodule mod, const char *name, CUfunction *out) {
  NEED(mod && m.modules.count(mod));
  for (auto &f : mod->functions)
    if (!strcmp(f->about.name, name)) return *out = f.get(), CUDA_SUCCESS;
  return CUDA_ERROR_NOT_FOUND;
}

} // namespace cudasim

API cuModuleLoadData(CUmodule *out, const void *image) { ENTER(); return load(api, image, out); }
API cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned, CUjit_option *, void **) { ENTER(); return load(api, image, out); }
API cuModuleUnload(CUmodule mod) {
  ENTER();
  NEED(m.modules.erase(mod));
  complete_all(api.lock, here());
  if (m.pending.empty()) mod->alive = false;
  return CUDA_SUCCESS; // leaked, so that stale functions are noticed
}
API cuModuleGetFunction(CUfunction *f, CUmodule mod, const char *name) { ENTER(); return find(mod, name, f); }
API cuLibraryLoadData(CUlibrary *out, const void *image, CUjit_option *, void **, unsigned, CUlibraryOption *, void **, unsigned) {
  ENTER(false);
  return load(api, image, (CUmodule *)out);
}
API cuLibraryUnload(CUlibrary lib) { return cuModuleUnload((CUmodule)lib); }
API cuLibraryGetKernel(CUkernel *k, CUlibrary lib, const char *name) { ENTER(false); return find((CUmodule)lib, name, (CUfunction *)k); }
API cuLibraryGetModule(CUmodule *mod, CUlibrary lib) { ENTER(); return *mod = (CUmodule)lib, CUDA_SUCCESS; }
API cuLibraryGetKernelCount(unsigned *n, CUlibrary lib) { ENTER(false); return *n = ((CUmodule)lib)->functions.size(), CUDA_SUCCESS; }
API cuLibraryEnumerateKernels(CUkernel *k, unsigned n, CUlibrary lib) {
  ENTER(false);
  for (unsigned i = 0; i < n; i++) k[i] = (CUkernel)((CUmodule)lib)->functions[i].get();
  return CUDA_SUCCESS;
}
API cuKernelGetFunction(CUfunction *f, CUkernel k) { ENTER(); return *f = (CUfunction)k, CUDA_SUCCESS; }
API cuKernelGetLibrary(CUlibrary *lib, CUkernel k) { ENTER(); return *lib = (CUlibrary)((CUfunction)k)->module, CUDA_SUCCESS; }
API cuFuncGetModule(CUmodule *mod, CUfunction f) { ENTER(); return *mod = f->module, CUDA_SUCCESS; }
API cuFuncGetName(const char **name, CUfunction f) { ENTER(); return *name = f->about.name, CUDA_SUCCESS; }
API cuFuncGetAttribute(int *v, CUfunction_attribute a, CUfunction f) {
  ENTER();
  switch ((int)a) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *v = f->about.max_threads; break;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *v = f->about.static_shared; break;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *v = f->about.local_bytes; break;
  case CU_FUNC_ATTRIBUTE_NUM_REGS: *v = f->about.registers; break;
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *v = 90; break;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *v = f->max_dynamic; break;
  default: *v = 0;
  }
  return CUDA_SUCCESS;
}
API cuKernelGetAttribute(int *v, CUfunction_attribute a, CUkernel k, CUdevice) { return cuFuncGetAttribute(v, a, (CUfunction)k); }
API cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v) {
  ENTER();
  switch ((int)a) {
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    NEED(v >= 0 && v + f->about.static_shared <= 232448);
    f->max_dynamic = v;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: f->carveout = v; return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: f->big_cluster = v; return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}
API cuKernelSetAttribute(CUfunction_attribute a, int v, CUkernel k, CUdevice) { return cuFuncSetAttribute((CUfunction)k, a, v); }
API cuFuncSetCacheConfig(CUfunction, CUfunc_cache) { ENTER(); return CUDA_SUCCESS; }
API cuFuncGetParamInfo(CUfunction f, size_t i, size_t *offset, size_t *bytes) {
  ENTER();
  NEED((int)i < f->about.n_params);
  size_t at = 0;
  for (size_t k = 0; k <= i; k++) {
    size_t n = f->about.sizes[k], align = n >= 128 ? 64 : n;
    at = (at + align - 1) / align * align;
    if (k == i) *offset = at, *bytes = n;
    at += n;
  }
  return CUDA_SUCCESS;
}
API cuKernelGetParamInfo(CUkernel k, size_t i, size_t *offset, size_t *bytes) { return cuFuncGetParamInfo((CUfunction)k, i, offset, bytes); }
API cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra) {
  ENTER();
  if (extra) return CUDA_ERROR_NOT_SUPPORTED;
  shared_ptr<Kernel> k;
  uint32_t grid[3] = {c->gridDimX, c->gridDimY, c->gridDimZ}, block[3] = {c->blockDimX, c->blockDimY, c->blockDimZ};
  if (CUresult e = prepare_kernel(k, f, grid, block, c->sharedMemBytes, params)) return e;
  for (unsigned i = 0; i < c->numAttrs; i++) {
    const CUlaunchAttribute &a = c->attrs[i];
    if (a.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      k->launch.cluster = a.value.clusterDim.x;
      NEED(k->launch.cluster && grid[0] % k->launch.cluster == 0 && (k->launch.cluster <= 8 || f->big_cluster));
    } else if (a.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) k->launch.cooperative = a.value.cooperative;
    else if (a.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
      k->launch.pdl = a.value.programmaticStreamSerializationAllowed;
  }
  if (stream_of(c->hStream)->device != f->module->device) return CUDA_ERROR_INVALID_HANDLE;
  return submit(api, c->hStream, k->launch.name, [k] { return run_kernel(k); }, CU_GRAPH_NODE_TYPE_KERNEL, k);
}
API cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   CUstream s, void **params, void **extra) {
  ENTER();
  if (extra) return CUDA_ERROR_NOT_SUPPORTED;
  shared_ptr<Kernel> k;
  uint32_t grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
  if (CUresult e = prepare_kernel(k, f, grid, block, shared, params)) return e;
  if (stream_of(s)->device != f->module->device) return CUDA_ERROR_INVALID_HANDLE;
  return submit(api, s, k->launch.name, [k] { return run_kernel(k); }, CU_GRAPH_NODE_TYPE_KERNEL, k);
}
API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction, int block, size_t) { ENTER(); return *n = 2048 / block, CUDA_SUCCESS; }

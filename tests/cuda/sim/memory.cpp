// memory.cpp: addresses, the life of what lies at them, copies.
#include "machine.h"

namespace cudasim {
Block *block_at(uint64_t p) {
  auto it = m.blocks.upper_bound(p);
  if (it == m.blocks.begin()) return nullptr;
  Block &b = std::prev(it)->second;
  return p < b.base + b.bytes ? &b : nullptr;
}
std::string place(uint64_t p) {
  char text[160];
  auto it = m.blocks.upper_bound(p);
  if (it == m.blocks.begin()) snprintf(text, sizeof text, "0x%llx, no allocation", (unsigned long long)p);
  else {
    Block &b = std::prev(it)->second;
    const char *life[] = {"not yet allocated on its stream", "alive", "freed"};
    snprintf(text, sizeof text, "0x%llx, %llu past the start of %zu bytes (%s)", (unsigned long long)p, (unsigned long long)(p - b.base),
             b.bytes, life[b.life]);
  }
  return text;
}
// The bytes of device or host memory; NULL after reporting a fault.
static char *reach(uint64_t p, size_t n, const char *what) {
  if (!on_device(p)) return (char *)p;
  Block *b = block_at(p);
  if (!b || b->life != ALIVE || p + n > b->base + b->bytes) {
    broke(CUDA_ERROR_ILLEGAL_ADDRESS, std::string(what) + " of " + std::to_string(n) + " bytes at " + place(p));
    return nullptr;
  }
  auto f = m.forbidden.upper_bound(p + n - 1);
  if (f != m.forbidden.begin() && (--f)->second > p) {
    broke(CUDA_ERROR_ILLEGAL_ADDRESS, std::string(what) + ": memory its allocator had taken back, at " + place(p));
    return nullptr;
  }
  return (char *)p + delta();
}
void permit(uint64_t p, uint64_t end) {
  auto f = m.forbidden.lower_bound(p);
  if (f != m.forbidden.begin() && std::prev(f)->second > p) {
    --f;
    uint64_t from = f->first, to = f->second;
    f = m.forbidden.erase(f);
    if (from < p) m.forbidden[from] = p;
    if (to > end) m.forbidden[end] = to;
  }
  for (f = m.forbidden.lower_bound(p); f != m.forbidden.end() && f->first < end; f = m.forbidden.erase(f))
    if (f->second > end) m.forbidden[end] = f->second;
}
void forbid(uint64_t p, uint64_t end) {
  permit(p, end);
  m.forbidden[p] = end;
}
bool is_pinned(const void *p) {
  auto it = m.pinned.upper_bound((uint64_t)p);
  return it != m.pinned.begin() && (uint64_t)p < std::prev(it)->first + std::prev(it)->second;
}
void give_life(Block &b) {
  b.life = ALIVE;
  memset((char *)b.base + delta(), 0xff, std::min(b.bytes, (size_t)1 << 28)); // NaN, and -1
}
void end_life(Block &b) {
  b.life = FREED;
  permit(b.base, b.base + b.bytes);
  uint64_t from = b.base & ~4095ull, to = (b.base + b.bytes + 4095) & ~4095ull;
  madvise((char *)from + delta(), to - from, MADV_DONTNEED);
}
CUresult take(uint64_t *out, size_t bytes, int device, CUmemoryPool pool, Life life) {
  if (m.live[device] + bytes > m.memory) return CUDA_ERROR_OUT_OF_MEMORY;
  uint64_t size = (bytes + 4095) & ~4095ull;
  if (m.next + size + 3 * 4096 > m.room) return CUDA_ERROR_OUT_OF_MEMORY;
  uint64_t base = (uint64_t)m.front + m.next + 4096 + 256; // aligned as promised, to no more
  m.next += size + 3 * 4096;
  m.live[device] += bytes;
  if (pool) pool->used += bytes, pool->high = std::max(pool->high, pool->used);
  Block &b = m.blocks[base] = Block{base, bytes, device, life, pool};
  if (life == ALIVE) give_life(b);
  *out = base;
  return CUDA_SUCCESS;
}
void drop(Block &b) {
  m.live[b.device] -= b.bytes;
  if (b.pool) b.pool->used -= b.bytes;
}

CUresult copy(Api &api, uint64_t dst, uint64_t src, size_t n, CUstream s, bool blocking) {
  if (!n) return CUDA_SUCCESS;
  bool from_pageable = !on_device(src) && !is_pinned((void *)src), to_pageable = !on_device(dst) && !is_pinned((void *)dst);
  if ((from_pageable || to_pageable) && stream_of(s)->capture && !on_device(dst) + !on_device(src) == 1 && to_pageable) {
    stream_of(s)->capture->broken = true; // a graph cannot hold pageable results: the driver refuses
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  shared_ptr<std::vector<char>> staged; // pageable memory is read before the call returns
  if (from_pageable) staged = std::make_shared<std::vector<char>>((char *)src, (char *)src + n);
  CUresult code = submit(api, s, "copy", [=] {
    Lock lock(m.mutex);
    char *to = reach(dst, n, "copy to"), *from = staged ? staged->data() : reach(src, n, "copy from");
    if (!to || !from) return m.sticky;
    memmove(to, from, n);
    return CUDA_SUCCESS;
  }, CU_GRAPH_NODE_TYPE_MEMCPY);
  if (code == CUDA_SUCCESS && !stream_of(s)->capture && (blocking || to_pageable)) return wait(api, s);
  return code;
}
CUresult fill(Api &api, uint64_t dst, uint64_t value, int width, size_t n, CUstream s, bool blocking) {
  if (dst % width) return CUDA_ERROR_INVALID_VALUE;
  CUresult code = submit(api, s, "memset", [=] {
    Lock lock(m.mutex);
    char *to = n ? reach(dst, n * width, "memset") : nullptr;
    for (size_t i = 0; to && i < n; i++) memcpy(to + i * width, &value, width);
    return m.sticky;
  }, CU_GRAPH_NODE_TYPE_MEMSET);
  return code == CUDA_SUCCESS && blocking ? wait(api, s) : code;
}

} // namespace cudasim

API cuMemGetInfo(size_t *free, size_t *total) { ENTER(); return *free = m.memory - m.live[here()], *total = m.memory, CUDA_SUCCESS; }
API cuMemAlloc(CUdeviceptr *p, size_t n) {
  ENTER();
  NEED(n);
  if (CUresult e = unsafe_in_capture()) return e;
  uint64_t at;
  CUresult e = take(&at, n, here(), nullptr, ALIVE);
  return *p = e ? 0 : at, e;
}
API cuMemFree(CUdeviceptr p) {
  ENTER();
  if (!p) return CUDA_SUCCESS;
  if (CUresult e = unsafe_in_capture()) return e;
  auto it = m.blocks.find(p);
  if (it == m.blocks.end() || it->second.life != ALIVE) return CUDA_ERROR_INVALID_VALUE;
  complete_all(api.lock, it->second.device);
  drop(it->second), end_life(it->second);
  return CUDA_SUCCESS;
}
static CUresult alloc_async(Api &api, CUdeviceptr *p, size_t n, CUmemoryPool pool, CUstream s) {
  NEED(n);
  uint64_t at;
  if (CUresult e = take(&at, n, pool->device, pool, GIVEN)) return *p = 0, e;
  *p = at;
  return submit(api, s, "allocation", [at] { Lock lock(m.mutex); give_life(m.blocks[at]); return CUDA_SUCCESS; }, CU_GRAPH_NODE_TYPE_MEM_ALLOC, nullptr, nullptr, {}, true);
}
API cuMemAllocAsync(CUdeviceptr *p, size_t n, CUstream s) { ENTER(); return alloc_async(api, p, n, m.current_pool[stream_of(s)->device], s); }
API cuMemAllocFromPoolAsync(CUdeviceptr *p, size_t n, CUmemoryPool pool, CUstream s) { ENTER(); return alloc_async(api, p, n, pool, s); }
API cuMemFreeAsync(CUdeviceptr p, CUstream s) {
  ENTER();
  auto it = m.blocks.find(p);
  if (it == m.blocks.end() || it->second.life == FREED) return CUDA_ERROR_INVALID_VALUE;
  drop(it->second);
  return submit(api, s, "free", [p] {
    Lock lock(m.mutex);
    Block &b = m.blocks[p];
    if (b.life != ALIVE) return broke(CUDA_ERROR_ILLEGAL_ADDRESS, "free of " + place(p)), m.sticky;
    return end_life(b), CUDA_SUCCESS;
  }, CU_GRAPH_NODE_TYPE_MEM_FREE, nullptr, nullptr, {}, true);
}
API cuDeviceGetDefaultMemPool(CUmemoryPool *p, CUdevice d) { ENTER(false); return *p = &m.pool[d], CUDA_SUCCESS; }
API cuDeviceGetMemPool(CUmemoryPool *p, CUdevice d) { ENTER(false); return *p = m.current_pool[d], CUDA_SUCCESS; }
API cuDeviceSetMemPool(CUdevice d, CUmemoryPool p) { ENTER(false); return m.current_pool[d] = p, CUDA_SUCCESS; }
API cuMemPoolCreate(CUmemoryPool *p, const CUmemPoolProps *props) {
  ENTER(false);
  *p = new CUmemPoolHandle_st;
  return (*p)->device = props->location.id, CUDA_SUCCESS;
}
API cuMemPoolDestroy(CUmemoryPool) { ENTER(false); return CUDA_SUCCESS; }
API cuMemPoolTrimTo(CUmemoryPool, size_t) { ENTER(false); return CUDA_SUCCESS; }
API cuMemPoolSetAttribute(CUmemoryPool p, CUmemPool_attribute a, void *v) {
  ENTER(false);
  if (a == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) p->threshold = *(cuuint64_t *)v;
  if (a == CU_MEMPOOL_ATTR_USED_MEM_HIGH) p->high = p->used;
  return CUDA_SUCCESS;
}
API cuMemPoolGetAttribute(CUmemoryPool p, CUmemPool_attribute a, void *v) {
  ENTER(false);
  if (a <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES) return *(int *)v = 1, CUDA_SUCCESS;
  cuuint64_t x = a == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD ? p->threshold : a == CU_MEMPOOL_ATTR_USED_MEM_HIGH || a == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH ? p->high : p->used;
  return *(cuuint64_t *)v = x, CUDA_SUCCESS;
}
API cuMemHostAlloc(void **p, size_t n, unsigned) {
  ENTER();
  if (posix_memalign(p, 4096, (n + 4095) & ~4095ull)) return CUDA_ERROR_OUT_OF_MEMORY;
  memset(*p, 0xff, n);
  return m.pinned[(uint64_t)*p] = n, CUDA_SUCCESS;
}
API cuMemAllocHost(void **p, size_t n) { return cuMemHostAlloc(p, n, 0); }
API cuMemFreeHost(void *p) {
  ENTER();
  complete_all(api.lock, here());
  NEED(m.pinned.erase((uint64_t)p));
  return free(p), CUDA_SUCCESS;
}
API cuMemHostRegister(void *p, size_t n, unsigned) { ENTER(); return m.pinned[(uint64_t)p] = n, CUDA_SUCCESS; }
API cuMemHostUnregister(void *p) { ENTER(); NEED(m.pinned.erase((uint64_t)p)); return CUDA_SUCCESS; }
API cuPointerGetAttribute(void *out, CUpointer_attribute a, CUdeviceptr p) {
  ENTER();
  Block *b = on_device(p) ? block_at(p) : nullptr;
  if (!b && !is_pinned((void *)p)) return CUDA_ERROR_INVALID_VALUE;
  switch ((int)a) {
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(CUdeviceptr *)out = p; break;
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *(unsigned *)out = b ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST; break;
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)out = b ? b->device : 0; break;
  case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(int *)out = 0; break;
  default: return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_SUCCESS;
}
API cuMemcpyHtoD_v2(CUdeviceptr d, const void *s, size_t n) { ENTER(); return copy(api, d, (uint64_t)s, n, nullptr, true); }
API cuMemcpyDtoH(void *d, CUdeviceptr s, size_t n) { ENTER(); return copy(api, (uint64_t)d, s, n, nullptr, true); }
API cuMemcpyDtoD(CUdeviceptr d, CUdeviceptr s, size_t n) { ENTER(); return copy(api, d, s, n, nullptr, false); }
API cuMemcpyHtoDAsync(CUdeviceptr d, const void *s, size_t n, CUstream t) { ENTER(); return copy(api, d, (uint64_t)s, n, t, false); }
API cuMemcpyDtoHAsync(void *d, CUdeviceptr s, size_t n, CUstream t) { ENTER(); return copy(api, (uint64_t)d, s, n, t, false); }
API cuMemcpyDtoDAsync(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream t) { ENTER(); return copy(api, d, s, n, t, false); }
API cuMemcpyPeerAsync(CUdeviceptr d, CUcontext, CUdeviceptr s, CUcontext, size_t n, CUstream t) { ENTER(); return copy(api, d, s, n, t, false); }
API cuMemcpyAsync(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream t) { ENTER(); return copy(api, d, s, n, t, false); }
API cuMemsetD8(CUdeviceptr d, unsigned char v, size_t n) { ENTER(); return fill(api, d, v, 1, n, nullptr, true); }
API cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, CUstream s) { ENTER(); return fill(api, d, v, 1, n, s, false); }
API cuMemsetD16Async(CUdeviceptr d, unsigned short v, size_t n, CUstream s) { ENTER(); return fill(api, d, v, 2, n, s, false); }
API cuMemsetD32Async(CUdeviceptr d, unsigned v, size_t n, CUstream s) { ENTER(); return fill(api, d, v, 4, n, s, false); }

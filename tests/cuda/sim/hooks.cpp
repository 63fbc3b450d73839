// hooks.cpp: what a test hands to the simulator and asks it (cudasim.h), and what the product's allocator tells a checker.
#include "machine.h"

#define TEST extern "C" __attribute__((visibility("default")))
TEST void cudasim_hooks(CudasimLoad load, CudasimRun run) { m.load = load, m.run = run; }
TEST int64_t cudasim_delta(void) { Lock lock(m.mutex); prepare(); return delta(); }
TEST size_t cudasim_live(int device, uint64_t *pairs, size_t room) {
  Lock lock(m.mutex);
  size_t n = 0;
  auto put = [&](uint64_t from, uint64_t to) {
    if (from >= to) return;
    if (n < room) pairs[2 * n] = from, pairs[2 * n + 1] = to - from;
    n++;
  };
  for (auto &[base, b] : m.blocks)
    if (b.life == ALIVE && b.device == device) {
      uint64_t from = base, end = base + b.bytes;
      for (auto f = m.forbidden.lower_bound(base); f != m.forbidden.end() && f->first < end; ++f)
        put(from, f->first), from = f->second;
      put(from, end);
    }
  return n;
}
// What the product's allocator keeps back and gives out, in the order of the stream; NULL: at once. It ends where it was asked
// to, so that an overrun is seen though a neighbour follows; what is given out holds NaN.
static CUresult bookkeeping(Api &api, CUstream s, const char *what, Work work) {
  if (!s) {
    api.lock.unlock();
    return work();
  }
  OpRef made;
  CUresult code = submit(api, s, what, std::move(work), CU_GRAPH_NODE_TYPE_EMPTY, nullptr, &made, {}, true);
  return code;
}
TEST CUresult weftMemoryHeld(CUstream s, CUdeviceptr p, size_t n) {
  Api api(__func__, true, true);
  return bookkeeping(api, s, "held", [=] { Lock lock(m.mutex); return forbid(p, p + n), CUDA_SUCCESS; });
}
TEST CUresult weftMemoryGiven(CUstream s, CUdeviceptr p, size_t n) {
  Api api(__func__, true, true);
  return bookkeeping(api, s, "given", [=] {
    Lock lock(m.mutex);
    permit(p, p + n);
    Block *b = block_at(p);
    if (b && b->life == ALIVE) memset((char *)p + delta(), 0xff, std::min(n, (size_t)1 << 28));
    return CUDA_SUCCESS;
  });
}
TEST uint64_t cudasim_calls(const char *name) {
  Lock lock(m.mutex);
  uint64_t n = 0;
  for (auto &[k, v] : m.calls)
    if (!name || k == name) n += v;
  return n;
}
TEST uint64_t cudasim_live_bytes(int device) { Lock lock(m.mutex); return m.live[device]; }
TEST const char *cudasim_fault(void) { return m.sticky == CUDA_SUCCESS ? nullptr : m.fault.c_str(); }
TEST void cudasim_recover(const char *schedule) {
  Lock lock(m.mutex);
  prepare();
  if (m.sticky == CUDA_SUCCESS && !m.pending.empty()) m.sticky = CUDA_ERROR_UNKNOWN; // of what is left only the bookkeeping is done
  complete_all(lock, EVERY_DEVICE);
  for (Capture *c : m.captures)
    for (CUstream s : c->streams) s->capture = nullptr, s->ends.clear();
  m.sticky = CUDA_SUCCESS, m.fault.clear(), m.calls.clear(), m.captures.clear();
  m.fail_name.clear(), m.fail_at = m.fail_seen = 0;
  choose(schedule);
}
TEST void cudasim_finish(void) { // everything that is queued runs
  Lock lock(m.mutex);
  complete_all(lock, EVERY_DEVICE);
}
TEST void cudasim_set_memory(uint64_t bytes) { Lock lock(m.mutex); prepare(); m.memory = bytes; }
TEST void cudasim_fail(const char *name, uint64_t nth, int code) { // the nth call of it from now on gives the code; 0: none
  Lock lock(m.mutex);
  m.fail_name = name, m.fail_at = nth, m.fail_seen = 0, m.fail_code = (CUresult)code;
}

// cudasim.cpp: the CUDA driver's C interface over host memory, so that code for a GPU is tested without one.
//
// Device memory is a range of addresses that the process cannot touch; its bytes are `delta` further on. Addresses are never
// used twice. What is submitted becomes an Op with the Ops it must follow; nothing but these edges orders execution, and the
// schedule decides how late or in which order: CUDASIM_SCHEDULE = eager | lazy | random:SEED | thread:SEED.
//   lazy    runs only what a synchronising call needs, when it is called: a missing wait always shows
//   random  runs some ready Ops, in any order, at every call
//   thread  runs ready Ops in any order on another thread
// CUDASIM_MEMORY (bytes a device), CUDASIM_DEVICES, CUDASIM_TRACE=1 (calls to stderr), CUDASIM_FAIL=name:nth:code.
#include "cudasim.h"
#include <cuda.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#undef cuMemcpyHtoD
namespace {

using std::shared_ptr;
using Work = std::function<CUresult()>;
constexpr int MAX_DEVICES = 8;

struct Op {
  std::vector<shared_ptr<Op>> after;
  Work work;
  const char *what = "";
  bool done = false, running = false;
  bool always = false; // bookkeeping, done after a fault too
  std::chrono::steady_clock::time_point end;
};
using OpRef = shared_ptr<Op>;
struct Node;
struct Capture;

enum Life { GIVEN, ALIVE, FREED }; // an address handed out by an async allocation is alive once its stream gets there
struct Block {
  uint64_t base;
  size_t bytes;
  int device;
  Life life;
  struct CUmemPoolHandle_st *pool;
};
std::string place(uint64_t p);

} // namespace

struct CUctx_st { int device; };
struct CUmemPoolHandle_st { int device; uint64_t used = 0, high = 0, threshold = 0; };
struct CUstream_st {
  int device;
  bool blocking, legacy;
  OpRef tail;
  Capture *capture = nullptr;
  std::vector<Node *> ends; // of the capture: what the next node follows
  int priority = 0;
};
struct CUevent_st {
  int device;
  bool timing;
  OpRef op;
  Capture *capture = nullptr;
  std::vector<Node *> ends;
};
struct CUfunc_st {
  struct CUmod_st *module;
  CudasimFunction about;
  int max_dynamic = 48 * 1024, carveout = -1;
  bool big_cluster = false;
};
struct CUmod_st {
  uint64_t key;
  std::vector<std::unique_ptr<CUfunc_st>> functions;
  bool alive = true;
};
namespace {
struct Kernel {
  CUfunction function;
  CudasimLaunch launch;
  std::vector<std::vector<char>> bytes;
  std::vector<const void *> params;
};
struct Node {
  CUgraphNodeType type;
  Work work;
  const char *what;
  std::vector<Node *> after;
  shared_ptr<Kernel> kernel;
};
} // namespace
struct CUgraph_st {
  std::vector<std::unique_ptr<Node>> nodes;
};
struct CUgraphExec_st {
  struct Step { Work work; const char *what; CUgraphNodeType type; std::vector<size_t> after; shared_ptr<Kernel> kernel; Node *from; };
  std::vector<Step> steps;
  OpRef last;
};
namespace {
struct Capture {
  CUgraph graph;
  CUstream origin;
  CUstreamCaptureMode mode;
  std::thread::id thread;
  uint64_t id;
  bool broken = false;
  std::vector<CUstream> streams;
};

// ------------------------------------------------------------------------------------------------------------- the machine
struct Machine {
  std::mutex mutex;
  std::condition_variable changed;
  enum { EAGER, LAZY, RANDOM, THREAD } schedule = LAZY;
  std::mt19937_64 random;
  bool ready = false, trace = false;
  int devices = 1;
  uint64_t memory = 1ull << 30, room = 1ull << 38;
  char *front = nullptr, *back = nullptr; // device addresses; their bytes
  uint64_t next = 0;
  std::map<uint64_t, Block> blocks; // by base
  std::map<uint64_t, uint64_t> forbidden; // begin to end, apart: what the product's allocator keeps back
  std::map<uint64_t, size_t> pinned;
  uint64_t live[MAX_DEVICES] = {};
  CUctx_st context[MAX_DEVICES];
  int retained[MAX_DEVICES] = {};
  CUmemPoolHandle_st pool[MAX_DEVICES];
  CUmemoryPool current_pool[MAX_DEVICES];
  CUstream_st legacy[MAX_DEVICES];
  std::set<CUstream> streams;
  std::set<CUevent> events;
  std::set<Capture *> captures;
  std::set<CUmodule> modules;
  std::set<CUgraphExec> execs;
  std::vector<OpRef> pending; // in order of submission
  std::map<std::string, uint64_t> calls;
  CUresult sticky = CUDA_SUCCESS;
  std::string fault, fail_name;
  uint64_t fail_at = 0, fail_seen = 0;
  CUresult fail_code = CUDA_SUCCESS;
  CudasimLoad load = nullptr;
  CudasimRun run = nullptr;
  uint64_t captures_made = 0;
  bool has_worker = false;
} &m = *new Machine; // never destroyed: a worker may wait in it
thread_local std::vector<CUcontext> contexts;
thread_local int working; // Ops that this thread runs: a kernel frees Python objects, whose ends call the driver, and cannot wait for itself
thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
using Lock = std::unique_lock<std::mutex>;

int64_t delta() { return m.back - m.front; }
bool on_device(uint64_t p) { return m.front && p >= (uint64_t)m.front && p < (uint64_t)m.front + m.room; }

void worker();
void choose(const char *s) {
  uint64_t seed = 0;
  if (!s) s = "lazy";
  if (const char *colon = strchr(s, ':')) seed = strtoull(colon + 1, nullptr, 0);
  m.schedule = !strncmp(s, "eager", 5) ? m.EAGER : !strncmp(s, "random", 6) ? m.RANDOM : !strncmp(s, "thread", 6) ? m.THREAD : m.LAZY;
  m.random.seed(seed);
  if (m.schedule == m.THREAD && !m.has_worker) m.has_worker = true, std::thread(worker).detach();
}
void prepare() {
  if (m.ready) return;
  m.ready = true;
  const char *v;
  choose(getenv("CUDASIM_SCHEDULE"));
  m.trace = getenv("CUDASIM_TRACE") != nullptr;
  if ((v = getenv("CUDASIM_MEMORY"))) m.memory = strtoull(v, nullptr, 0);
  if ((v = getenv("CUDASIM_DEVICES"))) m.devices = std::min(atoi(v), MAX_DEVICES);
  if ((v = getenv("CUDASIM_FAIL"))) {
    std::string f = v;
    size_t a = f.find(':'), b = f.rfind(':');
    m.fail_name = f.substr(0, a);
    m.fail_at = strtoull(f.c_str() + a + 1, nullptr, 0);
    m.fail_code = (CUresult)atoi(f.c_str() + b + 1);
  }
  int none = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  m.front = (char *)mmap(nullptr, m.room, PROT_NONE, none, -1, 0);
  m.back = getenv("CUDASIM_VISIBLE") ? m.front : (char *)mmap(nullptr, m.room, PROT_READ | PROT_WRITE, none, -1, 0);
  if (m.back == m.front) mprotect(m.front, m.room, PROT_READ | PROT_WRITE);
  for (int d = 0; d < MAX_DEVICES; d++) {
    m.context[d].device = d;
    m.pool[d].device = d;
    m.current_pool[d] = &m.pool[d];
    m.legacy[d].device = d;
    m.legacy[d].blocking = m.legacy[d].legacy = true;
  }
}

void broke(CUresult code, const std::string &what) {
  if (m.sticky != CUDA_SUCCESS) return;
  m.sticky = code;
  m.fault = what;
  fprintf(stderr, "cudasim: %s (%d)\n", what.c_str(), code);
}

// ------------------------------------------------------------------------------------------------------------- scheduling
bool can_run(const Op &op) {
  for (const OpRef &o : op.after)
    if (!o->done) return false;
  return !op.done && !op.running;
}

// Runs an Op whose predecessors are done, without the lock: kernels take the GIL.
void perform(Lock &lock, const OpRef &op) {
  op->running = true;
  CUresult code = CUDA_SUCCESS;
  if ((m.sticky == CUDA_SUCCESS || op->always) && op->work) {
    lock.unlock();
    working++;
    code = op->work();
    working--;
    lock.lock();
  }
  if (code != CUDA_SUCCESS) broke(code, std::string(op->what) + " failed");
  op->done = true;
  op->end = std::chrono::steady_clock::now();
  op->after.clear();
  op->work = nullptr;
  m.pending.erase(std::find(m.pending.begin(), m.pending.end(), op));
  m.changed.notify_all();
}

// Until `goal` is done: its predecessors, the most recently submitted first.
void complete(Lock &lock, const OpRef &goal) {
  if (!goal || working) return;
  if (m.schedule == m.THREAD) {
    if (!m.changed.wait_for(lock, std::chrono::seconds(60), [&] { return goal->done; })) {
      fprintf(stderr, "cudasim: waited 60 s for %s. Does the waiting thread hold the GIL?\n", goal->what);
      abort();
    }
    return;
  }
  std::vector<OpRef> stack{goal};
  while (!stack.empty()) {
    OpRef op = stack.back();
    if (op->done) { stack.pop_back(); continue; }
    if (op->running) { m.changed.wait(lock, [&] { return op->done; }); continue; }
    OpRef before;
    for (const OpRef &o : op->after)
      if (!o->done) before = o;
    if (before) stack.push_back(before);
    else perform(lock, op);
  }
}

void complete_all(Lock &lock, int device) {
  (void)device;
  while (!m.pending.empty() && !working) complete(lock, OpRef(m.pending.back()));
}

void some(Lock &lock) { // what the random schedule does at every call
  while (!m.pending.empty() && !working && m.random() % 3) {
    std::vector<OpRef> able;
    for (const OpRef &o : m.pending)
      if (can_run(*o)) able.push_back(o);
    if (able.empty()) return;
    perform(lock, able[m.random() % able.size()]);
  }
}

void worker() {
  Lock lock(m.mutex);
  for (;;) {
    std::vector<OpRef> able;
    if (m.schedule == m.THREAD)
      for (const OpRef &o : m.pending)
        if (can_run(*o)) able.push_back(o);
    if (able.empty()) { m.changed.wait(lock); continue; }
    OpRef op = able[m.random() % able.size()];
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(m.random() % 200));
    lock.lock();
    if (can_run(*op)) perform(lock, op);
  }
}

// ------------------------------------------------------------------------------------------------------------- entering
struct Api {
  Lock lock;
  CUresult error = CUDA_SUCCESS;
  Api(const char *name, bool needs_context = true, bool during_fault = false) : lock(m.mutex) {
    prepare();
    std::string plain(name);
    if (plain.size() > 3 && plain[plain.size() - 3] == '_' && plain[plain.size() - 2] == 'v') plain.resize(plain.size() - 3);
    m.calls[plain]++;
    if (m.trace) fprintf(stderr, "cudasim: %s\n", name);
    if (m.fail_at && m.fail_name == plain && ++m.fail_seen == m.fail_at) error = m.fail_code;
    else if (m.sticky != CUDA_SUCCESS && !during_fault) error = m.sticky;
    else if (needs_context && (contexts.empty() || !contexts.back())) error = CUDA_ERROR_INVALID_CONTEXT;
    if (m.schedule == m.RANDOM && error == CUDA_SUCCESS) some(lock);
  }
};
#define ENTER(...)                                                                                                            \
  Api api(__func__, ##__VA_ARGS__);                                                                                           \
  if (api.error != CUDA_SUCCESS) return api.error
#define NEED(condition)                                                                                                       \
  if (!(condition)) return CUDA_ERROR_INVALID_VALUE

int here() { return contexts.empty() || !contexts.back() ? 0 : contexts.back()->device; }
CUstream stream_of(CUstream s) { return !s || s == CU_STREAM_LEGACY || s == CU_STREAM_PER_THREAD ? &m.legacy[here()] : s; }

// Calls that wait for, or change, more than the captured stream are refused while something is captured (unless relaxed).
CUresult unsafe_in_capture() {
  for (Capture *c : m.captures)
    if ((c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL) ||
        (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && thread_mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
         c->thread == std::this_thread::get_id())) {
      c->broken = true;
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
  return CUDA_SUCCESS;
}

// ------------------------------------------------------------------------------------------------------------- submitting
CUresult submit(Api &api, CUstream s, const char *what, Work work, CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY,
                shared_ptr<Kernel> kernel = nullptr, OpRef *made = nullptr, std::vector<OpRef> also = {}, bool always = false) {
  s = stream_of(s);
  if (s->capture) {
    if (s->capture->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    auto node = std::make_unique<Node>();
    node->type = type, node->work = std::move(work), node->what = what, node->after = s->ends, node->kernel = kernel;
    s->ends = {node.get()};
    s->capture->graph->nodes.push_back(std::move(node));
    return CUDA_SUCCESS;
  }
  if (s->legacy)
    for (Capture *c : m.captures)
      for (CUstream other : c->streams)
        if (other->blocking) {
          c->broken = true;
          return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
  OpRef op = std::make_shared<Op>();
  op->what = what;
  op->work = std::move(work);
  op->always = always;
  op->after = std::move(also);
  if (s->tail) op->after.push_back(s->tail);
  if (s->legacy) {
    for (CUstream other : m.streams)
      if (other->blocking && other->device == s->device && other->tail) op->after.push_back(other->tail);
  } else if (s->blocking && m.legacy[s->device].tail)
    op->after.push_back(m.legacy[s->device].tail);
  op->after.erase(std::remove_if(op->after.begin(), op->after.end(), [](const OpRef &o) { return o->done; }), op->after.end());
  s->tail = op;
  m.pending.push_back(op);
  m.changed.notify_all();
  if (made) *made = op;
  if (m.schedule == m.EAGER) complete(api.lock, op);
  return CUDA_SUCCESS;
}

CUresult wait(Api &api, CUstream s) {
  s = stream_of(s);
  if (s->capture) {
    s->capture->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  OpRef tail = s->tail;
  complete(api.lock, tail);
  return m.sticky;
}

// ------------------------------------------------------------------------------------------------------------- memory
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
char *reach(uint64_t p, size_t n, const char *what) {
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

// ------------------------------------------------------------------------------------------------------------- kernels
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
    {CUDA_ERROR_STREAM_CAPTURE_MERGE, "CUDA_ERROR_STREAM_CAPTURE_MERGE"},
    {CUDA_ERROR_CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT"}};

} // namespace

#define API extern "C" __attribute__((visibility("default"))) CUresult
// ------------------------------------------------------------------------------------------------------- devices, contexts
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
// ----------------------------------------------------------------------------------------------------------------- memory
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
  complete_all(api.lock, here());
  auto it = m.blocks.find(p);
  if (it == m.blocks.end() || it->second.life != ALIVE) return CUDA_ERROR_INVALID_VALUE;
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
// -------------------------------------------------------------------------------------------------------- streams, events
API cuStreamCreateWithPriority(CUstream *s, unsigned flags, int priority) {
  ENTER();
  *s = new CUstream_st{here(), !(flags & CU_STREAM_NON_BLOCKING), false, nullptr, nullptr, {}, priority};
  return m.streams.insert(*s), CUDA_SUCCESS;
}
API cuStreamCreate(CUstream *s, unsigned flags) { return cuStreamCreateWithPriority(s, flags, 0); }
API cuStreamDestroy(CUstream s) { ENTER(); NEED(m.streams.erase(s)); return CUDA_SUCCESS; } // its work still runs; leaked
API cuStreamSynchronize(CUstream s) { ENTER(); return wait(api, s); }
API cuStreamQuery(CUstream s) {
  ENTER();
  s = stream_of(s);
  if (s->capture) return s->capture->broken = true, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (!s->tail || s->tail->done) return CUDA_SUCCESS;
  if (m.schedule == m.LAZY && m.random() % 4 == 0) complete(api.lock, OpRef(s->tail)); // who polls gets there
  return CUDA_ERROR_NOT_READY;
}
API cuStreamGetFlags(CUstream s, unsigned *f) { ENTER(); return *f = stream_of(s)->blocking ? 0 : CU_STREAM_NON_BLOCKING, CUDA_SUCCESS; }
API cuStreamGetPriority(CUstream s, int *p) { ENTER(); return *p = stream_of(s)->priority, CUDA_SUCCESS; }
API cuStreamGetCtx(CUstream s, CUcontext *c) { ENTER(); return *c = &m.context[stream_of(s)->device], CUDA_SUCCESS; }
API cuStreamGetDevice(CUstream s, CUdevice *d) { ENTER(); return *d = stream_of(s)->device, CUDA_SUCCESS; }
API cuStreamGetId(CUstream s, unsigned long long *i) { ENTER(); return *i = (unsigned long long)s, CUDA_SUCCESS; }
API cuLaunchHostFunc(CUstream s, CUhostFn f, void *data) {
  ENTER();
  return submit(api, s, "host function", [=] { return f(data), CUDA_SUCCESS; }, CU_GRAPH_NODE_TYPE_HOST);
}
API cuEventCreate(CUevent *e, unsigned flags) {
  ENTER();
  *e = new CUevent_st{here(), !(flags & CU_EVENT_DISABLE_TIMING), nullptr, nullptr, {}};
  return m.events.insert(*e), CUDA_SUCCESS;
}
API cuEventDestroy(CUevent e) { ENTER(); NEED(m.events.erase(e)); return delete e, CUDA_SUCCESS; }
API cuEventRecord(CUevent e, CUstream s) {
  ENTER();
  NEED(m.events.count(e));
  s = stream_of(s);
  if (s->capture) return e->capture = s->capture, e->ends = s->ends, CUDA_SUCCESS;
  e->capture = nullptr;
  return submit(api, s, "event", nullptr, CU_GRAPH_NODE_TYPE_EVENT_RECORD, nullptr, &e->op);
}
API cuEventRecordWithFlags(CUevent e, CUstream s, unsigned) { return cuEventRecord(e, s); }
API cuStreamWaitEvent(CUstream s, CUevent e, unsigned) {
  ENTER();
  NEED(m.events.count(e));
  s = stream_of(s);
  if (e->capture && m.captures.count(e->capture)) {
    if (!s->capture) s->capture = e->capture, s->capture->streams.push_back(s), s->ends.clear();
    if (s->capture != e->capture) return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    for (Node *n : e->ends)
      if (std::find(s->ends.begin(), s->ends.end(), n) == s->ends.end()) s->ends.push_back(n);
    return CUDA_SUCCESS;
  }
  if (s->capture) return s->capture->broken = true, CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  if (!e->op || e->op->done) return CUDA_SUCCESS;
  return submit(api, s, "wait", nullptr, CU_GRAPH_NODE_TYPE_WAIT_EVENT, nullptr, nullptr, {e->op});
}
API cuEventSynchronize(CUevent e) {
  ENTER();
  if (e->capture && m.captures.count(e->capture)) return CUDA_ERROR_CAPTURED_EVENT;
  complete(api.lock, OpRef(e->op));
  return m.sticky;
}
API cuEventQuery(CUevent e) {
  ENTER();
  if (e->capture && m.captures.count(e->capture)) return CUDA_ERROR_CAPTURED_EVENT;
  if (!e->op || e->op->done) return CUDA_SUCCESS;
  if (m.schedule == m.LAZY && m.random() % 4 == 0) complete(api.lock, OpRef(e->op));
  return CUDA_ERROR_NOT_READY;
}
API cuEventElapsedTime_v2(float *ms, CUevent a, CUevent b) {
  ENTER();
  if (!a->op || !b->op || !a->timing || !b->timing) return CUDA_ERROR_INVALID_HANDLE;
  if (!a->op->done || !b->op->done) return CUDA_ERROR_NOT_READY;
  return *ms = std::chrono::duration<float, std::milli>(b->op->end - a->op->end).count(), CUDA_SUCCESS;
}
#undef cuEventElapsedTime
API cuEventElapsedTime(float *ms, CUevent a, CUevent b) { return cuEventElapsedTime_v2(ms, a, b); }
// ------------------------------------------------------------------------------------------------------- modules, kernels
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
  return submit(api, c->hStream, k->launch.name, [k] { return run_kernel(k); }, CU_GRAPH_NODE_TYPE_KERNEL, k);
}
API cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   CUstream s, void **params, void **extra) {
  ENTER();
  if (extra) return CUDA_ERROR_NOT_SUPPORTED;
  shared_ptr<Kernel> k;
  uint32_t grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
  if (CUresult e = prepare_kernel(k, f, grid, block, shared, params)) return e;
  return submit(api, s, k->launch.name, [k] { return run_kernel(k); }, CU_GRAPH_NODE_TYPE_KERNEL, k);
}
API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction, int block, size_t) { ENTER(); return *n = 2048 / block, CUDA_SUCCESS; }
// ----------------------------------------------------------------------------------------------------------------- graphs
API cuStreamBeginCapture(CUstream s, CUstreamCaptureMode mode) {
  ENTER();
  s = stream_of(s);
  if (s->legacy || s->capture) return s->legacy ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_ERROR_ILLEGAL_STATE;
  s->capture = new Capture{new CUgraph_st, s, mode, std::this_thread::get_id(), ++m.captures_made, false, {s}};
  s->ends.clear();
  return m.captures.insert(s->capture), CUDA_SUCCESS;
}
API cuStreamEndCapture(CUstream s, CUgraph *out) {
  ENTER();
  s = stream_of(s);
  Capture *c = s->capture;
  *out = nullptr;
  if (!c) return CUDA_ERROR_ILLEGAL_STATE;
  if (c->origin != s) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  std::unordered_set<Node *> followed;
  for (auto &n : c->graph->nodes) followed.insert(n->after.begin(), n->after.end());
  bool joined = true;
  for (auto &n : c->graph->nodes)
    if (!followed.count(n.get()) && std::find(s->ends.begin(), s->ends.end(), n.get()) == s->ends.end()) joined = false;
  for (CUstream each : c->streams) each->capture = nullptr, each->ends.clear();
  m.captures.erase(c); // leaked: events may still name it
  if (c->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!joined) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  return *out = c->graph, CUDA_SUCCESS;
}
API cuStreamIsCapturing(CUstream s, CUstreamCaptureStatus *v) {
  ENTER();
  s = stream_of(s);
  *v = !s->capture ? CU_STREAM_CAPTURE_STATUS_NONE : s->capture->broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}
API cuStreamGetCaptureInfo_v3(CUstream s, CUstreamCaptureStatus *v, cuuint64_t *id, CUgraph *g, const CUgraphNode **deps,
                              const CUgraphEdgeData **edges, size_t *n) {
  ENTER();
  s = stream_of(s);
  Capture *c = s->capture;
  *v = c ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  if (id) *id = c ? c->id : 0;
  if (g) *g = c ? c->graph : nullptr;
  if (deps) *deps = (const CUgraphNode *)s->ends.data();
  if (edges) *edges = nullptr;
  if (n) *n = s->ends.size();
  return CUDA_SUCCESS;
}
API cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) { ENTER(false); return std::swap(thread_mode, *mode), CUDA_SUCCESS; }
API cuGraphCreate(CUgraph *g, unsigned) { ENTER(false); return *g = new CUgraph_st, CUDA_SUCCESS; }
API cuGraphDestroy(CUgraph g) { ENTER(false); return delete g, CUDA_SUCCESS; }
API cuGraphGetNodes(CUgraph g, CUgraphNode *nodes, size_t *n) {
  ENTER(false);
  if (nodes)
    for (size_t i = 0; i < std::min(*n, g->nodes.size()); i++) nodes[i] = (CUgraphNode)g->nodes[i].get();
  return *n = g->nodes.size(), CUDA_SUCCESS;
}
API cuGraphAddKernelNode(CUgraphNode *out, CUgraph g, const CUgraphNode *after, size_t n, const CUDA_KERNEL_NODE_PARAMS *p) {
  ENTER();
  shared_ptr<Kernel> k;
  uint32_t grid[3] = {p->gridDimX, p->gridDimY, p->gridDimZ}, block[3] = {p->blockDimX, p->blockDimY, p->blockDimZ};
  if (CUresult e = prepare_kernel(k, p->func, grid, block, p->sharedMemBytes, p->kernelParams)) return e;
  auto node = std::make_unique<Node>();
  node->work = [k] { return run_kernel(k); }, node->what = k->launch.name, node->type = CU_GRAPH_NODE_TYPE_KERNEL, node->kernel = k;
  for (size_t i = 0; i < n; i++) node->after.push_back((Node *)after[i]);
  *out = (CUgraphNode)node.get();
  return g->nodes.push_back(std::move(node)), CUDA_SUCCESS;
}
API cuGraphNodeGetType(CUgraphNode n, CUgraphNodeType *t) { ENTER(false); return *t = ((Node *)n)->type, CUDA_SUCCESS; }
API cuGraphInstantiate(CUgraphExec *out, CUgraph g, unsigned long long) {
  ENTER();
  auto exec = std::make_unique<CUgraphExec_st>();
  std::unordered_map<Node *, size_t> at;
  for (auto &n : g->nodes) {
    CUgraphExec_st::Step step{n->work, n->what, n->type, {}, n->kernel, n.get()};
    for (Node *a : n->after) step.after.push_back(at.at(a));
    at[n.get()] = exec->steps.size();
    exec->steps.push_back(std::move(step));
  }
  m.execs.insert(*out = exec.release());
  return CUDA_SUCCESS;
}
API cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph g, CUDA_GRAPH_INSTANTIATE_PARAMS *p) {
  p->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  return cuGraphInstantiate(out, g, p->flags);
}
API cuGraphUpload(CUgraphExec, CUstream) { ENTER(); return CUDA_SUCCESS; }
API cuGraphLaunch(CUgraphExec g, CUstream s) {
  ENTER();
  NEED(m.execs.count(g));
  s = stream_of(s);
  if (s->capture) return CUDA_ERROR_NOT_SUPPORTED; // child graphs
  OpRef first, last;
  std::vector<OpRef> made, also;
  if (g->last && !g->last->done) also.push_back(g->last);
  auto schedule = m.schedule;
  if (schedule == m.EAGER) m.schedule = m.LAZY;
  if (CUresult e = submit(api, s, "graph begins", nullptr, CU_GRAPH_NODE_TYPE_EMPTY, nullptr, &first, also)) return m.schedule = schedule, e;
  std::vector<OpRef> all;
  for (auto &step : g->steps) {
    OpRef op = std::make_shared<Op>();
    op->work = step.work, op->what = step.what, op->after = {first};
    for (size_t a : step.after) op->after.push_back(made[a]);
    made.push_back(op), m.pending.push_back(op);
  }
  CUresult e = submit(api, s, "graph ends", nullptr, CU_GRAPH_NODE_TYPE_EMPTY, nullptr, &last, made);
  g->last = last;
  m.schedule = schedule;
  if (schedule == m.EAGER) complete(api.lock, last);
  return e;
}
API cuGraphExecDestroy(CUgraphExec g) { ENTER(false); NEED(m.execs.erase(g)); return delete g, CUDA_SUCCESS; }
API cuGraphExecKernelNodeSetParams(CUgraphExec g, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p) {
  ENTER();
  for (auto &step : g->steps)
    if (step.from == (Node *)node) {
      shared_ptr<Kernel> k;
      uint32_t grid[3] = {p->gridDimX, p->gridDimY, p->gridDimZ}, block[3] = {p->blockDimX, p->blockDimY, p->blockDimZ};
      if (CUresult e = prepare_kernel(k, p->func, grid, block, p->sharedMemBytes, p->kernelParams)) return e;
      step.kernel = k, step.work = [k] { return run_kernel(k); };
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_INVALID_VALUE;
}
API cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *p) {
  ENTER();
  Kernel *k = ((Node *)node)->kernel.get();
  NEED(k);
  const CudasimLaunch &l = k->launch;
  *p = CUDA_KERNEL_NODE_PARAMS{k->function, l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1], l.block[2], l.shared, (void **)k->params.data(), nullptr, nullptr, nullptr};
  return CUDA_SUCCESS;
}
struct CUuserObject_st { CUhostFn destroy; void *what; unsigned refs; };
API cuUserObjectCreate(CUuserObject *o, void *what, CUhostFn destroy, unsigned refs, unsigned) {
  ENTER(false);
  return *o = new CUuserObject_st{destroy, what, refs}, CUDA_SUCCESS;
}
API cuUserObjectRetain(CUuserObject o, unsigned n) { ENTER(false); return o->refs += n, CUDA_SUCCESS; }
API cuUserObjectRelease(CUuserObject o, unsigned n) {
  ENTER(false);
  if (!(o->refs -= n)) api.lock.unlock(), o->destroy(o->what);
  return CUDA_SUCCESS;
}
API cuGraphRetainUserObject(CUgraph, CUuserObject o, unsigned n, unsigned flags) {
  ENTER(false);
  if (!(flags & CU_GRAPH_USER_OBJECT_MOVE)) o->refs += n; // released never
  return CUDA_SUCCESS;
}
API cuGraphReleaseUserObject(CUgraph, CUuserObject, unsigned) { ENTER(false); return CUDA_SUCCESS; }
// ----------------------------------------------------------------------------------------------------------------- errors
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
// ------------------------------------------------------------------------------------------------------------- for tests
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
  complete_all(lock, 0);
  for (Capture *c : m.captures)
    for (CUstream s : c->streams) s->capture = nullptr, s->ends.clear();
  m.sticky = CUDA_SUCCESS, m.fault.clear(), m.calls.clear(), m.captures.clear();
  m.fail_name.clear(), m.fail_at = m.fail_seen = 0;
  choose(schedule);
}
TEST void cudasim_finish(void) { // everything that is queued runs
  Lock lock(m.mutex);
  complete_all(lock, 0);
}
TEST void cudasim_set_memory(uint64_t bytes) { Lock lock(m.mutex); prepare(); m.memory = bytes; }
TEST void cudasim_fail(const char *name, uint64_t nth, int code) { // the nth call of it from now on gives the code; 0: none
  Lock lock(m.mutex);
  m.fail_name = name, m.fail_at = nth, m.fail_seen = 0, m.fail_code = (CUresult)code;
}

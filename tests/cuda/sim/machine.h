// machine.h: what the files of the simulated driver share: what is submitted, what is captured, what is in memory, and the one
// machine whose state that is.
//
// Device memory is a range of addresses that the process cannot touch; its bytes are `delta` further on. Addresses are never
// used twice. What is submitted becomes an Op with the Ops it must follow; nothing but these edges orders execution, and the
// schedule decides how late or in which order: CUDASIM_SCHEDULE = eager | lazy | random:SEED | thread:SEED.
//   lazy    runs only what a synchronising call needs, when it is called: a missing wait always shows
//   random  runs some ready Ops, in any order, at every call
//   thread  runs ready Ops in any order on another thread
// CUDASIM_MEMORY (bytes a device), CUDASIM_DEVICES, CUDASIM_TRACE=1 (calls to stderr), CUDASIM_FAIL=name:nth:code.
#ifndef CUDASIM_MACHINE_H
#define CUDASIM_MACHINE_H
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
namespace cudasim {

using std::shared_ptr;
using Work = std::function<CUresult()>;
constexpr int MAX_DEVICES = 8;

struct Op {
  std::vector<shared_ptr<Op>> after;
  Work work;
  const char *what = "";
  int device = 0;
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

} // namespace cudasim
using namespace cudasim;

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
  int device;
  uint64_t key;
  std::vector<std::unique_ptr<CUfunc_st>> functions;
  bool alive = true;
};
namespace cudasim {
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
} // namespace cudasim
struct CUgraph_st {
  std::vector<std::unique_ptr<Node>> nodes;
};
struct CUgraphExec_st {
  struct Step { Work work; const char *what; CUgraphNodeType type; std::vector<size_t> after; shared_ptr<Kernel> kernel; Node *from; };
  std::vector<Step> steps;
  OpRef last;
};
namespace cudasim {
struct Capture {
  CUgraph graph;
  CUstream origin;
  CUstreamCaptureMode mode;
  std::thread::id thread;
  uint64_t id;
  bool broken = false;
  std::vector<CUstream> streams;
};

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
};
extern Machine &m;
extern thread_local std::vector<CUcontext> contexts;
extern thread_local int working; // Ops that this thread runs: a kernel frees Python objects, whose ends call the driver, and cannot wait for itself
extern thread_local CUstreamCaptureMode thread_mode;
using Lock = std::unique_lock<std::mutex>;

// ---- machine.cpp
int64_t delta();
bool on_device(uint64_t p);
void prepare();                                     // what the environment says, once
void choose(const char *schedule);
void broke(CUresult code, const std::string &what); // the first fault stays, and every later call answers it
constexpr int EVERY_DEVICE = -1;
void complete(Lock &lock, const OpRef &goal);       // until it is done: its predecessors, the most recently submitted first
void complete_all(Lock &lock, int device);          // what was submitted to a device, and what that must follow
void some(Lock &lock);
int here();
CUstream stream_of(CUstream s);
CUresult unsafe_in_capture();
struct Api {
  Lock lock;
  CUresult error = CUDA_SUCCESS;
  Api(const char *name, bool needs_context = true, bool during_fault = false);
};
#define ENTER(...)                                                                                                            \
  Api api(__func__, ##__VA_ARGS__);                                                                                           \
  if (api.error != CUDA_SUCCESS) return api.error
#define NEED(condition)                                                                                                       \
  if (!(condition)) return CUDA_ERROR_INVALID_VALUE
#define API extern "C" __attribute__((visibility("default"))) CUresult

// ---- streams.cpp
CUresult submit(Api &api, CUstream s, const char *what, Work work, CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY,
                shared_ptr<Kernel> kernel = nullptr, OpRef *made = nullptr, std::vector<OpRef> also = {}, bool always = false);
CUresult wait(Api &api, CUstream s);

// ---- memory.cpp
Block *block_at(uint64_t p);
std::string place(uint64_t p);
void permit(uint64_t p, uint64_t end);
void forbid(uint64_t p, uint64_t end);

// ---- kernels.cpp
CUresult run_kernel(const shared_ptr<Kernel> &k);
CUresult prepare_kernel(shared_ptr<Kernel> &out, CUfunction f, const uint32_t *grid, const uint32_t *block, uint32_t shared,
                        void **params);

} // namespace cudasim
#endif

// threads.cpp: one pool of worker threads behind WeftKernelRuntime.parallel_for.
//
// One job at a time; a second caller, and a worker that calls again, run their loop inline. Ranges are handed out from a
// shared counter, so that a delayed worker does not hold up the rest. Workers spin briefly, then sleep on a condition.
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

#include "matmul.h"
#include "released.h"

namespace weft {

namespace {

typedef void (*Body)(void *ctx, int64_t begin, int64_t end, int64_t worker);

constexpr int kMaxThreads = 256;
constexpr int kRangesPerThread = 4;
constexpr int kSpins = 2000;  // about 20 microseconds of `pause`

struct Pool {
  std::mutex mutex;
  std::condition_variable wake, finished;
  std::atomic<bool> busy{false};
  int workers = 0;   // threads started
  std::atomic<int> target{1};

  // The job in hand. `ticket` counts jobs; a worker takes part in a job at most once.
  std::atomic<uint64_t> ticket{0};
  std::atomic<int> inside{0};  // workers that may still read the job
  std::atomic<int64_t> next{0}, done{0};
  std::atomic<bool> failed{false};  // some range had no memory or was interrupted: those not begun are left out
  int64_t n = 0, grain = 1, range = 0, ranges = 0;
  bool open = false;  // whether workers may still enter; those inside go on with what they have taken
  Body body = nullptr;
  void *ctx = nullptr;
  WeftErrorRecord *error = nullptr;
};

Pool *pool;
thread_local int64_t worker_id = -1;  // >= 0 while inside a parallel loop

inline void relax() { __builtin_ia32_pause(); }

struct AsWorker {  // this thread has a number for the extent of a range
  int64_t saved;
  explicit AsWorker(int64_t worker) : saved(worker_id) { worker_id = worker; }
  ~AsWorker() { worker_id = saved; }
};

// [begin, end) in parts that take some milliseconds, with a look at signals (and at `failed`) between them.
constexpr int64_t kFirstPart = 64;          // grains
constexpr uint64_t kPartTicks = 10000000;

void run_parts(Body body, void *ctx, int64_t begin, int64_t end, int64_t grain, int64_t worker, const std::atomic<bool> *failed) {
  int64_t part = 0;
  if (__builtin_mul_overflow(grain, kFirstPart, &part) || end - begin <= part) part = end - begin;
  uint64_t before = part < end - begin ? __builtin_ia32_rdtsc() : 0;
  while (begin < end) {
    const int64_t n = std::min(part, end - begin);
    body(ctx, begin, begin + n, worker);
    if ((begin += n) == end) return;
    if (failed && failed->load(std::memory_order_relaxed)) return;
    poll_signals();
    const uint64_t now = __builtin_ia32_rdtsc();
    if (now - before < kPartTicks / 2) part *= 2;
    else if (now - before > 2 * kPartTicks && part > grain) part /= 2;
    before = now;
  }
}

// What the caller's own ranges throw is thrown again once all workers are out.
void run_ranges(Pool *p, int64_t worker, std::exception_ptr *thrown) {
  AsWorker as(worker);
  for (int64_t i; (i = p->next.fetch_add(1, std::memory_order_acq_rel)) < p->ranges;) {
    int64_t begin = i * p->range;
    try {
      if (!p->failed.load(std::memory_order_relaxed)) {
        run_parts(p->body, p->ctx, begin, std::min(p->n, begin + p->range), p->grain, worker, &p->failed);
        poll_signals();
      }
    } catch (const std::exception &) {
      p->failed.store(true);
      if (thrown) *thrown = std::current_exception();
    }
    p->done.fetch_add(1, std::memory_order_acq_rel);
  }
}

void work(Pool *p, int64_t worker) {
  uint64_t seen = 0;
  for (;;) {
    for (int spin = 0; spin < kSpins && p->ticket.load(std::memory_order_acquire) == seen; spin++) relax();
    {
      std::unique_lock<std::mutex> lock(p->mutex);
      p->wake.wait(lock, [&] { return p->ticket.load(std::memory_order_acquire) != seen; });
      seen = p->ticket.load(std::memory_order_acquire);
      if (!p->open || worker >= p->target.load()) continue;  // the job has ended, or fewer threads are wanted
      p->inside.fetch_add(1, std::memory_order_acq_rel);
    }
    run_ranges(p, worker, nullptr);
    if (p->inside.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      std::lock_guard<std::mutex> lock(p->mutex);
      p->finished.notify_one();
    }
  }
}

void start_workers(Pool *p, int threads) {
  while (p->workers + 1 < threads) {
    int64_t id = p->workers + 1;
    try {
      std::thread(work, p, id).detach();
    } catch (const std::system_error &) {
      return;  // the system gives no more threads: go on with those there are
    }
    p->workers++;
  }
}

void run_inline(int64_t n, int64_t grain, Body body, void *ctx) {
  int64_t worker = worker_id < 0 ? 0 : worker_id;
  AsWorker as(worker);
  if (n <= grain) return body(ctx, 0, n, worker);
  run_parts(body, ctx, 0, n, grain, worker, nullptr);
}

void parallel_for(int64_t n, int64_t grain, Body body, void *ctx) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  Pool *p = pool;
  int threads = p->target.load(std::memory_order_relaxed);
  if (n <= grain || threads <= 1 || worker_id >= 0 || p->busy.exchange(true, std::memory_order_acquire))
    return run_inline(n, grain, body, ctx);
  start_workers(p, threads);
  {
    std::lock_guard<std::mutex> lock(p->mutex);
    p->n = n;
    p->grain = grain;
    p->range = std::max(grain, (n + threads * kRangesPerThread - 1) / (threads * kRangesPerThread));
    p->ranges = (n + p->range - 1) / p->range;
    p->open = true;
    p->body = body;
    p->ctx = ctx;
    p->next.store(0);
    p->done.store(0);
    p->failed.store(false);
    p->ticket.fetch_add(1, std::memory_order_acq_rel);
  }
  p->wake.notify_all();
  std::exception_ptr thrown;
  run_ranges(p, 0, &thrown);
  for (int spin = 0; spin < kSpins && p->done.load(std::memory_order_acquire) < p->ranges; spin++) relax();
  {
    std::unique_lock<std::mutex> lock(p->mutex);
    p->open = false;
    p->finished.wait(lock, [&] { return p->inside.load(std::memory_order_acquire) == 0; });
  }
  const bool failed = p->failed.load();
  p->busy.store(false, std::memory_order_release);
  if (thrown) std::rethrow_exception(thrown);
  if (failed) throw std::bad_alloc();
}

// Memory belongs to the operating system's thread, whatever its number: a loop that runs inline on another Python
// thread has number 0 as well.
struct Scratch {
  char *data = nullptr;
  int64_t bytes = 0;
  void give_back() {
    free(data);
    data = nullptr;
    bytes = 0;
  }
};
thread_local Scratch scratch_memory;
thread_local struct AtEnd {
  ~AtEnd() { scratch_memory.give_back(); }
} scratch_end;

void *scratch(int64_t, int64_t bytes) {
  Scratch &s = scratch_memory;
  if (s.bytes < bytes) {
    s.give_back();
    int64_t rounded;
    void *data = nullptr;
    if (bytes < 0 || __builtin_add_overflow(bytes, bytes / 4 + 4095, &rounded)) throw std::bad_alloc();
    rounded = rounded / 4096 * 4096;
    if (posix_memalign(&data, 4096, (size_t)rounded) != 0) throw std::bad_alloc();
    s.data = static_cast<char *>(data);
    s.bytes = rounded;
    (void)&scratch_end;  // made with the first
  }
  return s.data;
}

// Processors this process may use: its affinity, and the quota of its control group.
int usable_cores() {
  cpu_set_t set;
  int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
  if (FILE *f = fopen("/sys/fs/cgroup/cpu.max", "r")) {
    long long quota, period;
    if (fscanf(f, "%lld %lld", &quota, &period) == 2 && quota > 0 && period > 0)
      cores = std::min<int>(cores, (int)std::max<long long>(1, (quota + period - 1) / period));
    fclose(f);
  }
  return std::clamp(cores, 1, kMaxThreads);
}

// The handlers may run kernels, with the GIL and without: they have scratch memory of their own.
void run_handlers() {
  const Scratch kept = std::exchange(scratch_memory, {});
  const bool raised = PyErr_CheckSignals() != 0;
  scratch_memory.give_back();
  scratch_memory = kept;
  if (raised) throw Interrupted();
}

// The child has none of the parent's threads: it starts a pool of its own when it needs one.
void after_fork_in_child() {
  int target = pool->target.load();
  pool = new Pool();
  pool->target.store(target);
  worker_id = -1;
  forget_calls();
}

}  // namespace

void ask_for_signals() {
  struct Taken {  // the GIL
    Taken() { PyEval_RestoreThread(std::exchange(kernel_thread.state, nullptr)); }
    ~Taken() noexcept(false) {
      kernel_thread.state = PyEval_SaveThread();
      kernel_thread.asked = __builtin_ia32_rdtsc();
    }
  } taken;
  run_handlers();
}

extern "C" void weft_poll_signals() {
  poll_signals();
  if (worker_id > 0 && pool->failed.load(std::memory_order_relaxed)) throw Interrupted();
}

const WeftKernelRuntime *kernel_runtime() {
  __attribute__((tls_model("initial-exec"))) static thread_local WeftErrorRecord error;
  __attribute__((tls_model("initial-exec"))) static thread_local WeftKernelRuntime runtime = {parallel_for, scratch, 1, &error, gemm_table()};
  runtime.num_threads = pool->target.load(std::memory_order_relaxed);
  error = WeftErrorRecord{-1, 0, 0};
  return &runtime;
}

int num_threads() { return pool->target.load(std::memory_order_relaxed); }

bool init_threads() {
  if (pool) return true;
  pool = new Pool();
  const char *text = getenv("WEFT_NUM_THREADS");
  int wanted = text ? atoi(text) : 0;
  pool->target.store(wanted > 0 ? std::min(wanted, kMaxThreads) : usable_cores());
  return pthread_atfork(nullptr, nullptr, after_fork_in_child) == 0;
}

static PyObject *get_num_threads(PyObject *, PyObject *) { return PyLong_FromLong(num_threads()); }

static PyObject *set_num_threads(PyObject *, PyObject *arg) {
  long n = PyLong_AsLong(arg);
  if (n == -1 && PyErr_Occurred()) return nullptr;
  if (n < 1) return PyErr_Format(PyExc_RuntimeError, "set_num_threads expects a positive integer, got %ld", n);
  pool->target.store((int)std::min<long>(n, kMaxThreads));
  Py_RETURN_NONE;
}

// Tests of the pool: sums i over [0, n), each range also calling parallel_for again when `nested`.
struct PoolTest {
  std::atomic<int64_t> sum{0}, ranges{0}, workers{0};
  bool nested;
};

static void pool_test_body(void *ctx, int64_t begin, int64_t end, int64_t worker) {
  PoolTest *test = static_cast<PoolTest *>(ctx);
  auto add = [](void *inner, int64_t b, int64_t e, int64_t) {
    int64_t sum = 0;
    for (int64_t i = b; i < e; i++) sum += i;
    static_cast<std::atomic<int64_t> *>(inner)->fetch_add(sum);
  };
  std::atomic<int64_t> sum{0};
  if (test->nested) {
    parallel_for(end - begin, 1, add, &sum);
    sum += begin * (end - begin);
  } else {
    add(&sum, begin, end, worker);
  }
  test->sum += sum;
  test->ranges++;
  test->workers |= int64_t(1) << worker;
}

// _test_pool(n, grain, nested) -> (sum, ranges); the GIL is released, so that two threads compete for the pool.
static PyObject *test_pool(PyObject *, PyObject *args) {
  long long n, grain;
  int nested;
  if (!PyArg_ParseTuple(args, "LLp:_test_pool", &n, &grain, &nested)) return nullptr;
  PoolTest test;
  test.nested = nested;
  {
    Released released;
    parallel_for(n, grain, pool_test_body, &test);
  }
  return Py_BuildValue("LL", (long long)test.sum.load(), (long long)test.ranges.load());
}

PyMethodDef thread_functions[] = {
    {"get_num_threads", get_num_threads, METH_NOARGS, "threads that a kernel may use, the caller's included"},
    {"set_num_threads", set_num_threads, METH_O, nullptr},
    {"_test_pool", test_pool, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace weft

// machine.cpp: the machine, when what is submitted runs, and the way into every call.
#include "machine.h"

namespace cudasim {
Machine &m = *new Machine; // never destroyed: a worker may wait in it
thread_local std::vector<CUcontext> contexts;
thread_local int working;
thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

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

// ---- scheduling
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
  while (!working) {
    auto last = std::find_if(m.pending.rbegin(), m.pending.rend(), [&](const OpRef &o) { return device == EVERY_DEVICE || o->device == device; });
    if (last == m.pending.rend()) return;
    complete(lock, OpRef(*last));
  }
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

// ---- entering
Api::Api(const char *name, bool needs_context, bool during_fault) : lock(m.mutex) {
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

} // namespace cudasim



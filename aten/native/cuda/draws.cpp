// draws.cpp: random numbers of captured graphs, new ones at every replay.
//
// While a thread captures a graph, the seeds and counters that its generators hand out are tokens: numbers that say of which capture they are.
// They travel as seeds and counters do, through sums, saved values and other compiled code, until a launch is passed them. A captured
// launch is kept with its arguments. At every replay the graph reserves as many counters of the generator as the capture did, and its nodes
// are given the numbers that their tokens now stand for. A launch outside of captures (a backward of captured work), and one captured by
// another graph (the backward of `make_graphed_callables`), find those of the last replay.
//
// A token has its kind in the upper 16 bits, the number of its draw in the next and the counter in the lower 32. No address, size or index has
// such upper bits, and a float of 64 bits only near 2e129.
#include "draws.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>

#include "counts.h"

namespace weft::cuda {

namespace {

constexpr uint64_t kSeed = 0x5ac3ull << 48, kCounter = 0x5ac5ull << 48, kKind = 0xffffull << 48, kCounters = 0xffffffffull;
constexpr size_t kMostDraws = 1 << 16;

// What the tokens of a draw stand for: the numbers of its graph's last replay; before the first, those that were next when it was captured.
struct Numbers {
  uint64_t seed, offset;
  bool taken;
};

std::mutex lock;  // of these two, which launches read without the GIL
std::deque<Numbers> numbers;
size_t next_draw;  // which is made; free ones are taken again when there are as many as tokens tell apart

std::atomic<bool> any_tokens{false};
thread_local std::weak_ptr<Drawing> drawing;  // of this thread's capture

Numbers *behind(uint64_t token) {
  const size_t draw = token >> 32 & 0xffff;
  const uint64_t kind = token & kKind;
  return (kind == kSeed || kind == kCounter) && draw < numbers.size() ? &numbers[draw] : nullptr;
}

bool is_token(uint64_t x) {
  if ((x & kKind) != kSeed && (x & kKind) != kCounter) return false;
  std::lock_guard<std::mutex> reading(lock);
  return behind(x) != nullptr;
}

// A draw whose tokens stand for these; -1 with RuntimeError set.
int64_t new_draw(uint64_t seed, uint64_t offset) {
  std::lock_guard<std::mutex> writing(lock);
  for (size_t tries = 0; tries < kMostDraws; tries++) {
    const size_t draw = next_draw++ % kMostDraws;
    if (draw == numbers.size()) numbers.push_back({});
    if (numbers[draw].taken) continue;
    numbers[draw] = {seed, offset, true};
    any_tokens = true;
    return (int64_t)draw;
  }
  PyErr_SetString(PyExc_RuntimeError, "there are too many CUDA graphs that draw random numbers");
  return -1;
}

// The numbers of the generator's that a replay takes; false with an exception set.
bool reserve_of(PyObject *generator, uint64_t count, uint64_t *seed, uint64_t *offset) {
  unsigned long long a, b;
  PyObject *reserved = PyObject_CallMethod(generator, "reserve", "K", (unsigned long long)count);
  const bool good = reserved && PyArg_ParseTuple(reserved, "KK", &a, &b);
  Py_XDECREF(reserved);
  if (good) *seed = a, *offset = b;
  return good;
}

// ------------------------------------------------------------------------------------------------- of generators, while capturing
bool is_of_cuda(PyObject *generator) {
  PyObject *device = PyObject_GetAttrString(generator, "device"), *type = device ? PyObject_GetAttrString(device, "type") : nullptr;
  const bool cuda = type && PyUnicode_CompareWithASCIIString(type, "cuda") == 0;
  Py_XDECREF(device);
  Py_XDECREF(type);
  PyErr_Clear();
  return cuda;
}

// What this thread's capture draws of a generator: 1; 0: the generator is as always; -1 with an exception set.
int drawn_of(PyObject *generator, uint64_t seed, uint64_t offset, Drawn **found) {
  const std::shared_ptr<Drawing> of = drawing.lock();
  if (!of || of->closed) return 0;
  for (Drawn &d : of->generators)
    if (d.generator == generator) {
      if (d.draw < 0 && (d.draw = new_draw(seed, offset)) < 0) return -1;
      return *found = &d, 1;
    }
  if (!is_of_cuda(generator)) return 0;
  PyErr_SetString(PyExc_RuntimeError, "Attempt to increase offset for a CUDA generator not in capture mode: a graph draws numbers of the default generator and of those that "
                                      "CUDAGraph.register_generator_state was given");
  return -1;
}

uint64_t token(uint64_t kind, const Drawn &d, uint64_t counter) { return kind | (uint64_t)d.draw << 32 | (counter & kCounters); }

int get_state(PyObject *generator, uint64_t *seed, uint64_t *offset) {
  Drawn *d;
  const int found = drawn_of(generator, *seed, *offset, &d);
  if (found == 1) *seed = token(kSeed, *d, 0), *offset = token(kCounter, *d, d->next);
  return found;
}

int reserve(PyObject *generator, uint64_t count, uint64_t *seed, uint64_t *offset) {
  Drawn *d;
  const int found = drawn_of(generator, *seed, *offset, &d);
  if (found != 1) return found;
  *seed = token(kSeed, *d, 0), *offset = token(kCounter, *d, d->next);
  d->next += count;
  d->most = std::max(d->most, d->next);
  return 1;
}

int set_state(PyObject *generator, uint64_t seed, uint64_t offset) {
  const std::shared_ptr<Drawing> of = drawing.lock();
  Drawn *d = nullptr;
  if (of && !of->closed)
    for (Drawn &each : of->generators)
      if (each.generator == generator) d = &each;
  if (!d) return 0;
  if (d->draw >= 0 && seed == token(kSeed, *d, 0)) return d->next = offset & kCounters, 1;
  PyErr_SetString(PyExc_RuntimeError, "while a CUDA graph is captured, a generator's seed stays as it is, and its state is set to what it has been in the capture: replays draw "
                                      "what is next then");
  return -1;
}

void settle(uint64_t *seed, uint64_t *offset) {
  const std::shared_ptr<Drawing> of = drawing.lock();
  if (!of) return;
  for (Drawn &d : of->generators)
    if (d.draw >= 0 && *seed == token(kSeed, d, 0)) d.on_host = true;
  settle_draws(reinterpret_cast<int64_t *>(seed), 1);
  settle_draws(reinterpret_cast<int64_t *>(offset), 1);
}

const WeftDraws diverted = {reserve, get_state, set_state, settle};

bool divert(const WeftDraws *by) {
  static const WeftSetDraws *set = static_cast<const WeftSetDraws *>(PyCapsule_Import("aten._native._DRAWS", 0));
  if (set) (*set)(by);
  return set != nullptr;
}

}  // namespace

// --------------------------------------------------------------------------------------------------------------------- a capture
Drawing::~Drawing() {
  std::lock_guard<std::mutex> writing(lock);
  for (Drawn &d : generators) {
    if (d.draw >= 0) numbers[(size_t)d.draw].taken = false;
    Py_DECREF(d.generator);
  }
}

void Drawing::add(PyObject *generator) {
  for (Drawn &d : generators)
    if (d.generator == generator) return;
  generators.push_back({Py_NewRef(generator)});
}

bool begin_draws(const std::shared_ptr<Drawing> &of) {
  PyObject *native = PyImport_ImportModule("aten._native"), *usual = native ? PyObject_GetAttrString(native, "default_generator") : nullptr;
  Py_XDECREF(native);
  if (!usual) return false;
  of->add(usual);
  Py_DECREF(usual);
  drawing = of;
  return divert(&diverted);
}

bool end_draws(const std::shared_ptr<Drawing> &of) {
  of->closed = true;
  if (drawing.lock() == of) {
    divert(nullptr);
    drawing.reset();
  }
  for (Drawn &d : of->generators) {
    uint64_t seed, offset;
    if (d.most > kCounters) return PyErr_Format(PyExc_RuntimeError, "a CUDA graph draws more random numbers than 2^32 counters hold"), false;
    if (d.on_host && !reserve_of(d.generator, d.most, &seed, &offset)) return false;  // they are not drawn again
  }
  return true;
}

bool replay_draws(Drawing &of, void *executable) {
  for (Drawn &d : of.generators) {
    if (!d.most) continue;
    uint64_t seed, offset;
    if (!reserve_of(d.generator, d.most, &seed, &offset)) return false;
    std::lock_guard<std::mutex> writing(lock);
    numbers[(size_t)d.draw] = {seed, offset, true};
  }
  for (DrawingNode &node : of.nodes) {
    std::vector<int64_t> now = node.arguments;
    settle_draws(now.data(), now.size());
    if (now == node.given) continue;
    std::vector<void *> params;
    for (int64_t &slot : now) params.push_back(&slot);
    if (!ok(update_node(executable, node.node, node.function, node.grid, node.threads, node.shared, params.data()), "cuGraphExecKernelNodeSetParams")) return false;
    node.given = std::move(now);
  }
  return true;
}

// ------------------------------------------------------------------------------------------------------------------------ launches
bool has_draws(void **params, size_t n) {
  if (!any_tokens.load(std::memory_order_relaxed)) return false;
  for (size_t i = 0; i < n; i++)
    if (is_token(*static_cast<uint64_t *>(params[i]))) return true;
  return false;
}

void settle_draws(int64_t *slots, size_t n) {
  if (!any_tokens.load(std::memory_order_relaxed)) return;
  std::lock_guard<std::mutex> reading(lock);
  for (size_t i = 0; i < n; i++) {
    const uint64_t x = (uint64_t)slots[i];
    if (const Numbers *found = behind(x)) slots[i] = (int64_t)((x & kKind) == kSeed ? found->seed : found->offset + (x & kCounters));
  }
}

CUresult keep_drawing_launch(void *function, const uint32_t grid[3], uint32_t threads, uint32_t shared, void **params, size_t n, CUstream stream) {
  const std::shared_ptr<Drawing> of = drawing.lock();
  if (!of || of->closed) return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  int status = 0;
  const CUgraphNode *last = nullptr;
  size_t many = 0;
  CUresult code = driver.cuStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &last, &many);
  if (code != CUDA_SUCCESS || many != 1) return code ? code : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  DrawingNode node = {last[0], function, {grid[0], grid[1], grid[2]}, threads, shared, {}, {}};
  for (size_t i = 0; i < n; i++) node.arguments.push_back(*static_cast<int64_t *>(params[i]));
  of->nodes.push_back(std::move(node));
  return CUDA_SUCCESS;
}

}  // namespace weft::cuda

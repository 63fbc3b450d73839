// allocator.cpp: device memory, cached in the order of streams.
//
// Memory is taken from the driver in segments and cut into blocks; a block belongs to the stream it was allocated for, and when it is
// given back only that stream gets it again, so that nothing has to wait: what is queued there later runs later. Where
// other streams used it (`record_stream`), an event on each of them comes first. Neighbours that are free merge. Where the driver has no more,
// free segments go back to it and it is asked again; then it is OutOfMemoryError, and all that was in use still is.
// What a captured graph uses comes from a pool of its own, whose memory nobody else gets while the graph lives.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "extension.h"

namespace weft::cuda {

namespace {

constexpr int64_t kGrain = 512;                // blocks are multiples of it
constexpr int64_t kSmall = 1 << 20;            // requests up to this come from segments of kSmallSegment
constexpr int64_t kSmallSegment = 2 << 20;
constexpr int64_t kMiddle = 10 << 20;          // requests below this from segments of kMiddleSegment, others from their own
constexpr int64_t kMiddleSegment = 20 << 20;
constexpr int64_t kSegmentGrain = 2 << 20;

struct Pool;
struct Block {
  uint64_t at;
  int64_t bytes, asked;
  Stream *stream;
  Pool *pool;
  Block *before, *after;          // neighbours in the segment
  bool used, small;
  std::vector<Stream *> others;   // that used it too
  int events;                     // of those, still ahead
};

struct BySize {
  bool operator()(const Block *a, const Block *b) const { return a->bytes != b->bytes ? a->bytes < b->bytes : a->at < b->at; }
};
using Free = std::set<Block *, BySize>;

struct Pool {
  int64_t id;                                  // 0: the common one
  int64_t holders = 0;                         // graphs, and captures under way
  int64_t live = 0;                            // blocks in use
  std::map<std::pair<Stream *, bool>, Free> free;  // by stream and size
};

struct Counter {
  int64_t current = 0, peak = 0, added = 0, removed = 0;
  void add(int64_t n) {
    current += n;
    added += n;
    peak = std::max(peak, current);
  }
  void remove(int64_t n) {
    current -= n;
    removed += n;
  }
};

struct Statistics {
  Counter allocations, allocated, requested, segments, reserved, active, active_bytes, split, split_bytes;
  int64_t retries = 0, failures = 0;
};

struct Memory {
  Pool common{0};
  std::map<int64_t, std::unique_ptr<Pool>> graphs;
  std::unordered_map<uint64_t, Block *> used;
  std::deque<std::pair<CUevent, Block *>> pending;
  Statistics statistics;
  int64_t limit = INT64_MAX;
};

Memory memories[kMaxDevices];
int64_t last_pool;
thread_local Pool *pool_of_thread[kMaxDevices];

int64_t rounded(int64_t n, int64_t grain) { return (n + grain - 1) / grain * grain; }

// With a watcher every block is followed by bytes that nobody is given, so that an overrun does not end in a neighbour.
int64_t block_bytes(int64_t asked) { return rounded(asked + (driver.given ? 256 : 0), kGrain); }

// What figures call allocated: what follows a block for a watcher is not.
int64_t counted(const Block *block) { return block->bytes - (block_bytes(block->asked) - rounded(block->asked, kGrain)); }

int64_t segment_bytes(int64_t bytes) {
  return bytes <= kSmall ? kSmallSegment : bytes < kMiddle ? kMiddleSegment : rounded(bytes, kSegmentGrain);
}

Free &free_list(const Block *block) { return block->pool->free[{block->stream, block->small}]; }

bool is_split(const Block *block) { return block->before || block->after; }

// Counts, or no longer counts, a block among the free parts of segments in use.
void count_split(Memory &memory, const Block *block, int sign) {
  if (!is_split(block)) return;
  if (sign > 0) memory.statistics.split.add(1), memory.statistics.split_bytes.add(block->bytes);
  else memory.statistics.split.remove(1), memory.statistics.split_bytes.remove(block->bytes);
}

void take_from_list(Memory &memory, Block *block) {
  free_list(block).erase(block);
  count_split(memory, block, -1);
}

// The neighbour's bytes become the block's.
void absorb(Memory &memory, Block *block, Block *neighbour) {
  if (!neighbour || neighbour->used || neighbour->events || !free_list(neighbour).count(neighbour)) return;
  take_from_list(memory, neighbour);
  if (neighbour == block->before) {
    block->at = neighbour->at;
    block->before = neighbour->before;
    if (block->before) block->before->after = block;
  } else {
    block->after = neighbour->after;
    if (block->after) block->after->before = block;
  }
  block->bytes += neighbour->bytes;
  delete neighbour;
}

// The block waits to be given out again.
void put_back(Memory &memory, Block *block) {
  memory.statistics.active.remove(1);
  memory.statistics.active_bytes.remove(block->bytes);
  const uint64_t at = block->at;
  const int64_t asked = block->asked;
  Stream *stream = block->stream;
  absorb(memory, block, block->before);
  absorb(memory, block, block->after);
  free_list(block).insert(block);
  count_split(memory, block, +1);
  if (driver.held && asked) driver.held(stream->handle, at, (size_t)asked);
}

// Blocks whose last user elsewhere is done. With `wait`, all of them. False where the driver fails, its exception set.
bool settle(int device, bool wait) {
  Memory &memory = memories[device];
  while (!memory.pending.empty()) {
    auto [event, block] = memory.pending.front();
    CUresult code;
    if (wait) {
      WithoutGil waiting;
      code = driver.cuEventSynchronize(event);
    } else {
      code = driver.cuEventQuery(event);
      if (code == CUDA_ERROR_NOT_READY) return true;
    }
    if (code != CUDA_SUCCESS) return wait ? ok(code, "cuEventSynchronize") : true;
    if (memory.pending.empty() || memory.pending.front().first != event) continue;  // another thread has had it meanwhile
    memory.pending.pop_front();
    driver.cuEventDestroy(event);
    if (--block->events == 0) put_back(memory, block);
  }
  return true;
}

// Gives segments that are free as a whole back to the driver, of the common pool and of those that nobody holds. The bytes.
int64_t release_segments(int device) {
  Memory &memory = memories[device];
  std::vector<uint64_t> segments;
  int64_t bytes = 0;
  auto clear = [&](Pool &pool) {
    for (auto &[key, list] : pool.free) {
      for (auto it = list.begin(); it != list.end();) {
        Block *block = *it;
        if (is_split(block)) {
          ++it;
          continue;
        }
        it = list.erase(it);
        segments.push_back(block->at);
        bytes += block->bytes;
        memory.statistics.segments.remove(1);
        memory.statistics.reserved.remove(block->bytes);
        delete block;
      }
    }
  };
  clear(memory.common);
  for (auto it = memory.graphs.begin(); it != memory.graphs.end();) {
    Pool &pool = *it->second;
    if (!pool.holders) clear(pool);
    const bool over = !pool.holders && !pool.live && std::all_of(pool.free.begin(), pool.free.end(), [](auto &kept) { return kept.second.empty(); });
    it = over ? memory.graphs.erase(it) : std::next(it);
  }
  if (!segments.empty()) {
    WithoutGil freeing;  // the driver waits for the device
    for (uint64_t at : segments) driver.cuMemFree(at);
  }
  return bytes;
}

// A free block of at least so many bytes, taken from its list; NULL if there is none.
Block *find(Memory &memory, Pool &pool, Stream *stream, int64_t bytes) {
  const bool small = bytes <= kSmall;
  auto it = pool.free.find({stream, small});
  if (it == pool.free.end()) return nullptr;
  Block key{};
  key.bytes = bytes;
  auto found = it->second.lower_bound(&key);
  if (found == it->second.end()) return nullptr;
  Block *block = *found;
  take_from_list(memory, block);
  return block;
}

// Memory of the driver's; 0 with its code.
uint64_t ask_driver(int64_t bytes, CUresult *code) {
  uint64_t at = 0;
  WithoutGil asking;
  int mode = CU_CAPTURE_RELAXED;  // a capture under way is not disturbed by new memory
  driver.cuThreadExchangeStreamCaptureMode(&mode);
  *code = driver.cuMemAlloc(&at, (size_t)bytes);
  driver.cuThreadExchangeStreamCaptureMode(&mode);
  return *code == CUDA_SUCCESS ? at : 0;
}

Block *new_segment(int device, Pool &pool, Stream *stream, int64_t bytes, CUresult *code) {
  Memory &memory = memories[device];
  const int64_t whole = segment_bytes(bytes);
  *code = CUDA_ERROR_OUT_OF_MEMORY;
  if (whole > memory.limit - memory.statistics.reserved.current) return nullptr;
  uint64_t at = ask_driver(whole, code);
  if (!at) return nullptr;
  memory.statistics.segments.add(1);
  memory.statistics.reserved.add(whole);
  if (driver.held) driver.held(stream->handle, at, (size_t)whole);
  return new Block{at, whole, 0, stream, &pool, nullptr, nullptr, false, bytes <= kSmall, {}, 0};
}

// What is left of the block beyond `bytes` becomes a free block, where that is worth while.
void split(Memory &memory, Block *block, int64_t bytes) {
  const int64_t rest = block->bytes - bytes;
  if (rest < (block->small ? kGrain : kSmall)) return;
  Block *other = new Block{block->at + (uint64_t)bytes, rest, 0, block->stream, block->pool, block, block->after, false, block->small, {}, 0};
  if (other->after) other->after->before = other;
  block->after = other;
  block->bytes = bytes;
  free_list(other).insert(other);
  count_split(memory, other, +1);
}

std::string size_text(int64_t bytes) {
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = (double)bytes;
  int unit = 0;
  while (value >= 1024 && unit < 5) value /= 1024, unit++;
  char text[40];
  snprintf(text, sizeof text, unit ? "%.2f %s" : "%.0f %s", value, units[unit]);
  return text;
}

void *raise_full(int device, int64_t asked) {
  const Statistics &s = memories[device].statistics;
  size_t free = 0, total = 0;
  driver.cuMemGetInfo(&free, &total);
  std::string text = "CUDA out of memory. Tried to allocate " + size_text(asked) + ". GPU " + std::to_string(device) + " has a total capacity of " +
                     size_text((int64_t)total) + " of which " + size_text((int64_t)free) + " is free. " + size_text(s.allocated.current) +
                     " are in use by weft, and " + size_text(s.reserved.current - s.allocated.current) + " are reserved by weft but unallocated.";
  if (memories[device].limit != INT64_MAX) text += " This process may take " + size_text(memories[device].limit) + ".";
  PyObject *errors = PyImport_ImportModule("aten.errors");
  PyObject *type = errors ? PyObject_GetAttrString(errors, "OutOfMemoryError") : nullptr;
  if (type) PyErr_SetString(type, text.c_str());
  Py_XDECREF(type);
  Py_XDECREF(errors);
  return nullptr;
}

}  // namespace

bool in_private_pool(int device) { return pool_of_thread[device] != nullptr; }

void *allocate(int64_t nbytes, int device, Stream *stream) {
  if (!entered(device)) return nullptr;
  if (!stream && !(stream = current_stream(device))) return raise(enter(device), "cuStreamCreateWithPriority");
  Memory &memory = memories[device];
  Pool &pool = pool_of_thread[device] ? *pool_of_thread[device] : memory.common;
  const int64_t bytes = block_bytes(nbytes);
  if (!memory.pending.empty() && !in_private_pool(device)) settle(device, false);
  Block *block = find(memory, pool, stream, bytes);
  CUresult code = CUDA_SUCCESS;
  if (!block) block = new_segment(device, pool, stream, bytes, &code);
  if (!block && code == CUDA_ERROR_OUT_OF_MEMORY && !in_private_pool(device)) {
    memory.statistics.retries++;
    if (!settle(device, true)) return nullptr;
    release_segments(device);
    if (!entered(device)) return nullptr;
    block = find(memory, pool, stream, bytes);  // what has been given back meanwhile
    if (!block) block = new_segment(device, pool, stream, bytes, &code);
  }
  if (!block) {
    if (code != CUDA_ERROR_OUT_OF_MEMORY) return raise(code, "cuMemAlloc");
    memory.statistics.failures++;
    return raise_full(device, nbytes);
  }
  split(memory, block, bytes);
  block->used = true;
  block->asked = nbytes;
  pool.live++;
  memory.used[block->at] = block;
  memory.statistics.allocations.add(1);
  memory.statistics.allocated.add(counted(block));
  memory.statistics.requested.add(nbytes);
  memory.statistics.active.add(1);
  memory.statistics.active_bytes.add(block->bytes);
  if (driver.given) driver.given(stream->handle, block->at, (size_t)nbytes);
  return reinterpret_cast<void *>(block->at);
}

void release(void *memory_at) {
  if (is_forked()) return;  // it is the parent's
  for (int device = 0; device < kMaxDevices; device++) {
    Memory &memory = memories[device];
    auto it = memory.used.find(reinterpret_cast<uint64_t>(memory_at));
    if (it == memory.used.end()) continue;
    Block *block = it->second;
    memory.used.erase(it);
    memory.statistics.allocations.remove(1);
    memory.statistics.allocated.remove(counted(block));
    memory.statistics.requested.remove(block->asked);
    block->used = false;
    block->pool->live--;
    std::vector<Stream *> others = std::move(block->others);
    block->others.clear();
    block->events = (int)others.size() + 1;  // one more while they are recorded
    for (Stream *stream : others) {
      CUevent event;
      // In a capture no event can be asked for later: the block stays out of use until its pool ends.
      if (is_capturing(stream->handle)) continue;
      if (enter(stream->device) == CUDA_SUCCESS && driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS) {
        if (driver.cuEventRecord(event, stream->handle) == CUDA_SUCCESS) memory.pending.push_back({event, block});
        else driver.cuEventDestroy(event);  // a broken context: the block stays out of use
      }
    }
    if (--block->events == 0) put_back(memory, block);
    return;
  }
}

int record_stream(void *memory_at, Stream *stream) {
  for (Memory &memory : memories) {
    auto it = memory.used.find(reinterpret_cast<uint64_t>(memory_at));
    if (it == memory.used.end()) continue;
    Block *block = it->second;
    if (stream != block->stream && std::find(block->others.begin(), block->others.end(), stream) == block->others.end()) block->others.push_back(stream);
    return 0;
  }
  return 0;  // another library's memory
}

int64_t pool_begin(int device, int64_t id) {
  Memory &memory = memories[device];
  if (!id) id = ++last_pool;
  auto &pool = memory.graphs[id];
  if (!pool) pool.reset(new Pool{id});
  pool->holders++;
  pool_of_thread[device] = pool.get();
  return id;
}

void pool_end(int device) { pool_of_thread[device] = nullptr; }

void pool_release(int device, int64_t id) {
  auto it = memories[device].graphs.find(id);
  if (it != memories[device].graphs.end()) it->second->holders--;
}

namespace {

// ------------------------------------------------------------------------------------------------------- to Python
PyObject *triple(const Counter &c) {
  return Py_BuildValue("{s:L,s:L,s:L,s:L}", "current", (long long)c.current, "peak", (long long)c.peak, "allocated", (long long)c.added, "freed",
                       (long long)c.removed);
}

PyObject *memory_stats(PyObject *, PyObject *arg) {
  int device = device_argument(arg);
  if (device < 0) return nullptr;
  const Statistics &s = memories[device].statistics;
  return Py_BuildValue("{s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:L,s:L}", "allocation", triple(s.allocations), "allocated_bytes", triple(s.allocated),
                       "requested_bytes", triple(s.requested), "segment", triple(s.segments), "reserved_bytes", triple(s.reserved), "active",
                       triple(s.active), "active_bytes", triple(s.active_bytes), "inactive_split", triple(s.split), "inactive_split_bytes",
                       triple(s.split_bytes), "num_alloc_retries", (long long)s.retries, "num_ooms", (long long)s.failures);
}

template <class F>
void each_counter(Statistics &s, F f) {
  for (Counter *c : {&s.allocations, &s.allocated, &s.requested, &s.segments, &s.reserved, &s.active, &s.active_bytes, &s.split, &s.split_bytes}) f(*c);
}

PyObject *reset_peak_stats(PyObject *, PyObject *arg) {
  int device = device_argument(arg);
  if (device < 0) return nullptr;
  each_counter(memories[device].statistics, [](Counter &c) { c.peak = c.current; });
  Py_RETURN_NONE;
}

PyObject *reset_accumulated_stats(PyObject *, PyObject *arg) {
  int device = device_argument(arg);
  if (device < 0) return nullptr;
  Statistics &s = memories[device].statistics;
  each_counter(s, [](Counter &c) { c.added = c.removed = 0; });
  s.retries = s.failures = 0;
  Py_RETURN_NONE;
}

PyObject *empty_cache(PyObject *, PyObject *) {
  if (!start()) return nullptr;
  int64_t bytes = 0;
  for (int device = 0; device < kMaxDevices; device++) {
    if (!context_of(device) || in_private_pool(device)) continue;
    if (!entered(device) || !settle(device, true)) return nullptr;
    bytes += release_segments(device);
  }
  return PyLong_FromLongLong(bytes);
}

PyObject *mem_get_info(PyObject *, PyObject *arg) {
  int device = device_argument(arg);
  size_t free, total;
  if (device < 0 || !entered(device) || !WEFT_CUDA_OK(cuMemGetInfo, &free, &total)) return nullptr;
  return Py_BuildValue("nn", (Py_ssize_t)free, (Py_ssize_t)total);
}

PyObject *set_memory_limit(PyObject *, PyObject *args) {
  int device;
  long long bytes;
  if (!PyArg_ParseTuple(args, "iL:set_memory_limit", &device, &bytes) || !check_device(device)) return nullptr;
  memories[device].limit = bytes < 0 ? INT64_MAX : bytes;
  Py_RETURN_NONE;
}

// One dictionary a segment, with its blocks in the order of their addresses.
PyObject *memory_snapshot(PyObject *, PyObject *arg) {
  int device = device_argument(arg);
  if (device < 0) return nullptr;
  Memory &memory = memories[device];
  std::set<Block *> firsts;
  auto add = [&](Block *block) {
    while (block->before) block = block->before;
    firsts.insert(block);
  };
  for (auto &[at, block] : memory.used) add(block);
  for (auto &[event, block] : memory.pending) add(block);
  auto add_free = [&](Pool &pool) {
    for (auto &[key, list] : pool.free)
      for (Block *block : list) add(block);
  };
  add_free(memory.common);
  for (auto &[id, pool] : memory.graphs) add_free(*pool);
  PyObject *segments = PyList_New(0);
  for (Block *first : firsts) {
    PyObject *blocks = PyList_New(0);
    int64_t total = 0;
    for (Block *block = first; block && blocks; block = block->after) {
      total += block->bytes;
      PyObject *entry = Py_BuildValue("{s:K,s:L,s:L,s:s}", "address", (unsigned long long)block->at, "size", (long long)block->bytes, "requested_size",
                                      (long long)(block->used ? block->asked : 0), "state",
                                      block->used ? "active_allocated" : block->events ? "active_pending_free" : "inactive");
      if (!entry || PyList_Append(blocks, entry) < 0) Py_CLEAR(blocks);
      Py_XDECREF(entry);
    }
    PyObject *segment = blocks ? Py_BuildValue("{s:K,s:L,s:i,s:N,s:L,s:N}", "address", (unsigned long long)first->at, "total_size", (long long)total, "device",
                                               device, "stream", PyLong_FromVoidPtr(first->stream->handle), "pool", (long long)first->pool->id, "blocks", blocks)
                               : nullptr;
    if (!segment || !segments || PyList_Append(segments, segment) < 0) Py_CLEAR(segments);
    Py_XDECREF(segment);
  }
  return segments;
}

PyObject *record_stream_of(PyObject *, PyObject *args) {
  PyObject *tensor, *address;
  if (!PyArg_ParseTuple(args, "O!O:record_stream", aten->tensor_type, &tensor, &address)) return nullptr;
  void *handle = PyLong_AsVoidPtr(address);
  if (!handle && PyErr_Occurred()) return nullptr;
  Stream *stream = stream_of(handle);
  WeftStorage *storage = reinterpret_cast<WeftTensor *>(tensor)->storage;
  if (!stream || !storage || storage->device_type != WEFT_CUDA) return PyErr_Format(PyExc_RuntimeError, "record_stream: a tensor on cuda and one of its streams");
  record_stream(storage->data, stream);
  Py_RETURN_NONE;
}

PyObject *begin_pool(PyObject *, PyObject *args) {
  int device;
  long long id;
  if (!PyArg_ParseTuple(args, "iL:pool_begin", &device, &id) || !entered(device)) return nullptr;
  return PyLong_FromLongLong(pool_begin(device, id));
}

PyObject *end_pool(PyObject *, PyObject *arg) {
  int device = device_argument(arg);
  if (device < 0) return nullptr;
  pool_end(device);
  Py_RETURN_NONE;
}

PyObject *release_pool(PyObject *, PyObject *args) {
  int device;
  long long id;
  if (!PyArg_ParseTuple(args, "iL:pool_release", &device, &id)) return nullptr;
  if (!is_forked()) pool_release(device, id);
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef memory_functions[] = {
    {"memory_stats", memory_stats, METH_O, "memory_stats(device): {figure: {current, peak, allocated, freed}}"},
    {"reset_peak_stats", reset_peak_stats, METH_O, nullptr},
    {"reset_accumulated_stats", reset_accumulated_stats, METH_O, nullptr},
    {"empty_cache", empty_cache, METH_NOARGS, "give what is free back to the driver; the bytes given"},
    {"mem_get_info", mem_get_info, METH_O, "mem_get_info(device): (free, total) bytes, as the driver says"},
    {"set_memory_limit", set_memory_limit, METH_VARARGS, "set_memory_limit(device, bytes): what is reserved stays below; -1: no limit"},
    {"memory_snapshot", memory_snapshot, METH_O, "memory_snapshot(device): the segments and their blocks"},
    {"record_stream", record_stream_of, METH_VARARGS, "record_stream(tensor, stream handle)"},
    {"pool_begin", begin_pool, METH_VARARGS, "pool_begin(device, pool or 0): what this thread allocates comes from a pool of its own"},
    {"pool_end", end_pool, METH_O, "pool_end(device): and no longer"},
    {"pool_release", release_pool, METH_VARARGS, "pool_release(device, pool): one holder less"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace weft::cuda

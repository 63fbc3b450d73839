// pinned.cpp: host memory that the device copies from and to without staging, cached.
//
// Blocks come in powers of two. A copy notes its stream on the block it uses; a block that is given back is handed out again once an
// event behind the last of those has passed.
#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "extension.h"

namespace weft::cuda {

namespace {

constexpr int64_t kSmallest = 512;

struct Host {
  char *at;
  int64_t bytes;
  std::vector<Stream *> users;
  int events;
};

std::map<uintptr_t, Host *> used;                 // by address
std::multimap<int64_t, Host *> free_blocks;       // by size
std::deque<std::pair<CUevent, Host *>> pending;
int64_t allocated_bytes, reserved_bytes;

int64_t class_bytes(int64_t nbytes) {
  int64_t bytes = kSmallest;
  while (bytes < nbytes) bytes *= 2;
  return bytes;
}

void settle() {
  while (!pending.empty()) {
    auto [event, block] = pending.front();
    if (driver.cuEventQuery(event) != CUDA_SUCCESS) return;
    if (pending.empty() || pending.front().first != event) continue;
    pending.pop_front();
    driver.cuEventDestroy(event);
    if (--block->events == 0) free_blocks.insert({block->bytes, block});
  }
}

Host *at(const void *p) {
  auto it = used.upper_bound(reinterpret_cast<uintptr_t>(p));
  if (it == used.begin()) return nullptr;
  Host *block = std::prev(it)->second;
  return static_cast<const char *>(p) < block->at + block->bytes ? block : nullptr;
}

}  // namespace

void *pinned_allocate(int64_t nbytes) {
  const int device = current_device();
  if (!entered(device)) return nullptr;
  const int64_t bytes = class_bytes(nbytes);
  if (!in_private_pool(device)) settle();
  Host *block = nullptr;
  auto it = free_blocks.find(bytes);
  if (it != free_blocks.end()) {
    block = it->second;
    free_blocks.erase(it);
  } else {
    void *memory = nullptr;
    CUresult code;
    {
      WithoutGil asking;
      code = driver.cuMemHostAlloc(&memory, (size_t)bytes, 1);  // portable: pinned for every context
    }
    if (!ok(code, "cuMemHostAlloc")) return nullptr;
    block = new Host{static_cast<char *>(memory), bytes, {}, 0};
    reserved_bytes += bytes;
  }
  allocated_bytes += bytes;
  used[reinterpret_cast<uintptr_t>(block->at)] = block;
  return block->at;
}

bool pinned_use(const void *p, Stream *stream) {
  Host *block = at(p);
  if (block && stream && std::find(block->users.begin(), block->users.end(), stream) == block->users.end()) block->users.push_back(stream);
  return block != nullptr;
}

bool is_pinned(const void *p) { return at(p) != nullptr; }

void pinned_release(void *memory, Stream *used_by) {
  if (is_forked()) return;
  auto it = used.find(reinterpret_cast<uintptr_t>(memory));
  if (it == used.end()) return;
  Host *block = it->second;
  if (used_by) pinned_use(block->at, used_by);
  used.erase(it);
  allocated_bytes -= block->bytes;
  std::vector<Stream *> users = std::move(block->users);
  block->users.clear();
  block->events = (int)users.size() + 1;
  for (Stream *stream : users) {
    CUevent event;
    if (is_capturing(stream->handle)) continue;  // a graph may read it whenever it is played: it is never handed out again
    if (enter(stream->device) == CUDA_SUCCESS && driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS) {
      if (driver.cuEventRecord(event, stream->handle) == CUDA_SUCCESS) pending.push_back({event, block});
      else driver.cuEventDestroy(event);
    }
  }
  if (--block->events == 0) free_blocks.insert({block->bytes, block});
}

namespace {

void release_storage(WeftStorage *storage) { pinned_release(storage->data, nullptr); }

// pinned_empty(sizes, strides, dtype): a tensor of the CPU in pinned memory, its elements undefined
PyObject *pinned_empty(PyObject *, PyObject *args) {
  PyObject *sizes_arg, *strides_arg, *dtype_arg;
  if (!PyArg_ParseTuple(args, "O!O!O:pinned_empty", &PyTuple_Type, &sizes_arg, &PyTuple_Type, &strides_arg, &dtype_arg)) return nullptr;
  const int dtype = aten->dtype_code(dtype_arg), ndim = (int)PyTuple_GET_SIZE(sizes_arg);
  if (dtype < 0) return nullptr;
  if (ndim > WEFT_MAX_NDIM || PyTuple_GET_SIZE(strides_arg) != ndim) return PyErr_Format(PyExc_ValueError, "pinned_empty: %d sizes", ndim);
  int64_t sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM], last = 0;
  bool none = false;
  for (int i = 0; i < ndim; i++) {
    sizes[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(sizes_arg, i));
    strides[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(strides_arg, i));
    if (PyErr_Occurred()) return nullptr;
    none |= sizes[i] == 0;
    last += (sizes[i] - 1) * strides[i];
  }
  WeftStorage *storage = aten->storage_new(0, WEFT_CPU, 0);
  if (!storage) return nullptr;
  if (!none) {
    const int64_t nbytes = (last + 1) * weft_itemsize(dtype);
    storage->data = static_cast<char *>(pinned_allocate(nbytes));
    if (!storage->data) {
      aten->storage_decref(storage);
      return nullptr;
    }
    storage->nbytes = nbytes;
    storage->flags = WEFT_STORAGE_EXTERNAL;
    storage->release = release_storage;
  }
  return aten->tensor_new(weft_word(dtype, WEFT_CPU, 0, 0), ndim, sizes, strides, 0, storage);
}

PyObject *storage_is_pinned(PyObject *, PyObject *tensor) {
  if (!PyObject_TypeCheck(tensor, aten->tensor_type)) return PyErr_Format(PyExc_TypeError, "is_pinned: expected a tensor");
  WeftStorage *storage = reinterpret_cast<WeftTensor *>(tensor)->storage;
  return PyBool_FromLong(storage && storage->device_type == WEFT_CPU && storage->data && is_pinned(storage->data));
}

PyObject *host_stats(PyObject *, PyObject *) {
  return Py_BuildValue("{s:L,s:L}", "allocated_bytes", (long long)allocated_bytes, "reserved_bytes", (long long)reserved_bytes);
}

PyObject *empty_host_cache(PyObject *, PyObject *) {
  if (!start() || !entered(current_device())) return nullptr;
  settle();
  std::vector<char *> memory;
  for (auto &[bytes, block] : free_blocks) {
    memory.push_back(block->at);
    reserved_bytes -= bytes;
    delete block;
  }
  free_blocks.clear();
  {
    WithoutGil freeing;
    for (char *at : memory) driver.cuMemFreeHost(at);
  }
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef pinned_functions[] = {
    {"pinned_empty", pinned_empty, METH_VARARGS, "pinned_empty(sizes, strides, dtype): a tensor of the CPU in pinned memory"},
    {"is_pinned", storage_is_pinned, METH_O, "is_pinned(tensor)"},
    {"host_memory_stats", host_stats, METH_NOARGS, nullptr},
    {"empty_host_cache", empty_host_cache, METH_NOARGS, "give pinned memory that is free back"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace weft::cuda

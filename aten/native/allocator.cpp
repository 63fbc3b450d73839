// allocator.cpp: storage on the CPU from a caching allocator.
//
// Blocks are 64-byte aligned and come in size classes: multiples of 64 up to 1 KiB, then four steps an octave. A freed
// block waits in its class's list, newest first, because fresh pages cost far more than warm ones. What waits is bounded;
// beyond the bound, or when the system has no memory, blocks go back. All of it happens under the GIL.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "native.h"

namespace weft {

namespace {

constexpr int kSmallClasses = 17;  // class i holds 64 * i bytes, 1 <= i <= 16
constexpr int kClasses = kSmallClasses + 4 * 38;
constexpr int64_t kSmallLimit = 1024;
constexpr int64_t kHugePage = 2 << 20;
constexpr int64_t kLargest = int64_t(1) << 47;

struct Block {
  Block *next;
};

Block *free_blocks[kClasses];
WeftStorage *free_storages;  // linked through `owner`
int64_t cached_limit;

struct Stats {
  int64_t allocated, peak, cached, reserved, allocations, system_allocations;
} stats;

int class_of(int64_t nbytes) {
  if (nbytes <= kSmallLimit) return nbytes ? (int)((nbytes + 63) >> 6) : 1;
  uint64_t last = (uint64_t)nbytes - 1;
  int exponent = 63 - __builtin_clzll(last);
  return kSmallClasses + 4 * (exponent - 10) + (int)(last >> (exponent - 2) & 3);
}

int64_t class_bytes(int index) {
  if (index < kSmallClasses) return 64 * (int64_t)index;
  int octave = (index - kSmallClasses) / 4, step = (index - kSmallClasses) % 4;
  return (int64_t)(5 + step) << (octave + 8);
}

void free_system(void *block, int64_t bytes) {
  free(block);
  stats.reserved -= bytes;
}

int64_t release_cached() {
  int64_t released = 0;
  for (int index = 0; index < kClasses; index++) {
    while (Block *block = free_blocks[index]) {
      free_blocks[index] = block->next;
      free_system(block, class_bytes(index));
      released += class_bytes(index);
    }
  }
  stats.cached = 0;
  return released;
}

void *allocate_system(int64_t bytes) {
  size_t alignment = bytes >= 2 * kHugePage ? kHugePage : WEFT_ALIGNMENT;
  void *block = nullptr;
  if (posix_memalign(&block, alignment, (size_t)bytes) != 0) {
    if (!release_cached() || posix_memalign(&block, alignment, (size_t)bytes) != 0) return nullptr;
  }
  if (alignment == kHugePage) madvise(block, (size_t)(bytes / kHugePage * kHugePage), MADV_HUGEPAGE);  // advice only
  stats.reserved += bytes;
  stats.system_allocations++;
  return block;
}

inline void give_block(void *memory, int64_t nbytes) {
  int index = class_of(nbytes);
  int64_t bytes = class_bytes(index);
  stats.allocated -= nbytes;
  if (stats.cached + bytes > cached_limit) {
    free_system(memory, bytes);
    return;
  }
  Block *block = static_cast<Block *>(memory);
  block->next = free_blocks[index];
  free_blocks[index] = block;
  stats.cached += bytes;
}

inline void *take_block(int64_t nbytes) {
  int size_class = class_of(nbytes);
  Block *block = free_blocks[size_class];
  if (block) {
    free_blocks[size_class] = block->next;
    stats.cached -= class_bytes(size_class);
  } else {
    block = static_cast<Block *>(allocate_system(class_bytes(size_class)));
    if (!block) return nullptr;
  }
  stats.allocations++;
  stats.allocated += nbytes;
  if (stats.allocated > stats.peak) stats.peak = stats.allocated;
  return block;
}

void *allocate_block(int64_t nbytes, int) { return take_block(nbytes); }

void release_block(void *memory, int64_t nbytes, int) { give_block(memory, nbytes); }

int copy_block(void *to, const void *from, int64_t nbytes, WeftCopy, int) {
  memmove(to, from, (size_t)nbytes);
  return 0;
}

int fill_block(void *to, int byte, int64_t nbytes, int) {
  memset(to, byte, (size_t)nbytes);
  return 0;
}

// Of the CPU's own memory, which every call takes and gives, without a look at the table.
void release_main(WeftStorage *storage) { give_block(storage->data, storage->nbytes); }

void release_storage(WeftStorage *storage) {
  device_row(storage->device_type)->release(storage->data, storage->nbytes, storage->device_index);
}

void release_owner(WeftStorage *storage) { Py_XDECREF(static_cast<PyObject *>(storage->owner)); }

WeftStorage *new_struct() {
  WeftStorage *storage = free_storages;
  if (storage) {
    free_storages = static_cast<WeftStorage *>(storage->owner);
  } else {
    storage = static_cast<WeftStorage *>(malloc(sizeof(WeftStorage)));
    if (!storage) {
      PyErr_NoMemory();
      return nullptr;
    }
  }
  *storage = WeftStorage{};
  storage->refs = 1;
  return storage;
}

void free_struct(WeftStorage *storage) {
  storage->owner = free_storages;
  free_storages = storage;
}

__attribute__((constructor)) void set_limit() {
  int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  cached_limit = memory / 4;
}

}  // namespace

const WeftDevice cpu_row = {
    "cpu", true, [] { return 1; }, allocate_block, release_block, copy_block, fill_block, [](int) { return 0; }};

WeftStorage *storage_new(int64_t nbytes, int type, int index) {
  const bool main = type == WEFT_CPU && index == 0;
  if (!main && !device_exists(type, index)) return nullptr;
  if (nbytes < 0 || (nbytes > kLargest && main)) {
    PyErr_Format(PyExc_MemoryError, "cannot allocate %lld bytes", (long long)nbytes);
    return nullptr;
  }
  WeftStorage *storage = new_struct();
  if (!storage) return nullptr;
  storage->nbytes = nbytes;
  storage->device_type = (uint8_t)type;
  storage->device_index = (uint8_t)index;
  if (nbytes == 0 || (!main && !device_row(type)->has_memory)) return storage;
  storage->data = static_cast<char *>(main ? take_block(nbytes) : device_row(type)->allocate(nbytes, index));
  if (!storage->data) {
    free_struct(storage);
    if (!PyErr_Occurred())
      PyErr_Format(PyExc_MemoryError, "cannot allocate %lld bytes on %s", (long long)nbytes, device_row(type)->name);
    return nullptr;
  }
  storage->release = main ? release_main : release_storage;
  return storage;
}

void storage_decref(WeftStorage *storage) {
  if (!storage || --storage->refs > 0) return;
  if (__builtin_expect(calls_away != 0, 0)) park(storage);
  else storage_release(storage);
}

void storage_release(WeftStorage *storage) {
  if (__builtin_expect(storage->release == release_main, 1)) release_main(storage);
  else if (storage->release) storage->release(storage);
  free_struct(storage);
}

WeftStorage *storage_external(char *data, int64_t nbytes, PyObject *owner, bool readonly) {
  WeftStorage *storage = new_struct();
  if (!storage) return nullptr;
  storage->data = data;
  storage->nbytes = nbytes;
  storage->flags = WEFT_STORAGE_EXTERNAL | (readonly ? WEFT_STORAGE_READONLY : 0);
  storage->owner = Py_XNewRef(owner);
  storage->release = release_owner;
  return storage;
}

PyObject *memory_stats(PyObject *, PyObject *) {
  return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L}", "allocated_bytes", (long long)stats.allocated, "peak_bytes",
                       (long long)stats.peak, "cached_bytes", (long long)stats.cached, "reserved_bytes",
                       (long long)stats.reserved, "allocations", (long long)stats.allocations, "system_allocations",
                       (long long)stats.system_allocations);
}

PyObject *reset_peak_memory(PyObject *, PyObject *) {
  stats.peak = stats.allocated;
  Py_RETURN_NONE;
}

PyObject *empty_cache(PyObject *, PyObject *) { return PyLong_FromLongLong(release_cached()); }

}  // namespace weft

// simulated.cpp: a device for tests. Its memory is the machine's, but closed to everyone except copies and fills: whatever reads
// or writes it as if it were the host's dies at once.
#include <string.h>
#include <sys/mman.h>

#include "native.h"

namespace weft {

namespace {

int devices;

int64_t whole_pages(int64_t nbytes) { return (nbytes + 4095) / 4096 * 4096; }

// The pages that hold [memory, memory + nbytes), open while it lives.
class Opened {
 public:
  Opened(const void *memory, int64_t nbytes) {
    uintptr_t start = reinterpret_cast<uintptr_t>(memory) / 4096 * 4096, end = reinterpret_cast<uintptr_t>(memory) + (uintptr_t)nbytes;
    pages_ = reinterpret_cast<void *>(start);
    bytes_ = (size_t)whole_pages((int64_t)(end - start));
    mprotect(pages_, bytes_, PROT_READ | PROT_WRITE);
  }
  Opened(const Opened &) = delete;
  Opened &operator=(const Opened &) = delete;
  ~Opened() { mprotect(pages_, bytes_, PROT_NONE); }

 private:
  void *pages_;
  size_t bytes_;
};

void *allocate(int64_t nbytes, int) {
  void *memory = mmap(nullptr, (size_t)whole_pages(nbytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void release(void *block, int64_t nbytes, int) { munmap(block, (size_t)whole_pages(nbytes)); }

int copy(void *to, const void *from, int64_t nbytes, WeftCopy way, int) {
  if (way == WEFT_COPY_WITHIN) {
    char *between = static_cast<char *>(malloc((size_t)nbytes));
    if (!between) {
      PyErr_NoMemory();
      return -1;
    }
    copy(between, from, nbytes, WEFT_COPY_TO_HOST, 0);
    copy(to, between, nbytes, WEFT_COPY_FROM_HOST, 0);
    free(between);
  } else {
    Opened device(way == WEFT_COPY_FROM_HOST ? to : from, nbytes);
    memcpy(to, from, (size_t)nbytes);
  }
  return 0;
}

int fill(void *to, int byte, int64_t nbytes, int) {
  Opened device(to, nbytes);
  memset(to, byte, (size_t)nbytes);
  return 0;
}

const WeftDevice row = {"cuda", true, [] { return devices; }, allocate, release, copy, fill, [](int) { return 0; }};

}  // namespace

const WeftDevice *const simulated_device = &row;

void simulate_devices(int count) { devices = count; }

}  // namespace weft

// extension.h: what the files of aten._cuda promise each other. The other extensions see cuda.h only.
//
// Objects and tables are read and written under the GIL. A call of the driver may run other Python code (it may be given up around
// it), so no table is left half changed across one.
#ifndef WEFT_CUDA_EXTENSION_H
#define WEFT_CUDA_EXTENSION_H

#include <Python.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cuda.h"
#include "driver.h"
#include "streams.h"

namespace weft::cuda {

constexpr int kMaxDevices = 16;  // what a tensor's word has room for

extern const WeftAPI *aten;

// ------------------------------------------------------------------------------------------- errors.cpp
// The exception of a driver's code: always NULL. `what` may be NULL.
PyObject *raise(CUresult code, const char *call, const char *what = nullptr);
std::string describe(CUresult code);  // "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
inline bool ok(CUresult code, const char *call, const char *what = nullptr) {
  if (__builtin_expect(code == CUDA_SUCCESS, 1)) return true;
  raise(code, call, what);
  return false;
}
// f(arguments) of the driver's table; false with its exception set.
#define WEFT_CUDA_OK(f, ...) ok(driver.f(__VA_ARGS__), #f)

// The GIL, given up while a call of the driver waits. Storages that are freed meanwhile wait for its end.
class Away {
 public:
  Away();
  ~Away();
  Away(const Away &) = delete;
  Away &operator=(const Away &) = delete;

 private:
  PyThreadState *state_;
};
// The same without the promise to storages: for calls that read no tensor's memory.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { PyEval_RestoreThread(state_); }
  WithoutGil(const WithoutGil &) = delete;
  WithoutGil &operator=(const WithoutGil &) = delete;

 private:
  PyThreadState *state_;
};

// ------------------------------------------------------------------------------------------- devices.cpp
struct Stream {
  CUstream handle;
  int device;
  int64_t id;      // small, of this process; 0: a device's own
  int priority;
};

bool start();                     // opens the driver, counts devices; false with RuntimeError set
bool is_started();
bool is_forked();                 // a child of a process that had started: nothing may be asked of the driver
int device_count();               // that programs see
bool check_device(int device);    // false with RuntimeError set
CUresult enter(int device);       // the device's context is this thread's; without the GIL too
bool entered(int device);         // the same under it; false with an exception set
CUcontext context_of(int device);
int current_device();
Stream *current_stream(int device);
Stream *default_stream(int device);  // NULL where the driver refuses
Stream *stream_of(void *handle);     // of ours or an external one that was seen; NULL if unknown
// An int, a device object or None: an index that exists; -1 with an exception set.
int device_argument(PyObject *argument);
Stream *external_stream(void *handle, int device);  // the same; noted as another library's if it is unknown
Stream *known_stream(PyObject *handle);              // of ours, by its number; NULL with ValueError set
extern PyMethodDef device_functions[];
extern PyMethodDef stream_functions[];

// ----------------------------------------------------------------------------- events.cpp, interchange.cpp
bool init_events(PyObject *module);
extern PyMethodDef interchange_functions[];

// ----------------------------------------------------------------------------------------- allocator.cpp
void *allocate(int64_t nbytes, int device, Stream *stream);  // NULL with OutOfMemoryError set
void release(void *block);
int record_stream(void *block, Stream *stream);
int64_t pool_begin(int device, int64_t pool);
void pool_end(int device);
void pool_release(int device, int64_t pool);
bool in_private_pool(int device);  // of this thread
extern PyMethodDef memory_functions[];

// -------------------------------------------------------------------------------------------- pinned.cpp
void *pinned_allocate(int64_t nbytes);  // NULL with an exception set
void pinned_release(void *block, Stream *used_by);
// That a copy on the stream uses host memory at `p`; false: it is pageable.
bool pinned_use(const void *p, Stream *stream);
bool is_pinned(const void *p);
extern PyMethodDef pinned_functions[];

// ------------------------------------------------------------------------------------------- kernels.cpp
void *function_handle(PyObject *function);
CUresult launch(void *function, const uint32_t grid[3], uint32_t threads, uint32_t shared, void **params, size_t n, void *stream);
bool init_kernels(PyObject *module);

// -------------------------------------------------------------------------------------------- graphs.cpp
bool is_capturing(CUstream stream);
int add_node(void *graph, void *before, void **node, void *function, const uint32_t grid[3], uint32_t threads, uint32_t shared, void **params);
int kernel_nodes(void *graph, void **nodes, int room);
int update_node(void *executable, void *node, void *function, const uint32_t grid[3], uint32_t threads, uint32_t shared, void **params);
bool init_graphs(PyObject *module);

// --------------------------------------------------------------------------------------------- draws.cpp
struct Drawn {  // of a generator
  PyObject *generator;
  int64_t draw = -1;            // none yet
  uint64_t next = 0, most = 0;  // counters
  bool on_host = false;         // the CPU drew some in the capture
};
struct DrawingNode {  // a launch with numbers of the generators among its arguments
  void *node, *function;
  uint32_t grid[3], threads, shared;
  std::vector<int64_t> arguments, given;  // as captured, and as the executable has them
};
// What a capture draws.
struct Drawing {
  std::vector<Drawn> generators;
  std::vector<DrawingNode> nodes;
  bool closed = false;  // the capture has ended
  ~Drawing();
  void add(PyObject *generator);
};
// Around this thread's capture; before each launch of its executable. False with an exception set.
bool begin_draws(const std::shared_ptr<Drawing> &of);
bool end_draws(const std::shared_ptr<Drawing> &of);
bool replay_draws(Drawing &of, void *executable);
// Whether captured numbers are among n arguments of 8 bytes each; the numbers that they stand for now; and a launch with some, which was
// just captured on the stream.
bool has_draws(void **params, size_t n);
void settle_draws(int64_t *slots, size_t n);
CUresult keep_drawing_launch(void *function, const uint32_t grid[3], uint32_t threads, uint32_t shared, void **params, size_t n, CUstream stream);

// --------------------------------------------------------------------------------------------- memory.cpp
extern const WeftStreamedDevice device_row;
extern PyMethodDef fill_functions[];
CUresult copy_from_host(void *to, const void *from, int64_t nbytes, void *stream);
CUresult copy_to_host(void *to, const void *from, int64_t nbytes, void *stream);
CUresult copy_within(void *to, const void *from, int64_t nbytes, void *stream);
CUresult copy_across(void *to, int to_device, const void *from, int from_device, int64_t nbytes, void *stream);
CUresult fill(void *to, int byte, int64_t nbytes, void *stream);

// --------------------------------------------------------------------------------------------- counts.cpp
extern PyMethodDef count_functions[];

// Makes a heap type from `spec` and adds it to the module under its name.
PyTypeObject *add_type(PyObject *module, PyType_Spec *spec);

}  // namespace weft::cuda
#endif

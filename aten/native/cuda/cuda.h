// cuda.h: what aten._cuda gives to other extensions, as the capsule `aten._cuda._C_API`: a pointer to WeftCudaApi.
//
// Handles are the driver's (CUstream, CUevent, CUfunction, CUgraphExec) as void *. What returns an int returns the driver's code:
// 0, or what `raise` makes an exception of. Entries marked [any] are called with or without the GIL and keep no lock while
// they wait; all others are called under the GIL. A launch costs the driver's call and nothing more, so a runner gives the GIL
// up once around all of its launches, or not at all.
#ifndef WEFT_CUDA_H
#define WEFT_CUDA_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#define WEFT_CUDA_ABI 3

#ifdef __cplusplus
extern "C" {
#endif

typedef struct WeftCudaApi {
  int64_t abi;

  // This thread's device, and the stream of a device that it is on. Both never fail once a device exists.
  int (*current_device)(void);                       // [any]
  void *(*current_stream)(int device);               // [any]
  // Makes the device's primary context this thread's. Before the launches, copies and events of a call.
  int (*enter)(int device);                          // [any]

  // The CUfunction of an aten._cuda.Function; NULL with TypeError set.
  void *(*function)(PyObject *function);
  // One launch. `threads` are the block's, in x; `shared` is dynamic; `n` params as cuLaunchKernelEx takes them, each in memory
  // of 8 bytes, Triton's two trailing scratch pointers included. A grid with a 0 is not launched.
  int (*launch)(void *function, const uint32_t grid[3], uint32_t threads, uint32_t shared, void **params, size_t n, void *stream);  // [any]
  // Replaces numbers that a capture of a graph drew, among n arguments, by those of the graph's last replay: `launch` does.
  void (*settle_draws)(int64_t *arguments, size_t n);  // [any]

  // Memory of the caching allocator, to be used in the order of `stream` (NULL: the current one), and given back in that order:
  // `release` may be called while what uses it is still queued there. NULL with OutOfMemoryError set. 512-byte aligned.
  void *(*allocate)(int64_t nbytes, int device, void *stream);
  void (*release)(void *block);
  // That another stream uses the block too: it is reused once what is queued there at the time of its release has run.
  int (*record_stream)(void *block, void *stream);

  // In the order of a stream; returning at once (from pageable memory: once it has been read).
  int (*copy_from_host)(void *to, const void *from, int64_t nbytes, void *stream);   // [any]
  int (*copy_to_host)(void *to, const void *from, int64_t nbytes, void *stream);     // [any] pageable: returns when done
  int (*copy_within)(void *to, const void *from, int64_t nbytes, void *stream);      // [any]
  int (*copy_across)(void *to, int to_device, const void *from, int from_device, int64_t nbytes, void *stream);  // [any]
  int (*fill)(void *to, int byte, int64_t nbytes, void *stream);                     // [any]
  // Until all that is queued has run. These wait: without the GIL, please.
  int (*stream_synchronize)(void *stream);           // [any]

  // Events without timing, of the device that was entered; `event_query` gives 600 (not ready) where the event is ahead.
  int (*event_new)(void **event);                    // [any]
  int (*event_destroy)(void *event);                 // [any]
  int (*event_record)(void *event, void *stream);    // [any]
  int (*event_query)(void *event);                   // [any]
  int (*event_synchronize)(void *event);             // [any] waits
  int (*stream_wait)(void *stream, void *event);     // [any]

  // Host memory that copies need not stage, of the caching host allocator. `pinned_release` may be called while copies on `stream`
  // still use it. NULL with an exception set.
  void *(*pinned_allocate)(int64_t nbytes);
  void (*pinned_release)(void *block, int device, void *stream);

  // Whether a graph is being captured on the stream; recording one and playing it.
  bool (*is_capturing)(void *stream);                // [any]
  int (*capture_begin)(void *stream, int mode);      // [any] 0 global, 1 thread-local, 2 relaxed
  int (*capture_end)(void *stream, void **graph);    // [any] a graph to be given to `instantiate` and `graph_destroy`
  int (*instantiate)(void *graph, void **executable);  // [any]
  int (*graph_launch)(void *executable, void *stream);  // [any]
  // A graph without nodes; one more node, which runs after `before` (NULL: a first one), with arguments as `launch`'s.
  int (*graph_new)(void **graph);                    // [any]
  int (*add_node)(void *graph, void *before, void **node, void *function, const uint32_t grid[3], uint32_t threads, uint32_t shared,
                  void **params);                    // [any]
  // Kernel nodes of a captured graph in the order of their launches: how many there are; up to `room` are written. -1: an error.
  int (*kernel_nodes)(void *graph, void **nodes, int room);  // [any]
  // Other parameters for a node of the executable, from its next launch on; arguments as `launch`'s.
  int (*update_node)(void *executable, void *node, void *function, const uint32_t grid[3], uint32_t threads, uint32_t shared,
                     void **params);                 // [any]
  int (*executable_destroy)(void *executable);       // [any]
  int (*graph_destroy)(void *graph);                 // [any]
  // Memory allocated by this thread on `device` between `pool_begin` and `pool_end` comes from a pool of its own, never given
  // to others, until `pool_release` (and all of it has been given back): what a captured graph uses. 0 from begin: a new pool.
  int64_t (*pool_begin)(int device, int64_t pool);
  void (*pool_end)(int device);
  void (*pool_release)(int device, int64_t pool);

  // The exception of a driver's code: aten.errors.CudaError naming code, call and what it was for (an op and the user's line;
  // may be NULL); OutOfMemoryError of code 2. Always NULL.
  PyObject *(*raise)(int code, const char *call, const char *what);
} WeftCudaApi;

// The API of aten._cuda, which is imported and opened where it was not; NULL with an exception set where there is no driver.
static inline const WeftCudaApi *weft_import_cuda(void) {
  PyObject *module = PyImport_ImportModule("aten._cuda");
  if (!module) return NULL;
  PyObject *ready = PyObject_CallMethod(module, "initialize", NULL);
  Py_DECREF(module);
  if (!ready) return NULL;
  Py_DECREF(ready);
  const WeftCudaApi *api = (const WeftCudaApi *)PyCapsule_Import("aten._cuda._C_API", 0);
  if (api && api->abi != WEFT_CUDA_ABI) {
    PyErr_SetString(PyExc_ImportError, "this extension was built for another aten._cuda: rebuild weft");
    return NULL;
  }
  return api;
}

#ifdef __cplusplus
}
#endif
#endif

// weft.h: everything the three native extensions (aten, dynamo, inductor) share.
//
// aten owns what is declared here and exports it as one capsule, `aten._native._C_API`: a pointer to
// WeftAPI. The other extensions call weft_import_api() at import, which refuses another layout. All
// fields are read and written under the GIL. Nothing here includes Python beyond <Python.h>.
#ifndef WEFT_H
#define WEFT_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#define WEFT_ABI 7
#define WEFT_MAX_NDIM 72  // masks of dims have 64 bits: what takes dims refuses more, as PyTorch does
#define WEFT_INLINE_NDIM 5
#define WEFT_ALIGNMENT 64

#ifdef __cplusplus
extern "C" {
#endif

// ---------------------------------------------------------------------------------------- dtypes
// All that is said of a dtype once. Codes are part of the cache key and of Program files: append only. Those from FLOAT8_E4M3FN on are kept
// in memory and cast only: no native rule takes them.
// code, bytes, kind, signed, name, in messages, in graphs, its elements in messages, in NumPy (-1: registered there by ml_dtypes)
#define WEFT_DTYPES(ROW)                                                                            \
  ROW(BOOL, 1, BOOL, 0, "bool", "Bool", "b8", "bool", NPY_BOOL)                                     \
  ROW(UINT8, 1, INTEGER, 0, "uint8", "Byte", "u8", "uint8_t", NPY_UINT8)                            \
  ROW(INT8, 1, INTEGER, 1, "int8", "Char", "i8", "int8_t", NPY_INT8)                                \
  ROW(INT16, 2, INTEGER, 1, "int16", "Short", "i16", "int16_t", NPY_INT16)                          \
  ROW(INT32, 4, INTEGER, 1, "int32", "Int", "i32", "int32_t", NPY_INT32)                            \
  ROW(INT64, 8, INTEGER, 1, "int64", "Long", "i64", "int64_t", NPY_INT64)                           \
  ROW(UINT16, 2, INTEGER, 0, "uint16", "UInt16", "u16", "uint16_t", NPY_UINT16)                     \
  ROW(UINT32, 4, INTEGER, 0, "uint32", "UInt32", "u32", "uint32_t", NPY_UINT32)                     \
  ROW(UINT64, 8, INTEGER, 0, "uint64", "UInt64", "u64", "uint64_t", NPY_UINT64)                     \
  ROW(FLOAT16, 2, FLOAT, 1, "float16", "Half", "f16", "c10::Half", NPY_HALF)                        \
  ROW(BFLOAT16, 2, FLOAT, 1, "bfloat16", "BFloat16", "bf16", "c10::BFloat16", -1)                   \
  ROW(FLOAT32, 4, FLOAT, 1, "float32", "Float", "f32", "float", NPY_FLOAT)                          \
  ROW(FLOAT64, 8, FLOAT, 1, "float64", "Double", "f64", "double", NPY_DOUBLE)                       \
  ROW(COMPLEX64, 8, COMPLEX, 1, "complex64", "ComplexFloat", "c64", "c10::complex<float>", NPY_CFLOAT)      \
  ROW(COMPLEX128, 16, COMPLEX, 1, "complex128", "ComplexDouble", "c128", "c10::complex<double>", NPY_CDOUBLE) \
  ROW(FLOAT8_E4M3FN, 1, FLOAT, 1, "float8_e4m3fn", "Float8_e4m3fn", "f8e4m3fn", "c10::Float8_e4m3fn", -1)  \
  ROW(FLOAT8_E5M2, 1, FLOAT, 1, "float8_e5m2", "Float8_e5m2", "f8e5m2", "c10::Float8_e5m2", -1)     \
  ROW(FLOAT8_E4M3FNUZ, 1, FLOAT, 1, "float8_e4m3fnuz", "Float8_e4m3fnuz", "f8e4m3fnuz", "c10::Float8_e4m3fnuz", -1) \
  ROW(FLOAT8_E5M2FNUZ, 1, FLOAT, 1, "float8_e5m2fnuz", "Float8_e5m2fnuz", "f8e5m2fnuz", "c10::Float8_e5m2fnuz", -1) \
  ROW(COMPLEX32, 4, COMPLEX, 1, "complex32", "ComplexHalf", "c32", "c10::complex<c10::Half>", -1)   \
  ROW(FLOAT8_E8M0FNU, 1, FLOAT, 1, "float8_e8m0fnu", "Float8_e8m0fnu", "f8e8m0fnu", "c10::Float8_e8m0fnu", -1)

#define WEFT_DTYPE_CODE(code, ...) WEFT_##code,
enum WeftDType { WEFT_DTYPES(WEFT_DTYPE_CODE) WEFT_NUM_DTYPES };
enum WeftDeviceType { WEFT_CPU = 0, WEFT_CUDA = 1, WEFT_META = 2 };

static inline int weft_itemsize(int dtype) {
#define WEFT_DTYPE_SIZE(code, size, ...) size,
  static const uint8_t size[WEFT_NUM_DTYPES] = {WEFT_DTYPES(WEFT_DTYPE_SIZE)};
  return size[dtype];
}

// --------------------------------------------------------------------------------- the tensor word
// What a guard compares in one instruction. requires_grad is the public property: true for a leaf that
// was asked to, and for every result that has a grad_fn.
#define WEFT_WORD_DTYPE 0x000000ffu
#define WEFT_WORD_DEVICE 0x0000ff00u  // type in bits 8-11, index in bits 12-15
#define WEFT_WORD_NDIM 0x00ff0000u
#define WEFT_WORD_REQUIRES_GRAD 0x01000000u
#define WEFT_WORD_TRACER 0x02000000u     // no storage; the C size fields are not valid
#define WEFT_WORD_CONTIGUOUS 0x04000000u // row-major without gaps (kept true by whoever sets the strides)
#define WEFT_WORD_INFERENCE 0x08000000u  // made under inference_mode

static inline uint32_t weft_word(int dtype, int device_type, int device_index, int ndim) {
  return (uint32_t)dtype | (uint32_t)device_type << 8 | (uint32_t)device_index << 12 | (uint32_t)ndim << 16;
}

// ----------------------------------------------------------------------------------------- devices
// What memory is made of, by type of device: `api->device(WEFT_CUDA)`. An extension that serves a device puts its row there;
// kernels are not here: an op has its own by device (aten/op.py), and one without any for a device is not run there.
enum WeftCopy { WEFT_COPY_WITHIN, WEFT_COPY_FROM_HOST, WEFT_COPY_TO_HOST };

typedef struct WeftDevice {
  const char *name;                          // "cpu"
  bool has_memory;                           // false: sizes only, nothing below is called
  int (*count)(void);                        // how many there are on this machine; indices are below it
  void *(*allocate)(int64_t nbytes, int index);            // 64-byte aligned; NULL where there is no memory
  void (*release)(void *block, int64_t nbytes, int index);
  // Bytes among this device's memory and the host's, complete on return; 0, or -1 with an exception set.
  int (*copy)(void *to, const void *from, int64_t nbytes, enum WeftCopy way, int index);
  int (*fill)(void *to, int byte, int64_t nbytes, int index);
  int (*synchronize)(int index);             // until all that was given to the device is done
} WeftDevice;

// ------------------------------------------------------------------------------------------ storage
enum WeftStorageFlags { WEFT_STORAGE_READONLY = 1, WEFT_STORAGE_EXTERNAL = 2 };

struct WeftTensor;

typedef struct WeftStorage {
  char *data;          // 64-byte aligned when ours; NULL when nbytes is 0
  int64_t nbytes;
  int64_t refs;        // under the GIL
  uint32_t version;    // advanced by every in-place write through any view (but see WeftVersion)
  uint8_t device_type, device_index, flags, reserved;
  void (*release)(struct WeftStorage *); // frees data; the struct is freed by weft_storage_decref
  void *owner;         // what keeps external memory alive, for `release`
  int64_t exports;     // arrays, buffers and capsules that show this memory: while there are any it must not move
  struct WeftTensor *views; // first of the tensors of this memory that are known as views (inplace.cpp)
} WeftStorage;

// ------------------------------------------------------------------------------------------- tensor
enum WeftTensorFlags {
  WEFT_FLAG_OWN_VERSION = 2, // `own` counts the writes: of `.data`, of what was given other memory by `.data =`, and of their views
  WEFT_FLAG_RETAIN_GRAD = 4,
  WEFT_FLAG_TRACKED = 8,   // known to the garbage collector
  WEFT_FLAG_NEG = 16,      // reserved
  WEFT_FLAG_RELAID = 32,   // its layout changed in place (`t_()`): views made before do not follow from it
  WEFT_FLAG_HIDDEN = 64,   // stands for what such a tensor was before; no user has it
  // How a view was made, where autograd could not follow a write to it; its own views have that too (inplace.cpp).
  WEFT_FLAG_OF_NO_GRAD = 128,
  WEFT_FLAG_OF_INFERENCE = 256,
  WEFT_FLAG_OF_SEVERAL = 512,   // one of several results
  WEFT_FLAG_OF_FUNCTION = 1024  // by a user's autograd.Function
};
#define WEFT_FLAGS_OF_VIEW (WEFT_FLAG_OF_NO_GRAD | WEFT_FLAG_OF_INFERENCE | WEFT_FLAG_OF_SEVERAL | WEFT_FLAG_OF_FUNCTION)

// A count of writes that some tensors of a memory have apart from the others.
typedef struct WeftVersion {
  uint32_t count, refs;
} WeftVersion;

struct WeftNode;

typedef struct WeftTensor {
  PyObject_HEAD
  uint32_t word;
  uint32_t flags;
  int64_t offset;            // in elements
  int64_t numel;
  int64_t *sizes;            // ndim entries; points to dims, or to the heap when ndim > WEFT_INLINE_NDIM
  int64_t *strides;          // in elements, may be 0 or (never for our own results) negative
  WeftStorage *storage;      // NULL for a Tracer. (What a call looks at stands up to here: one or two lines of cache)
  int64_t dims[2 * WEFT_INLINE_NDIM];
  struct WeftNode *grad_fn;  // owned; NULL for a leaf
  uint32_t output_nr;        // which result of grad_fn this is
  uint32_t view_version;     // of a view: the version that grad_fn belongs to
  struct WeftNode *accumulator; // borrowed: the leaf's AccumulateGrad node, cleared by that node's dealloc
  PyObject *grad;            // owned Tensor or NULL
  PyObject *view_of;         // owned; for a view: tuple (base tensor, op, arguments), else NULL
  struct WeftTensor *next_view, **view_link; // of a view: its place in the list of its storage, or NULL
  PyObject *hooks;           // owned list of tensor hooks or NULL
  PyObject *dict;
  PyObject *weakrefs;
  WeftVersion *own;          // owned, if WEFT_FLAG_OWN_VERSION (else it has no meaning)
} WeftTensor;

#define WEFT_NDIM(t) ((int)((((WeftTensor *)(t))->word & WEFT_WORD_NDIM) >> 16))
#define WEFT_DTYPE(t) ((int)(((WeftTensor *)(t))->word & WEFT_WORD_DTYPE))
#define WEFT_DEVICE_TYPE(t) ((int)((((WeftTensor *)(t))->word >> 8) & 15))
#define WEFT_REQUIRES_GRAD(t) ((((WeftTensor *)(t))->word & WEFT_WORD_REQUIRES_GRAD) != 0)
#define WEFT_IS_TRACER(t) ((((WeftTensor *)(t))->word & WEFT_WORD_TRACER) != 0)

static inline char *weft_data(const WeftTensor *t) {
  return t->storage->data + t->offset * weft_itemsize(WEFT_DTYPE(t));
}

// ----------------------------------------------------------------------------------------- autograd
// A Node is one step of the backward walk: it turns the gradients of its outputs into those of its inputs.
// `backward` is any callable: backward(node, grads: tuple) -> tuple, one entry (Tensor or None) an edge.
typedef struct WeftEdge {
  struct WeftNode *node;     // owned; NULL where no gradient is wanted
  uint32_t nr;               // which output of `node`
  uint32_t word;             // dtype and device that the consumer expects: the engine casts gradients back to it
} WeftEdge;

typedef struct WeftNode {
  PyObject_VAR_HEAD
  PyObject *name;            // str: "AddBackward", as printed by repr
  PyObject *backward;        // callable; NULL for AccumulateGrad
  PyObject *saved;           // owned tuple of what `backward` needs (tensors by SavedTensor), or NULL once freed
  PyObject *metas;           // owned tuple: for each output (sizes, dtype, device); NULL where `layouts` has them
  int64_t *layouts;          // for each output: word, ndim, sizes...; NULL when some output is a Tracer
  PyObject *variable;        // AccumulateGrad only: owned leaf tensor
  PyObject *pre_hooks, *post_hooks; // lists or NULL
  uint64_t sequence;         // order of creation, of one thread's clock: later nodes run first
  uint32_t n_outputs;
  uint32_t n_edges;
  WeftEdge *edges;
  PyObject *dict;
  PyObject *weakrefs;
} WeftNode;

// ------------------------------------------------------------------------------------- ambient word
// One 64-bit word a thread: all state that changes what an op means. A compiled entry guards it by one compare
// under WEFT_AMBIENT_GUARDED.
#define WEFT_AMBIENT_GRAD (1ull << 0)           // gradients are recorded (default on)
#define WEFT_AMBIENT_INFERENCE (1ull << 1)
#define WEFT_AMBIENT_DETERMINISTIC (1ull << 2)
#define WEFT_AMBIENT_MATMUL_PRECISION (3ull << 3) // 0 highest, 1 high, 2 medium
#define WEFT_AMBIENT_AUTOCAST_CPU (1ull << 5)
#define WEFT_AMBIENT_AUTOCAST_CUDA (1ull << 6)
#define WEFT_AMBIENT_SAVED_HOOKS (1ull << 7)    // what is saved for backward goes through a user's hooks
#define WEFT_AMBIENT_DEFAULT_DTYPE (0xffull << 8)
#define WEFT_AMBIENT_AUTOCAST_DTYPE (0xffull << 16)
#define WEFT_AMBIENT_LEVELS (0xffull << 24)     // number of open transform levels (trace, vmap, jvp, grad ...)
#define WEFT_AMBIENT_MODES (0xffull << 32)      // number of user modes and subclasses' handlers
#define WEFT_AMBIENT_GUARDED 0xffffffffffffffffull

// ----------------------------------------------------------------------------------------- kernels
// What every generated kernel and every native kernel is handed. A kernel returns 0, or 1 + the index of the
// check that failed, having written nothing visible; it may fill `error` first.
typedef struct WeftErrorRecord {
  int64_t check;             // index into the Program's table of checks {op, user line, argument}
  int64_t value, bound;      // the offending value and the limit it broke
} WeftErrorRecord;

typedef struct WeftKernelRuntime {
  // Calls body(ctx, begin, end, worker) on disjoint ranges that cover [0, n), none shorter than grain but the last;
  // inline when the pool is busy, when called from a worker, or when one range is enough.
  void (*parallel_for)(int64_t n, int64_t grain, void (*body)(void *ctx, int64_t begin, int64_t end, int64_t worker),
                       void *ctx);
  // 64-byte aligned memory of this worker, valid until its next call or the kernel's end. Never NULL: where there is none,
  // std::bad_alloc is thrown, through the kernel and out of parallel_for.
  void *(*scratch)(int64_t worker, int64_t bytes);
  int64_t num_threads;
  WeftErrorRecord *error;
  const struct WeftGemmTable *gemm; // matrix products (gemm.h) for this processor
} WeftKernelRuntime;

typedef int64_t (*WeftKernel)(void *const *buffers, const int64_t *symbols, const WeftKernelRuntime *runtime);

// --------------------------------------------------------------------------------------------- API
typedef struct WeftAPI {
  int64_t abi, sizeof_tensor, sizeof_storage, sizeof_node;

  PyTypeObject *tensor_type;
  PyTypeObject *node_type;
  PyObject *parameter_type;     // set by aten.tensor once Parameter exists; NULL before

  // Storage. storage_new takes from the caching allocator (contents undefined); NULL with MemoryError set.
  WeftStorage *(*storage_new)(int64_t nbytes, int device_type, int device_index);
  void (*storage_decref)(WeftStorage *);

  // tensor_new steals the reference to `storage`; sizes and strides are copied; strides NULL means contiguous.
  // `word` gives dtype and device only. NULL with an exception set (storage released).
  PyObject *(*tensor_new)(uint32_t word, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset,
                          WeftStorage *storage);
  PyObject *(*empty)(uint32_t word, int ndim, const int64_t *sizes, const int64_t *strides);
  // `empty` of a row-major layout that was computed before, and is believed: `word` whole (number of dims and WEFT_WORD_CONTIGUOUS
  // too), at most WEFT_INLINE_NDIM sizes and then as many strides, elements and bytes.
  PyObject *(*empty_row_major)(uint32_t word, const int64_t *dims, int64_t numel, int64_t bytes);
  // A view of `base` (same storage) without autograd; view_of is left NULL. RuntimeError if it reaches beyond the storage.
  PyObject *(*alias)(WeftTensor *base, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset);
  // The same, known as a view of `base`: what is written to one with history, the other has, too.
  PyObject *(*known_view)(WeftTensor *base, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset);
  // The C data of a DType object <-> its code; -1 with TypeError set.
  int (*dtype_code)(PyObject *dtype);
  PyObject *(*dtype_object)(int code); // borrowed

  uint64_t *(*ambient)(void);   // this thread's word

  // Threads, scratch memory, and the runtime handed to kernels (with `error` of this thread).
  const WeftKernelRuntime *(*kernel_runtime)(void);
  int (*num_threads)(void);

  // Philox4x32-10: reserve `count` counters of the default CPU generator; gives seed and the first counter.
  void (*philox_reserve)(uint64_t count, uint64_t *seed, uint64_t *offset);

  // Make one Node and set it as grad_fn of `outputs` (tensors). Edges go to the inputs that require grad (others may
  // be any object). `saved` is a tuple kept for backward(node, grads); tensors in it are kept with their versions.
  // Returns 0, or -1 with an exception set.
  int (*record)(PyObject *name, PyObject *backward, PyObject *const *inputs, Py_ssize_t n_inputs, PyObject *const *outputs,
                Py_ssize_t n_outputs, PyObject *saved);
  // Raises where eager would for an in-place write to `t` now (leaf that requires grad, read-only memory, expanded).
  int (*check_inplace)(WeftTensor *t);

  // Around what runs without the GIL (both under it): memory that is freed in between waits, and tensors keep their layouts.
  // Where call_goes_away says false, the GIL is kept, and call_ended is not called.
  bool (*call_goes_away)(void);
  void (*call_ended)(void);

  // Behind PyEval_SaveThread with its result, and with NULL before PyEval_RestoreThread: in between kernels look for signals, and
  // throw (an exception is set) where a handler raises.
  void (*without_gil)(PyThreadState *state);

  // The row of a type of device, never NULL; and another in its place (kept by whoever sets it).
  const WeftDevice *(*device)(int type);
  void (*set_device)(int type, const WeftDevice *row);
} WeftAPI;

static inline uint32_t *weft_version(const WeftTensor *t) {
  return t->flags & WEFT_FLAG_OWN_VERSION ? &t->own->count : &t->storage->version;
}

static inline void weft_bump_version(WeftTensor *t) { ++*weft_version(t); }

static inline const WeftAPI *weft_import_api(void) {
  const WeftAPI *api = (const WeftAPI *)PyCapsule_Import("aten._native._C_API", 0);
  if (!api) return NULL;
  if (api->abi != WEFT_ABI || api->sizeof_tensor != sizeof(WeftTensor) || api->sizeof_storage != sizeof(WeftStorage) ||
      api->sizeof_node != sizeof(WeftNode)) {
    PyErr_Format(PyExc_ImportError,
                 "this extension was built for ABI %d of aten._native, which has ABI %lld: rebuild weft", WEFT_ABI,
                 (long long)api->abi);
    return NULL;
  }
  return api;
}

#ifdef __cplusplus
}
#endif
#endif

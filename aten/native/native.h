// native.h: what the files of aten._native promise each other. The other extensions see weft.h only.
#ifndef WEFT_NATIVE_H
#define WEFT_NATIVE_H

#include <Python.h>
#include <structmember.h>

#include <utility>

#include "weft.h"

namespace weft {

// An owned reference that is dropped at the end of its scope.
class Ref {
 public:
  Ref() : p_(nullptr) {}
  explicit Ref(PyObject *owned) : p_(owned) {}
  Ref(Ref &&other) noexcept : p_(other.release()) {}
  Ref(const Ref &) = delete;
  Ref &operator=(const Ref &) = delete;
  Ref &operator=(Ref &&other) noexcept {
    reset(other.release());
    return *this;
  }
  ~Ref() { Py_XDECREF(p_); }
  static Ref borrow(PyObject *p) {
    Py_XINCREF(p);
    return Ref(p);
  }
  PyObject *get() const { return p_; }
  PyObject *release() { return std::exchange(p_, nullptr); }
  void reset(PyObject *owned = nullptr) {
    PyObject *old = std::exchange(p_, owned);
    Py_XDECREF(old);
  }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  PyObject *p_;
};

inline WeftTensor *as_tensor(PyObject *p) { return reinterpret_cast<WeftTensor *>(p); }
inline PyObject *as_object(void *p) { return reinterpret_cast<PyObject *>(p); }

// dtype.cpp
extern PyTypeObject *dtype_type;
extern PyObject *dtype_objects[WEFT_NUM_DTYPES];
const char *dtype_name(int code);
const char *shown_name();  // of the module in texts: weft, or torch while weft stands in its place
int dtype_code(PyObject *dtype);           // -1 with TypeError set
PyObject *dtype_object(int code);          // borrowed
enum DTypeKind { KIND_BOOL, KIND_INTEGER, KIND_FLOAT, KIND_COMPLEX };
DTypeKind dtype_kind(int code);
bool dtype_is_signed(int code);
inline bool is_wide_unsigned(int code) { return code >= WEFT_UINT16 && code <= WEFT_UINT64; }  // promotes with floats alone
bool dtype_is_float8(int code);            // kept and cast only: it promotes with nothing
int promote_dtypes(int a, int b);          // PyTorch's promotion of two dtypes of equal standing; WEFT_NUM_DTYPES: there is none
PyObject *numpy_descr(int code);           // new reference to a numpy.dtype
int dtype_of_descr(PyObject *descr);       // -1 with TypeError or ValueError set

// device.cpp
extern PyTypeObject *device_type;
PyObject *device_object(int type, int index); // new reference
// Reads a Device, a string, or None (cpu); false with an exception set.
bool parse_device(PyObject *arg, int *type, int *index);
constexpr int kDevices = WEFT_META + 1;
extern const char *const device_names[kDevices];
constexpr int kLargestIndex = 15;  // room in the tensor word

// devices.cpp: the table of WeftDevice
const WeftDevice *device_row(int type);
void set_device_row(int type, const WeftDevice *row);
bool device_exists(int type, int index);   // false with RuntimeError set
int device_index(int type, int index);     // of a device that may name none
// `ahead`: the copy may still be under way on return, in the order of the device's stream
bool copy_bytes(char *to, int to_type, int to_index, const char *from, int from_type, int from_index, int64_t nbytes, bool ahead = false);
PyObject *moved(WeftTensor *t, int type, int index, bool ahead = false);  // its elements and strides on another device; NULL with an exception set
extern PyMethodDef device_functions[], inplace_functions[];

// size.cpp
extern PyTypeObject *size_type;
PyObject *size_object(int ndim, const int64_t *sizes); // new Size
PyObject *int_tuple(int ndim, const int64_t *values);  // new plain tuple
// Reads a sequence of ints into `out` (room for WEFT_MAX_NDIM); the number read, or -1 with an exception set.
int parse_ints(PyObject *sequence, int64_t *out, const char *what);

// allocator.cpp
WeftStorage *storage_new(int64_t nbytes, int device_type, int device_index);
extern const WeftDevice cpu_row;             // the caching allocator as a row of the table
void storage_decref(WeftStorage *storage);
void storage_release(WeftStorage *storage);  // of one without references: gives back memory and struct
// Memory that `owner` keeps alive (a reference is taken); dropped with the storage.
WeftStorage *storage_external(char *data, int64_t nbytes, PyObject *owner, bool readonly);
PyObject *memory_stats(PyObject *, PyObject *);
PyObject *empty_cache(PyObject *, PyObject *);
PyObject *reset_peak_memory(PyObject *, PyObject *);

// storage.cpp
extern PyTypeObject *storage_type;
// Takes a new reference to `storage`; `exports` while it lives, if asked.
PyObject *storage_object(WeftStorage *storage, bool exports = false);
bool storage_resize(WeftStorage *storage, int64_t bytes);  // false with an exception set

// tensor.cpp
extern PyTypeObject *tensor_type;
inline bool is_tensor(PyObject *p) { return Py_TYPE(p) == tensor_type || PyType_IsSubtype(Py_TYPE(p), tensor_type); }
PyObject *tensor_new(uint32_t word, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset,
                     WeftStorage *storage);
PyObject *empty(uint32_t word, int ndim, const int64_t *sizes, const int64_t *strides);
// `empty` of the sizes of a contiguous tensor of the CPU, of at most WEFT_INLINE_NDIM dims: nothing is to be checked.
PyObject *empty_like_row_major(const WeftTensor *t, int dtype);
PyObject *empty_row_major(uint32_t word, const int64_t *dims, int64_t numel, int64_t bytes);
PyObject *alias(WeftTensor *base, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset);
// The base's memory in items of `dtype`; an error where the window is not inside.
PyObject *alias_in(int dtype, WeftTensor *base, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset);
PyObject *checked_alias(WeftTensor *base, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset);
void contiguous_strides(int ndim, const int64_t *sizes, int64_t *strides);
bool strides_are_contiguous(int ndim, const int64_t *sizes, const int64_t *strides);
// Number of elements; -1 with RuntimeError set if a size is negative or the bytes overflow int64.
int64_t checked_numel(int ndim, const int64_t *sizes, int itemsize);
// Whether all elements of a layout lie inside of `nbytes` bytes, and no step of it, in bytes, is beyond 64 bits.
bool window_inside(int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset, int itemsize, int64_t nbytes);
// From now on the writes to `t` and its views are counted apart from others to the same memory, beginning with `count`.
bool count_apart(WeftTensor *t, uint32_t count);
// Replaces sizes, strides and offset of an existing tensor; false with MemoryError set.
bool set_layout(WeftTensor *t, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset);
void track(WeftTensor *t); // makes it known to the garbage collector
// For entries that need memory: raises, naming `what` and the transform, when `t` is a Tracer.
bool need_memory(WeftTensor *t, const char *what);
PyObject *tensor_detach(PyObject *self, PyObject *);
PyObject *tensor_resize_(PyObject *self, PyObject *args);
extern PyMethodDef tensor_functions[];

// attributes.cpp, export.cpp, dlpack.cpp, scalar.cpp
extern PyGetSetDef tensor_getset[];
extern PyMethodDef tensor_methods[];
PyObject *tensor_numpy(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *tensor_array(PyObject *self, PyObject *args, PyObject *kwargs);
int tensor_getbuffer(PyObject *self, Py_buffer *view, int flags);
void tensor_releasebuffer(PyObject *self, Py_buffer *view);
PyObject *from_numpy(PyObject *, PyObject *array);
PyObject *tensor_dlpack(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *tensor_dlpack_device(PyObject *self, PyObject *);
PyObject *from_dlpack(PyObject *, PyObject *object);
PyObject *tensor_item(PyObject *self, PyObject *);
PyObject *tensor_tolist(PyObject *self, PyObject *);
PyObject *read_scalar(const char *p, int dtype);                 // Python number of one element
PyObject *tensor_of_numbers(PyObject *, PyObject *args);         // literals.cpp
bool write_scalar(char *p, int dtype, PyObject *value);          // false with an exception set
bool write_element(char *p, int dtype, PyObject *value, bool alone = false);  // the same; what is finite must stay so, but for narrow floats of a tensor of one
int tensor_bool(PyObject *self);
PyObject *tensor_int(PyObject *self);
PyObject *tensor_float(PyObject *self);
PyObject *tensor_index(PyObject *self);

// ambient.cpp
uint64_t *ambient();
inline bool grad_enabled() { return *ambient() & WEFT_AMBIENT_GRAD; }
inline int default_dtype() { return (int)((*ambient() & WEFT_AMBIENT_DEFAULT_DTYPE) >> 8); }
extern PyMethodDef ambient_functions[];

// threads.cpp
const WeftKernelRuntime *kernel_runtime();
int num_threads();
bool init_threads();
extern PyMethodDef thread_functions[];

// released.cpp (see released.h)
extern int64_t calls_away;        // calls that have given up the GIL and not returned yet
bool call_goes_away();            // before giving up the GIL; false: keep it
void call_ended();                // of this thread's, which was away
void park(WeftStorage *storage);  // of no references: released once the calls that are away now have returned
bool wait_for_calls();            // until no other thread's call is away; false with an exception set
void forget_calls();              // in the child of a fork: no other thread runs here

// philox.cpp
void philox_reserve(uint64_t count, uint64_t *seed, uint64_t *offset);
extern PyTypeObject *generator_type;
extern PyMethodDef philox_functions[];

// module.cpp
PyTypeObject *parameter_type();  // NULL before aten.tensor has defined Parameter

// node.cpp
extern PyTypeObject *node_type;
// The node that gives the gradient of `t`: its grad_fn (of a view: brought up to date), or its AccumulateGrad, made on first
// use. New reference; NULL with an exception set.
WeftNode *gradient_node(WeftTensor *t);
int record(PyObject *name, PyObject *backward, PyObject *const *inputs, Py_ssize_t n_inputs, PyObject *const *outputs,
           Py_ssize_t n_outputs, PyObject *saved);
bool init_node(PyObject *module);
PyObject *get_grad_fn(PyObject *tensor, void *), *get_noted_grad_fn(PyObject *tensor, void *);
int set_grad_fn(PyObject *tensor, PyObject *node, void *);
int set_requires_grad(PyObject *tensor, PyObject *value, void *);  // -1 with an exception set
void take_history(WeftTensor *t, WeftNode *node, uint32_t output_nr);  // from now on the tensor is an output of the node; NULL: of none

// engine.cpp
extern PyMethodDef engine_functions[];

// saved.cpp: a tensor kept for backward, with its version. `producer` is set when it is a result of that node.
bool init_saved(PyObject *module);
PyObject *save_tensor(WeftTensor *t, WeftNode *producer);   // new SavedTensor
PyObject *save_meta(WeftTensor *t);                         // its sizes and strides, unpacked as a Meta
bool is_saved(PyObject *object);
bool holds_tensors(PyObject *saved);  // whether freeing it frees memory: not so for numbers, sizes and Metas
PyObject *unpack_saved(PyObject *saved, WeftNode *node);    // new reference to the tensor; RuntimeError if it was changed

// inplace.cpp
// Notes on a new view how it was made, and that it requires grad where nothing is recorded: as its base does.
void note_view(WeftTensor *view, const WeftTensor *base);
// A tensor is known as a view (view_of is set) to its memory, or no longer.
void enlist_view(WeftTensor *view);
void delist_view(WeftTensor *view);
// Of memory that nothing else shows: no view, whatever it was made as.
void be_no_view(WeftTensor *t);
// The tensor, a view of none, has got a history (or lost it): so have those of its views that have none of their own.
void history_changed(WeftTensor *root, bool has);
// The view was made by an op, or a user's function, of several results (or as its only one): not where nothing is recorded.
void note_result_of(WeftTensor *view, uint32_t flag);
// RuntimeError where a view that was made without history was written, by itself or through others (`indirect`), with history.
int refuse_view(WeftTensor *view, bool indirect);
int check_inplace(WeftTensor *t);
int check_fill(WeftTensor *t);      // of one value, which elements may share
int check_relayout(WeftTensor *t);  // of the layout alone
inline bool has_sizes(const WeftTensor *t, int ndim, const int64_t *sizes) {
  if (WEFT_NDIM(t) != ndim) return false;
  for (int d = 0; d < ndim; d++)
    if (t->sizes[d] != sizes[d]) return false;
  return true;
}
bool overlaps(const WeftTensor *target, const WeftTensor *t);  // shares memory with it without being exactly it; false of NULL
// RuntimeError where what is read for a write shares a part of its target's memory, or shows it in another order.
int check_overlap(const WeftTensor *target, const WeftTensor *t, bool apart = false);  // apart: nor may it be all of the memory
WeftTensor *root_of(WeftTensor *t);  // the tensor that `t` is in the end a view of; itself if it is none

// Each adds its types to the module; false with an exception set.
bool init_dtype(PyObject *module);
bool init_device(PyObject *module);
bool init_size(PyObject *module);
bool init_storage(PyObject *module);
bool init_tensor(PyObject *module);
bool init_philox(PyObject *module);
bool init_autograd(PyObject *module);
bool init_op(PyObject *module);
extern PyMethodDef fused_backward_functions[];
PyObject *native_kernels(PyObject *, PyObject *);  // native_kernel.cpp
PyObject *widened(PyObject *, PyObject *);

// Makes a heap type from `spec` and adds it to the module under its name.
PyTypeObject *add_type(PyObject *module, PyType_Spec *spec, PyObject *bases = nullptr);

}  // namespace weft
#endif

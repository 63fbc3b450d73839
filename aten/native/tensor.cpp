// tensor.cpp: the Tensor heap type: creation, layout, life and death.
//
// The exact type has a freelist and is untracked by the garbage collector until something that can form a cycle is
// attached (grad, grad_fn, hooks, a dict). Python subclasses go through tp_alloc, which tracks.
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "native.h"
#include "operators.h"
#include "replay.h"

namespace weft {

PyTypeObject *tensor_type;

constexpr int kFreeLimit = 256;
static WeftTensor *free_tensors[kFreeLimit];
static int n_free;
static PyObject *constructor;  // called as constructor(cls, *args, **kwargs) by Tensor(...)

void contiguous_strides(int ndim, const int64_t *sizes, int64_t *strides) {
  int64_t step = 1;
  for (int i = ndim - 1; i >= 0; i--) {
    strides[i] = step;
    step *= sizes[i] > 1 ? sizes[i] : 1;
  }
}

bool strides_are_contiguous(int ndim, const int64_t *sizes, const int64_t *strides) {
  int64_t step = 1;
  bool dense = true;
  for (int i = ndim - 1; i >= 0; i--) {
    if (sizes[i] == 0) return true;
    if (sizes[i] == 1) continue;
    dense &= strides[i] == step;
    step *= sizes[i];
  }
  return dense;
}

static PyObject *list_of(int ndim, const int64_t *values) {
  Ref tuple(int_tuple(ndim, values));
  return tuple ? PySequence_List(tuple.get()) : nullptr;
}

int64_t checked_numel(int ndim, const int64_t *sizes, int itemsize) {
  int64_t numel = 1, bytes = itemsize;
  bool overflow = false, zero = false;
  for (int i = 0; i < ndim; i++) {
    if (sizes[i] < 0) {
      Ref list(list_of(ndim, sizes));
      PyErr_Format(PyExc_RuntimeError, "Trying to create tensor with negative dimension %lld: %S", (long long)sizes[i], list.get());
      return -1;
    }
    zero |= sizes[i] == 0;
    const int64_t size = sizes[i] ? sizes[i] : 1;  // strides of empty tensors are steps as well
    overflow |= __builtin_mul_overflow(numel, size, &numel) || __builtin_mul_overflow(bytes, size, &bytes);
  }
  if (overflow) {
    Ref list(list_of(ndim, sizes));
    PyErr_Format(PyExc_RuntimeError, "%s calculation overflowed with sizes=%S", zero ? "Stride" : "Storage size", list.get());
    return -1;
  }
  return zero ? 0 : numel;
}

bool window_inside(int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset, int itemsize, int64_t nbytes) {
  int64_t low, high, step, reach;
  bool overflow = __builtin_mul_overflow(offset, itemsize, &low), none = false;
  high = low;
  for (int i = 0; i < ndim; i++) {
    overflow |= __builtin_mul_overflow(strides[i], itemsize, &step);
    none |= sizes[i] == 0;
    if (sizes[i] < 2) continue;
    overflow |= __builtin_mul_overflow(step, sizes[i] - 1, &reach);
    int64_t *end = step < 0 ? &low : &high;
    overflow |= __builtin_add_overflow(*end, reach, end);
  }
  return !overflow && low >= 0 && (none || (high <= nbytes && itemsize <= nbytes - high));
}

bool set_layout(WeftTensor *t, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset) {
  int64_t *place = t->dims, *next = t->dims + WEFT_INLINE_NDIM;
  if (ndim > WEFT_INLINE_NDIM) {
    if (ndim > WEFT_MAX_NDIM) {
      PyErr_Format(PyExc_RuntimeError, "a tensor has at most %d dimensions, got %d", WEFT_MAX_NDIM, ndim);
      return false;
    }
    place = static_cast<int64_t *>(malloc(2 * ndim * sizeof(int64_t)));
    if (!place) {
      PyErr_NoMemory();
      return false;
    }
    next = place + ndim;
  }
  int64_t *old = t->sizes;
  int64_t numel = 1, step = 1;
  bool contiguous = true;
  for (int i = ndim - 1; i >= 0; i--) {
    int64_t size = sizes[i], stride = strides ? strides[i] : step;
    place[i] = size;
    next[i] = stride;
    contiguous &= size == 1 || stride == step;
    step *= size > 1 ? size : 1;
    numel *= size;
  }
  t->sizes = place;
  t->strides = next;
  t->offset = offset;
  t->numel = numel;
  if (old && old != t->dims) free(old);
  t->word = (t->word & ~(WEFT_WORD_NDIM | WEFT_WORD_CONTIGUOUS)) | (uint32_t)ndim << 16 |
            (contiguous || numel == 0 ? WEFT_WORD_CONTIGUOUS : 0);
  return true;
}

static WeftTensor *allocate(PyTypeObject *type) {
  if (type == tensor_type) {
    WeftTensor *t;
    if (n_free) {
      t = free_tensors[--n_free]; // it still holds its type
      _Py_NewReference(as_object(t));
    } else {
      t = PyObject_GC_New(WeftTensor, type);
      if (!t) return nullptr;
    }
    memset(&t->word, 0, offsetof(WeftTensor, dims) - offsetof(WeftTensor, word));
    memset(&t->grad_fn, 0, sizeof(WeftTensor) - offsetof(WeftTensor, grad_fn));
    return t;
  }
  WeftTensor *t = as_tensor(type->tp_alloc(type, 0));
  if (t) t->flags = WEFT_FLAG_TRACKED;
  return t;
}

constexpr uint32_t kKept = WEFT_WORD_DTYPE | WEFT_WORD_DEVICE;

static PyObject *make(PyTypeObject *type, uint32_t word, int ndim, const int64_t *sizes, const int64_t *strides,
                      int64_t offset, WeftStorage *storage) {
  WeftTensor *t = allocate(type);
  if (!t) {
    storage_decref(storage);
    return nullptr;
  }
  t->word = word & kKept;
  if (__builtin_expect((*ambient() & WEFT_AMBIENT_INFERENCE) != 0, 0)) t->word |= WEFT_WORD_INFERENCE;
  t->storage = storage;
  if (!set_layout(t, ndim, sizes, strides, offset)) {
    Py_DECREF(t);
    return nullptr;
  }
  return as_object(t);
}

PyObject *tensor_new(uint32_t word, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset,
                     WeftStorage *storage) {
  return make(tensor_type, word, ndim, sizes, strides, offset, storage);
}

PyObject *empty_row_major(uint32_t word, const int64_t *dims, int64_t numel, int64_t bytes) {
  WeftStorage *storage = storage_new(bytes, (int)(word >> 8 & 15), (int)(word >> 12 & 15));
  if (!storage) return nullptr;
  WeftTensor *t = allocate(tensor_type);
  if (!t) {
    storage_decref(storage);
    return nullptr;
  }
  t->word = word;
  if (__builtin_expect((*ambient() & WEFT_AMBIENT_INFERENCE) != 0, 0)) t->word |= WEFT_WORD_INFERENCE;
  t->storage = storage;
  t->numel = numel;
  t->sizes = t->dims;
  t->strides = t->dims + WEFT_INLINE_NDIM;
  const int ndim = (int)((word & WEFT_WORD_NDIM) >> 16);
  for (int i = 0; i < ndim; i++) t->sizes[i] = dims[i], t->strides[i] = dims[ndim + i];
  return as_object(t);
}

PyObject *empty_like_row_major(const WeftTensor *t, int dtype) {
  const int ndim = WEFT_NDIM(t);
  WeftStorage *storage = storage_new(t->numel * weft_itemsize(dtype), (int)(t->word >> 8 & 15), (int)(t->word >> 12 & 15));
  if (!storage) return nullptr;
  WeftTensor *out = allocate(tensor_type);
  if (!out) {
    storage_decref(storage);
    return nullptr;
  }
  out->word = (t->word & (WEFT_WORD_DEVICE | WEFT_WORD_NDIM | WEFT_WORD_CONTIGUOUS)) | (uint32_t)dtype;
  if (__builtin_expect((*ambient() & WEFT_AMBIENT_INFERENCE) != 0, 0)) out->word |= WEFT_WORD_INFERENCE;
  out->storage = storage;
  out->numel = t->numel;
  out->sizes = out->dims;
  out->strides = out->dims + WEFT_INLINE_NDIM;
  int64_t step = 1;
  for (int i = ndim - 1; i >= 0; i--) {
    const int64_t size = out->sizes[i] = t->sizes[i];
    out->strides[i] = step;
    step *= size > 1 ? size : 1;
  }
  return as_object(out);
}

// `empty` of a row-major layout of few dims, which most results have: one walk over the sizes. NULL without an exception: the sizes are
// none, which the general way words.
static PyObject *empty_of_few_dims(uint32_t word, int ndim, const int64_t *sizes, int itemsize) {
  int64_t dims[2 * WEFT_INLINE_NDIM], step = 1, bytes;
  bool none = false, odd = false;
  for (int i = ndim - 1; i >= 0; i--) {
    const int64_t size = sizes[i];
    dims[i] = size;
    dims[ndim + i] = step;
    none |= size == 0;
    odd |= size < 0 || __builtin_mul_overflow(step, size > 1 ? size : 1, &step);
  }
  if (__builtin_expect(__builtin_mul_overflow(step, itemsize, &bytes) || odd, 0)) return nullptr;
  return empty_row_major((word & kKept) | (uint32_t)ndim << 16 | WEFT_WORD_CONTIGUOUS, dims, none ? 0 : step, none ? 0 : bytes);
}

PyObject *empty(uint32_t word, int ndim, const int64_t *sizes, const int64_t *strides) {
  int itemsize = weft_itemsize((int)(word & WEFT_WORD_DTYPE));
  if (!strides && ndim <= WEFT_INLINE_NDIM) {
    PyObject *out = empty_of_few_dims(word, ndim, sizes, itemsize);
    if (out || PyErr_Occurred()) return out;
  }
  int64_t numel = checked_numel(ndim, sizes, itemsize);
  if (numel < 0) return nullptr;
  int64_t bytes = numel * itemsize;
  if (strides && numel > 0) {
    int64_t reach;
    bool overflow = false;
    bytes = 1;
    for (int i = 0; i < ndim; i++)
      overflow |= __builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) || __builtin_add_overflow(bytes, reach, &bytes);
    if (overflow || __builtin_mul_overflow(bytes, itemsize, &bytes) || !window_inside(ndim, sizes, strides, 0, itemsize, bytes)) {
      Ref size_list(list_of(ndim, sizes)), stride_list(list_of(ndim, strides));
      return PyErr_Format(PyExc_RuntimeError, "Storage size calculation overflowed with sizes=%S and strides=%S", size_list.get(),
                          stride_list.get());
    }
  }
  WeftStorage *storage = storage_new(bytes, (int)(word >> 8 & 15), (int)(word >> 12 & 15));
  return storage ? make(tensor_type, word, ndim, sizes, strides, 0, storage) : nullptr;
}

static void count_no_more(WeftTensor *t) {
  if (t->flags & WEFT_FLAG_OWN_VERSION && !--t->own->refs) free(t->own);
  t->flags &= ~(uint32_t)WEFT_FLAG_OWN_VERSION;
}

// From now on the writes to `t` and its views are counted apart from others to the same memory, beginning with `count`.
bool count_apart(WeftTensor *t, uint32_t count) {
  WeftVersion *own = static_cast<WeftVersion *>(malloc(sizeof(WeftVersion)));
  if (!own) return PyErr_NoMemory(), false;
  *own = {count, 1};
  count_no_more(t);
  t->own = own;
  t->flags |= WEFT_FLAG_OWN_VERSION;
  return true;
}

static void count_with(WeftTensor *t, const WeftTensor *base) {
  t->own = base->own;
  t->own->refs++;
  t->flags |= WEFT_FLAG_OWN_VERSION;
}

static PyObject *alias_as(PyTypeObject *type, uint32_t word, WeftTensor *base, int ndim, const int64_t *sizes, const int64_t *strides,
                          int64_t offset) {
  if (!need_memory(base, "a view")) return nullptr;
  base->storage->refs++;
  PyObject *result = make(type, word, ndim, sizes, strides, offset, base->storage);
  if (result) {
    if (base->flags & WEFT_FLAG_OWN_VERSION) count_with(as_tensor(result), base);
    as_tensor(result)->word = (as_tensor(result)->word & ~WEFT_WORD_INFERENCE) | (base->word & WEFT_WORD_INFERENCE);
  }
  return result;
}

PyObject *alias(WeftTensor *base, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset) {
  return alias_as(tensor_type, base->word, base, ndim, sizes, strides, offset);
}

PyObject *alias_in(int dtype, WeftTensor *base, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset) {
  if (!need_memory(base, "a view") || checked_numel(ndim, sizes, 1) < 0) return nullptr;
  if (window_inside(ndim, sizes, strides, offset, weft_itemsize(dtype), base->storage->nbytes))
    return alias_as(tensor_type, (base->word & ~(uint32_t)WEFT_WORD_DTYPE) | (uint32_t)dtype, base, ndim, sizes, strides, offset);
  Ref size_list(list_of(ndim, sizes)), stride_list(list_of(ndim, strides));
  return PyErr_Format(PyExc_RuntimeError, "setStorage: sizes %S, strides %S, storage offset %lld, and itemsize %d are out of bounds for "
                      "storage of size %lld", size_list.get(), stride_list.get(), (long long)offset, weft_itemsize(dtype),
                      (long long)base->storage->nbytes);
}

PyObject *checked_alias(WeftTensor *base, int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset) {
  return alias_in(WEFT_DTYPE(base), base, ndim, sizes, strides, offset);
}

void track(WeftTensor *t) {
  if (t->flags & WEFT_FLAG_TRACKED) return;
  t->flags |= WEFT_FLAG_TRACKED;
  PyObject_GC_Track(as_object(t));
}

bool need_memory(WeftTensor *t, const char *what) {
  if (__builtin_expect(!WEFT_IS_TRACER(t), 1)) return true;
  Ref transform(PyObject_GetAttrString(as_object(Py_TYPE(t)), "transform"));
  if (!transform) return false;
  Ref errors(PyImport_ImportModule("aten.errors"));
  Ref kind(errors ? PyObject_GetAttrString(errors.get(), "DataDependentError") : nullptr);
  if (kind) PyErr_Format(kind.get(), "%s needs the memory of a tensor, but inside %S a tensor has no values yet", what, transform.get());
  return false;
}

static int tensor_traverse(PyObject *self, visitproc visit, void *arg) {
  WeftTensor *t = as_tensor(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_object(t->grad_fn));
  Py_VISIT(t->grad);
  Py_VISIT(t->view_of);
  Py_VISIT(t->hooks);
  Py_VISIT(t->dict);
  return 0;
}

static int tensor_clear(PyObject *self) {
  WeftTensor *t = as_tensor(self);
  PyObject *grad_fn = as_object(std::exchange(t->grad_fn, nullptr));
  Py_XDECREF(grad_fn);
  Py_CLEAR(t->grad);
  delist_view(t);
  Py_CLEAR(t->view_of);
  Py_CLEAR(t->hooks);
  Py_CLEAR(t->dict);
  return 0;
}

static void tensor_dealloc(PyObject *self) {
  WeftTensor *t = as_tensor(self);
  PyTypeObject *type = Py_TYPE(self);
  if (t->flags & WEFT_FLAG_TRACKED) PyObject_GC_UnTrack(self);
  if (t->weakrefs) PyObject_ClearWeakRefs(self);
  if (t->grad_fn || t->grad || t->view_of || t->hooks || t->dict || t->view_link) tensor_clear(self);
  if (t->flags & WEFT_FLAG_OWN_VERSION) count_no_more(t);
  storage_decref(std::exchange(t->storage, nullptr));
  if (t->sizes && t->sizes != t->dims) free(t->sizes);
  if (type == tensor_type && n_free < kFreeLimit) {
    free_tensors[n_free++] = t;
    return;
  }
  type->tp_free(self);
  Py_DECREF(type);
}

// Attributes of one's own (a dict) make cycles possible.
static int tensor_setattro(PyObject *self, PyObject *name, PyObject *value) {
  int status = PyObject_GenericSetAttr(self, name, value);
  if (as_tensor(self)->dict) track(as_tensor(self));
  return status;
}

static PyObject *tensor_type_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  if (!constructor) {
    PyErr_SetString(PyExc_TypeError, "Tensor cannot be made before aten.tensor is imported");
    return nullptr;
  }
  Py_ssize_t n = PyTuple_GET_SIZE(args);
  Ref all(PyTuple_New(n + 1));
  if (!all) return nullptr;
  PyTuple_SET_ITEM(all.get(), 0, Py_NewRef(as_object(type)));
  for (Py_ssize_t i = 0; i < n; i++) PyTuple_SET_ITEM(all.get(), i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
  return PyObject_Call(constructor, all.get(), kwargs);
}

// What Tensor(...) was given has been read by tp_new.
static int tensor_init(PyObject *, PyObject *, PyObject *) { return 0; }

static PyObject *set_constructor(PyObject *, PyObject *callable) {
  Py_XSETREF(constructor, Py_NewRef(callable));
  Py_RETURN_NONE;
}

// empty(sizes, dtype=None, device=None, strides=None)
static PyObject *empty_function(PyObject *, PyObject *args, PyObject *kwargs) {
  static const char *names[] = {"sizes", "dtype", "device", "strides", nullptr};
  PyObject *size_arg, *dtype_arg = Py_None, *device_arg = Py_None, *stride_arg = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOO:empty", const_cast<char **>(names), &size_arg, &dtype_arg, &device_arg,
                                   &stride_arg))
    return nullptr;
  int64_t sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM];
  int type, index, ndim = parse_ints(size_arg, sizes, "empty(): sizes");
  if (ndim < 0 || !parse_device(device_arg, &type, &index)) return nullptr;
  int dtype = dtype_arg == Py_None ? default_dtype() : dtype_code(dtype_arg);
  if (dtype < 0) return nullptr;
  if (stride_arg != Py_None) {
    int n = parse_ints(stride_arg, strides, "empty(): strides");
    if (n < 0) return nullptr;
    if (n != ndim) return PyErr_Format(PyExc_RuntimeError, "empty(): %d strides for %d sizes", n, ndim);
    for (int i = 0; i < n; i++)
      if (strides[i] < 0) return PyErr_Format(PyExc_RuntimeError, "empty(): stride %lld is negative", (long long)strides[i]);
  }
  return empty(weft_word(dtype, type, device_index(type, index), 0), ndim, sizes, stride_arg == Py_None ? nullptr : strides);
}

// A copy with tuples for lists, as native views have them: they take less to make. `arguments` may be NULL.
static PyObject *without_lists(PyObject *arguments) {
  const Py_ssize_t n = arguments ? PyTuple_GET_SIZE(arguments) : 0;
  Ref all(PyTuple_New(n));
  for (Py_ssize_t i = 0; all && i < n; i++) {
    PyObject *given = PyTuple_GET_ITEM(arguments, i), *kept = PyList_CheckExact(given) ? PyList_AsTuple(given) : Py_NewRef(given);
    if (!kept) return nullptr;
    PyTuple_SET_ITEM(all.get(), i, kept);
  }
  return all.release();
}

// alias(base, sizes, strides, offset, op=None, arguments=(), dtype=None): a view of base's storage, without autograd, read in
// items of `dtype`; with an op, op(base, *arguments) to `_view_of`
static PyObject *alias_function(PyObject *, PyObject *args) {
  PyObject *base, *size_arg, *stride_arg, *op = Py_None, *arguments = nullptr, *read_in = nullptr;
  long long offset;
  if (!PyArg_ParseTuple(args, "O!OOL|OO!O!:alias", tensor_type, &base, &size_arg, &stride_arg, &offset, &op, &PyTuple_Type, &arguments, dtype_type,
                        &read_in))
    return nullptr;
  int64_t sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM];
  int ndim = parse_ints(size_arg, sizes, "alias(): sizes");
  int n = ndim < 0 ? -1 : parse_ints(stride_arg, strides, "alias(): strides");
  if (n < 0) return nullptr;
  if (n != ndim) return PyErr_Format(PyExc_RuntimeError, "alias(): %d strides for %d sizes", n, ndim);
  Ref view(alias_in(read_in ? dtype_code(read_in) : WEFT_DTYPE(as_tensor(base)), as_tensor(base), ndim, sizes, strides, offset));
  if (!view || op == Py_None || as_tensor(base)->word & WEFT_WORD_INFERENCE) return view.release();
  Ref all(without_lists(arguments));
  WeftTensor *t = as_tensor(view.get());
  t->view_of = all ? PyTuple_Pack(3, base, op, all.get()) : nullptr;
  if (!t->view_of) return nullptr;
  t->view_version = *weft_version(t);
  note_view(t, as_tensor(base));
  track(t);
  return view.release();
}

// make_subclass(cls, tensor, requires_grad=False): a leaf of type cls on the same storage
static PyObject *make_subclass(PyObject *, PyObject *args) {
  PyObject *cls, *data;
  int requires_grad = 0;
  if (!PyArg_ParseTuple(args, "O!O!|p:make_subclass", &PyType_Type, &cls, tensor_type, &data, &requires_grad)) return nullptr;
  PyTypeObject *type = reinterpret_cast<PyTypeObject *>(cls);
  if (!PyType_IsSubtype(type, tensor_type)) return PyErr_Format(PyExc_TypeError, "%R is not a subclass of Tensor", cls);
  WeftTensor *t = as_tensor(data);
  if (requires_grad && dtype_kind(WEFT_DTYPE(t)) < KIND_FLOAT) {
    PyErr_SetString(PyExc_RuntimeError, "Only Tensors of floating point and complex dtype can require gradients");
    return nullptr;
  }
  if (requires_grad && (t->word & WEFT_WORD_INFERENCE) && !(*ambient() & WEFT_AMBIENT_INFERENCE)) {
    PyErr_SetString(PyExc_RuntimeError, "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
    return nullptr;
  }
  PyObject *result = alias_as(type, t->word, t, WEFT_NDIM(t), t->sizes, t->strides, t->offset);
  if (result && requires_grad) as_tensor(result)->word |= WEFT_WORD_REQUIRES_GRAD;
  return result;
}

// make_tracer(cls, word): an instance without storage, for values that are still to be computed
static PyObject *make_tracer(PyObject *, PyObject *args) {
  PyObject *cls;
  unsigned int word;
  if (!PyArg_ParseTuple(args, "O!I:make_tracer", &PyType_Type, &cls, &word)) return nullptr;
  PyTypeObject *type = reinterpret_cast<PyTypeObject *>(cls);
  if (type == tensor_type || !PyType_IsSubtype(type, tensor_type))
    return PyErr_Format(PyExc_TypeError, "%R is not a proper subclass of Tensor", cls);
  if ((word & WEFT_WORD_DTYPE) >= WEFT_NUM_DTYPES || (word & WEFT_WORD_NDIM) >> 16 > WEFT_MAX_NDIM || (word >> 8 & 15) > WEFT_META)
    return PyErr_Format(PyExc_ValueError, "make_tracer: %u is no word of a tensor", word);
  WeftTensor *t = allocate(type);
  if (!t) return nullptr;
  t->word = (word & (kKept | WEFT_WORD_NDIM | WEFT_WORD_REQUIRES_GRAD)) | WEFT_WORD_TRACER;
  t->sizes = t->dims;
  t->strides = t->dims + WEFT_INLINE_NDIM;
  return as_object(t);
}

// The same memory without history: a leaf that requires no gradient, and whose writes the original's version sees.
PyObject *tensor_detach(PyObject *self, PyObject *) {
  WeftTensor *t = as_tensor(self);
  return alias(t, WEFT_NDIM(t), t->sizes, t->strides, t->offset);
}

// resize_(sizes): new sizes, row-major, keeping what fits; the storage grows when it must.
PyObject *tensor_resize_(PyObject *self, PyObject *args) {
  WeftTensor *t = as_tensor(self);
  PyObject *sizes_arg = PyTuple_GET_SIZE(args) == 1 && !PyLong_Check(PyTuple_GET_ITEM(args, 0)) ? PyTuple_GET_ITEM(args, 0) : args;
  int64_t sizes[WEFT_MAX_NDIM];
  int ndim = parse_ints(sizes_arg, sizes, "resize_(): sizes");
  if (ndim < 0 || !need_memory(t, "resize_()")) return nullptr;
  int itemsize = weft_itemsize(WEFT_DTYPE(t));
  int64_t numel = checked_numel(ndim, sizes, itemsize);
  if (numel < 0) return nullptr;
  if (WEFT_REQUIRES_GRAD(t)) return PyErr_Format(PyExc_RuntimeError, "cannot resize variables that require grad");
  if (ndim == WEFT_NDIM(t) && std::equal(sizes, sizes + ndim, t->sizes)) return Py_NewRef(self);
  if (!wait_for_calls()) return nullptr;
  WeftStorage *storage = t->storage;
  int64_t bytes;
  if (__builtin_add_overflow(t->offset, numel, &bytes) || __builtin_mul_overflow(bytes, itemsize, &bytes)) {
    Ref list(list_of(ndim, sizes));
    return PyErr_Format(PyExc_RuntimeError, "Storage size calculation overflowed with sizes=%S", list.get());
  }
  if (numel && bytes > storage->nbytes) {
    if (!storage_resize(storage, bytes)) return nullptr;  // views keep the storage: its memory moves under it
  }
  if (!set_layout(t, ndim, sizes, nullptr, t->offset)) return nullptr;
  weft_bump_version(t);
  return Py_NewRef(self);
}

static PyObject *is_tracer(PyObject *, PyObject *arg) {
  if (!is_tensor(arg) || !WEFT_IS_TRACER(arg)) Py_RETURN_FALSE;
  tracer_asked_for = true;
  Py_RETURN_TRUE;
}

static PyMemberDef tensor_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(WeftTensor, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(WeftTensor, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

static Py_hash_t tensor_hash(PyObject *self) { return (Py_hash_t)(reinterpret_cast<uintptr_t>(self) >> 4); }

PyMethodDef tensor_functions[] = {
    {"empty", (PyCFunction)(void *)empty_function, METH_VARARGS | METH_KEYWORDS,
     "empty(sizes, dtype=None, device=None, strides=None): a tensor of undefined values"},
    {"alias", alias_function, METH_VARARGS, "alias(base, sizes, strides, offset, op=None, arguments=(), dtype=None): a view of the same storage, and how op makes it"},
    {"tensor_of_numbers", tensor_of_numbers, METH_VARARGS, "tensor_of_numbers(data, dtype): of plain numbers in lists and tuples; None for anything else"},
    {"make_subclass", make_subclass, METH_VARARGS, "make_subclass(cls, tensor, requires_grad=False)"},
    {"make_tracer", make_tracer, METH_VARARGS, "make_tracer(cls, word): an instance without storage"},
    {"is_tracer", is_tracer, METH_O, nullptr},
    {"set_constructor", set_constructor, METH_O, "what Tensor(...) calls, as constructor(cls, *args, **kwargs)"},
    {"from_numpy", from_numpy, METH_O, "a tensor on the array's memory"},
    {"from_dlpack", from_dlpack, METH_O, "a tensor on the memory of any object with __dlpack__"},
    {nullptr, nullptr, 0, nullptr}};

bool init_tensor(PyObject *module) {
  PyType_Slot slots[] = {{Py_tp_new, (void *)tensor_type_new},
                         {Py_tp_init, (void *)tensor_init},
                         {Py_tp_dealloc, (void *)tensor_dealloc},
                         {Py_tp_traverse, (void *)tensor_traverse},
                         {Py_tp_clear, (void *)tensor_clear},
                         {Py_tp_setattro, (void *)tensor_setattro},
                         {Py_tp_hash, (void *)tensor_hash},
                         {Py_tp_members, tensor_members},
                         {Py_tp_getset, tensor_getset},
                         {Py_tp_methods, tensor_methods},
                         {Py_bf_getbuffer, (void *)tensor_getbuffer},
                         {Py_bf_releasebuffer, (void *)tensor_releasebuffer},
                         {Py_tp_doc, (void *)"An array of one dtype on one device, with views and gradients."},
                         WEFT_OPERATOR_SLOTS,
                         {0, nullptr}};
  PyType_Spec spec = {"weft.Tensor", sizeof(WeftTensor), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  tensor_type = add_type(module, &spec);
  return tensor_type && PyModule_AddFunctions(module, tensor_functions) == 0 &&
         PyModule_AddFunctions(module, operator_functions) == 0;
}

}  // namespace weft

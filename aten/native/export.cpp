// export.cpp: memory shared with NumPy and every buffer: from_numpy, numpy(), __array__, the buffer protocol.
// Lifetimes are shared through the storage, whoever made it.
#include "numpy_api.h"

#include <stdlib.h>
#include <string.h>

#include "replay.h"

namespace weft {

PyObject *from_numpy(PyObject *, PyObject *object) {
  if (!PyArray_Check(object)) return PyErr_Format(PyExc_TypeError, "expected np.ndarray (got %s)", Py_TYPE(object)->tp_name);
  PyArrayObject *array = reinterpret_cast<PyArrayObject *>(object);
  int dtype = dtype_of_descr(as_object(PyArray_DESCR(array)));
  if (dtype < 0) return nullptr;
  int ndim = PyArray_NDIM(array), itemsize = weft_itemsize(dtype);
  if (ndim > WEFT_MAX_NDIM) return PyErr_Format(PyExc_ValueError, "from_numpy: %d dimensions", ndim);
  int64_t sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM], extent = itemsize;
  for (int i = 0; i < ndim; i++) {
    sizes[i] = PyArray_DIM(array, i);
    int64_t stride = PyArray_STRIDE(array, i);
    if (stride < 0 && sizes[i] > 1)
      return PyErr_Format(PyExc_ValueError, "the array has a negative stride (%lld bytes in dimension %d), which tensors do not "
                          "support; pass array.copy()", (long long)stride, i);
    if (stride % itemsize && sizes[i] > 1)
      return PyErr_Format(PyExc_ValueError, "the array's stride of %lld bytes in dimension %d is not a multiple of its %d-byte "
                          "items; pass array.copy()", (long long)stride, i, itemsize);
    strides[i] = stride < 0 || stride % itemsize ? 1 : stride / itemsize;
    if (sizes[i] > 1) extent += (sizes[i] - 1) * stride;
  }
  // An empty array may carry any strides: contiguous ones are as good. Those of sizes of 1 are kept, for results of elementwise ops
  // lie in their order.
  if (PyArray_SIZE(array) == 0) contiguous_strides(ndim, sizes, strides);
  if (!PyArray_ISALIGNED(array)) {
    PyErr_SetString(PyExc_ValueError, "the array's memory is not aligned to its items; pass array.copy()");
    return nullptr;
  }
  if (PyArray_SIZE(array) == 0) extent = 0;
  WeftStorage *storage = storage_external(static_cast<char *>(PyArray_DATA(array)), extent, object, !PyArray_ISWRITEABLE(array));
  return storage ? tensor_new(weft_word(dtype, WEFT_CPU, 0, 0), ndim, sizes, strides, 0, storage) : nullptr;
}

// An array on the memory of `t`; the storage, which must not move while there is the array, is its base.
static PyObject *array_of(WeftTensor *t) {
  if (WEFT_DEVICE_TYPE(t) != WEFT_CPU) {
    if (WEFT_DEVICE_TYPE(t) == WEFT_META) PyErr_SetString(PyExc_NotImplementedError, "Cannot copy out of meta tensor; no data!");
    else PyErr_Format(PyExc_TypeError, "an array cannot show %s memory. Use Tensor.cpu() first.", device_row(WEFT_DEVICE_TYPE(t))->name);
    return nullptr;
  }
  PyObject *descr = numpy_descr(WEFT_DTYPE(t));
  if (!descr) return nullptr;
  int ndim = WEFT_NDIM(t), itemsize = weft_itemsize(WEFT_DTYPE(t));
  npy_intp sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM];
  for (int i = 0; i < ndim; i++) {
    sizes[i] = t->sizes[i];
    strides[i] = t->strides[i] * itemsize;
  }
  static char nothing[16];
  char *data = t->storage->data ? weft_data(t) : nothing;
  int flags = t->storage->flags & WEFT_STORAGE_READONLY ? 0 : NPY_ARRAY_WRITEABLE;
  PyObject *array = PyArray_NewFromDescr(&PyArray_Type, reinterpret_cast<PyArray_Descr *>(descr), ndim, sizes, strides, data, flags, nullptr);
  if (!array) return nullptr;
  PyObject *base = storage_object(t->storage, true);
  if (!base || PyArray_SetBaseObject(reinterpret_cast<PyArrayObject *>(array), base) < 0) {
    Py_DECREF(array);
    return nullptr;
  }
  return array;
}

PyObject *array_of_tensor(WeftTensor *t) { return array_of(t); }

static bool exportable(WeftTensor *t, const char *what) {
  if (!need_memory(t, what)) return false;
  if (WEFT_DEVICE_TYPE(t) != WEFT_CPU) {
    PyObject *device = PyObject_GetAttrString(as_object(t), "device");
    if (device) PyErr_Format(PyExc_TypeError, "can't convert %S device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.", device);
    Py_XDECREF(device);
    return false;
  }
  if (WEFT_REQUIRES_GRAD(t) && grad_enabled()) {
    PyErr_SetString(PyExc_RuntimeError, "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
    return false;
  }
  return true;
}

PyObject *tensor_numpy(PyObject *self, PyObject *args, PyObject *kwargs) {
  static const char *names[] = {"force", nullptr};
  int force = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$p:numpy", const_cast<char **>(names), &force)) return nullptr;
  WeftTensor *t = as_tensor(self);
  if (force ? !need_memory(t, "numpy()") : !exportable(t, "numpy()")) return nullptr;
  Ref host(force && WEFT_DEVICE_TYPE(t) != WEFT_CPU ? moved(t, WEFT_CPU, 0) : Py_NewRef(self));
  return host ? array_of(as_tensor(host.get())) : nullptr;
}

// __array__(dtype=None, copy=None), as NumPy 2 calls it
PyObject *tensor_array(PyObject *self, PyObject *args, PyObject *kwargs) {
  static const char *names[] = {"dtype", "copy", nullptr};
  PyObject *dtype = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", const_cast<char **>(names), &dtype, &copy)) return nullptr;
  if (!exportable(as_tensor(self), "numpy()")) return nullptr;
  Ref array(array_of(as_tensor(self)));
  if (!array) return nullptr;
  PyArray_Descr *wanted = nullptr;
  if (dtype != Py_None && !PyArray_DescrConverter(dtype, &wanted)) return nullptr;
  Ref owned(as_object(wanted));
  PyArrayObject *a = reinterpret_cast<PyArrayObject *>(array.get());
  bool cast = wanted && !PyArray_EquivTypes(wanted, PyArray_DESCR(a));
  if (cast && copy == Py_False) {
    PyErr_SetString(PyExc_ValueError, "another dtype cannot be had without a copy");
    return nullptr;
  }
  if (cast) return PyArray_CastToType(a, reinterpret_cast<PyArray_Descr *>(owned.release()), 0);
  return copy == Py_True ? PyArray_NewCopy(a, NPY_KEEPORDER) : array.release();
}

// In the struct module's letters; bfloat16 has none. An int64 is a `long` where that has 64 bits, as NumPy's is.
static constexpr bool kLong = sizeof(long) == 8;
static const char *const formats[WEFT_NUM_DTYPES] = {"?", "B", "b", "h", "i", kLong ? "l" : "q", "H", "I", kLong ? "L" : "Q", "e", nullptr,
                                                     "f", "d", "Zf", "Zd", nullptr, nullptr, nullptr, nullptr, nullptr};

// What a buffer shows: the storage, whatever becomes of the tensor; sizes and strides.
struct Exported {
  WeftStorage *storage;
  Py_ssize_t layout[1];
};

static int refuse_buffer(Py_buffer *view, const char *why) {
  PyErr_SetString(PyExc_BufferError, why);
  view->obj = nullptr;
  return -1;
}

int tensor_getbuffer(PyObject *self, Py_buffer *view, int flags) {
  WeftTensor *t = as_tensor(self);
  if (!exportable(t, "a buffer")) {
    view->obj = nullptr;
    return -1;
  }
  const char *format = formats[WEFT_DTYPE(t)];
  bool readonly = t->storage->flags & WEFT_STORAGE_READONLY, contiguous = t->word & WEFT_WORD_CONTIGUOUS;
  if (!format) return refuse_buffer(view, "the tensor's dtype has no buffer format; use numpy()");
  if ((flags & PyBUF_WRITABLE) && readonly) return refuse_buffer(view, "the tensor's memory is read-only");
  if (!contiguous && ((flags & PyBUF_STRIDES) != PyBUF_STRIDES || (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS ||
                      (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS))
    return refuse_buffer(view, "the tensor is not contiguous");
  int ndim = WEFT_NDIM(t), itemsize = weft_itemsize(WEFT_DTYPE(t));
  Exported *exported = static_cast<Exported *>(malloc(sizeof(Exported) + 2 * ndim * sizeof(Py_ssize_t)));
  if (!exported) return refuse_buffer(view, "no memory");
  exported->storage = t->storage;
  t->storage->refs++;
  t->storage->exports++;
  Py_ssize_t *layout = exported->layout;
  for (int i = 0; i < ndim; i++) {
    layout[i] = t->sizes[i];
    layout[ndim + i] = t->strides[i] * itemsize;
  }
  static char nothing[16];
  view->buf = t->storage->data ? weft_data(t) : nothing;
  view->len = t->numel * itemsize;
  view->itemsize = itemsize;
  view->readonly = readonly;
  view->ndim = ndim;
  view->format = flags & PyBUF_FORMAT ? const_cast<char *>(format) : nullptr;
  view->shape = flags & PyBUF_ND ? layout : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? layout + ndim : nullptr;
  view->suboffsets = nullptr;
  view->internal = exported;
  view->obj = Py_NewRef(self);
  return 0;
}

void tensor_releasebuffer(PyObject *, Py_buffer *view) {
  Exported *exported = static_cast<Exported *>(view->internal);
  exported->storage->exports--;
  storage_decref(exported->storage);
  free(exported);
}

}  // namespace weft

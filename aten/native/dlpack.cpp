// dlpack.cpp: DLPack both ways (https://dmlc.github.io/dlpack, versions 0.x and 1.x), on the CPU.
#include <stdlib.h>

#include "native.h"

namespace weft {

namespace {

struct DLDevice {
  int32_t type, id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct DLManaged {
  DLTensor tensor;
  void *manager;
  void (*deleter)(DLManaged *);
};
struct DLManagedVersioned {
  uint32_t major, minor;
  void *manager;
  void (*deleter)(DLManagedVersioned *);
  uint64_t flags;
  DLTensor tensor;
};

constexpr int kCPU = 1, kReadOnly = 1;
constexpr uint8_t kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6;

DLDataType dl_dtype(int code) {
  uint8_t bits = (uint8_t)(8 * weft_itemsize(code));
  switch (dtype_kind(code)) {
    case KIND_BOOL: return {kBool, bits, 1};
    case KIND_INTEGER: return {dtype_is_signed(code) ? kInt : kUInt, bits, 1};
    case KIND_FLOAT: return {code == WEFT_BFLOAT16 ? kBfloat : kFloat, bits, 1};
    default: return {kComplex, bits, 1};
  }
}

int dtype_of_dl(DLDataType dtype) {
  if (dtype.lanes == 1) {
    for (int code = 0; code < WEFT_NUM_DTYPES; code++) {
      DLDataType own = dl_dtype(code);
      if (own.code == dtype.code && own.bits == dtype.bits) return code;
    }
  }
  PyErr_Format(PyExc_BufferError, "no dtype corresponds to DLPack's code %d of %d bits and %d lanes", dtype.code, dtype.bits, dtype.lanes);
  return -1;
}

// The export: the storage's reference and a copy of the layout, freed by the consumer's call of `deleter`.
template <class Managed>
struct Export {
  Managed managed;
  WeftStorage *storage;
  int64_t layout[2 * WEFT_MAX_NDIM];

  static void free_it(Managed *managed) {
    Export *e = static_cast<Export *>(managed->manager);
    PyGILState_STATE state = PyGILState_Ensure();  // consumers may drop it on any thread
    storage_decref(e->storage);
    PyGILState_Release(state);
    free(e);
  }
};

template <class Managed>
Managed *export_tensor(WeftTensor *t) {
  auto *e = static_cast<Export<Managed> *>(calloc(1, sizeof(Export<Managed>)));
  if (!e) {
    PyErr_NoMemory();
    return nullptr;
  }
  int ndim = WEFT_NDIM(t);
  for (int i = 0; i < ndim; i++) {
    e->layout[i] = t->sizes[i];
    e->layout[ndim + i] = t->strides[i];
  }
  t->storage->refs++;
  e->storage = t->storage;
  e->managed.tensor = {t->storage->data ? weft_data(t) : nullptr, {kCPU, 0}, ndim, dl_dtype(WEFT_DTYPE(t)), e->layout, e->layout + ndim, 0};
  e->managed.manager = e;
  e->managed.deleter = Export<Managed>::free_it;
  return &e->managed;
}

// A capsule that nobody consumed frees its export.
void free_capsule(PyObject *capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor")) {
    auto *managed = static_cast<DLManaged *>(PyCapsule_GetPointer(capsule, "dltensor"));
    managed->deleter(managed);
  } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    auto *managed = static_cast<DLManagedVersioned *>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    managed->deleter(managed);
  }
}

template <class Managed>
void release_imported(WeftStorage *storage) {
  auto *managed = static_cast<Managed *>(storage->owner);
  if (managed->deleter) managed->deleter(managed);
}

template <class Managed>
PyObject *import_tensor(Managed *managed, PyObject *capsule, const char *used, bool readonly) {
  DLTensor &dl = managed->tensor;
  if (dl.device.type != kCPU) return PyErr_Format(PyExc_BufferError, "from_dlpack: device type %d is not the CPU", dl.device.type);
  int dtype = dtype_of_dl(dl.dtype);
  if (dtype < 0) return nullptr;
  if (dl.ndim > WEFT_MAX_NDIM) return PyErr_Format(PyExc_BufferError, "from_dlpack: %d dimensions", dl.ndim);
  int64_t extent = 1;
  for (int i = 0; i < dl.ndim; i++) {
    if (dl.shape[i] == 0) extent = 0;
    if (dl.strides && dl.strides[i] < 0 && dl.shape[i] > 1)
      return PyErr_Format(PyExc_BufferError, "from_dlpack: the stride of dimension %d is negative", i);
  }
  int64_t step = 1;
  for (int i = dl.ndim - 1; i >= 0 && extent; i--) {
    extent += (dl.shape[i] - 1) * (dl.strides ? dl.strides[i] : step);
    step *= dl.shape[i];
  }
  WeftStorage *storage = storage_external(static_cast<char *>(dl.data) + dl.byte_offset, extent * weft_itemsize(dtype), nullptr, readonly);
  if (!storage) return nullptr;
  storage->owner = managed;
  storage->release = release_imported<Managed>;
  if (PyCapsule_SetName(capsule, used) < 0) {
    storage->release = nullptr;
    storage_decref(storage);
    return nullptr;
  }
  return tensor_new(weft_word(dtype, WEFT_CPU, 0, 0), dl.ndim, dl.shape, dl.strides, 0, storage);
}

PyObject *import_capsule(PyObject *capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    auto *managed = static_cast<DLManagedVersioned *>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    if (managed->major > 1) return PyErr_Format(PyExc_BufferError, "from_dlpack: DLPack version %u is not supported", managed->major);
    return import_tensor(managed, capsule, "used_dltensor_versioned", managed->flags & kReadOnly);
  }
  auto *managed = static_cast<DLManaged *>(PyCapsule_GetPointer(capsule, "dltensor"));
  return managed ? import_tensor(managed, capsule, "used_dltensor", false) : nullptr;
}

}  // namespace

PyObject *tensor_dlpack_device(PyObject *self, PyObject *) {
  if (WEFT_DEVICE_TYPE(self) != WEFT_CPU) return PyErr_Format(PyExc_BufferError, "DLPack export of this device");
  return Py_BuildValue("ii", kCPU, 0);
}

// __dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)
PyObject *tensor_dlpack(PyObject *self, PyObject *args, PyObject *kwargs) {
  static const char *names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
  PyObject *stream = Py_None, *max_version = Py_None, *dl_device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", const_cast<char **>(names), &stream, &max_version, &dl_device, &copy))
    return nullptr;
  WeftTensor *t = as_tensor(self);
  if (!need_memory(t, "__dlpack__()")) return nullptr;
  if (stream != Py_None) return PyErr_Format(PyExc_BufferError, "__dlpack__: the CPU has no streams");
  if (copy == Py_True) return PyErr_Format(PyExc_BufferError, "__dlpack__: export a clone() for a copy");
  if (dl_device != Py_None) {
    int type, id;
    if (!PyArg_ParseTuple(dl_device, "ii", &type, &id)) return nullptr;
    if (type != kCPU) return PyErr_Format(PyExc_BufferError, "__dlpack__: the tensor is on the CPU");
  }
  if (WEFT_REQUIRES_GRAD(t)) return PyErr_Format(PyExc_BufferError, "Can't export tensors that require gradient, use tensor.detach()");
  bool readonly = t->storage->flags & WEFT_STORAGE_READONLY;
  int major = 0, minor = 0;
  if (max_version != Py_None && !PyArg_ParseTuple(max_version, "ii", &major, &minor)) return nullptr;
  if (major >= 1) {
    DLManagedVersioned *managed = export_tensor<DLManagedVersioned>(t);
    if (!managed) return nullptr;
    managed->major = 1;
    managed->flags = readonly ? kReadOnly : 0;
    return PyCapsule_New(managed, "dltensor_versioned", free_capsule);
  }
  if (readonly) return PyErr_Format(PyExc_BufferError, "read-only memory needs DLPack 1.0: max_version=(1, 0)");
  DLManaged *managed = export_tensor<DLManaged>(t);
  return managed ? PyCapsule_New(managed, "dltensor", free_capsule) : nullptr;
}

PyObject *from_dlpack(PyObject *, PyObject *object) {
  if (PyCapsule_CheckExact(object)) return import_capsule(object);
  Ref method(PyObject_GetAttrString(object, "__dlpack__")), kwargs(Py_BuildValue("{s:(ii)}", "max_version", 1, 0)), none(PyTuple_New(0));
  if (!method || !kwargs || !none) return nullptr;
  Ref capsule(PyObject_Call(method.get(), none.get(), kwargs.get()));
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {  // a producer older than DLPack 1.0
    PyErr_Clear();
    capsule.reset(PyObject_CallNoArgs(method.get()));
  }
  return capsule ? import_capsule(capsule.get()) : nullptr;
}

}  // namespace weft

// dlpack.cpp: DLPack both ways (https://dmlc.github.io/dlpack, versions 0.x and 1.x), on the CPU and on CUDA devices.
//
// On CUDA a consumer names its stream: what is queued there from then on comes after what the producer has queued on its own.
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

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

constexpr int kCPU = 1, kCUDA = 2, kCUDAHost = 3, kReadOnly = 1;
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
    for (int code = 0; code < WEFT_FLOAT8_E4M3FN; code++) {
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
    e->storage->exports--;
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
  t->storage->exports++;
  e->storage = t->storage;
  const bool on_cuda = WEFT_DEVICE_TYPE(t) == WEFT_CUDA;
  const DLDevice device = {on_cuda ? kCUDA : kCPU, on_cuda ? t->storage->device_index : 0};
  e->managed.tensor = {t->storage->data ? weft_data(t) : nullptr, device, ndim, dl_dtype(WEFT_DTYPE(t)), e->layout, e->layout + ndim, 0};
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
PyObject *capsule_of(Managed *managed, const char *name) {
  PyObject *capsule = PyCapsule_New(managed, name, free_capsule);
  if (!capsule) managed->deleter(managed);
  return capsule;
}

template <class Managed>
void release_imported(WeftStorage *storage) {
  auto *managed = static_cast<Managed *>(storage->owner);
  if (managed->deleter) managed->deleter(managed);
}

// The bytes from the first element to the end of the last; false with BufferError set for sizes and strides of no tensor.
bool bytes_of(const DLTensor &dl, int itemsize, int64_t *bytes) {
  int64_t strides[WEFT_MAX_NDIM], step = 1, reach;
  bool overflow = false, none = false;
  *bytes = 1;
  for (int i = dl.ndim - 1; i >= 0; i--) {
    const int64_t size = dl.shape[i];
    strides[i] = dl.strides ? dl.strides[i] : step;
    if (size < 0 || (strides[i] < 0 && size > 1)) {
      PyErr_Format(PyExc_BufferError, "from_dlpack: the %s of dimension %d is negative", size < 0 ? "size" : "stride", i);
      return false;
    }
    none |= size == 0;
    overflow |= __builtin_mul_overflow(step, size ? size : 1, &step);
    if (size > 1) overflow |= __builtin_mul_overflow(size - 1, strides[i], &reach) || __builtin_add_overflow(*bytes, reach, bytes);
  }
  overflow |= __builtin_mul_overflow(*bytes, itemsize, bytes);
  if (none) *bytes = 0;
  if (!overflow && window_inside(dl.ndim, dl.shape, strides, 0, itemsize, *bytes)) return true;
  PyErr_SetString(PyExc_BufferError, "from_dlpack: the bytes of the tensor overflow a 64-bit integer");
  return false;
}

// Whether there is memory at these bytes: the kernel is asked for the first and the last, and is believed where it can tell.
bool readable(const char *data, int64_t bytes) {
  char first, last;
  iovec to[2] = {{&first, 1}, {&last, 1}};
  iovec from[2] = {{const_cast<char *>(data), 1}, {const_cast<char *>(data) + bytes - 1, 1}};
  return process_vm_readv(getpid(), to, 2, from, 2, 0) == 2 || errno != EFAULT;
}

template <class Managed>
PyObject *import_tensor(Managed *managed, PyObject *capsule, const char *used, bool readonly) {
  DLTensor &dl = managed->tensor;
  const bool on_cuda = dl.device.type == kCUDA;
  if (!on_cuda && dl.device.type != kCPU && dl.device.type != kCUDAHost)
    return PyErr_Format(PyExc_BufferError, "from_dlpack: device type %d is neither the CPU nor CUDA", dl.device.type);
  if (on_cuda && !device_exists(WEFT_CUDA, dl.device.id)) return nullptr;
  int dtype = dtype_of_dl(dl.dtype);
  if (dtype < 0) return nullptr;
  if (dl.ndim < 0 || dl.ndim > WEFT_MAX_NDIM || (dl.ndim && !dl.shape))
    return PyErr_Format(PyExc_BufferError, "from_dlpack: %d dimensions", dl.ndim);
  int64_t bytes;
  if (!bytes_of(dl, weft_itemsize(dtype), &bytes)) return nullptr;
  char *data = static_cast<char *>(dl.data) + (bytes ? dl.byte_offset : 0);
  if (bytes && (!dl.data || data < static_cast<char *>(dl.data) || (!on_cuda && !readable(data, bytes)) || reinterpret_cast<uintptr_t>(data) % (uintptr_t)weft_itemsize(dtype)))
    return PyErr_Format(PyExc_BufferError, "from_dlpack: the data at %p + %llu are no elements of %d bytes", dl.data,
                        (unsigned long long)dl.byte_offset, weft_itemsize(dtype));
  WeftStorage *storage = storage_external(data, bytes, nullptr, readonly);
  if (!storage) return nullptr;
  storage->owner = managed;
  storage->release = release_imported<Managed>;
  if (on_cuda) storage->device_type = WEFT_CUDA, storage->device_index = (uint8_t)dl.device.id;
  if (PyCapsule_SetName(capsule, used) < 0) {
    storage->release = nullptr;
    storage_decref(storage);
    return nullptr;
  }
  return tensor_new(weft_word(dtype, storage->device_type, storage->device_index, 0), dl.ndim, dl.shape, dl.strides, 0, storage);
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

// Lets a consumer's stream wait for what is queued on ours: a handle, 1 or None for the legacy stream, 2 for the thread's, -1 for none.
bool hand_over(PyObject *tensor, PyObject *stream) {
  if (stream != Py_None && !PyLong_Check(stream)) {
    PyErr_SetString(PyExc_TypeError, "stream must be ``int`` or ``none``");
    return false;
  }
  Ref module(PyImport_ImportModule("aten._cuda"));
  return module && Ref(PyObject_CallMethod(module.get(), "hand_over", "OO", tensor, stream));
}

// The arguments for a producer's __dlpack__, our stream among them where it is on CUDA; NULL with an exception set.
PyObject *consumer_arguments(PyObject *object) {
  Ref kwargs(Py_BuildValue("{s:(ii)}", "max_version", 1, 0)), where(PyObject_CallMethod(object, "__dlpack_device__", nullptr));
  if (!where) PyErr_Clear();  // a producer without the method is of the CPU
  int type = kCPU, id = 0;
  if (where && !PyTuple_Check(where.get())) {
    PyErr_SetString(PyExc_TypeError, "__dlpack_device__() must give a tuple of two ints");
    return nullptr;
  }
  if (where && !PyArg_ParseTuple(where.get(), "ii:__dlpack_device__", &type, &id)) return nullptr;
  if (!kwargs || type != kCUDA) return kwargs.release();
  if (!device_exists(WEFT_CUDA, id)) return nullptr;
  Ref module(PyImport_ImportModule("aten._cuda"));
  Ref stream(module ? PyObject_CallMethod(module.get(), "current_stream", "i", id) : nullptr);
  if (!stream || PyDict_SetItemString(kwargs.get(), "stream", PyTuple_GET_ITEM(stream.get(), 0)) < 0) return nullptr;
  return kwargs.release();
}

}  // namespace

PyObject *tensor_dlpack_device(PyObject *self, PyObject *) {
  if (WEFT_DEVICE_TYPE(self) == WEFT_META) return PyErr_Format(PyExc_BufferError, "Cannot pack tensors on meta");
  if (WEFT_DEVICE_TYPE(self) == WEFT_CUDA) return Py_BuildValue("ii", kCUDA, (int)as_tensor(self)->storage->device_index);
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
  if (WEFT_DEVICE_TYPE(t) == WEFT_META) return PyErr_Format(PyExc_BufferError, "Cannot pack tensors on meta");
  const bool on_cuda = WEFT_DEVICE_TYPE(t) == WEFT_CUDA;
  if (!on_cuda && stream != Py_None) return PyErr_Format(PyExc_BufferError, "__dlpack__: the CPU has no streams");
  if (copy == Py_True) return PyErr_Format(PyExc_BufferError, "__dlpack__: export a clone() for a copy");
  if (dl_device != Py_None) {
    int type, id;
    if (!PyTuple_Check(dl_device)) return PyErr_Format(PyExc_TypeError, "__dlpack__: dl_device is a tuple of two ints");
    if (!PyArg_ParseTuple(dl_device, "ii", &type, &id)) return nullptr;
    if (type != (on_cuda ? kCUDA : kCPU) || (on_cuda && id != t->storage->device_index))
      return PyErr_Format(PyExc_BufferError, "__dlpack__: the tensor is on %s: copy it first", on_cuda ? "another device" : "the CPU");
  }
  if (WEFT_REQUIRES_GRAD(t)) return PyErr_Format(PyExc_BufferError, "Can't export tensors that require gradient, use tensor.detach()");
  if (on_cuda && !hand_over(self, stream)) return nullptr;
  bool readonly = t->storage->flags & WEFT_STORAGE_READONLY;
  int major = 0, minor = 0;
  if (max_version != Py_None && !PyTuple_Check(max_version)) return PyErr_Format(PyExc_TypeError, "__dlpack__: max_version is a tuple of two ints");
  if (max_version != Py_None && !PyArg_ParseTuple(max_version, "ii", &major, &minor)) return nullptr;
  if (major >= 1) {
    DLManagedVersioned *managed = export_tensor<DLManagedVersioned>(t);
    if (!managed) return nullptr;
    managed->major = 1;
    managed->flags = readonly ? kReadOnly : 0;
    return capsule_of(managed, "dltensor_versioned");
  }
  if (readonly) return PyErr_Format(PyExc_BufferError, "read-only memory needs DLPack 1.0: max_version=(1, 0)");
  DLManaged *managed = export_tensor<DLManaged>(t);
  return managed ? capsule_of(managed, "dltensor") : nullptr;
}

PyObject *from_dlpack(PyObject *, PyObject *object) {
  if (PyCapsule_CheckExact(object)) return import_capsule(object);
  Ref method(PyObject_GetAttrString(object, "__dlpack__")), none(PyTuple_New(0));
  if (!method || !none) return nullptr;
  Ref kwargs(consumer_arguments(object));
  if (!kwargs) return nullptr;
  Ref capsule(PyObject_Call(method.get(), none.get(), kwargs.get()));
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {  // a producer older than DLPack 1.0
    PyErr_Clear();
    if (PyDict_DelItemString(kwargs.get(), "max_version") < 0) return nullptr;
    capsule.reset(PyObject_Call(method.get(), none.get(), kwargs.get()));
  }
  return capsule ? import_capsule(capsule.get()) : nullptr;
}

}  // namespace weft

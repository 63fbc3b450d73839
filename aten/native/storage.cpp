// storage.cpp: the Python face of a storage, `t.untyped_storage()`.
#include <string.h>

#include <utility>
#include <vector>

#include "native.h"

namespace weft {

struct StorageObject {
  PyObject_HEAD
  WeftStorage *storage;  // one of its references
  bool exports;
};

PyTypeObject *storage_type;

PyObject *storage_object(WeftStorage *storage, bool exports) {
  StorageObject *object = PyObject_New(StorageObject, storage_type);
  if (!object) return nullptr;
  storage->refs++;
  object->storage = storage;
  object->exports = exports;
  storage->exports += exports;
  return as_object(object);
}

static WeftStorage *of(PyObject *self) { return reinterpret_cast<StorageObject *>(self)->storage; }

static void storage_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  of(self)->exports -= reinterpret_cast<StorageObject *>(self)->exports;
  storage_decref(of(self));
  type->tp_free(self);
  Py_DECREF(type);
}

static PyObject *data_ptr(PyObject *self, PyObject *) { return PyLong_FromVoidPtr(of(self)->data); }
static PyObject *nbytes(PyObject *self, PyObject *) { return PyLong_FromLongLong(of(self)->nbytes); }
static Py_ssize_t length(PyObject *self) { return (Py_ssize_t)of(self)->nbytes; }
static PyObject *repr(PyObject *self) {
  return PyUnicode_FromFormat("<weft.UntypedStorage of %lld bytes at %p>", (long long)of(self)->nbytes, of(self)->data);
}

static PyObject *compare(PyObject *a, PyObject *b, int op) {
  if (!PyObject_TypeCheck(a, storage_type) || !PyObject_TypeCheck(b, storage_type) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((of(a) == of(b)) == (op == Py_EQ));
}

static Py_hash_t hash(PyObject *self) { return (Py_hash_t)(reinterpret_cast<uintptr_t>(of(self)) >> 4); }

static bool is_resizable(const WeftStorage *storage) { return !(storage->flags & WEFT_STORAGE_EXTERNAL) && !storage->exports; }
static PyObject *resizable(PyObject *self, PyObject *) { return PyBool_FromLong(is_resizable(of(self))); }

// Another length, keeping what fits: the memory of tensors on it moves. Bytes that others see are not given back.
bool storage_resize(WeftStorage *storage, int64_t bytes) {
  if (bytes == storage->nbytes) return true;
  if (!is_resizable(storage)) {
    PyErr_SetString(PyExc_RuntimeError, "Trying to resize storage that is not resizable");
    return false;
  }
  WeftStorage *fresh = storage_new(bytes, storage->device_type, storage->device_index);
  if (!fresh) return false;
  int64_t kept = bytes < storage->nbytes ? bytes : storage->nbytes;
  if (kept && storage->data &&
      !copy_bytes(fresh->data, storage->device_type, storage->device_index, storage->data, storage->device_type, storage->device_index, kept)) {
    storage_decref(fresh);
    return false;
  }
  std::swap(storage->data, fresh->data);
  std::swap(storage->nbytes, fresh->nbytes);
  std::swap(storage->release, fresh->release);
  storage_decref(fresh);
  return true;
}

static PyObject *storage_resize_(PyObject *self, PyObject *arg) {
  long long bytes = PyLong_AsLongLong(arg);
  if (bytes == -1 && PyErr_Occurred()) return nullptr;
  if (bytes < 0) return PyErr_Format(PyExc_RuntimeError, "resize_(): %lld bytes", bytes);
  if (bytes < of(self)->nbytes && of(self)->refs > 1)
    return PyErr_Format(PyExc_RuntimeError, "resize_(): tensors see the %lld bytes that are to be given back", (long long)of(self)->nbytes - bytes);
  if (!wait_for_calls() || !storage_resize(of(self), bytes)) return nullptr;
  return Py_NewRef(self);
}

// The items of a sequence as bytes, each an int cut to its lowest eight bits. False with an error set.
static bool bytes_of_items(PyObject *sequence, std::vector<uint8_t> &bytes) {
  Ref items(PySequence_Fast(sequence, "UntypedStorage(): a size or a sequence of ints is wanted"));
  if (!items.get()) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); i++) {
    PyObject *item = PySequence_Fast_GET_ITEM(items.get(), i);
    if (!PyLong_Check(item)) {
      PyErr_Format(PyExc_RuntimeError, "UntypedStorage(): tried to construct a storage from a sequence (%s), but one of the items was of type %s "
                   "instead of int", Py_TYPE(sequence)->tp_name, Py_TYPE(item)->tp_name);
      return false;
    }
    unsigned long value = PyLong_AsUnsignedLongMask(item);
    if (value == (unsigned long)-1 && PyErr_Occurred()) return false;
    bytes.push_back((uint8_t)value);
  }
  return true;
}

// UntypedStorage(size=0, *, device=None): so many bytes, or those of a sequence
static PyObject *storage_create(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static const char *names[] = {"size", "device", nullptr};
  PyObject *size = nullptr, *device = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$O:UntypedStorage", const_cast<char **>(names), &size, &device)) return nullptr;
  int device_kind, index;
  if (!parse_device(device, &device_kind, &index)) return nullptr;
  std::vector<uint8_t> items;
  bool given = size && !PyIndex_Check(size) && PySequence_Check(size);
  if (given && !bytes_of_items(size, items)) return nullptr;
  if (given && device_kind != WEFT_CPU && device_kind != WEFT_META) return PyErr_Format(PyExc_NotImplementedError, "UntypedStorage(): a sequence of ints makes a storage of the CPU, or of meta");
  long long bytes = given ? (long long)items.size() : 0;
  if (size && !given) {
    Ref number(PyNumber_Index(size));
    if (!number.get()) return nullptr;
    bytes = PyLong_AsLongLong(number.get());
    if (bytes == -1 && PyErr_Occurred()) return nullptr;
  }
  if (bytes < 0) return PyErr_Format(PyExc_RuntimeError, "UntypedStorage of %lld bytes", bytes);
  WeftStorage *storage = storage_new(bytes, device_kind, device_index(device_kind, index));
  if (!storage) return nullptr;
  StorageObject *object = reinterpret_cast<StorageObject *>(type->tp_alloc(type, 0));
  if (!object) {
    storage_decref(storage);
    return nullptr;
  }
  object->storage = storage;
  object->exports = false;
  if (!items.empty() && device_kind == WEFT_CPU) memcpy(storage->data, items.data(), items.size());
  return as_object(object);
}

static PyObject *get_device(PyObject *self, void *) { return device_object(of(self)->device_type, of(self)->device_index); }
static PyGetSetDef getset[] = {{"device", get_device, nullptr, "where the bytes are", nullptr}, {nullptr, nullptr, nullptr, nullptr, nullptr}};

// tensor_on(storage, dtype, sizes, strides, offset): a leaf on the storage's memory
static PyObject *tensor_on(PyObject *, PyObject *args) {
  PyObject *object, *dtype_arg, *size_arg, *stride_arg;
  long long offset;
  if (!PyArg_ParseTuple(args, "O!OOOL:tensor_on", storage_type, &object, &dtype_arg, &size_arg, &stride_arg, &offset)) return nullptr;
  int64_t sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM];
  int dtype = dtype_code(dtype_arg), ndim = dtype < 0 ? -1 : parse_ints(size_arg, sizes, "sizes");
  int n = ndim < 0 ? -1 : parse_ints(stride_arg, strides, "strides");
  if (n < 0) return nullptr;
  if (n != ndim) return PyErr_Format(PyExc_RuntimeError, "mismatch in length of strides and shape: %d and %d", n, ndim);
  for (int i = 0; i < n; i++)
    if (strides[i] < 0) return PyErr_Format(PyExc_RuntimeError, "as_strided: Negative strides are not supported at the moment");
  WeftStorage *storage = of(object);
  if (checked_numel(ndim, sizes, weft_itemsize(dtype)) < 0) return nullptr;
  if (offset < 0 || !window_inside(ndim, sizes, strides, offset, weft_itemsize(dtype), storage->nbytes)) {
    Ref wanted(PySequence_List(size_arg)), steps(PySequence_List(stride_arg));
    return PyErr_Format(PyExc_RuntimeError, "setStorage: sizes %S, strides %S, storage offset %lld, and itemsize %d require a storage beyond "
                        "the %lld bytes there are", wanted.get(), steps.get(), offset, weft_itemsize(dtype), (long long)storage->nbytes);
  }
  storage->refs++;
  return tensor_new(weft_word(dtype, storage->device_type, storage->device_index, 0), ndim, sizes, strides, offset, storage);
}

static PyMethodDef functions[] = {{"tensor_on", tensor_on, METH_VARARGS, "tensor_on(storage, dtype, sizes, strides, offset): a leaf on its memory"},
                                  {nullptr, nullptr, 0, nullptr}};
static PyMethodDef methods[] = {{"data_ptr", data_ptr, METH_NOARGS, "address of the first byte; 0 if there is none"},
                                {"nbytes", nbytes, METH_NOARGS, "size in bytes"},
                                {"resize_", storage_resize_, METH_O, "resize_(nbytes): another length, keeping what fits"},
                                {"resizable", resizable, METH_NOARGS, "whether the memory may move: nobody else shows it, and it is our own"},
                                {"size", nbytes, METH_NOARGS, "size in bytes"},
                                {nullptr, nullptr, 0, nullptr}};
static PyType_Slot slots[] = {{Py_tp_dealloc, (void *)storage_dealloc},
                              {Py_tp_repr, (void *)repr},
                              {Py_tp_richcompare, (void *)compare},
                              {Py_tp_hash, (void *)hash},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, getset},
                              {Py_tp_new, (void *)storage_create},
                              {Py_sq_length, (void *)length},
                              {Py_tp_doc, (void *)"The bytes that a tensor and its views share."},
                              {0, nullptr}};
static PyType_Spec spec = {"weft.UntypedStorage", sizeof(StorageObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

bool init_storage(PyObject *module) {
  storage_type = add_type(module, &spec);
  return storage_type && PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace weft

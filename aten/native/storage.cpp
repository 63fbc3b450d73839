// storage.cpp: the Python face of a storage, `t.untyped_storage()`.
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
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyObject *data_ptr(PyObject *self, PyObject *) { return PyLong_FromVoidPtr(of(self)->data); }
static PyObject *nbytes(PyObject *self, PyObject *) { return PyLong_FromLongLong(of(self)->nbytes); }
static Py_ssize_t length(PyObject *self) { return (Py_ssize_t)of(self)->nbytes; }
static PyObject *repr(PyObject *self) {
  return PyUnicode_FromFormat("<weft.UntypedStorage of %lld bytes at %p>", (long long)of(self)->nbytes, of(self)->data);
}

static PyObject *compare(PyObject *a, PyObject *b, int op) {
  if (Py_TYPE(a) != storage_type || Py_TYPE(b) != storage_type || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((of(a) == of(b)) == (op == Py_EQ));
}

static Py_hash_t hash(PyObject *self) { return (Py_hash_t)(reinterpret_cast<uintptr_t>(of(self)) >> 4); }

static PyMethodDef methods[] = {{"data_ptr", data_ptr, METH_NOARGS, "address of the first byte; 0 if there is none"},
                                {"nbytes", nbytes, METH_NOARGS, "size in bytes"},
                                {"size", nbytes, METH_NOARGS, "size in bytes"},
                                {nullptr, nullptr, 0, nullptr}};
static PyType_Slot slots[] = {{Py_tp_dealloc, (void *)storage_dealloc},
                              {Py_tp_repr, (void *)repr},
                              {Py_tp_richcompare, (void *)compare},
                              {Py_tp_hash, (void *)hash},
                              {Py_tp_methods, methods},
                              {Py_sq_length, (void *)length},
                              {Py_tp_doc, (void *)"The bytes that a tensor and its views share."},
                              {0, nullptr}};
static PyType_Spec spec = {"aten._native.UntypedStorage", sizeof(StorageObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

bool init_storage(PyObject *module) {
  storage_type = add_type(module, &spec);
  return storage_type != nullptr;
}

}  // namespace weft

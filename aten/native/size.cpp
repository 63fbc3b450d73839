// size.cpp: Size, the tuple of a tensor's sizes.
#include "native.h"

namespace weft {

PyTypeObject *size_type;

static PyObject *fill(PyObject *tuple, int ndim, const int64_t *values) {
  if (!tuple) return nullptr;
  for (int i = 0; i < ndim; i++) {
    PyObject *value = PyLong_FromLongLong(values[i]);
    if (!value) {
      Py_DECREF(tuple);
      return nullptr;
    }
    PyTuple_SET_ITEM(tuple, i, value);
  }
  return tuple;
}

PyObject *size_object(int ndim, const int64_t *sizes) { return fill(size_type->tp_alloc(size_type, ndim), ndim, sizes); }
PyObject *int_tuple(int ndim, const int64_t *values) { return fill(PyTuple_New(ndim), ndim, values); }

int parse_ints(PyObject *sequence, int64_t *out, const char *what) {
  Ref fast(PySequence_Fast(sequence, what));
  if (!fast) return -1;
  Py_ssize_t n = PySequence_Fast_GET_SIZE(fast.get());
  if (n > WEFT_MAX_NDIM) {
    PyErr_Format(PyExc_RuntimeError, "a tensor has at most %d dimensions, got %zd", WEFT_MAX_NDIM, n);
    return -1;
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *item = PySequence_Fast_GET_ITEM(fast.get(), i);
    if (PyFloat_Check(item)) {
      PyErr_Format(PyExc_TypeError, "%s: item %zd is %R, not an integer", what, i, item);
      return -1;
    }
    Ref index(PyNumber_Index(item));
    int64_t value = index ? PyLong_AsLongLong(index.get()) : -1;
    if (value == -1 && PyErr_Occurred()) return -1;
    out[i] = value;
  }
  return (int)n;
}

static PyObject *size_from_tuple(PyObject *owned) {
  Ref tuple(owned);
  if (!tuple || !PyTuple_CheckExact(tuple.get())) return tuple.release();
  Py_ssize_t n = PyTuple_GET_SIZE(tuple.get());
  PyObject *size = size_type->tp_alloc(size_type, n);
  if (!size) return nullptr;
  for (Py_ssize_t i = 0; i < n; i++) PyTuple_SET_ITEM(size, i, Py_NewRef(PyTuple_GET_ITEM(tuple.get(), i)));
  return size;
}

static PyObject *size_repr(PyObject *self) {
  Ref list(PySequence_List(self));
  return list ? PyUnicode_FromFormat("%s.Size(%R)", shown_name(), list.get()) : nullptr;
}

static PyObject *size_subscript(PyObject *self, PyObject *key) {
  PyObject *item = PyTuple_Type.tp_as_mapping->mp_subscript(self, key);
  return PySlice_Check(key) ? size_from_tuple(item) : item;
}

static PyObject *size_concat(PyObject *self, PyObject *other) {
  return size_from_tuple(PyTuple_Type.tp_as_sequence->sq_concat(self, other));
}

// The product of the sizes; they may be SymInts, so the product is Python's.
static PyObject *size_numel(PyObject *self, PyObject *) {
  Ref product(PyLong_FromLong(1));
  for (Py_ssize_t i = 0; product && i < PyTuple_GET_SIZE(self); i++)
    product.reset(PyNumber_Multiply(product.get(), PyTuple_GET_ITEM(self, i)));
  return product.release();
}

static PyObject *size_reduce(PyObject *self, PyObject *) {
  Ref list(PySequence_List(self));
  return list ? Py_BuildValue("O(O)", size_type, list.get()) : nullptr;
}

static PyMethodDef size_methods[] = {{"numel", size_numel, METH_NOARGS, "number of elements: the product of the sizes"},
                                     {"__reduce__", size_reduce, METH_NOARGS, nullptr},
                                     {nullptr, nullptr, 0, nullptr}};
static PyType_Slot size_slots[] = {{Py_tp_repr, (void *)size_repr},
                                   {Py_tp_methods, size_methods},
                                   {Py_mp_subscript, (void *)size_subscript},
                                   {Py_sq_concat, (void *)size_concat},
                                   {Py_tp_doc, (void *)"The sizes of a tensor: a tuple of ints."},
                                   {0, nullptr}};
static PyType_Spec size_spec = {"weft.Size", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, size_slots};

bool init_size(PyObject *module) {
  Ref bases(PyTuple_Pack(1, &PyTuple_Type));
  size_type = bases ? add_type(module, &size_spec, bases.get()) : nullptr;
  return size_type != nullptr;
}

}  // namespace weft

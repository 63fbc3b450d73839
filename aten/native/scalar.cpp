// scalar.cpp: elements as Python numbers: item, tolist, bool, int, float, index.
#include <math.h>
#include <string.h>

#include "float8.h"
#include "half.h"
#include "native.h"

namespace weft {

template <class T>
static T load(const char *p) {
  T value;
  memcpy(&value, p, sizeof value);
  return value;
}

template <class T>
static bool store(char *p, T value) {
  memcpy(p, &value, sizeof value);
  return true;
}

PyObject *read_scalar(const char *p, int dtype) {
  switch (dtype) {
    case WEFT_BOOL: return PyBool_FromLong(*p != 0);
    case WEFT_UINT8: return PyLong_FromLong(load<uint8_t>(p));
    case WEFT_INT8: return PyLong_FromLong(load<int8_t>(p));
    case WEFT_INT16: return PyLong_FromLong(load<int16_t>(p));
    case WEFT_INT32: return PyLong_FromLong(load<int32_t>(p));
    case WEFT_INT64: return PyLong_FromLongLong(load<int64_t>(p));
    case WEFT_UINT16: return PyLong_FromLong(load<uint16_t>(p));
    case WEFT_UINT32: return PyLong_FromUnsignedLong(load<uint32_t>(p));
    case WEFT_UINT64: return PyLong_FromUnsignedLongLong(load<uint64_t>(p));
    case WEFT_FLOAT16: return PyFloat_FromDouble(float16_to_float(load<uint16_t>(p)));
    case WEFT_BFLOAT16: return PyFloat_FromDouble(bfloat16_to_float(load<uint16_t>(p)));
    case WEFT_FLOAT32: return PyFloat_FromDouble(load<float>(p));
    case WEFT_FLOAT64: return PyFloat_FromDouble(load<double>(p));
    case WEFT_COMPLEX64: return PyComplex_FromDoubles(load<float>(p), load<float>(p + 4));
    case WEFT_COMPLEX128: return PyComplex_FromDoubles(load<double>(p), load<double>(p + 8));
    case WEFT_COMPLEX32: return PyComplex_FromDoubles(float16_to_float(load<uint16_t>(p)), float16_to_float(load<uint16_t>(p + 2)));
    default: return PyFloat_FromDouble(float8_to_double(load<uint8_t>(p), dtype));
  }
}

static bool write_integer(char *p, int dtype, PyObject *value) {
  Ref index(PyFloat_Check(value) || PyComplex_Check(value) ? nullptr : PyNumber_Index(value));
  if (!index) {
    if (!PyFloat_Check(value)) return PyErr_Occurred() ? false : (PyErr_SetString(PyExc_TypeError, "can't convert complex to int"), false);
    index.reset(PyNumber_Long(value));
    if (!index) return false;
  }
  int overflow;
  long long v = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  if (v == -1 && PyErr_Occurred()) return false;
  int bits = 8 * weft_itemsize(dtype);
  bool is_signed = dtype_is_signed(dtype), fits;
  if (dtype == WEFT_UINT64) {
    unsigned long long u = PyLong_AsUnsignedLongLong(index.get());
    if (u == (unsigned long long)-1 && PyErr_Occurred()) return false;
    return store<uint64_t>(p, u);
  }
  if (is_signed) fits = !overflow && (bits == 64 || (v >= -(1ll << (bits - 1)) && v < 1ll << (bits - 1)));
  else fits = !overflow && v >= 0 && v < 1ll << bits;
  if (!fits) {
    PyErr_Format(PyExc_RuntimeError, "value cannot be converted to type %s without overflow", dtype_name(dtype));
    return false;
  }
  memcpy(p, &v, (size_t)bits / 8);  // little-endian: the low bytes
  return true;
}

// Integers of more than 64 bits, which no parameter takes.
static bool too_wide(PyObject *value) {
  if (!PyLong_CheckExact(value)) return false;
  int overflow;
  PyLong_AsLongLongAndOverflow(value, &overflow);
  if (!overflow) return false;
  if (overflow > 0 && (PyLong_AsUnsignedLongLong(value) != (unsigned long long)-1 || !PyErr_Occurred())) return false;
  if (overflow < 0) PyErr_SetString(PyExc_OverflowError, "can't convert negative int to unsigned");
  return true;
}

bool write_scalar(char *p, int dtype, PyObject *value) {
  if (too_wide(value)) return false;
  if (dtype == WEFT_BOOL) {
    int truth = PyObject_IsTrue(value);
    return truth < 0 ? false : store<uint8_t>(p, (uint8_t)truth);
  }
  if (dtype <= WEFT_UINT64) return write_integer(p, dtype, value);
  if (dtype_kind(dtype) == KIND_COMPLEX) {
    Py_complex c = PyComplex_AsCComplex(value);
    if (PyErr_Occurred()) return false;
    if (dtype == WEFT_COMPLEX64) return store(p, (float)c.real) && store(p + 4, (float)c.imag);
    if (dtype == WEFT_COMPLEX32) return store(p, float_to_float16((float)c.real)) && store(p + 2, float_to_float16((float)c.imag));
    return store(p, c.real) && store(p + 8, c.imag);
  }
  double d = PyFloat_AsDouble(value);
  if (d == -1.0 && PyErr_Occurred()) return false;
  switch (dtype) {
    case WEFT_FLOAT16: return store(p, float_to_float16((float)d));
    case WEFT_BFLOAT16: return store(p, float_to_bfloat16((float)d));
    case WEFT_FLOAT32: return store(p, (float)d);
    case WEFT_FLOAT64: return store(p, d);
    default: return store(p, double_to_float8(d, dtype));
  }
}

// The largest finite number of a floating dtype, or of the parts of a complex one.
static double largest_of(int dtype) {
  switch (dtype) {
    case WEFT_FLOAT16: case WEFT_COMPLEX32: return 65504.0;
    case WEFT_BFLOAT16: return 3.3895313892515355e38;
    case WEFT_FLOAT32: case WEFT_COMPLEX64: return 3.4028234663852886e38;
    case WEFT_FLOAT64: case WEFT_COMPLEX128: return INFINITY;
    default: return -1;  // of eight bits: Python decides
  }
}

bool write_element(char *p, int dtype, PyObject *value, bool alone) {
  if (!write_scalar(p, dtype, value)) return false;
  const bool is_complex = dtype_kind(dtype) == KIND_COMPLEX;
  if ((dtype_kind(dtype) != KIND_FLOAT && !is_complex) || (alone && !is_complex && weft_itemsize(dtype) <= 2)) return true;
  const Py_complex given = PyComplex_AsCComplex(value);
  if (PyErr_Occurred()) return false;
  const double largest = largest_of(dtype);
  const auto fits = [&](double x) { return !(fabs(x) > largest) || isinf(x); };
  if (fits(given.real) && fits(given.imag)) return true;
  PyErr_Format(PyExc_RuntimeError, "value cannot be converted to type %s without overflow", dtype_name(dtype));
  return false;
}

// The tensor, or a copy of it in the host's memory; NULL, naming what was called, where there is no memory to read.
static Ref on_host(WeftTensor *t, const char *what) {
  if (!need_memory(t, what)) return Ref();
  if (WEFT_DEVICE_TYPE(t) == WEFT_CPU) return Ref::borrow(as_object(t));
  if (device_row(WEFT_DEVICE_TYPE(t))->has_memory) return Ref(moved(t, WEFT_CPU, 0));
  PyErr_Format(PyExc_RuntimeError, "%s cannot be called on meta tensors", what);
  return Ref();
}

PyObject *tensor_item(PyObject *self, PyObject *) {
  WeftTensor *t = as_tensor(self);
  if (!need_memory(t, "item()")) return nullptr;
  if (t->numel != 1) return PyErr_Format(PyExc_RuntimeError, "a Tensor with %lld elements cannot be converted to Scalar", (long long)t->numel);
  Ref host = on_host(t, "item()");
  return host ? read_scalar(weft_data(as_tensor(host.get())), WEFT_DTYPE(t)) : nullptr;
}

static PyObject *nested(const char *p, const WeftTensor *t, int dim) {
  int dtype = WEFT_DTYPE(t);
  if (dim == WEFT_NDIM(t)) return read_scalar(p, dtype);
  PyObject *list = PyList_New((Py_ssize_t)t->sizes[dim]);
  int64_t step = t->strides[dim] * weft_itemsize(dtype);
  for (int64_t i = 0; list && i < t->sizes[dim]; i++) {
    PyObject *item = nested(p + i * step, t, dim + 1);
    if (!item) Py_CLEAR(list);
    else PyList_SET_ITEM(list, (Py_ssize_t)i, item);
  }
  return list;
}

PyObject *tensor_tolist(PyObject *self, PyObject *) {
  Ref host = on_host(as_tensor(self), "tolist()");
  if (!host) return nullptr;
  WeftTensor *t = as_tensor(host.get());
  return nested(t->numel ? weft_data(t) : nullptr, t, 0);
}

int tensor_bool(PyObject *self) {
  WeftTensor *t = as_tensor(self);
  if (WEFT_IS_TRACER(t)) {  // a Tracer may answer, or break the graph, in its own item()
    Ref item(PyObject_CallMethod(self, "item", nullptr));
    return item ? PyObject_IsTrue(item.get()) : -1;
  }
  Ref host = on_host(t, "bool()");
  if (!host) return -1;
  if (t->numel != 1) {
    PyErr_SetString(PyExc_RuntimeError, t->numel ? "Boolean value of Tensor with more than one value is ambiguous"
                                                 : "Boolean value of Tensor with no values is ambiguous");
    return -1;
  }
  Ref value(read_scalar(weft_data(as_tensor(host.get())), WEFT_DTYPE(t)));
  return value ? PyObject_IsTrue(value.get()) : -1;
}

static PyObject *number(PyObject *self) {
  if (WEFT_IS_TRACER(self)) return PyObject_CallMethod(self, "item", nullptr);
  return tensor_item(self, nullptr);
}

static bool one_element(PyObject *self) {
  if (WEFT_IS_TRACER(self) || as_tensor(self)->numel == 1) return true;
  PyErr_SetString(PyExc_ValueError, "only one element tensors can be converted to Python scalars");
  return false;
}

// The real part of a complex number that is nothing else; other numbers as they are.
static PyObject *real_part(PyObject *value, const char *type) {
  if (!value || !PyComplex_Check(value)) return value;
  Ref held(value);
  if (PyComplex_ImagAsDouble(value) == 0) return PyFloat_FromDouble(PyComplex_RealAsDouble(value));
  return PyErr_Format(PyExc_RuntimeError, "value cannot be converted to type %s without overflow", type);
}

PyObject *tensor_int(PyObject *self) {
  if (!one_element(self)) return nullptr;
  Ref value(real_part(number(self), "int64_t"));
  return value ? PyNumber_Long(value.get()) : nullptr;
}

PyObject *tensor_float(PyObject *self) {
  if (!one_element(self)) return nullptr;
  Ref value(real_part(number(self), "double"));
  return value ? PyNumber_Float(value.get()) : nullptr;
}

PyObject *tensor_index(PyObject *self) {
  if (dtype_kind(WEFT_DTYPE(self)) > KIND_INTEGER || (!WEFT_IS_TRACER(self) && as_tensor(self)->numel != 1)) {
    PyErr_SetString(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
    return nullptr;
  }
  Ref value(number(self));
  return value ? PyNumber_Index(value.get()) : nullptr;
}

}  // namespace weft

// operators.cpp: see operators.h.
#include "numpy_api.h"

#include <string.h>

#include "operators.h"

namespace weft {

namespace {

enum Operator {
#define WEFT_OPERATOR_ENUM(slot, name) OPERATOR_##slot,
  WEFT_BINARY_OPERATORS(WEFT_OPERATOR_ENUM) WEFT_UNARY_OPERATORS(WEFT_OPERATOR_ENUM)
#undef WEFT_OPERATOR_ENUM
  OPERATOR_POW, OPERATOR_IPOW, OPERATOR_LT, OPERATOR_LE, OPERATOR_EQ, OPERATOR_NE, OPERATOR_GT, OPERATOR_GE,
  OPERATOR_GETITEM, OPERATOR_SETITEM, OPERATOR_ITER, OPERATOR_CONTAINS, OPERATOR_COUNT
};

const char *const operator_names[OPERATOR_COUNT] = {
#define WEFT_OPERATOR_NAME(slot, name) "__" #name "__",
    WEFT_BINARY_OPERATORS(WEFT_OPERATOR_NAME) WEFT_UNARY_OPERATORS(WEFT_OPERATOR_NAME)
#undef WEFT_OPERATOR_NAME
    "__pow__", "__ipow__", "__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__",
    "__getitem__", "__setitem__", "__iter__", "__contains__"};

PyObject *operators[OPERATOR_COUNT];

// What may stand beside a tensor: another one, a number of Python, NumPy or symbolic sizes, or what takes calls of ops itself. Of
// another object that could be made a number nothing is asked: it may know tensors, and is equal to none.
bool is_operand(PyObject *x) {
  if (is_tensor(x) || PyFloat_Check(x) || PyLong_Check(x) || PyComplex_Check(x)) return true;
  if (PyArray_IsScalar(x, Generic)) return true;
  static PyObject *symbolic = PyUnicode_InternFromString("shape_env");
  if (PyNumber_Check(x) && symbolic && _PyType_Lookup(Py_TYPE(x), symbolic)) return true;
  static PyObject *overriding = PyUnicode_InternFromString("__torch_function__");
  return overriding && _PyType_Lookup(Py_TYPE(x), overriding);
}

PyObject *call(Operator which, PyObject *a) {
  if (!operators[which]) return PyErr_Format(PyExc_NotImplementedError, "%s is not defined", operator_names[which]);
  return PyObject_CallOneArg(operators[which], a);
}

// An array beside a tensor, where NumPy leaves it to the tensor: a tensor, or NotImplemented for what is no numbers.
PyObject *tensor_of(PyObject *array) {
  Ref dense(PyArray_FROM_OF(array, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED));
  PyObject *tensor = dense ? from_numpy(nullptr, dense.get()) : nullptr;
  if (tensor || !PyErr_ExceptionMatches(PyExc_TypeError)) return tensor;
  PyErr_Clear();
  Py_RETURN_NOTIMPLEMENTED;
}

PyObject *call(Operator which, PyObject *a, PyObject *b) {
  PyObject *args[3] = {nullptr, a, b};
  if (!operators[which] || !is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
  Ref array;
  if (PyArray_Check(a)) {
    array.reset(tensor_of(a));
    if (!array || array.get() == Py_NotImplemented) return array.release();
    args[1] = array.get();
  } else if (!is_operand(a)) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  return PyObject_Vectorcall(operators[which], args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
}

PyObject *set_operator(PyObject *, PyObject *args) {
  const char *name;
  PyObject *callable;
  if (!PyArg_ParseTuple(args, "sO:set_operator", &name, &callable)) return nullptr;
  for (int i = 0; i < OPERATOR_COUNT; i++) {
    if (strcmp(name, operator_names[i]) == 0) {
      Py_XSETREF(operators[i], Py_NewRef(callable));
      Py_RETURN_NONE;
    }
  }
  return PyErr_Format(PyExc_ValueError, "%s is not an operator of tensors", name);
}

PyObject *get_operators(PyObject *, PyObject *) {
  Ref result(PyDict_New());
  for (int i = 0; result && i < OPERATOR_COUNT; i++) {
    PyObject *value = operators[i] ? operators[i] : Py_None;
    if (PyDict_SetItemString(result.get(), operator_names[i], value) < 0) return nullptr;
  }
  return result.release();
}

}  // namespace

#define WEFT_DEFINE_BINARY(slot, name) \
  PyObject *operator_##slot(PyObject *a, PyObject *b) { return call(OPERATOR_##slot, a, b); }
#define WEFT_DEFINE_UNARY(slot, name) \
  PyObject *operator_##slot(PyObject *a) { return call(OPERATOR_##slot, a); }
WEFT_BINARY_OPERATORS(WEFT_DEFINE_BINARY)
WEFT_UNARY_OPERATORS(WEFT_DEFINE_UNARY)

PyObject *operator_power(PyObject *a, PyObject *b, PyObject *modulo) {
  if (modulo != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return call(OPERATOR_POW, a, b);
}

PyObject *operator_inplace_power(PyObject *a, PyObject *b, PyObject *modulo) {
  if (modulo != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return call(OPERATOR_IPOW, a, b);
}

PyObject *operator_compare(PyObject *a, PyObject *b, int op) {
  static const Operator which[] = {OPERATOR_LT, OPERATOR_LE, OPERATOR_EQ, OPERATOR_NE, OPERATOR_GT, OPERATOR_GE};
  if ((op != Py_EQ && op != Py_NE) || !PyArray_Check(b)) return call(which[op], a, b);
  Ref other(tensor_of(b));
  return other && other.get() != Py_NotImplemented ? call(which[op], a, other.get()) : other.release();
}

PyObject *operator_getitem(PyObject *self, PyObject *key) {
  PyObject *args[3] = {nullptr, self, key};
  if (!operators[OPERATOR_GETITEM]) return PyErr_Format(PyExc_NotImplementedError, "__getitem__ is not defined");
  return PyObject_Vectorcall(operators[OPERATOR_GETITEM], args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
}

int operator_setitem(PyObject *self, PyObject *key, PyObject *value) {
  if (!value) {
    PyErr_SetString(PyExc_TypeError, "Tensor does not support deleting items");
    return -1;
  }
  if (!operators[OPERATOR_SETITEM]) {
    PyErr_SetString(PyExc_NotImplementedError, "__setitem__ is not defined");
    return -1;
  }
  PyObject *args[4] = {nullptr, self, key, value};
  Ref result(PyObject_Vectorcall(operators[OPERATOR_SETITEM], args + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  return result ? 0 : -1;
}

// Asked of `shape`, which a Tracer overrides.
Py_ssize_t operator_len(PyObject *self) {
  if (!WEFT_IS_TRACER(self)) {
    if (WEFT_NDIM(self) > 0) return (Py_ssize_t)as_tensor(self)->sizes[0];
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
  }
  Ref shape(PyObject_GetAttrString(self, "shape"));
  if (!shape) return -1;
  Ref first(PySequence_GetItem(shape.get(), 0));
  if (first) return PyNumber_AsSsize_t(first.get(), PyExc_OverflowError);
  if (PyErr_ExceptionMatches(PyExc_IndexError)) PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
  return -1;
}

PyObject *operator_iter(PyObject *self) { return call(OPERATOR_ITER, self); }

int operator_contains(PyObject *self, PyObject *element) {
  Ref result(call(OPERATOR_CONTAINS, self, element));
  if (!result) return -1;
  if (result.get() != Py_NotImplemented) return PyObject_IsTrue(result.get());
  PyErr_Format(PyExc_RuntimeError, "Tensor.__contains__ only supports Tensor or scalar, but you passed in a %R.", Py_TYPE(element));
  return -1;
}

PyMethodDef operator_functions[] = {
    {"set_operator", set_operator, METH_VARARGS, "set_operator(name, callable): what an operator of tensors calls"},
    {"get_operators", get_operators, METH_NOARGS, "dict of what the operators call"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace weft

// literals.cpp: tensors of Python's own numbers in lists and tuples, for `weft.tensor`.
#include <string.h>

#include "native.h"

namespace weft {

namespace {

// Nested lists and tuples of exact floats, ints and bools. No code of the program runs while they are read; whatever else there
// is, and what is ragged or does not fit, is for aten/tensor.py to say.
struct Literal {
  int ndim = 0;
  int64_t sizes[WEFT_MAX_NDIM];
  DTypeKind kind = KIND_BOOL;  // the highest of the numbers'
  int dtype = -1;              // what they are written as
  char *place = nullptr;       // where the next one is; NULL: they are only looked at

  static bool is_sequence(PyObject *p) { return PyList_CheckExact(p) || PyTuple_CheckExact(p); }

  bool measure(PyObject *data) {
    for (; is_sequence(data); data = PySequence_Fast_GET_ITEM(data, 0)) {
      if (ndim == WEFT_MAX_NDIM || !(sizes[ndim] = PySequence_Fast_GET_SIZE(data))) return false;
      ndim++;
    }
    return true;
  }

  bool walk(PyObject *data, int dim) {
    if (dim == ndim) return number(data);
    if (!is_sequence(data) || PySequence_Fast_GET_SIZE(data) != sizes[dim]) return false;
    PyObject **items = PySequence_Fast_ITEMS(data);
    for (int64_t i = 0; i < sizes[dim]; i++)
      if (!walk(items[i], dim + 1)) return false;
    return true;
  }

  bool number(PyObject *p) {
    const DTypeKind own = PyFloat_CheckExact(p) ? KIND_FLOAT : PyLong_CheckExact(p) ? KIND_INTEGER : KIND_BOOL;
    if (own == KIND_BOOL && !PyBool_Check(p)) return false;
    if (!place) {
      if (own > kind) kind = own;
      return true;
    }
    if (own > dtype_kind(dtype)) return false;
    if (dtype == WEFT_FLOAT32 && own == KIND_FLOAT) {
      const float value = (float)PyFloat_AS_DOUBLE(p);
      memcpy(place, &value, sizeof value);
    } else if (!write_scalar(place, dtype, p)) {
      PyErr_Clear();
      return false;
    }
    place += weft_itemsize(dtype);
    return true;
  }
};

}  // namespace

// tensor_of_numbers(data, dtype or None) -> a tensor, or None: not of this simple kind
PyObject *tensor_of_numbers(PyObject *, PyObject *args) {
  PyObject *data, *asked;
  if (!PyArg_ParseTuple(args, "OO:tensor_of_numbers", &data, &asked)) return nullptr;
  Literal literal;
  if (!literal.measure(data) || !literal.walk(data, 0)) Py_RETURN_NONE;
  const int own = literal.kind == KIND_FLOAT ? default_dtype() : literal.kind == KIND_INTEGER ? WEFT_INT64 : WEFT_BOOL;
  literal.dtype = asked == Py_None ? own : dtype_code(asked);
  if (literal.dtype < 0) return nullptr;
  if (dtype_kind(literal.dtype) > KIND_FLOAT || literal.dtype >= WEFT_FLOAT8_E4M3FN) Py_RETURN_NONE;
  Ref made(empty((uint32_t)literal.dtype, literal.ndim, literal.sizes, nullptr));
  if (!made) return nullptr;
  literal.place = weft_data(as_tensor(made.get()));
  if (!literal.walk(data, 0)) Py_RETURN_NONE;  // (also where the garbage collector has run code that changed the lists)
  return made.release();
}

}  // namespace weft

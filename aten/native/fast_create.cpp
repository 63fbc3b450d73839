// fast_create.cpp: new tensors: zeros, ones, empty, full, their _like and new_ forms, arange of integers.
#include <string.h>

#include "loops.h"
#include "op.h"

namespace weft {

namespace {

bool is_word(PyObject *name, const char *text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; }

// What a factory takes by keyword: dtype, a device that is the CPU, requires_grad=False. False: not of the fast form.
bool read_keywords(PyObject *const *values, PyObject *names, int *dtype) {
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
    PyObject *name = PyTuple_GET_ITEM(names, i), *value = values[i];
    if (is_word(name, "dtype")) {
      if (value == Py_None) continue;
      if (Py_TYPE(value) != dtype_type) return false;
      *dtype = dtype_code(value);
    } else if (is_word(name, "device")) {
      if (value == Py_None) continue;
      int type, index;
      if (Py_TYPE(value) != device_type || !parse_device(value, &type, &index) || type != WEFT_CPU || index > 0) return false;
    } else if (!is_word(name, "requires_grad") || value != Py_False) {
      return false;
    }
  }
  return true;
}

enum Code { ZEROS, ONES, EMPTY, FULL };

// A row-major tensor of one value (given as a Python number unless it is 0 or undefined).
PyObject *filled(Code code, int dtype, int ndim, const int64_t *sizes, PyObject *number) {
  for (int d = 0; d < ndim; d++)
    if (sizes[d] < 0) return UNHANDLED;
  WeftLoop copy = weft_kernels.cast[dtype][dtype];
  if (!copy) return UNHANDLED;
  alignas(16) char value[16] = {};
  if (code == ONES || code == FULL) {
    bool real = number && PyFloat_CheckExact(number) && dtype_kind(dtype) < KIND_FLOAT;
    Ref one(number ? Py_NewRef(number) : PyLong_FromLong(1));
    if (real || !one || !write_element(value, dtype, one.get())) {
      PyErr_Clear();
      return UNHANDLED;
    }
  }
  Ref out(empty((uint32_t)dtype, ndim, sizes, nullptr));
  if (!out || code == EMPTY) return out.release();
  WeftTensor *t = as_tensor(out.get());
  if (!t->numel) return out.release();
  if (code == ZEROS && t->numel < 65536) {
    memset(weft_data(t), 0, (size_t)(t->numel * weft_itemsize(dtype)));
    return out.release();
  }
  Loop loop(ndim, sizes);
  loop.add_number(value);
  loop.add(t);
  loop.run(copy, nullptr);
  return out.release();
}

// Sizes from the arguments at `first` on: one list, or ints spread over the arguments; -1 for other forms.
int read_sizes(PyObject *const *args, Py_ssize_t nargs, Py_ssize_t first, int64_t *sizes) {
  if (nargs == first + 1 && !PyLong_CheckExact(args[first])) return exact_ints(args[first], sizes);
  if (nargs - first > WEFT_MAX_NDIM) return -1;
  for (Py_ssize_t i = first; i < nargs; i++)
    if (!exact_int(args[i], &sizes[i - first])) return -1;
  return (int)(nargs - first);
}

bool is_number(PyObject *p) { return PyFloat_CheckExact(p) || PyLong_CheckExact(p) || PyBool_Check(p); }

// zeros(*size), ones(*size), empty(*size); full(size, value) with FULL
PyObject *fast_create(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  int64_t sizes[WEFT_MAX_NDIM];
  int dtype = default_dtype(), ndim;
  PyObject *value = nullptr;
  if (op->code == FULL) {
    if (nargs != 2 || !is_number(args[1])) return UNHANDLED;
    value = args[1];
    if (!PyFloat_CheckExact(value)) dtype = PyBool_Check(value) ? WEFT_BOOL : WEFT_INT64;
    ndim = exact_ints(args[0], sizes);
  } else {
    ndim = nargs ? read_sizes(args, nargs, 0, sizes) : -1;
  }
  if (ndim < 0 || !read_keywords(args + nargs, names, &dtype)) return UNHANDLED;
  return filled((Code)op->code, dtype, ndim, sizes, value);
}

// zeros_like(input), ...; full_like(input, value), of row-major tensors: others keep their layout
PyObject *fast_like(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  bool full = op->code == FULL;
  WeftTensor *t = nargs == (full ? 2 : 1) ? plain(args[0]) : nullptr;
  if (!t || !(t->word & WEFT_WORD_CONTIGUOUS) || (full && !is_number(args[1]))) return UNHANDLED;
  int dtype = WEFT_DTYPE(t);
  if (!read_keywords(args + nargs, names, &dtype)) return UNHANDLED;
  return filled((Code)op->code, dtype, WEFT_NDIM(t), t->sizes, full ? args[1] : nullptr);
}

// new_zeros(input, *size), ...
PyObject *fast_new(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  WeftTensor *t = nargs >= 2 ? plain(args[0]) : nullptr;
  if (!t) return UNHANDLED;
  int64_t sizes[WEFT_MAX_NDIM];
  int dtype = WEFT_DTYPE(t), ndim = read_sizes(args, nargs, 1, sizes);
  if (ndim < 0 || !read_keywords(args + nargs, names, &dtype)) return UNHANDLED;
  return filled((Code)op->code, dtype, ndim, sizes, nullptr);
}

// arange(end), arange(start, end, step=1) of ints, as int64
PyObject *fast_arange(NativeOp *, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  int64_t given[3] = {0, 0, 1};
  int dtype = WEFT_INT64;
  if (nargs < 1 || nargs > 3 || !read_keywords(args + nargs, names, &dtype) || dtype != WEFT_INT64) return UNHANDLED;
  for (Py_ssize_t i = 0; i < nargs; i++)
    if (!exact_int(args[i], &given[i])) return UNHANDLED;
  int64_t start = nargs == 1 ? 0 : given[0], end = nargs == 1 ? given[0] : given[1], step = given[2];
  constexpr int64_t kLimit = int64_t(1) << 40;
  if (step <= 0 || end < start || start < -kLimit || end > kLimit || step > kLimit) return UNHANDLED;
  int64_t n = (end - start + step - 1) / step;
  Ref out(empty(WEFT_INT64, 1, &n, nullptr));
  if (!out) return nullptr;
  int64_t *p = reinterpret_cast<int64_t *>(n ? weft_data(as_tensor(out.get())) : nullptr);
  for (int64_t i = 0; i < n; i++) p[i] = start + i * step;
  return out.release();
}

}  // namespace

const Family create_families[] = {{"create", fast_create, FULL + 1}, {"like", fast_like, FULL + 1}, {"new", fast_new, FULL + 1}, {"arange", fast_arange}, {nullptr, nullptr}};

}  // namespace weft

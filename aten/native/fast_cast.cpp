// fast_cast.cpp: copies: other dtypes, row-major copies, copy_, detach.
#include <string.h>

#include "loops.h"
#include "op.h"

namespace weft {

bool copy_into(WeftTensor *out, WeftTensor *source) {
  WeftLoop body = weft_kernels.cast[WEFT_DTYPE(source)][WEFT_DTYPE(out)];
  if (!body) return false;
  bool plain_copy = WEFT_DTYPE(source) == WEFT_DTYPE(out) && (source->word & out->word & WEFT_WORD_CONTIGUOUS) && source->numel == out->numel;
  if (plain_copy && out->numel < 65536) {
    if (out->numel) memmove(weft_data(out), weft_data(source), (size_t)(out->numel * weft_itemsize(WEFT_DTYPE(out))));
    return true;
  }
  Loop loop(WEFT_NDIM(out), out->sizes);
  loop.add(source);
  loop.add(out);
  loop.run(body, nullptr);
  return true;
}

PyObject *cast_tensor(WeftTensor *t, int dtype) {
  if (!weft_kernels.cast[WEFT_DTYPE(t)][dtype]) return nullptr;
  Ref out(empty_like(t, dtype));
  if (!out) return nullptr;
  copy_into(as_tensor(out.get()), t);
  return out.release();
}

static PyObject *row_major_copy(WeftTensor *t) {
  if (!weft_kernels.cast[WEFT_DTYPE(t)][WEFT_DTYPE(t)]) return UNHANDLED;
  Ref out(empty(t->word, WEFT_NDIM(t), t->sizes, nullptr));
  if (!out) return nullptr;
  copy_into(as_tensor(out.get()), t);
  return out.release();
}

PyObject *contiguous_copy(WeftTensor *t) {
  Ref out(row_major_copy(t));
  if (!out || out.get() == UNHANDLED || !records(t)) return out.release();
  return record_op(core_ops[CORE_CLONE], {CoreArg(t)}, out.get()) ? out.release() : nullptr;
}

namespace {

PyObject *converted(WeftTensor *t, int dtype) {
  if (WEFT_DTYPE(t) == dtype) return Py_NewRef(as_object(t));
  Ref out(cast_tensor(t, dtype));
  if (!out) return PyErr_Occurred() ? nullptr : UNHANDLED;
  if (!records(t) || dtype_kind(dtype) < KIND_FLOAT) return out.release();
  return record_op(core_ops[CORE_CAST], {CoreArg(t), CoreArg(dtype_object(dtype))}, out.get()) ? out.release() : nullptr;
}

// float(), long(), ...: `code` is the dtype
PyObject *fast_convert(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  WeftTensor *t = nargs == 1 && !names ? plain(args[0]) : nullptr;
  return t ? converted(t, op->code) : UNHANDLED;
}

// to(dtype), to(dtype=dtype) and to(device) of the CPU
PyObject *fast_to(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  bool by_name = nargs == 1 && names && PyTuple_GET_SIZE(names) == 1 &&
                 PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "dtype") == 0;
  if (!by_name && (nargs != 2 || names)) return UNHANDLED;
  WeftTensor *t = plain(args[0]);
  if (!t || Py_TYPE(args[1]) != dtype_type) return UNHANDLED;
  return converted(t, dtype_code(args[1]));
}

PyObject *fast_cast(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  if (nargs != 2 || names || Py_TYPE(args[1]) != dtype_type) return UNHANDLED;
  WeftTensor *t = plain(args[0]);
  if (!t || WEFT_DTYPE(t) == dtype_code(args[1])) return UNHANDLED;
  return converted(t, dtype_code(args[1]));
}

PyObject *fast_clone(NativeOp *, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  WeftTensor *t = nargs == 1 && !names ? plain(args[0]) : nullptr;
  return t ? contiguous_copy(t) : UNHANDLED;
}

PyObject *fast_contiguous(NativeOp *, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  WeftTensor *t = nargs == 1 && !names ? plain(args[0]) : nullptr;
  if (!t) return UNHANDLED;
  return t->word & WEFT_WORD_CONTIGUOUS ? Py_NewRef(args[0]) : contiguous_copy(t);
}

PyObject *fast_detach(NativeOp *, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  WeftTensor *t = nargs == 1 && !names ? plain(args[0]) : nullptr;
  return t ? alias(t, WEFT_NDIM(t), t->sizes, t->strides, t->offset) : UNHANDLED;
}

bool broadcasts_to(const WeftTensor *t, const WeftTensor *target) {
  int extra = WEFT_NDIM(target) - WEFT_NDIM(t);
  if (extra < 0) return false;
  for (int d = 0; d < WEFT_NDIM(t); d++)
    if (t->sizes[d] != 1 && t->sizes[d] != target->sizes[extra + d]) return false;
  return true;
}

// copy_(input, src): without gradients to record and without shared memory
PyObject *fast_copy_(NativeOp *, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  if (nargs != 2 || names) return UNHANDLED;
  WeftTensor *out = plain(args[0]), *source = plain(args[1]);
  if (!out || !source || source->storage == out->storage || !broadcasts_to(source, out)) return UNHANDLED;
  if (check_inplace(out) < 0) return nullptr;
  if (records(out) || records(source)) return UNHANDLED;
  if (!copy_into(out, source)) return UNHANDLED;
  weft_bump_version(out);
  return Py_NewRef(args[0]);
}

// fill_(input, number) and zero_(input), `code` 1
PyObject *fast_fill_(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  bool zero = op->code == 1;
  if (nargs != (zero ? 1 : 2) || names) return UNHANDLED;
  WeftTensor *out = plain(args[0]);
  if (!out || (!zero && !PyFloat_CheckExact(args[1]) && !PyLong_Check(args[1]))) return UNHANDLED;
  int dtype = WEFT_DTYPE(out);
  WeftLoop body = weft_kernels.cast[dtype][dtype];
  if (!body) return UNHANDLED;
  if (check_fill(out) < 0) return nullptr;
  if (records(out)) return UNHANDLED;
  if (zero && (out->word & WEFT_WORD_CONTIGUOUS) && out->numel < 65536) {
    if (out->numel) memset(weft_data(out), 0, (size_t)(out->numel * weft_itemsize(dtype)));
  } else {
    alignas(16) char value[16] = {};
    if (!zero && !write_element(value, dtype, args[1])) {
      PyErr_Clear();
      return UNHANDLED;
    }
    Loop loop(WEFT_NDIM(out), out->sizes);
    loop.add_number(value);
    loop.add(out);
    loop.run(body, nullptr);
  }
  weft_bump_version(out);
  return Py_NewRef(args[0]);
}

}  // namespace

const Family cast_families[] = {{"convert", fast_convert, WEFT_NUM_DTYPES}, {"to", fast_to},         {"cast", fast_cast},   {"clone", fast_clone},
                                {"contiguous", fast_contiguous}, {"detach", fast_detach}, {"copy_", fast_copy_}, {"fill_", fast_fill_},
                                {nullptr, nullptr}};

}  // namespace weft

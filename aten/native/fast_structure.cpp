// fast_structure.cpp: flip, roll.
#include <algorithm>

#include "chain.h"
#include "loops.h"
#include "op.h"

namespace weft {

namespace {

// One int or a list of them; -1 for anything else.
int ints_of(PyObject *p, int64_t *out) { return exact_int(p, out) ? 1 : exact_ints(p, out); }

// flip(input, dims)
PyObject *fast_flip(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  PyObject *slots[2];
  if (!bind_arguments(op, args, nargs, names, slots) || !slots[0] || !slots[1]) return UNHANDLED;
  WeftTensor *x = plain(slots[0]);
  int64_t dims[WEFT_MAX_NDIM];
  int n = x && x->word & WEFT_WORD_CONTIGUOUS && WEFT_NDIM(x) ? ints_of(slots[1], dims) : -1;
  if (n < 0 || !weft_kernels.cast[WEFT_DTYPE(x)][WEFT_DTYPE(x)]) return UNHANDLED;
  uint64_t seen = 0;
  for (int i = 0; i < n; i++) {
    int dim;
    if (!wrap_dim(dims[i], WEFT_NDIM(x), &dim) || seen >> dim & 1) return UNHANDLED;
    seen |= 1ull << dim;
    dims[i] = dim;
  }
  Ref out(empty_like(x, WEFT_DTYPE(x)));
  if (!out) return nullptr;
  Loop loop(WEFT_NDIM(x), x->sizes);
  loop.add(x);
  for (int i = 0; i < n; i++) loop.reverse((int)dims[i]);
  loop.add(as_tensor(out.get()));
  loop.run(weft_kernels.cast[WEFT_DTYPE(x)][WEFT_DTYPE(x)], nullptr);
  if (records(x) && !record_op(op, {CoreArg(x), CoreArg::integers(dims, n)}, out.get())) return nullptr;
  return out.release();
}

// out[start of dim ...] = x[from ...], `length` places of a dim
bool copy_places(WeftTensor *out, WeftTensor *x, int ndim, int64_t *sizes, const int64_t *strides, int dim, int64_t to, int64_t from,
                 int64_t length) {
  int64_t size = std::exchange(sizes[dim], length);
  Ref target(alias(out, ndim, sizes, strides, out->offset + to * strides[dim]));
  Ref source(alias(x, ndim, sizes, strides, x->offset + from * strides[dim]));
  sizes[dim] = size;
  return target && source && copy_into(as_tensor(target.get()), as_tensor(source.get()));
}

// roll(input, shifts, dims=()) along one dimension, or of the elements in their order
PyObject *fast_roll(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  PyObject *slots[3];
  if (!bind_arguments(op, args, nargs, names, slots) || !slots[0] || !slots[1]) return UNHANDLED;
  WeftTensor *x = plain(slots[0]);
  int64_t shifts[WEFT_MAX_NDIM], dims[WEFT_MAX_NDIM], sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM];
  if (!x || !(x->word & WEFT_WORD_CONTIGUOUS) || !WEFT_NDIM(x) || !weft_kernels.cast[WEFT_DTYPE(x)][WEFT_DTYPE(x)]) return UNHANDLED;
  int n_dims = slots[2] ? ints_of(slots[2], dims) : 0, dim = 0, ndim = WEFT_NDIM(x);
  if (ints_of(slots[1], shifts) != 1 || n_dims < 0 || n_dims > 1) return UNHANDLED;
  if (n_dims == 0) {  // as one dimension; its history is that of the general path
    if (records(x)) return UNHANDLED;
    ndim = 1;
    sizes[0] = x->numel;
  } else {
    if (!wrap_dim(dims[0], ndim, &dim)) return UNHANDLED;
    std::copy(x->sizes, x->sizes + ndim, sizes);
  }
  contiguous_strides(ndim, sizes, strides);
  Ref out(empty_like(x, WEFT_DTYPE(x)));
  if (!out) return nullptr;
  if (int64_t size = x->numel ? sizes[dim] : 0) {
    int64_t shift = shifts[0] % size;
    if (shift < 0) shift += size;
    WeftTensor *o = as_tensor(out.get());
    if (!copy_places(o, x, ndim, sizes, strides, dim, shift, 0, size - shift)) return nullptr;
    if (!copy_places(o, x, ndim, sizes, strides, dim, 0, size - shift, shift)) return nullptr;
  }
  int64_t at = dim;
  if (records(x) && !record_op(op, {CoreArg(x), CoreArg::integers(shifts, 1), CoreArg::integers(&at, 1)}, out.get())) return nullptr;
  return out.release();
}

}  // namespace

const Family structure_families[] = {{"flip", fast_flip}, {"roll", fast_roll}, {"chain", fast_chain}, {nullptr, nullptr}};

}  // namespace weft

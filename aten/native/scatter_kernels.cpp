// scatter_kernels.cpp: kernels of ops on elements that an index of their own rank names: scatter, scatter_reduce, gather_class.
#include <string.h>

#include <algorithm>

#include "native_kernel.h"
#include "places.h"

namespace weft {

namespace {

// A dim, and an int64 index of the tensor's rank that is no larger than it but along dim.
bool fits(const WeftTensor *x, int dim, const WeftTensor *index) {
  if (WEFT_DTYPE(index) != WEFT_INT64 || WEFT_NDIM(index) != WEFT_NDIM(x) || dim < 0 || dim >= WEFT_NDIM(x)) return false;
  for (int d = 0; d < WEFT_NDIM(x); d++)
    if (d != dim && index->sizes[d] > x->sizes[d]) return false;
  return true;
}

// far: `x` at the places that the index names; near: `near` at those of the index, or one element for all of them.
bool describe(const WeftTensor *x, const WeftTensor *index, int dim, char *near, const int64_t *near_steps, Places *places) {
  places->ndim = WEFT_NDIM(x), places->wraps = false;
  for (int d = 0; d < WEFT_NDIM(x); d++) {
    places->sizes[d] = index->sizes[d], places->near_steps[d] = near_steps ? near_steps[d] : 0;
    places->far_steps[d] = d == dim ? 0 : x->strides[d];
  }
  places->far = weft_data(x), places->near = near;
  if (!places->add_index(index, x->sizes[dim], x->strides[dim])) return false;
  places->make_blocks(dim);
  return true;
}

// Whether `t` has an element for each of the index.
bool covers(const WeftTensor *t, const WeftTensor *index) {
  if (WEFT_NDIM(t) != WEFT_NDIM(index)) return false;
  for (int d = 0; d < WEFT_NDIM(t); d++)
    if (index->sizes[d] > t->sizes[d]) return false;
  return true;
}

struct Scatter {
  WeftTensor *out, *x, *index;
  int dim;

  // Arguments (out, x, dim, index, …); false: not handled.
  bool read(PyObject *const *args, Py_ssize_t nargs) {
    int64_t given;
    if (nargs < 4) return false;
    out = dense(args[0]), x = plain(args[1]), index = plain(args[3]);
    if (!out || !x || !index || WEFT_DTYPE(x) != WEFT_DTYPE(out) || !exact_int(args[2], &given) || !WEFT_NDIM(out)) return false;
    dim = (int)given;
    return out->storage != x->storage && out->storage != index->storage && fits(out, dim, index);
  }
  // out[index] op= near; false: an index is out of range.
  bool apply(PlaceOp op, char *near, const int64_t *near_steps) const {
    Places places;
    return describe(out, index, dim, near, near_steps, &places) && run_places(places, op, WEFT_DTYPE(out));
  }
};

// (out, x, dim, index, src): src is a tensor or a number
PyObject *scatter_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  Scatter s;
  if (nargs != 5 || !s.read(args, nargs) || !has_place_op(PlaceOp::PUT, WEFT_DTYPE(s.out))) return not_for_these();
  WeftTensor *src = plain(args[4]);
  alignas(16) char number[16] = {};
  if (src ? WEFT_DTYPE(src) != WEFT_DTYPE(s.out) || !covers(src, s.index) || src->storage == s.out->storage : is_tensor(args[4])) return not_for_these();
  if (!src && !write_scalar(number, WEFT_DTYPE(s.out), args[4])) {
    PyErr_Clear();
    return not_for_these();
  }
  if (!copy_into(s.out, s.x)) return not_for_these();
  return s.apply(PlaceOp::PUT, src ? weft_data(src) : number, src ? src->strides : nullptr) ? written() : not_for_these();
}

// Numbers that an extreme or a sum starts from.
bool start_of(int dtype, const char *reduce, char *to) {
  const bool least = !strcmp(reduce, "amin"), most = !strcmp(reduce, "amax");
  if (!least && !most) {
    Ref number(PyLong_FromLong(!strcmp(reduce, "prod")));
    return number && write_scalar(to, dtype, number.get());
  }
  const double infinity = __builtin_inf();
  switch (dtype) {
    case WEFT_FLOAT32: *reinterpret_cast<float *>(to) = (float)(least ? infinity : -infinity); return true;
    case WEFT_FLOAT64: *reinterpret_cast<double *>(to) = least ? infinity : -infinity; return true;
    case WEFT_INT64: *reinterpret_cast<int64_t *>(to) = least ? INT64_MAX : INT64_MIN; return true;
    case WEFT_INT32: *reinterpret_cast<int32_t *>(to) = least ? INT32_MAX : INT32_MIN; return true;
    default: return false;
  }
}

template <class T> void divide(T *out, const int32_t *counts, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const T count = (T)std::max<int32_t>(counts[i], 1);
    if constexpr (std::is_floating_point<T>::value) out[i] /= count;
    else {
      const T q = out[i] / count;
      out[i] = q - (out[i] % count < 0);  // rounded down
    }
  }
}

// What was added up in `s.out`, by the number of elements that were.
bool divide_by_counts(const Scatter &s, bool with_self) {
  if (s.index->numel >= INT32_MAX) return false;
  Ref counts(empty(WEFT_INT32, WEFT_NDIM(s.out), s.out->sizes, nullptr));
  if (!counts) return false;
  int32_t *n = reinterpret_cast<int32_t *>(weft_data(as_tensor(counts.get()))), one = 1;
  std::fill(n, n + s.out->numel, (int32_t)with_self);
  Places places;
  if (!describe(as_tensor(counts.get()), s.index, s.dim, reinterpret_cast<char *>(&one), nullptr, &places)) return false;
  if (!run_places(places, PlaceOp::ADD, WEFT_INT32)) return false;
  char *data = weft_data(s.out);
  switch (WEFT_DTYPE(s.out)) {
    case WEFT_FLOAT32: divide(reinterpret_cast<float *>(data), n, s.out->numel); break;
    case WEFT_FLOAT64: divide(reinterpret_cast<double *>(data), n, s.out->numel); break;
    case WEFT_INT64: divide(reinterpret_cast<int64_t *>(data), n, s.out->numel); break;
    default: divide(reinterpret_cast<int32_t *>(data), n, s.out->numel); break;
  }
  return true;
}

bool combine(const Scatter &s, WeftTensor *src, const char *reduce, bool with_self) {
  const bool mean = !strcmp(reduce, "mean");
  const PlaceOp op = mean || !strcmp(reduce, "sum") ? PlaceOp::ADD
                     : !strcmp(reduce, "prod")      ? PlaceOp::MULTIPLY
                     : !strcmp(reduce, "amax")      ? PlaceOp::MAXIMUM
                                                    : PlaceOp::MINIMUM;
  alignas(16) char start[16] = {};
  if (!copy_into(s.out, s.x)) return false;
  if (!with_self && (!start_of(WEFT_DTYPE(s.out), reduce, start) || !s.apply(PlaceOp::PUT, start, nullptr))) return false;
  return s.apply(op, weft_data(src), src->strides) && (!mean || divide_by_counts(s, with_self));
}

// (out, x, dim, index, src, reduce, include_self); halves are combined as float32 and rounded once
PyObject *scatter_reduce_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  Scatter s;
  bool with_self;
  if (nargs != 7 || !s.read(args, nargs) || !PyUnicode_Check(args[5]) || !exact_bool(args[6], &with_self)) return not_for_these();
  const char *reduce = PyUnicode_AsUTF8(args[5]);
  WeftTensor *src = plain(args[4]), *out = s.out;
  const int dtype = WEFT_DTYPE(out);
  if (!reduce || !src || WEFT_DTYPE(src) != dtype || !covers(src, s.index) || src->storage == out->storage) return not_for_these();
  if (dtype != WEFT_FLOAT32 && dtype != WEFT_FLOAT64 && dtype != WEFT_INT64 && dtype != WEFT_INT32 && !is_half(dtype)) return not_for_these();
  Ref sums, wide;
  if (is_half(dtype)) {
    sums.reset(empty((uint32_t)WEFT_FLOAT32, WEFT_NDIM(out), out->sizes, nullptr)), wide.reset(cast_tensor(src, WEFT_FLOAT32));
    if (!sums || !wide) return PyErr_Occurred() ? nullptr : not_for_these();
    s.out = as_tensor(sums.get()), src = as_tensor(wide.get());
  }
  if (!combine(s, src, reduce, with_self) || (s.out != out && !copy_into(out, s.out))) return PyErr_Occurred() ? nullptr : not_for_these();
  return written();
}

// (out, x, dim, index)
PyObject *gather_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 4 ? dense(args[0]) : nullptr, *x = out ? plain(args[1]) : nullptr, *index = x ? plain(args[3]) : nullptr;
  int64_t dim;
  if (!index || !exact_int(args[2], &dim) || !WEFT_NDIM(x) || !fits(x, (int)dim, index) || WEFT_DTYPE(x) != WEFT_DTYPE(out) || out->numel != index->numel) return not_for_these();
  Places places;
  if (!has_place_op(PlaceOp::TAKE, WEFT_DTYPE(x)) || !describe(x, index, (int)dim, weft_data(out), out->strides, &places)) return not_for_these();
  return run_places(places, PlaceOp::TAKE, WEFT_DTYPE(x)) ? written() : not_for_these();
}

}  // namespace

const NativeKernel scatter_kernels[] = {{"scatter", WEFT_KERNEL(scatter_kernel)},
                                        {"scatter_reduce", WEFT_KERNEL(scatter_reduce_kernel)},
                                        {"gather_class", WEFT_KERNEL(gather_kernel)},
                                        {nullptr, nullptr}};

}  // namespace weft

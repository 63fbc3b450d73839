// fast_structure.cpp: flip, roll; gather and scatter along a dimension.
#include <string.h>

#include <algorithm>
#include <atomic>

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

// ------------------------------------------------------------------------------------------- gather, scatter

// Where a tensor lies, as it was when the call began: another thread may give it other memory and sizes while the GIL is away.
struct Placed {
  char *data;
  int ndim, dtype;
  int64_t numel, sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM];
  explicit Placed(const WeftTensor *t) : data(weft_data(const_cast<WeftTensor *>(t))), ndim(WEFT_NDIM(t)), dtype(WEFT_DTYPE(t)), numel(t->numel) {
    std::copy(t->sizes, t->sizes + ndim, sizes);
    std::copy(t->strides, t->strides + ndim, strides);
  }
};

// dense[i] = indexed[i with i[dim] = index[i]], or the reverse with `scatters`; `dense` and `index` step by their own strides.
struct GatherJob {
  static constexpr int64_t kBlock = 256;
  const Placed indexed, dense, index;
  int dim;
  bool scatters;
  std::atomic<bool> out_of_range{false};

  template <class T> void row(char *indexed_row, char *dense_row, const int64_t *at, int64_t n) const {
    int last = index.ndim - 1;
    int64_t across = indexed.strides[dim], along = dim == last ? 0 : indexed.strides[last];
    int64_t step = dense.strides[last];
    T *far = reinterpret_cast<T *>(indexed_row), *near = reinterpret_cast<T *>(dense_row);
    if (scatters)
      for (int64_t j = 0; j < n; j++) far[j * along + at[j] * across] = near[j * step];
    else
      for (int64_t j = 0; j < n; j++) near[j * step] = far[j * along + at[j] * across];
  }

  void run(int64_t begin, int64_t end) {
    int last = index.ndim - 1;
    int64_t n = index.sizes[last], limit = indexed.sizes[dim], item = weft_itemsize(dense.dtype);
    for (int64_t r = begin; r < end; r++) {
      int64_t rest = r, far = 0, near = 0;
      for (int d = last - 1; d >= 0; d--) {
        int64_t i = rest % index.sizes[d];
        rest /= index.sizes[d];
        near += i * dense.strides[d];
        if (d != dim) far += i * indexed.strides[d];
      }
      const int64_t *at = reinterpret_cast<const int64_t *>(index.data) + r * n;
      char *a = indexed.data + far * item, *b = dense.data + near * item;
      for (int64_t first = 0; first < n; first += kBlock) {
        // A copy: what was found in range must be what is used, whoever writes the index meanwhile.
        int64_t block[kBlock];
        const int64_t m = std::min(kBlock, n - first);
        memcpy(block, at + first, (size_t)m * sizeof(int64_t));
        bool bad = false;
        for (int64_t j = 0; j < m; j++) bad |= (uint64_t)block[j] >= (uint64_t)limit;
        if (bad) {
          out_of_range = true;
          return;
        }
        char *p = a + (dim == last ? 0 : first * indexed.strides[last]) * item, *q = b + first * dense.strides[last] * item;
        switch (item) {
          case 1: row<uint8_t>(p, q, block, m); break;
          case 2: row<uint16_t>(p, q, block, m); break;
          case 4: row<uint32_t>(p, q, block, m); break;
          default: row<uint64_t>(p, q, block, m); break;
        }
      }
    }
  }
  static void range(void *ctx, int64_t begin, int64_t end, int64_t) { static_cast<GatherJob *>(ctx)->run(begin, end); }
};

// False when an index is out of range: the general path words the error.
bool run_gather(GatherJob *job) {
  if (job->index.numel == 0) return true;
  int64_t n = job->index.sizes[job->index.ndim - 1], rows = job->index.numel / n;
  if (job->scatters && job->dim != job->index.ndim - 1) job->run(0, rows);  // rows may write to the same places, in order
  else Loop::parallel(job->index.numel, rows, n, GatherJob::range, job);
  return !job->out_of_range;
}

// An int64 index of the tensor's rank, row-major, no larger than it but along dim.
bool indexes(const WeftTensor *index, const WeftTensor *t, int dim) {
  if (!index || WEFT_DTYPE(index) != WEFT_INT64 || !(index->word & WEFT_WORD_CONTIGUOUS) || WEFT_NDIM(index) != WEFT_NDIM(t)) return false;
  for (int d = 0; d < WEFT_NDIM(t); d++)
    if (d != dim && index->sizes[d] > t->sizes[d]) return false;
  return weft_itemsize(WEFT_DTYPE(t)) <= 8;
}

// gather(input, dim, index)
PyObject *fast_gather(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  WeftTensor *x = nargs == 3 && !names ? plain(args[0]) : nullptr;
  int64_t given;
  int dim;
  if (!x || !WEFT_NDIM(x) || !exact_int(args[1], &given) || !wrap_dim(given, WEFT_NDIM(x), &dim)) return UNHANDLED;
  WeftTensor *index = plain(args[2]);
  if (!indexes(index, x, dim)) return UNHANDLED;
  Ref out(empty(x->word, WEFT_NDIM(x), index->sizes, nullptr));
  if (!out) return nullptr;
  GatherJob job = {Placed(x), Placed(as_tensor(out.get())), Placed(index), dim, false};
  if (!run_gather(&job)) return UNHANDLED;
  if (records(x) && !record_op(op, {CoreArg(x), CoreArg::integer(dim), CoreArg(index)}, out.get())) return nullptr;
  return out.release();
}

// scatter(input, dim, index, src) of tensors without history
PyObject *fast_scatter(NativeOp *, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  WeftTensor *x = nargs == 4 && !names ? plain(args[0]) : nullptr;
  int64_t given;
  int dim;
  if (!x || !WEFT_NDIM(x) || !exact_int(args[1], &given) || !wrap_dim(given, WEFT_NDIM(x), &dim)) return UNHANDLED;
  WeftTensor *index = plain(args[2]), *src = plain(args[3]);
  if (!indexes(index, x, dim) || !src || WEFT_DTYPE(src) != WEFT_DTYPE(x) || WEFT_NDIM(src) != WEFT_NDIM(x)) return UNHANDLED;
  for (int d = 0; d < WEFT_NDIM(x); d++)
    if (index->sizes[d] > src->sizes[d]) return UNHANDLED;
  if (records(x) || records(src) || !(x->word & WEFT_WORD_CONTIGUOUS)) return UNHANDLED;
  Ref out(empty_like(x, WEFT_DTYPE(x)));
  if (!out) return nullptr;
  if (!copy_into(as_tensor(out.get()), x)) return UNHANDLED;
  GatherJob job = {Placed(as_tensor(out.get())), Placed(src), Placed(index), dim, true};
  return run_gather(&job) ? out.release() : UNHANDLED;
}

}  // namespace

const Family structure_families[] = {
    {"flip", fast_flip}, {"roll", fast_roll}, {"gather", fast_gather}, {"scatter", fast_scatter}, {nullptr, nullptr}};

}  // namespace weft

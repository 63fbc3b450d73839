// fast_statistics.cpp: var, var_mean, logsumexp of floats and cumsum. What is not dense along the reduced dims is copied first,
// the reduced dims last.
#include "statistics.h"

#include <algorithm>
#include <math.h>
#include <string.h>

#include "reduce.h"
#include "strips.h"

namespace weft {

namespace {

// A reduction of dense runs: every position of the kept dims has `runs` runs of n items.
struct Groups {
  Dim kept[WEFT_MAX_NDIM];
  int n_kept = 0;
  int64_t sizes[WEFT_MAX_NDIM];  // of the kept dims before they were merged
  int n_sizes = 0;
  int64_t count = 1, runs = 1, n = 1, stride = 0;
  int64_t width = 0;  // of columns: the size of the last kept dim, whose items are dense; the reduced ones are `stride` apart
  const char *in = nullptr;
  Ref copy;

  const char *start(int64_t i) const {
    const char *p = in;
    for (int d = n_kept - 1; d >= 0; d--) {
      p += i % kept[d].size * kept[d].stride;
      i /= kept[d].size;
    }
    return p;
  }
};

// False with an exception set. `runs_only`: neither several runs nor columns, they are copied.
bool make_groups(WeftTensor *x, uint64_t mask, bool runs_only, Groups *g) {
  const int ndim = WEFT_NDIM(x), item = weft_itemsize(WEFT_DTYPE(x));
  Dim reduced[WEFT_MAX_NDIM];
  int64_t sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM];
  int n_reduced = 0, last = ndim;
  *g = Groups();
  for (int d = 0; d < ndim; d++) {
    const Dim dim = {x->sizes[d], x->strides[d] * item};
    if (mask >> d & 1) {
      reduced[n_reduced++] = dim;
      g->n *= dim.size;
    } else {
      sizes[g->n_sizes] = dim.size;
      strides[g->n_sizes] = x->strides[d];
      g->sizes[g->n_sizes++] = dim.size;
      g->kept[g->n_kept++] = dim;
      g->count *= dim.size;
    }
  }
  for (int d = ndim - 1; d >= 0; d--)
    if (mask >> d & 1) {
      sizes[--last] = x->sizes[d];
      strides[last] = x->strides[d];
    }
  g->n_kept = merge(g->kept, g->n_kept);
  const int merged = merge(reduced, n_reduced);
  g->in = weft_data(x);
  if (!merged || (merged == 1 && reduced[0].stride == item)) return true;
  if (merged == 2 && !runs_only && reduced[1].stride == item && reduced[1].size >= 16) {
    g->runs = reduced[0].size;
    g->stride = reduced[0].stride;
    g->n = reduced[1].size;
    return true;
  }
  if (merged == 1 && !runs_only && g->n_kept && g->kept[g->n_kept - 1].stride == item) {
    g->stride = reduced[0].stride;
    g->width = g->kept[--g->n_kept].size;
    return true;
  }
  Ref view(alias(x, ndim, sizes, strides, x->offset));
  g->copy.reset(view ? empty(x->word, ndim, sizes, nullptr) : nullptr);
  if (!g->copy || !copy_into(as_tensor(g->copy.get()), as_tensor(view.get()))) return false;
  g->in = weft_data(as_tensor(g->copy.get()));
  g->n_kept = g->count > 1;
  g->kept[0] = {g->count, g->n * item};
  return true;
}

// Sums of squares become variances.
template <class T>
void divide(char *p, int64_t count, double by) {
  T *v = reinterpret_cast<T *>(p);
  for (int64_t i = 0; i < count; i++) v[i] = v[i] / (T)by;
}

// Casts to `dtype` where it differs, and sets kept dims.
bool finish(Ref *out, int dtype, bool keepdim, uint64_t mask) {
  if (WEFT_DTYPE(out->get()) != dtype) out->reset(cast_tensor(as_tensor(out->get()), dtype));
  return *out && (!keepdim || keep_dims(as_tensor(out->get()), mask));
}

}  // namespace

// var(input, dim=None, correction=None, keepdim=False, *, unbiased=None); var_mean: `code` 1
PyObject *fast_var(Call &call) {
  WeftTensor *x = call.tensor(0);
  const bool keepdim = call.truth(3), unbiased = call[4].none() || call.truth(4);
  int64_t correction = unbiased;
  uint64_t mask;
  if (!x->numel || !WEFT_NDIM(x) || !weft_statistics.moments[WEFT_DTYPE(x)]) return UNHANDLED;
  if ((!call[2].none() && !exact_int(call[2].object, &correction)) || !call.dims(1, WEFT_NDIM(x), &mask)) return UNHANDLED;
  const int dtype = WEFT_DTYPE(x), acc = sum_dtype(dtype);
  Groups groups;
  if (!make_groups(x, mask, false, &groups)) return nullptr;
  if (groups.runs * groups.n <= correction) return UNHANDLED;  // Python warns
  Ref mean(empty((uint32_t)acc, groups.n_sizes, groups.sizes, nullptr)), var(empty((uint32_t)acc, groups.n_sizes, groups.sizes, nullptr));
  if (!mean || !var) return nullptr;
  char *squares = weft_data(as_tensor(var.get()));
  char *means = weft_data(as_tensor(mean.get()));
  const int64_t wide = weft_itemsize(acc), item = weft_itemsize(dtype);
  if (groups.width) {
    const WeftMomentsColumns columns = weft_statistics.moments_columns[dtype];
    share_strips(groups.count / groups.width, groups.n, groups.width, [&](int64_t outer, int64_t first, int64_t count) {
      const int64_t at = (outer * groups.width + first) * wide;
      columns(groups.n, count, groups.start(outer) + first * item, groups.stride, means + at, squares + at);
    });
  } else {
    const WeftMoments moments = weft_statistics.moments[dtype];
    share(groups.count, groups.runs * groups.n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) moments(groups.runs, groups.n, groups.start(i), groups.stride, means + i * wide, squares + i * wide);
    });
  }
  const double freedom = std::max<double>((double)(groups.runs * groups.n - correction), 0);
  if (acc == WEFT_FLOAT32) divide<float>(squares, groups.count, freedom);
  else divide<double>(squares, groups.count, freedom);
  if (!finish(&var, dtype, keepdim, mask)) return nullptr;
  if (call.op->code && !finish(&mean, dtype, keepdim, mask)) return nullptr;
  call.args[2] = Arg::of_integer(correction);
  PyObject *results[2] = {var.get(), mean.get()};
  if (!call.record(results, call.op->code ? 2 : 1)) return nullptr;
  return call.op->code ? PyTuple_Pack(2, var.get(), mean.get()) : var.release();
}

// logsumexp(input, dim, keepdim=False)
PyObject *fast_logsumexp(Call &call) {
  WeftTensor *x = call.tensor(0);
  const bool keepdim = call.truth(2);
  uint64_t mask;
  if (!x->numel || !WEFT_NDIM(x) || !weft_statistics.logsumexp[WEFT_DTYPE(x)] || !call.dims(1, WEFT_NDIM(x), &mask)) return UNHANDLED;
  const int dtype = WEFT_DTYPE(x), acc = sum_dtype(dtype);
  Groups groups;
  if (!make_groups(x, mask, true, &groups)) return nullptr;
  Ref out(empty((uint32_t)acc, groups.n_sizes, groups.sizes, nullptr));
  if (!out) return nullptr;
  const WeftLogSumExp kernel = weft_statistics.logsumexp[dtype];
  char *to = weft_data(as_tensor(out.get()));
  const int64_t wide = weft_itemsize(acc);
  share(groups.count, groups.n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) kernel(1, groups.n, groups.start(i), 0, to + i * wide);
  });
  if (!finish(&out, dtype, keepdim, mask)) return nullptr;
  return call.made(std::move(out));
}

PyObject *vector_cumsum(WeftTensor *x, int dim) {
  if (!weft_statistics.cumsum[WEFT_DTYPE(x)]) return UNHANDLED;
  Ref packed;  // rows that lie apart are put together first: one order of additions whatever the layout
  if (!(x->word & WEFT_WORD_CONTIGUOUS)) {
    packed = Ref(empty(x->word, WEFT_NDIM(x), x->sizes, nullptr));
    if (!packed) return nullptr;
    if (!copy_into(as_tensor(packed.get()), x)) return UNHANDLED;
    x = as_tensor(packed.get());
  }
  const int dtype = WEFT_DTYPE(x), sums = dtype_kind(dtype) <= KIND_INTEGER ? (int)WEFT_INT64 : dtype;
  Ref out(empty((x->word & ~(uint32_t)WEFT_WORD_DTYPE) | (uint32_t)sums, WEFT_NDIM(x), x->sizes, nullptr));
  if (!out) return nullptr;
  int64_t m = 1;
  for (int d = dim + 1; d < WEFT_NDIM(x); d++) m *= x->sizes[d];
  const int64_t n = x->sizes[dim], outer = x->numel / (n * m), item = weft_itemsize(dtype), wide = weft_itemsize(sums);
  const char *in = weft_data(x);
  char *to = weft_data(as_tensor(out.get()));
  if (m == 1) {
    const WeftCumsum rows = weft_statistics.cumsum[dtype];
    share(outer, n, [&](int64_t begin, int64_t end) { rows(end - begin, n, in + begin * n * item, n * item, to + begin * n * wide); });
  } else {
    const WeftCumsumColumns columns = weft_statistics.cumsum_columns[dtype];
    share_strips(outer, n, m, [&](int64_t position, int64_t first, int64_t count) {
      const int64_t at = position * n * m + first;
      columns(n, count, in + at * item, m * item, to + at * wide, m * wide);
    });
  }
  return out.release();
}

}  // namespace weft

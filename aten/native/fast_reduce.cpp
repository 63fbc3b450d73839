// fast_reduce.cpp: sum, mean, prod, amax, amin, any, all. The kept dims become rows or columns of the kernels; what does not
// fit is reduced in two steps, the innermost dims first.
#include <algorithm>
#include <math.h>
#include <memory>
#include <new>
#include <stdlib.h>
#include <string.h>

#include "by_dtype.h"
#include "loops.h"
#include "native_kernel.h"
#include "reduce.h"
#include "released.h"
#include "statistics.h"

namespace weft {

namespace {

constexpr int64_t kBlock = 16 * (int64_t)WEFT_REDUCE_CHUNK;  // elements of a row that one thread takes

int accumulator(int kind, int dtype) {
  if (kind >= WEFT_REDUCE_ANY) return WEFT_BOOL;
  return sum_dtype(dtype);
}

// ----------------------------------------------------------------------------- one long row on several threads

struct RowJob {
  WeftReduceRow row;
  const char *in;
  int64_t n, stride;
  char *out;
  int item;
  int64_t block;

  static void run(void *ctx, int64_t begin, int64_t end, int64_t) {
    RowJob *job = static_cast<RowJob *>(ctx);
    for (int64_t i = begin; i < end; i++)
      job->row(std::min(job->block, job->n - i * job->block), job->in + i * job->block * job->stride, job->stride, job->out + i * job->item);
  }
};

// What gives the same in any order, in blocks as well where it is long.
constexpr int64_t kExactBlock = 1 << 20;
void reduce_exact_row(int kind, int acc, WeftReduceRow row, int64_t n, const char *in, int64_t stride, char *out) {
  const int result = kind >= WEFT_REDUCE_ANY ? WEFT_BOOL : acc, item = weft_itemsize(result);
  const WeftReduceRow join = weft_kernels.reduce_row[kind][result];
  if (n < 2 * kExactBlock || !join) return row(n, in, stride, out);
  const int64_t blocks = (n + kExactBlock - 1) / kExactBlock;
  std::vector<char> partial((size_t)(blocks * item));
  RowJob job = {row, in, n, stride, partial.data(), item, kExactBlock};
  kernel_runtime()->parallel_for(blocks, 1, RowJob::run, &job);
  join(blocks, partial.data(), item, out);
}

// One row; a long one of floats in blocks on several threads.
void reduce_row(int kind, int dtype, WeftReduceRow row, int64_t n, const char *in, int64_t stride, char *out) {
  int acc = accumulator(kind, dtype);
  if (kind >= WEFT_REDUCE_ANY || (acc != WEFT_FLOAT32 && acc != WEFT_FLOAT64)) return reduce_exact_row(kind, acc, row, n, in, stride, out);
  if (n < 2 * kBlock) return row(n, in, stride, out);
  int64_t blocks = (n + kBlock - 1) / kBlock, whole = n / kBlock;
  // By malloc, which says so where there is no memory, under a sanitizer too: an expanded row may be longer than all memory.
  std::unique_ptr<double, decltype(&free)> memory(static_cast<double *>(malloc((size_t)blocks * sizeof(double))), free);
  if (!memory) throw std::bad_alloc();
  double *partial = memory.get();
  RowJob job = {row, in, n, stride, reinterpret_cast<char *>(partial), weft_itemsize(acc), kBlock};
  kernel_runtime()->parallel_for(blocks, 1, RowJob::run, &job);
  if (acc == WEFT_FLOAT32) {
    float r = join_blocks(kind, reinterpret_cast<float *>(partial), whole, blocks > whole);
    memcpy(out, &r, sizeof r);
  } else {
    double r = join_blocks(kind, partial, whole, blocks > whole);
    memcpy(out, &r, sizeof r);
  }
}

// ------------------------------------------------------------------------------------------------- all rows

}  // namespace

int merge(Dim *dims, int n) {
  int m = 0;
  for (int i = 0; i < n; i++) {
    if (dims[i].size == 1) continue;
    if (m && dims[m - 1].stride == dims[i].stride * dims[i].size) dims[m - 1] = {dims[m - 1].size * dims[i].size, dims[i].stride};
    else dims[m++] = dims[i];
  }
  return m;
}

namespace {

struct ReduceJob {
  int kind, dtype;
  WeftReduceRow row;
  WeftReduceRows row_run;
  WeftReduceColumn column;
  Dim kept[WEFT_MAX_NDIM], reduced;
  int n_kept;
  const char *in;
  char *out;
  int acc_item, item;
  bool columns;  // the last kept dim goes to the column kernel

  const char *start(int64_t i, int dims) const {
    const char *p = in;
    for (int d = dims - 1; d >= 0; d--) {
      p += i % kept[d].size * kept[d].stride;
      i /= kept[d].size;
    }
    return p;
  }

  static void rows(void *ctx, int64_t begin, int64_t end, int64_t) {
    ReduceJob *j = static_cast<ReduceJob *>(ctx);
    const Dim last = j->kept[j->n_kept - 1];
    while (begin < end) {  // runs of rows along the last kept dim
      const int64_t count = std::min(end - begin, last.size - begin % last.size);
      const char *in = j->start(begin, j->n_kept);
      char *out = j->out + begin * j->acc_item;
      if (j->row_run) j->row_run(count, j->reduced.size, in, last.stride, j->reduced.stride, out);
      else
        for (int64_t i = 0; i < count; i++) j->row(j->reduced.size, in + i * last.stride, j->reduced.stride, out + i * j->acc_item);
      begin += count;
    }
  }

  // Outer positions by strips of the last dim.
  static constexpr int64_t kStrip = 512;
  static void strips(void *ctx, int64_t begin, int64_t end, int64_t) {
    ReduceJob *j = static_cast<ReduceJob *>(ctx);
    int64_t width = j->kept[j->n_kept - 1].size, per = (width + kStrip - 1) / kStrip;
    for (int64_t i = begin; i < end; i++) {
      int64_t outer = i / per, first = i % per * kStrip, m = std::min(kStrip, width - first);
      j->column(j->reduced.size, m, j->start(outer, j->n_kept - 1) + first * j->item, j->reduced.stride,
                j->out + (outer * width + first) * j->acc_item);
    }
  }

  void run() {
    int64_t outer = 1;
    for (int d = 0; d < n_kept - (columns ? 1 : 0); d++) outer *= kept[d].size;
    const WeftKernelRuntime *runtime = kernel_runtime();
    if (columns) {
      int64_t width = kept[n_kept - 1].size, per = (width + kStrip - 1) / kStrip;
      int64_t work = reduced.size * std::min(width, kStrip);
      runtime->parallel_for(outer * per, std::max<int64_t>(1, kGrain / std::max<int64_t>(work, 1)), strips, this);
    } else if (outer == 1) {
      reduce_row(kind, dtype, row, reduced.size, in, reduced.stride, out);
    } else {
      runtime->parallel_for(outer, std::max<int64_t>(1, kGrain / std::max<int64_t>(reduced.size, 1)), rows, this);
    }
  }
};

// Where kept dims do not lie in memory as they are counted: the same dims, those of larger steps first, reduced into fewer elements than
// would be read across memory, which are then put in order. UNHANDLED: they do, or it would not pay.
constexpr int64_t kFewKept = 4, kWorthOrder = 1024;
PyObject *reduce(WeftTensor *x, uint64_t mask, int kind);
PyObject *reduce_as_laid_out(WeftTensor *x, uint64_t mask, int kind) {
  const int n = WEFT_NDIM(x);
  int order[WEFT_MAX_NDIM], kept[WEFT_MAX_NDIM], n_kept = 0;
  int64_t count = 1, sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM], last = INT64_MAX;
  bool in_order = true;
  for (int d = 0; d < n; d++) {
    order[d] = d;
    if (mask >> d & 1 || x->sizes[d] == 1) continue;
    if (x->strides[d] <= 0) return UNHANDLED;
    in_order = in_order && x->strides[d] <= last;
    last = x->strides[d], count *= x->sizes[d];
  }
  if (in_order || x->numel < kWorthOrder || count > x->numel / kFewKept) return UNHANDLED;
  std::stable_sort(order, order + n, [x](int a, int b) { return x->strides[a] > x->strides[b]; });
  uint64_t mask_there = 0;
  for (int i = 0; i < n; i++) {
    sizes[i] = x->sizes[order[i]], strides[i] = x->strides[order[i]];
    if (mask >> order[i] & 1) mask_there |= 1ull << i;
    else kept[n_kept++] = order[i];
  }
  const Ref there(alias(x, n, sizes, strides, x->offset));
  if (!there) return nullptr;
  const Ref made(reduce(as_tensor(there.get()), mask_there, kind));
  if (!made) return nullptr;
  const WeftTensor *r = as_tensor(made.get());
  int64_t place[WEFT_MAX_NDIM];
  for (int i = 0; i < n_kept; i++) place[kept[i]] = i;
  for (int d = 0, k = 0; d < n; d++)
    if (!(mask >> d & 1)) sizes[k] = r->sizes[place[d]], strides[k++] = r->strides[place[d]];
  const Ref shown(alias(as_tensor(made.get()), n_kept, sizes, strides, r->offset));
  return shown ? row_major(as_tensor(shown.get())).release() : nullptr;
}

// Whether a copy without gaps, whose kept dims are columns, costs less than reading across memory for each kept element.
bool worth_packing(const WeftTensor *x, const Dim &kept, const Dim &reduced, int item) {
  if (x->word & WEFT_WORD_CONTIGUOUS || x->numel < kWorthOrder || kept.stride <= item || reduced.stride <= kept.stride) return false;
  for (int d = 0; d < WEFT_NDIM(x); d++)
    if (x->sizes[d] > 1 && x->strides[d] <= 0) return false;  // (a copy would be larger than what there is)
  return true;
}

// Reduces the dims of `mask`; the result is contiguous, of the kept sizes, in the accumulator's dtype. NULL without an
// exception: there is no kernel.
PyObject *reduce(WeftTensor *x, uint64_t mask, int kind) {
  int dtype = WEFT_DTYPE(x), item = weft_itemsize(dtype), acc = accumulator(kind, dtype), n = WEFT_NDIM(x);
  ReduceJob job = {};
  job.row = weft_kernels.reduce_row[kind][dtype];
  job.row_run = weft_kernels.reduce_rows[kind][dtype];
  job.column = weft_kernels.reduce_column[kind][dtype];
  if (!job.row || !job.column) return nullptr;
  if (!(x->word & WEFT_WORD_CONTIGUOUS)) {
    PyObject *made = reduce_as_laid_out(x, mask, kind);
    if (made != UNHANDLED) return made;
  }
  Dim reduced[WEFT_MAX_NDIM];
  int64_t sizes[WEFT_MAX_NDIM];
  int n_reduced = 0, n_sizes = 0, dims[WEFT_MAX_NDIM] = {};
  for (int d = 0; d < n; d++) {
    Dim dim = {x->sizes[d], x->strides[d] * item};
    if (mask >> d & 1) {
      dims[n_reduced] = d;
      reduced[n_reduced++] = dim;
    } else {
      sizes[n_sizes] = x->sizes[d];
      job.kept[n_sizes++] = dim;
    }
  }
  Dim before[WEFT_MAX_NDIM];
  std::copy(reduced, reduced + n_reduced, before);
  int merged = merge(reduced, n_reduced);
  if (merged > 1) {  // the dim with the smallest step first, then the others
    int inner = 0;
    for (int i = 1; i < n_reduced; i++)
      if (before[i].size > 1 && (before[inner].size == 1 || before[i].stride < before[inner].stride)) inner = i;
    Ref part(reduce(x, 1ull << dims[inner], kind));
    if (!part) return nullptr;
    uint64_t rest = 0;
    for (int i = 0; i < n_reduced; i++)
      if (i != inner) rest |= 1ull << (dims[i] - (dims[i] > dims[inner]));
    return reduce(as_tensor(part.get()), rest, kind == WEFT_REDUCE_NANSUM ? WEFT_REDUCE_SUM : kind);
  }
  job.reduced = merged ? reduced[0] : Dim{1, item};
  job.n_kept = merge(job.kept, n_sizes);
  if (job.n_kept && worth_packing(x, job.kept[job.n_kept - 1], job.reduced, item)) {
    const Ref packed(row_major(x));
    return packed ? reduce(as_tensor(packed.get()), mask, kind) : nullptr;
  }
  Ref out(empty((uint32_t)acc, n_sizes, sizes, nullptr));
  if (!out) return nullptr;
  job.kind = kind;
  job.dtype = dtype;
  job.in = weft_data(x);
  job.out = weft_data(as_tensor(out.get()));
  job.acc_item = weft_itemsize(acc);
  job.item = item;
  job.columns = job.n_kept && job.kept[job.n_kept - 1].stride == item && job.reduced.stride != item && job.kept[job.n_kept - 1].size > 1;
  {
    Released released(x->numel >= 65536);
    job.run();
  }
  return out.release();
}

// ------------------------------------------------------------------------------------------------- the ops

}  // namespace

bool keep_dims(WeftTensor *out, uint64_t mask) {
  int64_t sizes[WEFT_MAX_NDIM];
  const int ndim = WEFT_NDIM(out) + __builtin_popcountll(mask);
  for (int d = 0, kept = 0; d < ndim; d++) sizes[d] = mask >> d & 1 ? 1 : out->sizes[kept++];
  return set_layout(out, ndim, sizes, nullptr, 0);
}

namespace {

void divide(WeftTensor *t, double by) {
  const int64_t parts = t->numel * (dtype_kind(WEFT_DTYPE(t)) == KIND_COMPLEX ? 2 : 1);
  if (WEFT_DTYPE(t) == WEFT_FLOAT32 || WEFT_DTYPE(t) == WEFT_COMPLEX64) {
    float *p = reinterpret_cast<float *>(weft_data(t)), d = (float)by;
    for (int64_t i = 0; i < parts; i++) p[i] /= d;
  } else {
    double *p = reinterpret_cast<double *>(weft_data(t));
    for (int64_t i = 0; i < parts; i++) p[i] /= by;
  }
}

enum Code { CODE_MEAN = WEFT_NUM_REDUCE };  // a further code of the rule
bool only_floats(int code) { return code == CODE_MEAN || code == WEFT_REDUCE_NANSUM; }
// Whether the rule reduces what it reads in `dtype` in another.
bool takes(int code, int dtype, int other) {
  const bool is_complex = dtype_kind(other) == KIND_COMPLEX, has_loop = code == CODE_MEAN || weft_kernels.reduce_row[code][other];
  if (is_complex || dtype_kind(dtype) == KIND_COMPLEX) return is_complex && has_loop;
  return !only_floats(code) || dtype_kind(other) == KIND_FLOAT;
}

// The dtype that `x` is reduced in, or -1.
int input_dtype(int code, int dtype) {
  DTypeKind kind = dtype_kind(dtype);
  if (kind == KIND_COMPLEX) return dtype;
  if (only_floats(code)) return kind == KIND_FLOAT ? dtype : -1;
  if (code == WEFT_REDUCE_SUM || code == WEFT_REDUCE_PROD) return kind == KIND_FLOAT ? dtype : WEFT_INT64;
  if ((code == WEFT_REDUCE_ANY || code == WEFT_REDUCE_ALL) && dtype == WEFT_UINT8) return -1;
  return dtype;
}

// op(input, dim=None, keepdim=False, *, dtype=None)
PyObject *fast_reduce(Call &call) {
  NativeOp *op = call.op;
  WeftTensor *x = call.tensor(0);
  const int own = input_dtype(op->code, WEFT_DTYPE(x)), dtype = call.binder->n > 3 ? call.dtype(3, own) : own;
  const bool keepdim = call.truth(2);
  uint64_t mask;
  const bool truths = op->code == WEFT_REDUCE_ANY || op->code == WEFT_REDUCE_ALL;
  if (truths && !call[1].none() && call[1].n == 0 && WEFT_NDIM(x)) return UNHANDLED;  // of an empty list: no dim, not all
  if (dtype < 0 || !takes(op->code, WEFT_DTYPE(x), dtype) || x->numel == 0 || !call.dims(1, WEFT_NDIM(x), &mask)) return UNHANDLED;
  Ref cast;
  if (dtype != WEFT_DTYPE(x)) {
    cast.reset(cast_tensor(x, dtype));
    if (!cast) return PyErr_Occurred() ? nullptr : UNHANDLED;
    x = as_tensor(cast.get());
  }
  Ref out(reduce(x, mask, op->code == CODE_MEAN ? WEFT_REDUCE_SUM : op->code));
  if (!out) return PyErr_Occurred() ? nullptr : UNHANDLED;
  if (op->code == CODE_MEAN) {
    double n = 1;
    for (int i = 0; i < call[1].n; i++) n *= (double)x->sizes[call[1].list[i]];
    divide(as_tensor(out.get()), n);
  }
  int wanted = truths ? WEFT_BOOL : dtype;
  if (WEFT_DTYPE(out.get()) != wanted) out.reset(cast_tensor(as_tensor(out.get()), wanted));
  if (!out || (keepdim && !keep_dims(as_tensor(out.get()), mask))) return nullptr;
  return call.made(std::move(out));
}

// nansum(input, dim=None, keepdim=False, *, dtype=None) of a row-major tensor. (Of another the definition sums a copy that lies without
// gaps: the order of a sum over several dims depends on it.)
PyObject *fast_nansum(Call &call) {
  WeftTensor *x = call.tensor(0);
  const bool recorded = call.recording();
  if (!(x->word & WEFT_WORD_CONTIGUOUS) || (recorded && (call.dtype(3, WEFT_DTYPE(x)) != WEFT_DTYPE(x) || dtype_kind(WEFT_DTYPE(x)) != KIND_FLOAT))) return UNHANDLED;
  call.needs = 0;  // the one Node is made here
  Ref out(fast_reduce(call));
  if (!recorded || !out || out.get() == UNHANDLED) return out.release();
  Ref dims(PyList_New(0));
  for (int i = 0; dims && i < call[1].n; i++) {
    Ref dim(PyLong_FromLongLong(call[1].list[i]));
    if (!dim || PyList_Append(dims.get(), dim.get()) < 0) return nullptr;
  }
  const Ref saved(dims ? Py_BuildValue("(OOO)", as_object(x), dims.get(), call.truth(2) ? Py_True : Py_False) : nullptr);
  PyObject *result = out.get(), *input = as_object(x);
  return saved && record(call.op->node_name, whole_backwards[WHOLE_NANSUM], &input, 1, &result, 1, saved.get()) == 0 ? out.release() : nullptr;
}

// ------------------------------------------------------------------------------------------ argmax and argmin

// The index of the first greatest (least) of n items; NaN counts as such.
template <class T>
int64_t extreme_at(const char *in, int64_t n, int64_t stride, bool least) {
  T best;
  memcpy(&best, in, sizeof best);
  int64_t at = 0;
  for (int64_t i = 1; i < n && best == best; i++) {
    T x;
    memcpy(&x, in + i * stride, sizeof x);
    if (x != x || (least ? x < best : x > best)) {
      best = x;
      at = i;
    }
  }
  return at;
}

typedef int64_t (*ExtremeAt)(const char *, int64_t, int64_t, bool);

ExtremeAt extreme_kernel(int dtype) {
  return by_real(dtype, (ExtremeAt)nullptr, [](auto type) -> ExtremeAt {
    typedef typename decltype(type)::type T;
    if constexpr (std::is_same<T, bool>::value) return nullptr;
    else return extreme_at<T>;
  });
}

// Rows or strips of columns, for every position of the other dims.
struct ExtremeJob {
  ExtremeAt general;
  WeftArgRow row;          // of dense rows, or NULL
  WeftArgColumns columns;  // NULL: rows
  bool least;
  Dim kept[WEFT_MAX_NDIM];
  int n_kept, item;
  int64_t n, stride, width;
  const char *in;
  int64_t *out;
  static constexpr int64_t kStrip = 512;

  const char *start(int64_t i) const {
    const char *p = in;
    for (int d = n_kept - 1; d >= 0; d--) {
      p += i % kept[d].size * kept[d].stride;
      i /= kept[d].size;
    }
    return p;
  }
  static void rows(void *ctx, int64_t begin, int64_t end, int64_t) {
    const ExtremeJob *j = static_cast<ExtremeJob *>(ctx);
    for (int64_t i = begin; i < end; i++)
      j->out[i] = j->row ? j->row(j->n, j->start(i)) : j->general(j->start(i), j->n, j->stride, j->least);
  }
  static void strips(void *ctx, int64_t begin, int64_t end, int64_t) {
    const ExtremeJob *j = static_cast<ExtremeJob *>(ctx);
    const int64_t per = (j->width + kStrip - 1) / kStrip;
    for (int64_t i = begin; i < end; i++) {
      const int64_t first = i % per * kStrip;
      j->columns(j->n, std::min(kStrip, j->width - first), j->start(i / per) + first * j->item, j->stride, j->out + i / per * j->width + first);
    }
  }
  void run(int64_t count) {
    const WeftKernelRuntime *runtime = kernel_runtime();
    Released released(count * n >= 65536);
    if (columns) {
      const int64_t per = (width + kStrip - 1) / kStrip;
      runtime->parallel_for(count / width * per, std::max<int64_t>(1, kGrain / (n * std::min(width, kStrip))), strips, this);
    } else {
      runtime->parallel_for(count, std::max<int64_t>(1, kGrain / n), rows, this);
    }
  }
};

}  // namespace

bool arg_extremes(WeftTensor *x, int dim, bool least, int64_t *to) {
  const int item = weft_itemsize(WEFT_DTYPE(x)), dtype = WEFT_DTYPE(x);
  const ExtremeAt kernel = x->numel ? extreme_kernel(dtype) : nullptr;
  if (!kernel) return false;
  WeftArgRow row = weft_statistics.arg_row[least][dtype];
  ExtremeJob job = {kernel, x->strides[dim] == 1 ? row : nullptr, nullptr, least, {}, 0, item, x->sizes[dim],
                    x->strides[dim] * item, 1, weft_data(x), to};
  for (int d = 0; d < WEFT_NDIM(x); d++)
    if (d != dim) job.kept[job.n_kept++] = {x->sizes[d], x->strides[d] * item};
  job.n_kept = merge(job.kept, job.n_kept);
  if (!job.row && job.n < INT32_MAX && job.n_kept && job.kept[job.n_kept - 1].stride == item) {
    job.columns = weft_statistics.arg_columns[least][dtype];
    if (job.columns) job.width = job.kept[--job.n_kept].size;
  }
  job.run(x->numel / job.n);
  return true;
}

namespace {

// Both extremes of all elements in one pass, by blocks as `reduce_row`.
struct ExtremesJob {
  WeftExtremesRow row;
  const char *in;
  int64_t n;
  int item;
  char *least, *most;

  static void run(void *context, int64_t begin, int64_t end, int64_t) {
    const ExtremesJob &job = *static_cast<ExtremesJob *>(context);
    for (int64_t i = begin; i < end; i++)
      job.row(std::min(kBlock, job.n - i * kBlock), job.in + i * kBlock * job.item, job.least + i * job.item, job.most + i * job.item);
  }
};

template <class T> void extremes(WeftExtremesRow row, const WeftTensor *x, char *least, char *most) {
  if (x->numel < 2 * kBlock) return row(x->numel, weft_data(x), least, most);
  const int64_t blocks = (x->numel + kBlock - 1) / kBlock, whole = x->numel / kBlock;
  std::vector<T> low((size_t)blocks), high((size_t)blocks);
  ExtremesJob job = {row, weft_data(x), x->numel, (int)sizeof(T), reinterpret_cast<char *>(low.data()), reinterpret_cast<char *>(high.data())};
  Loop::parallel(x->numel, blocks, kBlock, ExtremesJob::run, &job);
  *reinterpret_cast<T *>(least) = join_blocks(WEFT_REDUCE_MIN, low.data(), whole, blocks > whole);
  *reinterpret_cast<T *>(most) = join_blocks(WEFT_REDUCE_MAX, high.data(), whole, blocks > whole);
}

// aminmax(input, *, dim=None, keepdim=False) of all elements of float32 or float64
PyObject *fast_aminmax(Call &call) {
  WeftTensor *x = call.tensor(0);
  const int dtype = WEFT_DTYPE(x);
  const WeftExtremesRow row = dtype == WEFT_FLOAT32 || dtype == WEFT_FLOAT64 ? weft_kernels.extremes_row[dtype] : nullptr;
  if (!row || !call[1].none() || call.truth(2) || call.recording() || !(x->word & WEFT_WORD_CONTIGUOUS) || !x->numel) return UNHANDLED;
  Ref out[2] = {Ref(empty(dtype, 0, nullptr, nullptr)), Ref(empty(dtype, 0, nullptr, nullptr))};
  if (!out[0] || !out[1]) return nullptr;
  (dtype == WEFT_FLOAT32 ? extremes<float> : extremes<double>)(row, x, weft_data(as_tensor(out[0].get())), weft_data(as_tensor(out[1].get())));
  PyObject *results[2] = {out[0].get(), out[1].get()};
  return named_results(call.op, results, 2);
}

// argmax(input, dim=None, keepdim=False); argmin: `code` 1
PyObject *fast_arg_extreme(Call &call) {
  WeftTensor *x = call.tensor(0);
  if (WEFT_NDIM(x) > 64) return UNHANDLED;
  ExtremeAt kernel = x->numel && WEFT_NDIM(x) ? extreme_kernel(WEFT_DTYPE(x)) : nullptr;
  const bool all = call[1].none(), keepdim = call.truth(2);
  int64_t sizes[WEFT_MAX_NDIM];
  int dim = 0, n = WEFT_NDIM(x), m = 0;
  if (!kernel || (all ? !(x->word & WEFT_WORD_CONTIGUOUS) : !call.dim(1, n, &dim))) return UNHANDLED;
  for (int d = 0; d < n; d++) {
    if (all || d == dim) {
      if (keepdim) sizes[m++] = 1;
    } else {
      sizes[m++] = x->sizes[d];
    }
  }
  Ref out(empty(WEFT_INT64, m, sizes, nullptr));
  if (!out) return nullptr;
  int64_t *to = reinterpret_cast<int64_t *>(weft_data(as_tensor(out.get())));
  if (WeftArgRow row = all ? weft_statistics.arg_row[call.op->code][WEFT_DTYPE(x)] : nullptr) to[0] = row(x->numel, weft_data(x));
  else if (all) to[0] = kernel(weft_data(x), x->numel, weft_itemsize(WEFT_DTYPE(x)), call.op->code);
  else arg_extremes(x, dim, call.op->code, to);
  return out.release();
}

}  // namespace

const RuleRow reduction_rules[] = {{"sum", fast_reduce, WEFT_REDUCE_SUM}, {"prod", fast_reduce, WEFT_REDUCE_PROD}, {"amax", fast_reduce, WEFT_REDUCE_MAX},
                                   {"amin", fast_reduce, WEFT_REDUCE_MIN}, {"any", fast_reduce, WEFT_REDUCE_ANY}, {"all", fast_reduce, WEFT_REDUCE_ALL},
                                   {"mean", fast_reduce, CODE_MEAN}, {"argmax", fast_arg_extreme, 0}, {"argmin", fast_arg_extreme, 1},
                                   {"var", fast_var, 0}, {"var_mean", fast_var, 1}, {"logsumexp", fast_logsumexp}, {"equal", fast_equal}, {"norm", fast_norm},
                                   {"linalg_vector_norm", fast_norm}, {"power_norm", fast_power_norm}, {"nansum", fast_nansum, WEFT_REDUCE_NANSUM}, {"count_nonzero", fast_count_nonzero},
                                   {"aminmax", fast_aminmax}, {nullptr, nullptr}};

}  // namespace weft

// fast_pool.cpp: max_pool1d, 2d, 3d and avg_pool1d, 2d, 3d of images in row-major order; with history those of
// one and two dims, whose backward is in pool_windows.cpp.
//
// Rows of the image that a row of the result sees are joined (by maximum or sum) into one padded row, and its taps then into
// the result: all steps are elementwise loops over whole rows.
#include <math.h>
#include <string.h>

#include <algorithm>

#include "loops.h"
#include "op.h"
#include "pool.h"

namespace weft {

namespace {

struct PoolJob {
  const char *in;
  char *out;
  int64_t item, sizes[3], results[3], kernel[3], stride[3], padding[3], dilation[3];  // depth, height, width
  WeftLoop join, copy, divide;   // divide: of averages
  const WeftKernelRuntime *runtime;
  int dtype;
  alignas(16) char nothing[16];  // what padding counts as
  alignas(16) char count[16];

  int64_t padded_width() const {
    return std::max(padding[2] + sizes[2], (results[2] - 1) * stride[2] + (kernel[2] - 1) * dilation[2] + 1);
  }

  void call(WeftLoop loop, int64_t n, const char *a, int64_t a_step, const char *b, int64_t b_step, char *to) const {
    char *args[3] = {const_cast<char *>(a), const_cast<char *>(b), to};
    intptr_t steps[3] = {(intptr_t)a_step, (intptr_t)b_step, (intptr_t)item}, count = (intptr_t)n;
    loop(args, &count, steps, nullptr);
  }
  void take(int64_t n, const char *from, int64_t step, char *to) const {
    char *args[2] = {const_cast<char *>(from), to};
    intptr_t steps[2] = {(intptr_t)step, (intptr_t)item}, count = (intptr_t)n;
    copy(args, &count, steps, nullptr);
  }

  // The rows of `image` that row (d, h) of the result sees, joined into `row`.
  void join_rows(const char *image, int64_t d, int64_t h, char *row) const {
    bool first = true;
    for (int64_t i = 0; i < kernel[0]; i++) {
      int64_t z = d * stride[0] - padding[0] + i * dilation[0];
      if (z < 0 || z >= sizes[0]) continue;
      for (int64_t j = 0; j < kernel[1]; j++) {
        int64_t y = h * stride[1] - padding[1] + j * dilation[1];
        if (y < 0 || y >= sizes[1]) continue;
        const char *from = image + (z * sizes[1] + y) * sizes[2] * item;
        if (first) memcpy(row, from, (size_t)(sizes[2] * item));
        else call(join, sizes[2], row, item, from, item, row);
        first = false;
      }
    }
    if (first) take(sizes[2], nothing, 0, row);
  }

  // The taps of a padded row, joined into a row of the result. Taps that stand apart are taken side by side first.
  void join_taps(const char *row, char *apart, char *to) const {
    int64_t n = results[2], step = stride[2] * item;
    take(n, row, step, to);
    for (int64_t k = 1; k < kernel[2]; k++) {
      const char *tap = row + k * dilation[2] * item;
      if (stride[2] != 1) {
        take(n, tap, step, apart);
        tap = apart;
      }
      call(join, n, to, item, tap, item, to);
    }
    if (divide) call(divide, n, to, item, count, 0, to);
  }

  static void range(void *ctx, int64_t begin, int64_t end, int64_t worker) {
    const PoolJob &p = *static_cast<PoolJob *>(ctx);
    int64_t width = p.padded_width(), image = p.sizes[0] * p.sizes[1] * p.sizes[2] * p.item;
    char *row = static_cast<char *>(p.runtime->scratch(worker, (width + p.results[2]) * p.item));
    p.take(width, p.nothing, 0, row);
    for (int64_t r = begin; r < end; r++) {
      int64_t h = r % p.results[1], d = r / p.results[1] % p.results[0], lead = r / (p.results[1] * p.results[0]);
      p.join_rows(p.in + lead * image, d, h, row + p.padding[2] * p.item);
      p.join_taps(row, row + width * p.item, p.out + r * p.results[2] * p.item);
    }
  }
};

// An int for all of n dimensions, or n ints, in the last n of three; None: `otherwise`.
bool read_spread(Call &call, int i, int n, const int64_t *otherwise, int64_t *out) {
  if (call[i].none()) {
    std::copy(otherwise, otherwise + 3, out);
    return true;
  }
  if (!call.ints(i) || (call[i].n != 1 && call[i].n != n)) return false;
  for (int k = 0; k < n; k++) out[3 - n + k] = call[i].list[call[i].n == 1 ? 0 : k];
  return true;
}

// Sizes, windows and memory of a pooling; a NULL `out` without exception: not handled.
PyObject *prepare_pool(PoolJob *p, Call &call, bool dilated) {
  static const int64_t ones[3] = {1, 1, 1}, zeros[3] = {0, 0, 0};
  WeftTensor *x = call.tensor(0);
  const int n = call.op->code;
  if (!(x->word & WEFT_WORD_CONTIGUOUS) || x->numel == 0) return nullptr;
  int ndim = WEFT_NDIM(x), lead = ndim - n;
  if (lead != 1 && lead != 2) return nullptr;
  for (int i = 0; i < 3; i++) p->kernel[i] = p->stride[i] = p->dilation[i] = p->sizes[i] = p->results[i] = 1, p->padding[i] = 0;
  if (!read_spread(call, 1, n, ones, p->kernel) || !read_spread(call, 2, n, p->kernel, p->stride) ||
      !read_spread(call, 3, n, zeros, p->padding) || (dilated && !read_spread(call, 4, n, ones, p->dilation)))
    return nullptr;
  int64_t sizes[WEFT_MAX_NDIM];
  std::copy(x->sizes, x->sizes + lead, sizes);
  for (int i = 3 - n; i < 3; i++) {
    p->sizes[i] = x->sizes[lead + i - 3 + n];
    constexpr int64_t kLimit = int64_t(1) << 30;  // products of two stay within 64 bits
    for (int64_t number : {p->kernel[i], p->stride[i], p->dilation[i], p->padding[i]})
      if (number < 0 || number > kLimit) return nullptr;
    int64_t reach = p->dilation[i] * (p->kernel[i] - 1), span = p->sizes[i] + 2 * p->padding[i] - reach - 1;
    if (p->kernel[i] < 1 || p->stride[i] < 1 || p->dilation[i] < 1 || p->padding[i] < 0 || 2 * p->padding[i] > reach + 1 || span < 0) return nullptr;
    sizes[lead + i - 3 + n] = p->results[i] = span / p->stride[i] + 1;
  }
  return empty(x->word, ndim, sizes, nullptr);
}

PyObject *run_pool(PoolJob *p, WeftTensor *x, Ref out) {
  WeftTensor *o = as_tensor(out.get());
  p->runtime = kernel_runtime();
  p->in = weft_data(x);
  p->out = weft_data(o);
  int64_t rows = o->numel / p->results[2];
  Loop::parallel(o->numel, rows, p->results[2] * p->kernel[0] * p->kernel[1], PoolJob::range, p);
  return out.release();
}

PoolWindows windows_of(const PoolJob &p, WeftTensor *x) {
  PoolWindows w = {};
  for (int i = 0; i < 2; i++)
    w.size[i] = p.sizes[i + 1], w.out[i] = p.results[i + 1], w.kernel[i] = p.kernel[i + 1], w.stride[i] = p.stride[i + 1], w.padding[i] = p.padding[i + 1], w.dilation[i] = p.dilation[i + 1];
  w.images = x->numel / (w.size[0] * w.size[1]);
  return w;
}

// The Node of a pooling of n dims: kept are the places of the largest elements (NULL: none), the sizes, the windows and the input,
// of which gradients are recorded as functions.
bool record_pool(NativeOp *op, const PoolWindows &w, WeftTensor *x, WholeOp which, PyObject *places, PyObject *const *outputs, int n_outputs) {
  Ref sizes(int_tuple(WEFT_NDIM(x), x->sizes)), saved(PyTuple_New(4));
  Ref windows(Py_BuildValue("i(LL)(LL)(LL)(LL)", op->code, w.kernel[0], w.kernel[1], w.stride[0], w.stride[1], w.padding[0], w.padding[1], w.dilation[0], w.dilation[1]));
  if (!sizes || !saved || !windows) return false;
  PyTuple_SET_ITEM(saved.get(), 0, Py_NewRef(places ? places : Py_None));
  PyTuple_SET_ITEM(saved.get(), 1, sizes.release());
  PyTuple_SET_ITEM(saved.get(), 2, windows.release());
  PyTuple_SET_ITEM(saved.get(), 3, Py_NewRef(as_object(x)));
  PyObject *input = as_object(x);
  return record(op->node_name, whole_backwards[which], &input, 1, outputs, n_outputs, saved.get()) == 0;
}

// Values and places of the largest elements, one by one.
PyObject *with_places(NativeOp *op, const PoolJob &p, WeftTensor *x, Ref out, bool returned) {
  WeftTensor *o = as_tensor(out.get());
  Ref places(empty(WEFT_INT64, WEFT_NDIM(o), o->sizes, nullptr));
  if (!places) return nullptr;
  const PoolWindows w = windows_of(p, x);
  pool_extremes(w, WEFT_DTYPE(x), weft_data(x), weft_data(o), reinterpret_cast<int64_t *>(weft_data(as_tensor(places.get()))));
  PyObject *outputs[2] = {out.get(), places.get()};
  if (records(x) && !record_pool(op, w, x, WHOLE_MAX_POOL, places.get(), outputs, returned ? 2 : 1)) return nullptr;
  return returned ? PyTuple_Pack(2, outputs[0], outputs[1]) : out.release();
}

PyObject *not_made() { return PyErr_Occurred() ? nullptr : UNHANDLED; }

// max_pool{1,2,3}d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False)
PyObject *fast_max_pool(Call &call) {
  NativeOp *op = call.op;
  WeftTensor *x = call.tensor(0);
  if (call.truth(5) || dtype_kind(WEFT_DTYPE(x)) != KIND_FLOAT) return UNHANDLED;
  const bool returned = call.truth(6), placed = returned || records(x);
  if (placed && (op->code == 3 || (WEFT_DTYPE(x) != WEFT_FLOAT32 && WEFT_DTYPE(x) != WEFT_FLOAT64))) return UNHANDLED;
  PoolJob p = {};
  p.item = weft_itemsize(WEFT_DTYPE(x));
  p.join = weft_kernels.pointwise[WEFT_MAXIMUM][WEFT_DTYPE(x)];
  p.copy = weft_kernels.cast[WEFT_DTYPE(x)][WEFT_DTYPE(x)];
  Ref lowest(PyFloat_FromDouble(-INFINITY));
  if (!lowest || !p.join || !p.copy || !write_scalar(p.nothing, WEFT_DTYPE(x), lowest.get())) return not_made();
  Ref out(prepare_pool(&p, call, true));
  if (out && placed) return with_places(op, p, x, std::move(out), returned);
  return out ? run_pool(&p, x, std::move(out)) : not_made();
}

// avg_pool{1,2,3}d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None)
PyObject *fast_avg_pool(Call &call) {
  NativeOp *op = call.op;
  WeftTensor *x = call.tensor(0);
  if (call.truth(4) || !call[6].none() || (WEFT_DTYPE(x) != WEFT_FLOAT32 && WEFT_DTYPE(x) != WEFT_FLOAT64)) return UNHANDLED;  // halves are summed in float32
  if (!call.truth(5) || (records(x) && op->code == 3)) return UNHANDLED;
  PoolJob p = {};
  p.item = weft_itemsize(WEFT_DTYPE(x));
  p.join = weft_kernels.pointwise[WEFT_ADD][WEFT_DTYPE(x)];
  p.copy = weft_kernels.cast[WEFT_DTYPE(x)][WEFT_DTYPE(x)];
  p.divide = weft_kernels.pointwise[WEFT_DIV][WEFT_DTYPE(x)];
  if (!p.join || !p.copy || !p.divide) return UNHANDLED;
  Ref out(prepare_pool(&p, call, false));
  if (!out) return not_made();
  Ref count(PyFloat_FromDouble((double)(p.kernel[0] * p.kernel[1] * p.kernel[2])));
  if (!count || !write_scalar(p.count, WEFT_DTYPE(x), count.get())) return nullptr;
  Ref made(run_pool(&p, x, std::move(out)));
  PyObject *output = made.get();
  if (made && records(x) && !record_pool(op, windows_of(p, x), x, WHOLE_AVG_POOL, nullptr, &output, 1)) return nullptr;
  return made.release();
}

}  // namespace

const RuleRow pool_rules[] = {{"max_pool1d", fast_max_pool, 1}, {"max_pool2d", fast_max_pool, 2}, {"max_pool3d", fast_max_pool, 3},
                              {"avg_pool1d", fast_avg_pool, 1}, {"avg_pool2d", fast_avg_pool, 2}, {"avg_pool3d", fast_avg_pool, 3}, {nullptr, nullptr}};

}  // namespace weft

// fast_pool.cpp: max_pool1d, 2d, 3d and avg_pool1d, 2d, 3d of images in row-major order; their backward is in pool_windows.cpp.
//
// Rows of the image that a row of the result sees are joined (by maximum or sum) into one padded row, and its taps then into
// the result: all steps are elementwise loops over whole rows.
#include <math.h>
#include <string.h>

#include <algorithm>
#include <type_traits>

#include "loops.h"
#include "op.h"
#include "pool.h"

namespace weft {

namespace {

struct PoolJob {
  const char *in;
  char *out;
  int64_t item;
  PoolWindows w;
  WeftLoop join, copy, divide;   // divide: of averages
  const WeftKernelRuntime *runtime;
  bool uneven;                   // whether windows count elements in different numbers
  alignas(16) char nothing[16];  // what padding counts as
  alignas(16) char count[16];

  int64_t padded_width() const {
    return std::max(w.padding[2] + w.size[2], (w.out[2] - 1) * w.stride[2] + (w.kernel[2] - 1) * w.dilation[2] + 1);
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
    for (int64_t i = 0; i < w.kernel[0]; i++) {
      int64_t z = d * w.stride[0] - w.padding[0] + i * w.dilation[0];
      if (z < 0 || z >= w.size[0]) continue;
      for (int64_t j = 0; j < w.kernel[1]; j++) {
        int64_t y = h * w.stride[1] - w.padding[1] + j * w.dilation[1];
        if (y < 0 || y >= w.size[1]) continue;
        const char *from = image + (z * w.size[1] + y) * w.size[2] * item;
        if (first) memcpy(row, from, (size_t)(w.size[2] * item));
        else call(join, w.size[2], row, item, from, item, row);
        first = false;
      }
    }
    if (first) take(w.size[2], nothing, 0, row);
  }

  // The taps of a padded row, joined into a row of the result. Taps that stand apart are taken side by side first.
  void join_taps(const char *row, char *apart, char *to) const {
    int64_t n = w.out[2], step = w.stride[2] * item;
    take(n, row, step, to);
    for (int64_t k = 1; k < w.kernel[2]; k++) {
      const char *tap = row + k * w.dilation[2] * item;
      if (w.stride[2] != 1) {
        take(n, tap, step, apart);
        tap = apart;
      }
      call(join, n, to, item, tap, item, to);
    }
  }

  // How many elements each window of row (d, h) counts.
  template <class T> void count_row(int64_t d, int64_t h, char *to) const {
    const int64_t rows = w.counted(0, d) * w.counted(1, h);
    for (int64_t i = 0; i < w.out[2]; i++) reinterpret_cast<T *>(to)[i] = (T)(rows * w.counted(2, i));
  }
  void divide_row(int64_t d, int64_t h, char *counts, char *to) const {
    if (!uneven) return call(divide, w.out[2], to, item, count, 0, to);
    item == sizeof(float) ? count_row<float>(d, h, counts) : count_row<double>(d, h, counts);
    call(divide, w.out[2], to, item, counts, item, to);
  }

  static void range(void *ctx, int64_t begin, int64_t end, int64_t worker) {
    const PoolJob &p = *static_cast<PoolJob *>(ctx);
    const PoolWindows &w = p.w;
    int64_t width = p.padded_width(), image = w.size[0] * w.area() * p.item;
    char *row = static_cast<char *>(p.runtime->scratch(worker, (width + w.out[2]) * p.item)), *apart = row + width * p.item;
    p.take(width, p.nothing, 0, row);
    for (int64_t r = begin; r < end; r++) {
      int64_t h = r % w.out[1], d = r / w.out[1] % w.out[0], lead = r / (w.out[1] * w.out[0]);
      char *to = p.out + r * w.out[2] * p.item;
      p.join_rows(p.in + lead * image, d, h, row + w.padding[2] * p.item);
      p.join_taps(row, apart, to);
      if (p.divide) p.divide_row(d, h, apart, to);
    }
  }
};

// Rows of the result so short that loops over them are not worth their calls: the same steps, written out. Of sums the compiler
// makes vectors, of the larger one not: 64 planes of [64,64] by windows of 3x3 take 1,160 us so, by loops 154.
bool is_short(const PoolWindows &w, bool sums) {
  const bool lines = w.kernel[0] * w.kernel[1] == 1;
  return w.out[2] < (sums ? lines ? 24 : 12 : w.size[2] > 20 ? 0 : lines && w.kernel[2] == 2 ? 10 : 3);
}

template <class T> T joined(T a, T b, std::true_type) { return a + b; }
template <class T> T joined(T a, T b, std::false_type) { return (b > a) | (b != b) ? b : a; }  // (no branch: which is larger nobody foresees)

template <class T, class Sums> void short_rows(void *ctx, int64_t begin, int64_t end, int64_t worker) {
  const PoolJob &p = *static_cast<PoolJob *>(ctx);
  const PoolWindows &w = p.w;
  const int64_t width = p.padded_width(), n = w.out[2], stride = w.stride[2], dilation = w.dilation[2], taps = w.kernel[2];
  T *const row = static_cast<T *>(p.runtime->scratch(worker, (width + n) * (int64_t)sizeof(T))), *const inside = row + w.padding[2], *const counts = row + width;
  T nothing, count;
  memcpy(&nothing, p.nothing, sizeof nothing), memcpy(&count, p.count, sizeof count);
  std::fill(row, row + width, nothing);
  const bool plain_rows = w.kernel[0] * w.kernel[1] == 1 && !w.padding[0] && !w.padding[1] && width == w.size[2];
  int64_t h = begin % w.out[1], d = begin / w.out[1] % w.out[0], lead = begin / (w.out[1] * w.out[0]);
  for (int64_t r = begin; r < end; r++) {
    const T *const image = reinterpret_cast<const T *>(p.in) + lead * w.size[0] * w.area(), *from = row;
    T *const to = reinterpret_cast<T *>(p.out) + r * n;
    const int64_t z0 = d * w.stride[0] - w.padding[0], y0 = h * w.stride[1] - w.padding[1];
    bool first = true;
    if (plain_rows) from = image + (z0 * w.size[1] + y0) * w.size[2];
    for (int64_t i = 0; i < w.kernel[0] && !plain_rows; i++) {
      const int64_t z = z0 + i * w.dilation[0];
      if (z < 0 || z >= w.size[0]) continue;
      for (int64_t j = 0; j < w.kernel[1]; j++) {
        const int64_t y = y0 + j * w.dilation[1];
        if (y < 0 || y >= w.size[1]) continue;
        const T *x = image + (z * w.size[1] + y) * w.size[2];
        for (int64_t k = 0; k < w.size[2]; k++) inside[k] = first ? x[k] : joined(inside[k], x[k], Sums());
        first = false;
      }
    }
    if (first && !plain_rows) std::fill(inside, inside + w.size[2], nothing);
    if (p.divide && p.uneven) p.count_row<T>(d, h, reinterpret_cast<char *>(counts));
    for (int64_t o = 0; o < n; o++) to[o] = from[o * stride];
    for (int64_t k = 1; k < taps; k++)
      for (int64_t o = 0; o < n; o++) to[o] = joined(to[o], from[o * stride + k * dilation], Sums());
    if constexpr (Sums::value)
      for (int64_t o = 0; o < n; o++) to[o] /= p.uneven ? counts[o] : count;
    if (++h == w.out[1]) {
      h = 0;
      if (++d == w.out[0]) d = 0, lead++;
    }
  }
}

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

// Windows and memory of a pooling; a NULL result without exception: not handled.
PyObject *prepare_pool(PoolWindows *w, Call &call, bool dilated) {
  static const int64_t ones[3] = {1, 1, 1}, zeros[3] = {0, 0, 0};
  WeftTensor *x = call.tensor(0);
  const int n = call.op->code;
  if (!(x->word & WEFT_WORD_CONTIGUOUS) || x->numel == 0) return nullptr;
  int ndim = WEFT_NDIM(x), lead = ndim - n;
  if (lead != 1 && lead != 2) return nullptr;
  for (int i = 0; i < 3; i++) w->kernel[i] = w->stride[i] = w->dilation[i] = w->size[i] = w->out[i] = 1, w->padding[i] = 0;
  if (!read_spread(call, 1, n, ones, w->kernel) || !read_spread(call, 2, n, w->kernel, w->stride) ||
      !read_spread(call, 3, n, zeros, w->padding) || (dilated && !read_spread(call, 4, n, ones, w->dilation)))
    return nullptr;
  int64_t sizes[WEFT_MAX_NDIM];
  std::copy(x->sizes, x->sizes + lead, sizes);
  w->images = 1;
  for (int i = 0; i < lead; i++) w->images *= sizes[i];
  for (int i = 3 - n; i < 3; i++) {
    w->size[i] = x->sizes[lead + i - 3 + n];
    constexpr int64_t kLimit = int64_t(1) << 30;  // products of two stay within 64 bits
    for (int64_t number : {w->kernel[i], w->stride[i], w->dilation[i], w->padding[i]})
      if (number < 0 || number > kLimit) return nullptr;
    const int64_t reach = w->dilation[i] * (w->kernel[i] - 1);
    if (w->kernel[i] < 1 || w->stride[i] < 1 || w->dilation[i] < 1 || 2 * w->padding[i] > reach + 1 || w->places(i) < 1) return nullptr;
    sizes[lead + i - 3 + n] = w->out[i] = w->places(i);
  }
  return empty(x->word, ndim, sizes, nullptr);
}

PyObject *run_pool(PoolJob *p, WeftTensor *x, Ref out) {
  WeftTensor *o = as_tensor(out.get());
  const PoolWindows &w = p->w;
  p->runtime = kernel_runtime();
  p->in = weft_data(x);
  p->out = weft_data(o);
  typedef void (*Body)(void *, int64_t, int64_t, int64_t);
  Body body = PoolJob::range;
  if (is_short(w, p->divide)) {
    typedef std::true_type Sums;
    typedef std::false_type Largest;
    if (WEFT_DTYPE(x) == WEFT_FLOAT32) body = p->divide ? (Body)short_rows<float, Sums> : (Body)short_rows<float, Largest>;
    if (WEFT_DTYPE(x) == WEFT_FLOAT64) body = p->divide ? (Body)short_rows<double, Sums> : (Body)short_rows<double, Largest>;
  }
  Loop::parallel(o->numel, o->numel / w.out[2], w.out[2] * w.kernel[0] * w.kernel[1], body, p);
  return out.release();
}

// The Node of a pooling: kept are the places of the largest elements (NULL: none), the sizes, the windows and the input, of which
// gradients are recorded as functions.
bool record_pool(NativeOp *op, const PoolWindows &w, WeftTensor *x, WholeOp which, PyObject *places, PyObject *const *outputs, int n_outputs) {
  Ref sizes(int_tuple(WEFT_NDIM(x), x->sizes)), saved(PyTuple_New(4));
  const int64_t *k = w.kernel, *s = w.stride, *p = w.padding, *d = w.dilation;
  Ref windows(Py_BuildValue("i(LLL)(LLL)(LLL)(LLL)OOd", op->code, k[0], k[1], k[2], s[0], s[1], s[2], p[0], p[1], p[2], d[0], d[1], d[2], w.beyond ? Py_True : Py_False, w.of_padding ? Py_True : Py_False, w.divisor));
  if (!sizes || !saved || !windows) return false;
  PyTuple_SET_ITEM(saved.get(), 0, Py_NewRef(places ? places : Py_None));
  PyTuple_SET_ITEM(saved.get(), 1, sizes.release());
  PyTuple_SET_ITEM(saved.get(), 2, windows.release());
  PyTuple_SET_ITEM(saved.get(), 3, Py_NewRef(as_object(x)));
  PyObject *input = as_object(x);
  return record(op->node_name, whole_backwards[which], &input, 1, outputs, n_outputs, saved.get()) == 0;
}

// Values and places of the largest elements, one by one.
PyObject *with_places(NativeOp *op, const PoolWindows &w, WeftTensor *x, Ref out, bool returned) {
  WeftTensor *o = as_tensor(out.get());
  Ref places(empty(WEFT_INT64, WEFT_NDIM(o), o->sizes, nullptr));
  if (!places) return nullptr;
  pool_extremes(w, WEFT_DTYPE(x), weft_data(x), weft_data(o), reinterpret_cast<int64_t *>(weft_data(as_tensor(places.get()))));
  PyObject *outputs[2] = {out.get(), places.get()};
  if (records(x) && !record_pool(op, w, x, WHOLE_MAX_POOL, places.get(), outputs, returned ? 2 : 1)) return nullptr;
  return returned ? PyTuple_Pack(2, outputs[0], outputs[1]) : out.release();
}

PyObject *not_made() { return PyErr_Occurred() ? nullptr : UNHANDLED; }

bool is_half(WeftTensor *x) { return WEFT_DTYPE(x) == WEFT_FLOAT16 || WEFT_DTYPE(x) == WEFT_BFLOAT16; }

// The pooling of halves by way of float32: results, or the first of two, are rounded once.
PyObject *widened(Call &call, PyObject *(*pool)(Call &)) {
  const Arg given = call.args[0];
  Ref wide(converted(given.tensor, WEFT_FLOAT32));
  if (!wide || wide.get() == UNHANDLED) return wide.release();
  call.args[0].tensor = as_tensor(wide.get());
  call.args[0].object = wide.get();
  Ref made(pool(call));
  call.args[0] = given;
  if (!made || made.get() == UNHANDLED) return made.release();
  const bool two = PyTuple_Check(made.get());
  Ref half(converted(as_tensor(two ? PyTuple_GET_ITEM(made.get(), 0) : made.get()), WEFT_DTYPE(given.tensor)));
  return half && two ? PyTuple_Pack(2, half.get(), PyTuple_GET_ITEM(made.get(), 1)) : half.release();
}

constexpr int64_t kShortRow = 8;  // loops of halves take longer to begin than those of floats

// max_pool{1,2,3}d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False)
PyObject *fast_max_pool(Call &call) {
  WeftTensor *x = call.tensor(0);
  const int kind = dtype_kind(WEFT_DTYPE(x));
  if (kind != KIND_FLOAT && (kind != KIND_INTEGER || weft_itemsize(WEFT_DTYPE(x)) > 8)) return UNHANDLED;
  if (kind == KIND_INTEGER && call.op->code == 1 && !call.truth(6)) return UNHANDLED;  // an error
  const bool returned = call.truth(6), whole = WEFT_DTYPE(x) == WEFT_FLOAT32 || WEFT_DTYPE(x) == WEFT_FLOAT64;
  const bool placed = returned || records(x) || kind == KIND_INTEGER;  // (of integers there is no other loop)
  if (placed && is_half(x) && (records(x) || WEFT_DTYPE(x) == WEFT_FLOAT16)) return widened(call, fast_max_pool);
  if (placed && kind == KIND_FLOAT && !whole && !is_half(x)) return UNHANDLED;
  PoolJob p = {};
  p.w.beyond = call.truth(5);
  if (kind == KIND_INTEGER) {
    Ref out(prepare_pool(&p.w, call, true));
    return out ? with_places(call.op, p.w, x, std::move(out), returned) : not_made();
  }
  p.item = weft_itemsize(WEFT_DTYPE(x));
  p.join = weft_kernels.pointwise[WEFT_MAXIMUM][WEFT_DTYPE(x)];
  p.copy = weft_kernels.cast[WEFT_DTYPE(x)][WEFT_DTYPE(x)];
  Ref lowest(PyFloat_FromDouble(-INFINITY));
  if (!lowest || !p.join || !p.copy || !write_scalar(p.nothing, WEFT_DTYPE(x), lowest.get())) return not_made();
  Ref out(prepare_pool(&p.w, call, true));
  if (out && !placed && is_half(x) && p.w.out[2] < kShortRow) return widened(call, fast_max_pool);
  if (out && placed) return with_places(call.op, p.w, x, std::move(out), returned);
  return out ? run_pool(&p, x, std::move(out)) : not_made();
}

// avg_pool{1,2,3}d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None)
PyObject *fast_avg_pool(Call &call) {
  WeftTensor *x = call.tensor(0);
  int64_t divisor = 0;
  if (!call[6].none() && (!exact_int(call[6].object, &divisor) || !divisor)) return UNHANDLED;
  if (is_half(x)) return widened(call, fast_avg_pool);
  if (WEFT_DTYPE(x) != WEFT_FLOAT32 && WEFT_DTYPE(x) != WEFT_FLOAT64) return UNHANDLED;
  PoolJob p = {};
  p.w.beyond = call.truth(4);
  p.w.of_padding = call.truth(5);
  p.w.divisor = (double)divisor;
  p.item = weft_itemsize(WEFT_DTYPE(x));
  p.join = weft_kernels.pointwise[WEFT_ADD][WEFT_DTYPE(x)];
  p.copy = weft_kernels.cast[WEFT_DTYPE(x)][WEFT_DTYPE(x)];
  p.divide = weft_kernels.pointwise[WEFT_DIV][WEFT_DTYPE(x)];
  if (!p.join || !p.copy || !p.divide) return UNHANDLED;
  Ref out(prepare_pool(&p.w, call, false));
  if (!out) return not_made();
  if (call.op->code == 3 && (p.w.kernel[0] > p.w.size[0] || p.w.kernel[1] > p.w.size[1] || p.w.kernel[2] > p.w.size[2])) return UNHANDLED;  // an error
  p.uneven = !divisor && (p.w.beyond || !p.w.of_padding);
  Ref count(PyFloat_FromDouble(divisor ? (double)divisor : (double)(p.w.kernel[0] * p.w.kernel[1] * p.w.kernel[2])));
  if (!count || !write_scalar(p.count, WEFT_DTYPE(x), count.get())) return nullptr;
  Ref made(run_pool(&p, x, std::move(out)));
  PyObject *output = made.get();
  if (made && records(x) && !record_pool(call.op, p.w, x, WHOLE_AVG_POOL, nullptr, &output, 1)) return nullptr;
  return made.release();
}

}  // namespace

const RuleRow pool_rules[] = {{"max_pool1d", fast_max_pool, 1}, {"max_pool2d", fast_max_pool, 2}, {"max_pool3d", fast_max_pool, 3},
                              {"avg_pool1d", fast_avg_pool, 1}, {"avg_pool2d", fast_avg_pool, 2}, {"avg_pool3d", fast_avg_pool, 3}, {nullptr, nullptr}};

}  // namespace weft

// fast_scan.cpp: running products, extremes and log-sum-exps along a dim of row-major tensors, running sums of
// integers and complex numbers.
//
// Rows that stand beside each other in memory go together: along the last dim several rows at once, so that the chains of their
// results hide each other's delay; along another dim a strip of columns, whose results of the row before are still in the cache.
#include <math.h>
#include <string.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "by_dtype.h"
#include "loops.h"
#include "op.h"
#include "strips.h"

namespace weft {

namespace {

constexpr int64_t kRows = 8;

enum ScanKind { SCAN_SUM, SCAN_PRODUCT, SCAN_MAX, SCAN_MIN, SCAN_LOGSUMEXP };

struct ScanJob {
  const char *in;
  char *out;
  int64_t *at;          // of extremes: where they stand
  int64_t n, m;         // length of a row; columns that stand beside each other
};

template <class T> struct Complex {  // of which a product is what the formula gives, without the care for infinities of C's operator
  T re, im;
  template <class U> operator Complex<U>() const { return {(U)re, (U)im}; }
  void operator+=(Complex<T> x) { re += x.re, im += x.im; }
  void operator*=(Complex<T> x) { *this = {re * x.re - im * x.im, re * x.im + im * x.re}; }
};

// The running value. Products of float32 run in float64, log-sum-exps keep the maximum and the sum of exponentials relative to it.
template <class T> struct WideOf { typedef T type; };
template <> struct WideOf<float> { typedef double type; };
template <> struct WideOf<Complex<float>> { typedef Complex<double> type; };
template <class T> using Wide = typename WideOf<T>::type;

template <ScanKind kind, class T> struct Running {
  Wide<T> value;
  void start(T x) { value = x; }
  T step(T x) {
    if constexpr (kind == SCAN_SUM) value += x;
    else value *= x;
    return (T)value;
  }
};

template <class T> struct Running<SCAN_LOGSUMEXP, T> {
  T top;
  double sum;
  T start(T x) {
    top = x, sum = 1;
    return x;
  }
  T step(T x) {
    if (x != x || top != top) return top = x != x ? x : top;
    if (x > top) {
      sum = top == -std::numeric_limits<T>::infinity() ? 1 : sum * exp((double)top - (double)x) + 1;
      top = x;
    } else if (x > -std::numeric_limits<T>::infinity()) {
      sum += x == top ? 1 : exp((double)x - (double)top);
    }
    return top - top == 0 ? (T)((double)top + log(sum)) : top;
  }
};

// Rows of `n` elements `step` apart, `rows` (at most kRows) of them `apart` from each other.
template <ScanKind kind, class T> void scan_rows(const T *in, T *out, int64_t n, int64_t step, int64_t rows, int64_t apart) {
  Running<kind, T> running[kRows];
  for (int64_t r = 0; r < rows; r++) running[r].start(out[r * apart] = in[r * apart]);
  if (rows == kRows) {
    for (int64_t i = 1; i < n; i++)
#pragma GCC unroll 8
      for (int64_t r = 0; r < kRows; r++) out[i * step + r * apart] = running[r].step(in[i * step + r * apart]);
  } else {
    for (int64_t i = 1; i < n; i++)
      for (int64_t r = 0; r < rows; r++) out[i * step + r * apart] = running[r].step(in[i * step + r * apart]);
  }
}

// Of equal elements the last one; a NaN is the extreme from where it first stands.
template <bool least, class T> inline bool takes(T x, T best) { return x != x || (best == best && (least ? x <= best : x >= best)); }

template <bool least, class T> void extreme_row(const T *in, T *out, int64_t *at, int64_t n) {
  T best = in[0];
  int64_t place = 0;
  for (int64_t i = 0; i < n; i++) {
    if (__builtin_expect(takes<least>(in[i], best), 0)) best = in[i], place = i;
    out[i] = best, at[i] = place;
  }
}

template <bool least, class T> void extreme_columns(const T *in, T *out, int64_t *at, int64_t n, int64_t stride, int64_t width) {
  for (int64_t j = 0; j < width; j++) out[j] = in[j], at[j] = 0;
  for (int64_t i = 1; i < n; i++) {
    const T *x = in + i * stride, *best = out + (i - 1) * stride;
    const int64_t *places = at + (i - 1) * stride;
    T *to = out + i * stride;
    int64_t *place = at + i * stride;
    for (int64_t j = 0; j < width; j++) {
      const bool take = takes<least>(x[j], best[j]);
      to[j] = take ? x[j] : best[j], place[j] = take ? i : places[j];
    }
  }
}

// Scans at `outer` positions; `rows`: along the last dim, several rows at once.
template <ScanKind kind, class T> void scan(const ScanJob &job, int64_t outer, bool rows) {
  const T *in = reinterpret_cast<const T *>(job.in);
  T *out = reinterpret_cast<T *>(job.out);
  const int64_t n = job.n, m = job.m;
  constexpr bool extreme = kind == SCAN_MAX || kind == SCAN_MIN;
  if constexpr (!extreme) {
    if (rows)
      return share((outer + kRows - 1) / kRows, n * kRows, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin * kRows; row < std::min(end * kRows, outer); row += kRows) {
          scan_rows<kind>(in + row * n, out + row * n, n, 1, std::min(kRows, outer - row), n);
          poll_signals();
        }
      });
  }
  share_strips(outer, n, m, [&](int64_t position, int64_t first, int64_t width) {
    const int64_t at = position * n * m + first;
    if constexpr (extreme) {
      if (m == 1) extreme_row<kind == SCAN_MIN>(in + at, out + at, job.at + at, n);
      else extreme_columns<kind == SCAN_MIN>(in + at, out + at, job.at + at, n, m, width);
    } else {
      for (int64_t j = 0; j < width; j += kRows) scan_rows<kind>(in + at + j, out + at + j, n, m, std::min(kRows, width - j), 1);
    }
    poll_signals();
  });
}

typedef void (*Body)(const ScanJob &, int64_t, bool);

template <ScanKind kind> Body body_for(int dtype) {
  constexpr bool extreme = kind == SCAN_MAX || kind == SCAN_MIN;
  if constexpr (kind == SCAN_SUM || kind == SCAN_PRODUCT) {
    if (dtype == WEFT_COMPLEX64) return scan<kind, Complex<float>>;
    if (dtype == WEFT_COMPLEX128) return scan<kind, Complex<double>>;
  }
  return by_dtype(dtype, (Body)nullptr, [](auto type) -> Body {
    typedef typename decltype(type)::type Named;
    typedef typename std::conditional<std::is_same<Named, bool>::value, uint8_t, Named>::type T;
    constexpr bool floats = std::is_floating_point<T>::value, runs = floats ? kind != SCAN_SUM : std::is_same<T, int64_t>::value && kind != SCAN_LOGSUMEXP;
    if constexpr (extreme || runs) return scan<kind, T>;
    else return nullptr;
  });
}

Body body_of(int kind, int dtype) {
  switch (kind) {
    case SCAN_SUM: return body_for<SCAN_SUM>(dtype);
    case SCAN_PRODUCT: return body_for<SCAN_PRODUCT>(dtype);
    case SCAN_MAX: return body_for<SCAN_MAX>(dtype);
    case SCAN_MIN: return body_for<SCAN_MIN>(dtype);
    default: return body_for<SCAN_LOGSUMEXP>(dtype);
  }
}

// Fills `out` (and `at`) with the scan of a row-major `x` of the same dtype and at least one element.
void run_scan(Body body, WeftTensor *x, int dim, WeftTensor *out, WeftTensor *at, bool rows) {
  ScanJob job = {weft_data(x), weft_data(out), at ? reinterpret_cast<int64_t *>(weft_data(at)) : nullptr, x->sizes[dim], 1};
  for (int d = dim + 1; d < WEFT_NDIM(x); d++) job.m *= x->sizes[d];
  body(job, x->numel / (job.n * job.m), rows);
}

// The dtype in which a scan runs: halves in float32, small integers and bool, where it adds or multiplies, in int64.
int running_dtype(int kind, int dtype) {
  if (dtype == WEFT_FLOAT16 || dtype == WEFT_BFLOAT16) return WEFT_FLOAT32;
  const bool folds = kind == SCAN_SUM || kind == SCAN_PRODUCT;
  return folds && dtype_kind(dtype) <= KIND_INTEGER ? WEFT_INT64 : dtype;
}

PyObject *scanned(Call &call, WeftTensor *x, int dim) {
  const int kind = call.op->code, dtype = running_dtype(kind, WEFT_DTYPE(x));
  const bool extreme = kind == SCAN_MAX || kind == SCAN_MIN, rows = !extreme && dim == WEFT_NDIM(x) - 1;
  const Body body = body_of(kind, dtype);
  if (!body || (dtype != WEFT_DTYPE(x) && !weft_kernels.cast[WEFT_DTYPE(x)][dtype])) return UNHANDLED;
  const uint32_t word = x->word & ~(uint32_t)WEFT_WORD_DTYPE;
  Ref in(Py_NewRef(as_object(x)));
  if (!(x->word & WEFT_WORD_CONTIGUOUS) || WEFT_DTYPE(x) != dtype) {
    in.reset(empty(word | (uint32_t)dtype, WEFT_NDIM(x), x->sizes, nullptr));
    if (!in || !copy_into(as_tensor(in.get()), x)) return PyErr_Occurred() ? nullptr : UNHANDLED;
  }
  Ref out(empty(word | (uint32_t)dtype, WEFT_NDIM(x), x->sizes, nullptr));
  Ref places(extreme && out ? empty(word | (uint32_t)WEFT_INT64, WEFT_NDIM(x), x->sizes, nullptr) : nullptr);
  if (!out || (extreme && !places)) return nullptr;
  run_scan(body, as_tensor(in.get()), dim, as_tensor(out.get()), places ? as_tensor(places.get()) : nullptr, rows);
  if (dtype != WEFT_DTYPE(x) && dtype == WEFT_FLOAT32) out.reset(cast_tensor(as_tensor(out.get()), WEFT_DTYPE(x)));
  if (!out) return nullptr;
  PyObject *results[2] = {out.get(), places.get()};
  const int n = extreme ? 2 : 1;
  if (!call.record(results, n)) return nullptr;
  return extreme ? named_results(call.op, results, n) : out.release();
}

// cumsum, cumprod(input, dim, *, dtype=None), cummax, cummin, logcumsumexp(input, dim); `code` is the kind
PyObject *fast_scan(Call &call) {
  WeftTensor *x = call.tensor(0);
  int dim;
  const int dtype = call.binder->n > 2 ? call.dtype(2, WEFT_DTYPE(x)) : WEFT_DTYPE(x);
  const bool asked = call.binder->n > 2 && !call[2].none();  // for small integers: they are not widened then
  if (asked && dtype >= 0 && dtype_kind(dtype) <= KIND_INTEGER && dtype != WEFT_INT64) return UNHANDLED;
  if (dtype < 0 || !WEFT_NDIM(x) || !x->numel || !call.dim(1, WEFT_NDIM(x), &dim)) return UNHANDLED;
  Ref cast(dtype == WEFT_DTYPE(x) ? Py_NewRef(as_object(x)) : cast_tensor(x, dtype));
  if (!cast) return PyErr_Occurred() ? nullptr : UNHANDLED;
  x = as_tensor(cast.get());
  PyObject *sums = call.op->code == SCAN_SUM ? vector_cumsum(x, dim) : UNHANDLED;
  return sums == UNHANDLED ? scanned(call, x, dim) : call.made(Ref(sums));
}

}  // namespace

const RuleRow scan_rules[] = {{"cumsum", fast_scan, SCAN_SUM}, {"cumprod", fast_scan, SCAN_PRODUCT}, {"cummax", fast_scan, SCAN_MAX},
                              {"cummin", fast_scan, SCAN_MIN}, {"logcumsumexp", fast_scan, SCAN_LOGSUMEXP}, {nullptr, nullptr}};

}  // namespace weft

// series_kernels.cpp: the loops of definitions of rare functions (aten/ops/bessel.py) over dense float64: polynomials by pieces, and the
// series and the continued fraction of the incomplete gamma functions.
//
// A block of numbers takes each term together, so that terms are loops of vectors. What an element comes to does not depend on the
// others: one that is done keeps what it has.
#include <math.h>

#include <algorithm>

#include "clones.h"
#include "native_kernel.h"
#include "released.h"

namespace weft {

namespace {

constexpr int64_t kBlock = 256;
constexpr int kTermsOfSeries = 3000, kTermsOfFraction = 300, kLook = 8;  // terms between looks at what is done

const double *doubles(const WeftTensor *t) { return reinterpret_cast<const double *>(weft_data(t)); }

// Chebyshev polynomials of `rows` coefficients, a column for each of the pieces of `width` from `low` on.
WEFT_CLONES void clenshaw(int64_t n, const double *x, const double *columns, int64_t rows, int64_t pieces, double low, double width, double *__restrict out) {
  int64_t piece[kBlock];
  double t[kBlock], last[kBlock], before[kBlock];
  for (int64_t i = 0; i < n; i++) {
    const int64_t at = (int64_t)((x[i] - low) / width);
    piece[i] = at < 0 ? 0 : at < pieces ? at : pieces - 1;
    t[i] = (x[i] - (low + (double)piece[i] * width)) * (2 / width) - 1;
    last[i] = columns[(rows - 1) * pieces + piece[i]], before[i] = 0;
  }
  for (int64_t row = rows - 2; row > 0; row--)
    for (int64_t i = 0; i < n; i++) {
      const double next = columns[row * pieces + piece[i]] + 2 * t[i] * last[i] - before[i];
      before[i] = last[i], last[i] = next;
    }
  for (int64_t i = 0; i < n; i++) out[i] = columns[piece[i]] + t[i] * last[i] - before[i];
}

// The sums of x^k / (a (a + 1) ... (a + k)) with the terms from `first` on; whether some has changed by the last.
WEFT_CLONES bool add_terms(int64_t n, const double *a, const double *x, int first, double *__restrict term, double *__restrict total) {
  int64_t changed = 0;
  for (int k = first; k < first + kLook; k++) {
    changed = 0;
    for (int64_t i = 0; i < n; i++) {
      term[i] = term[i] * x[i] / (a[i] + k);
      const double next = total[i] + term[i];
      changed |= next != total[i];
      total[i] = next;
    }
  }
  return changed;
}

void lower_series(int64_t n, const double *a, const double *x, double *out) {
  double term[kBlock];
  for (int64_t i = 0; i < n; i++) term[i] = out[i] = 1 / a[i];
  for (int k = 1; k < kTermsOfSeries && add_terms(n, a, x, k, term, out); k += kLook) weft_poll_signals();
}

// Steps `first`, `first` + 1 ... of Legendre's continued fraction; whether some go on.
WEFT_CLONES bool take_steps(int64_t n, const double *a, int first, double *__restrict b, double *__restrict c, double *__restrict d, double *__restrict h, double *__restrict still) {
  int64_t going = 0;
  for (int k = first; k < first + kLook; k++) {
    going = 0;
    for (int64_t i = 0; i < n; i++) {
      const double an = -k * (k - a[i]);
      b[i] = b[i] + 2;
      d[i] = 1 / (an * d[i] + b[i]);
      c[i] = b[i] + an / c[i];
      const double step = d[i] * c[i];
      h[i] = still[i] != 0 ? h[i] * step : h[i];
      still[i] = fabs(step - 1) > 1e-16 ? still[i] : 0;
      going |= still[i] != 0;
    }
  }
  return going;
}

void upper_fraction(int64_t n, const double *a, const double *x, double *out) {
  double b[kBlock], c[kBlock], d[kBlock], still[kBlock];
  for (int64_t i = 0; i < n; i++) b[i] = x[i] + 1 - a[i], c[i] = 1e300, d[i] = out[i] = 1 / b[i], still[i] = 1;
  for (int k = 1; k < kTermsOfFraction && take_steps(n, a, k, b, c, d, out, still); k += kLook) weft_poll_signals();
}

struct BlockJob {
  const double *a, *x;
  double *out;
  void (*block)(int64_t n, const double *a, const double *x, double *out);

  static void run(void *context, int64_t begin, int64_t end, int64_t) {
    const BlockJob &job = *static_cast<BlockJob *>(context);
    for (int64_t i = begin; i < end; i += kBlock) job.block(std::min(kBlock, end - i), job.a + i, job.x + i, job.out + i);
  }
};

bool dense_doubles(std::initializer_list<WeftTensor *> tensors, int64_t n) {
  for (const WeftTensor *t : tensors)
    if (!t || WEFT_DTYPE(t) != WEFT_FLOAT64 || t->numel != n || !(t->word & WEFT_WORD_CONTIGUOUS)) return false;
  return true;
}

PyObject *refused(const char *name) { return PyErr_Format(PyExc_TypeError, "%s: dense float64 tensors of one size", name); }

template <void (*block)(int64_t, const double *, const double *, double *)> PyObject *of_two(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *a = nargs == 3 ? plain(args[0]) : nullptr, *x = a ? plain(args[1]) : nullptr, *out = x ? plain(args[2]) : nullptr;
  if (!out || !dense_doubles({a, x, out}, out->numel)) return refused("a series");
  BlockJob job = {doubles(a), doubles(x), const_cast<double *>(doubles(out)), block};
  Loop::parallel(out->numel * 64, out->numel, 64, BlockJob::run, &job);
  Py_RETURN_NONE;
}

struct PiecesJob {
  const double *columns, *x;
  double *out, low, width;
  int64_t rows, pieces;

  static void run(void *context, int64_t begin, int64_t end, int64_t) {
    const PiecesJob &j = *static_cast<PiecesJob *>(context);
    for (int64_t i = begin; i < end; i += kBlock) clenshaw(std::min(kBlock, end - i), j.x + i, j.columns, j.rows, j.pieces, j.low, j.width, j.out + i);
  }
};

PyObject *by_pieces(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *columns = nargs == 5 ? plain(args[0]) : nullptr, *x = columns ? plain(args[1]) : nullptr, *out = x ? plain(args[2]) : nullptr;
  if (!out || !dense_doubles({x, out}, out->numel) || !dense_doubles({columns}, columns->numel) || WEFT_NDIM(columns) != 2 || columns->sizes[0] < 2 || !columns->sizes[1] ||
      !PyFloat_CheckExact(args[3]) || !PyFloat_CheckExact(args[4]))
    return refused("polynomials");
  PiecesJob job = {doubles(columns), doubles(x), const_cast<double *>(doubles(out)), PyFloat_AS_DOUBLE(args[3]), PyFloat_AS_DOUBLE(args[4]), columns->sizes[0], columns->sizes[1]};
  Loop::parallel(out->numel * 8, out->numel, 8, PiecesJob::run, &job);
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef series_functions[] = {
    {"gamma_series", (PyCFunction)(void *)WEFT_KERNEL(of_two<lower_series>), METH_FASTCALL, "gamma_series(a, x, out): the sum of x^k / (a (a + 1) ... (a + k)), for x < a + 1"},
    {"gamma_fraction", (PyCFunction)(void *)WEFT_KERNEL(of_two<upper_fraction>), METH_FASTCALL, "gamma_fraction(a, x, out): Legendre's continued fraction, for x >= a + 1"},
    {"chebyshev_by_pieces", (PyCFunction)(void *)WEFT_KERNEL(by_pieces), METH_FASTCALL, "chebyshev_by_pieces(columns, x, out, low, width): coefficients by piece of x"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace weft

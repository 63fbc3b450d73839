// special_kernels.cpp: rare functions of one number, in float64 as their definitions (aten/scalar/numerics.py) compute them: exp(-|x|)
// times the modified Bessel functions of the first kind, exp(x * x) * erfc(x), and the inverse of the normal distribution function.
//
// A block of numbers goes through each step together, so that steps are loops of vectors.
#include <math.h>

#include <algorithm>

#include "clones.h"
#include "native_kernel.h"

namespace weft {

namespace {

constexpr int64_t kBlock = 256;
constexpr double kNear = 20, kSmall = 5;  // what power series reach; above, an asymptotic one and a continued fraction do

// A function of the scalar vocabulary of n numbers.
void apply(int code, const double *x, double *out, int64_t n) {
  char *args[2] = {reinterpret_cast<char *>(const_cast<double *>(x)), reinterpret_cast<char *>(out)};
  const intptr_t count = n, steps[2] = {sizeof(double), sizeof(double)};
  weft_kernels.pointwise[code][WEFT_FLOAT64](args, &count, steps, nullptr);
}

// The next term of power series and the sums with it; whether some sum has changed.
WEFT_CLONES bool add_terms(int64_t n, const double *factor, double by, double *__restrict term, double *__restrict sum) {
  int64_t changed = 0;
  for (int64_t i = 0; i < n; i++) {
    term[i] *= factor[i] * by;
    const double next = sum[i] + term[i];
    changed |= next != sum[i];
    sum[i] = next;
  }
  return changed;
}

// exp(-|x|) I(x) of an order: its power series, from kNear on an asymptotic one.
template <int order> void scaled_bessel(const double *x, double *out, int64_t n) {
  double size[kBlock], factor[kBlock], term[kBlock], sum[kBlock];
  bool any_far = false;
  for (int64_t i = 0; i < n; i++) {
    size[i] = std::fabs(x[i]), any_far = any_far || !(size[i] < kNear);
    const double near = size[i] < kNear ? size[i] : kNear;
    factor[i] = near * near / 4, out[i] = -near, term[i] = sum[i] = 1;
  }
  for (int k = 1; k < 80 && add_terms(n, factor, 1.0 / (k * (k + order)), term, sum); k++) {}
  apply(WEFT_EXP, out, out, n);
  for (int64_t i = 0; i < n; i++) out[i] *= sum[i] * (order ? size[i] / 2 : 1.0);
  if (any_far) {
    for (int64_t i = 0; i < n; i++) factor[i] = 1 / (size[i] < kNear ? kNear : size[i]), term[i] = sum[i] = 1;
    for (int k = 1; k < 25; k++) {
      const double odd = 2 * k - 1;
      add_terms(n, factor, (odd * odd - 4.0 * order * order) / (8.0 * k), term, sum);
    }
    for (int64_t i = 0; i < n; i++)
      if (!(size[i] < kNear)) out[i] = sum[i] * std::sqrt(factor[i] / (2 * M_PI));
  }
  if (order)
    for (int64_t i = 0; i < n; i++) out[i] = x[i] < 0 ? -out[i] : out[i];
}

// exp(x * x) * erfc(x) of numbers from kSmall on, by its continued fraction.
WEFT_CLONES void fractions(int64_t n, const double *x, double *__restrict out) {
  for (int64_t i = 0; i < n; i++) out[i] = 0;
  for (int k = 60; k; k--)
    for (int64_t i = 0; i < n; i++) out[i] = 0.5 * k / ((x[i] < kSmall ? kSmall : x[i]) + out[i]);
  for (int64_t i = 0; i < n; i++) out[i] = 1 / ((x[i] < kSmall ? kSmall : x[i]) + out[i]) / sqrt(M_PI);
}

void scaled_erfc(const double *x, double *out, int64_t n) {
  double small[kBlock], power[kBlock];
  bool any_far = false;
  for (int64_t i = 0; i < n; i++) {
    small[i] = x[i] < kSmall ? x[i] : 0.0, power[i] = std::min(small[i] * small[i], 709.0);
    any_far = any_far || !(x[i] < kSmall);
  }
  apply(WEFT_EXP, power, power, n);
  apply(WEFT_ERFC, small, out, n);
  for (int64_t i = 0; i < n; i++) out[i] = small[i] < -26.6 ? INFINITY : power[i] * out[i];
  if (!any_far) return;
  fractions(n, x, power);
  for (int64_t i = 0; i < n; i++)
    if (!(x[i] < kSmall)) out[i] = power[i];
}

// Where the normal distribution function is p: by erfinv in the middle, in the tails by Newton's steps on its logarithm.
void normal_inverse(const double *p, double *out, int64_t n) {
  double wanted[kBlock], x[kBlock], at[kBlock], e[kBlock], logarithm[kBlock];
  const auto inside = [&](int64_t i) { return p[i] > 0 && p[i] < 1; };
  for (int64_t i = 0; i < n; i++) at[i] = inside(i) && p[i] < 0.3 ? p[i] : inside(i) && p[i] > 0.7 ? 1 - p[i] : 0.3;
  apply(WEFT_LOG, at, wanted, n);
  for (int64_t i = 0; i < n; i++) x[i] = -std::sqrt(-2 * wanted[i]);
  bool moves = true;
  for (int step = 0; step < 8 && moves; step++) {
    for (int64_t i = 0; i < n; i++) at[i] = x[i] * -M_SQRT1_2;
    scaled_erfc(at, e, n);
    for (int64_t i = 0; i < n; i++) at[i] = e[i] / 2;
    apply(WEFT_LOG, at, logarithm, n);
    moves = false;
    for (int64_t i = 0; i < n; i++) {
      const double by = (logarithm[i] - x[i] * x[i] / 2 - wanted[i]) * e[i] * std::sqrt(M_PI / 2);
      x[i] -= by, moves = moves || std::fabs(by) > 1e-16 * std::fabs(x[i]);
    }
  }
  for (int64_t i = 0; i < n; i++) at[i] = (inside(i) ? p[i] : 0.5) * 2 - 1;
  apply(WEFT_ERFINV, at, e, n);
  for (int64_t i = 0; i < n; i++) {
    out[i] = p[i] < 0.3 ? x[i] : p[i] > 0.7 ? -x[i] : e[i] * M_SQRT2;
    if (!inside(i)) out[i] = p[i] == 0 ? -INFINITY : p[i] == 1 ? INFINITY : NAN;
  }
}

typedef void (*Block)(const double *, double *, int64_t);

template <class T, Block block> void special_loop(char **args, const intptr_t *count, const intptr_t *steps, void *) {
  double x[kBlock], y[kBlock];
  for (intptr_t first = 0; first < *count; first += kBlock) {
    const int64_t n = std::min<int64_t>(kBlock, *count - first);
    for (int64_t i = 0; i < n; i++) x[i] = (double)*reinterpret_cast<const T *>(args[0] + (first + i) * steps[0]);
    block(x, y, n);
    for (int64_t i = 0; i < n; i++) *reinterpret_cast<T *>(args[1] + (first + i) * steps[1]) = (T)y[i];
  }
}

// (out, x)
template <Block block> PyObject *special_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 2 ? plain(args[0]) : nullptr, *x = out ? plain(args[1]) : nullptr;
  const int dtype = x ? WEFT_DTYPE(x) : -1;
  if ((dtype != WEFT_FLOAT32 && dtype != WEFT_FLOAT64) || dtype != WEFT_DTYPE(out)) return not_for_these();
  if (!weft_kernels.pointwise[WEFT_EXP][WEFT_FLOAT64]) return not_for_these();  // a processor without vectors has no loops at all
  if (WEFT_NDIM(x) != WEFT_NDIM(out) || !std::equal(x->sizes, x->sizes + WEFT_NDIM(x), out->sizes)) return not_for_these();
  Loop loop(WEFT_NDIM(out), out->sizes);
  loop.add(x);
  loop.add(out);
  loop.run(dtype == WEFT_FLOAT32 ? special_loop<float, block> : special_loop<double, block>, nullptr);
  return written();
}

}  // namespace

const NativeKernel special_kernels[] = {{"special_i0e", WEFT_KERNEL(special_kernel<scaled_bessel<0>>)},
                                        {"special_i1e", WEFT_KERNEL(special_kernel<scaled_bessel<1>>)},
                                        {"special_erfcx", WEFT_KERNEL(special_kernel<scaled_erfc>)},
                                        {"special_ndtri", WEFT_KERNEL(special_kernel<normal_inverse>)},
                                        {nullptr, nullptr}};

}  // namespace weft

// polynomial_kernels.cpp: orthogonal polynomials of a degree that is an argument, in float64 as their definitions (aten/ops/orthogonal.py)
// compute them: three-term recurrences, and Chebyshev's as functions of angles inside of [-1, 1].
//
// A block of numbers takes each step of the recurrence together, so that steps are loops of vectors.
#include <math.h>

#include <algorithm>
#include <limits>

#include "clones.h"
#include "native_kernel.h"
#include "released.h"

namespace weft {

namespace {

constexpr int64_t kBlock = 256;
constexpr double kMostTerms = 1 << 20;  // the definition says so where there are more

inline double odd(double n) { return fmod(n, 2) == 0 ? 1 : -1; }

// `first(x)`: of degree 1. `step(k, x, p, q)`: of degree k + 1 from degrees k (p) and k - 1 (q). `closed`: whether no recurrence is
// needed for a degree above 1, and the value.
struct Chebyshev {
  static inline double step(double, double x, double p, double q) { return (x + x) * p - q; }
  // Known are the ends of [-1, 1], and what lies between for degrees above `least`.
  template <class Kind> static bool at(double x, double n, double least, double *value) {
    const double size = fabs(x);
    if (size == 1) *value = x > 0 ? Kind::at_one(n) : Kind::at_minus_one(n);
    else if (size < 1 && n > least) *value = Kind::inside(n, acos(x));
    else return false;
    return true;
  }
};
template <int least> struct ChebyshevT : Chebyshev {
  static inline double first(double x) { return x; }
  static double at_one(double) { return 1; }
  static double at_minus_one(double n) { return odd(n); }
  static double inside(double n, double a) { return cos(n * a); }
  static bool closed(double x, double n, double *value) { return at<ChebyshevT>(x, n, least, value); }
};
template <int least> struct ChebyshevU : Chebyshev {
  static inline double first(double x) { return x + x; }
  static double at_one(double n) { return n + 1; }
  static double at_minus_one(double n) { return odd(n) * (n + 1); }
  static double inside(double n, double a) { return sin((n + 1) * a) / sin(a); }
  static bool closed(double x, double n, double *value) { return at<ChebyshevU>(x, n, least, value); }
};
template <int least> struct ChebyshevV : Chebyshev {
  static inline double first(double x) { return x + x - 1; }
  static double at_one(double) { return 1; }
  static double at_minus_one(double n) { return odd(n) * (n + n + 1); }
  static double inside(double n, double a) { return cos((n + 0.5) * a) / cos(a / 2); }
  static bool closed(double x, double n, double *value) { return at<ChebyshevV>(x, n, least, value); }
};
template <int least> struct ChebyshevW : Chebyshev {
  static inline double first(double x) { return x + x + 1; }
  static double at_one(double n) { return n + n + 1; }
  static double at_minus_one(double n) { return odd(n); }
  static double inside(double n, double a) { return sin((n + 0.5) * a) / sin(a / 2); }
  static bool closed(double x, double n, double *value) { return at<ChebyshevW>(x, n, least, value); }
};
struct HermiteH {
  static inline double first(double x) { return x + x; }
  static inline double step(double k, double x, double p, double q) { return (x + x) * p - 2 * k * q; }
  static bool closed(double, double, double *) { return false; }
};
struct HermiteHe {
  static inline double first(double x) { return x; }
  static inline double step(double k, double x, double p, double q) { return x * p - k * q; }
  static bool closed(double, double, double *) { return false; }
};
struct Laguerre {
  static inline double first(double x) { return 1 - x; }
  static inline double step(double k, double x, double p, double q) { return ((k + k + (1 - x)) * p - k * q) / (k + 1); }
  static bool closed(double x, double, double *value) { return *value = 1, x == 0; }
};
struct Legendre {
  static inline double first(double x) { return x; }
  static inline double step(double k, double x, double p, double q) { return ((k + k + 1) * x * p - k * q) / (k + 1); }
  static bool closed(double x, double n, double *value) { return *value = x > 0 ? 1 : odd(n), fabs(x) == 1; }
};

// The polynomials of degree k + 1, which become infinite beyond `most`, and the results of that degree.
template <class Kind> WEFT_CLONES void take_step(int64_t n, double k, double most, const double *x, const double *degree, double *__restrict before, double *__restrict now, double *__restrict result) {
  for (int64_t i = 0; i < n; i++) {
    double next = Kind::step(k, x[i], now[i], before[i]);
    next = fabs(next) > most ? copysign(INFINITY, next) : next;
    before[i] = now[i], now[i] = next;
    result[i] = degree[i] == k + 1 ? next : result[i];
  }
}

template <class Kind, bool shifted> void polynomials(int64_t n, const double *x, const double *given, double most, double *out) {
  double t[kBlock], degree[kBlock], before[kBlock], now[kBlock], result[kBlock];
  int64_t place[kBlock], left = 0;
  double highest = 0;
  for (int64_t i = 0; i < n; i++) {
    const double d = fabs(given[i]) < 0x1p63 ? trunc(given[i]) : -1, v = shifted ? x[i] + x[i] - 1 : x[i];
    if (d <= 1) out[i] = d == 0 ? 1 : d == 1 ? Kind::first(v) : 0;
    else if (!Kind::closed(v, d, &out[i])) t[left] = v, degree[left] = d, place[left++] = i, highest = std::max(highest, d);
  }
  for (int64_t i = 0; i < left; i++) before[i] = 1, now[i] = Kind::first(t[i]), result[i] = NAN;
  for (double k = 1; k < highest; k++) {
    take_step<Kind>(left, k, most, t, degree, before, now, result);
    if (fmod(k, 64) != 0) continue;
    weft_poll_signals();
    bool all = true;
    for (int64_t i = 0; i < left; i++) all = all && (now[i] != now[i] || degree[i] <= k + 1);
    if (all) break;
  }
  for (int64_t i = 0; i < left; i++) out[place[i]] = result[i];
}

template <class T> inline double read(const char *p) {
  T v;
  memcpy(&v, p, sizeof v);
  return (double)v;
}

template <class T, class Kind, bool shifted> void polynomial_loop(char **args, const intptr_t *count, const intptr_t *steps, void *) {
  double x[kBlock], degree[kBlock], found[kBlock];
  for (int64_t i = 0; i < *count; i += kBlock) {
    const int64_t n = std::min<int64_t>(kBlock, *count - i);
    for (int64_t j = 0; j < n; j++) x[j] = read<T>(args[0] + (i + j) * steps[0]), degree[j] = read<T>(args[1] + (i + j) * steps[1]);
    polynomials<Kind, shifted>(n, x, degree, (double)std::numeric_limits<T>::max(), found);
    for (int64_t j = 0; j < n; j++) {
      const T value = (T)found[j];
      memcpy(args[2] + (i + j) * steps[2], &value, sizeof value);
    }
  }
}

// The highest degree among the elements.
template <class T> double highest(const WeftTensor *n) {
  const T *p = reinterpret_cast<const T *>(weft_data(n));
  double most = 0;
  for (int64_t i = 0; i < n->numel; i++)
    if (const double d = fabs((double)p[i]); d < 0x1p63) most = std::max(most, d);
  return most;
}

// (out, x, n)
template <class Kind, bool shifted> PyObject *polynomial_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 3 ? plain(args[0]) : nullptr, *x = out ? plain(args[1]) : nullptr, *n = x ? plain(args[2]) : nullptr;
  const int dtype = n ? WEFT_DTYPE(x) : -1;
  if ((dtype != WEFT_FLOAT32 && dtype != WEFT_FLOAT64) || dtype != WEFT_DTYPE(out) || dtype != WEFT_DTYPE(n)) return not_for_these();
  if (WEFT_NDIM(x) > WEFT_NDIM(out) || WEFT_NDIM(n) > WEFT_NDIM(out)) return not_for_these();
  for (const WeftTensor *t : {x, n})  // of the last dims, each is the result's or one
    for (int d = 0, more = WEFT_NDIM(out) - WEFT_NDIM(t); d < WEFT_NDIM(t); d++)
      if (t->sizes[d] != out->sizes[d + more] && t->sizes[d] != 1) return not_for_these();
  if (!out->numel) return written();
  Ref degrees(row_major(n));
  if (!degrees) return PyErr_Occurred() ? nullptr : not_for_these();
  const WeftTensor *all = as_tensor(degrees.get());
  if ((dtype == WEFT_FLOAT32 ? highest<float>(all) : highest<double>(all)) > kMostTerms) return not_for_these();
  Loop loop(WEFT_NDIM(out), out->sizes);
  loop.add(x), loop.add(n), loop.add(out);
  loop.run(dtype == WEFT_FLOAT32 ? polynomial_loop<float, Kind, shifted> : polynomial_loop<double, Kind, shifted>, nullptr);
  return written();
}

}  // namespace

#define WEFT_POLYNOMIAL(name, ...) {"special_" name, WEFT_KERNEL(polynomial_kernel<__VA_ARGS__>)}
const NativeKernel polynomial_kernels[] = {WEFT_POLYNOMIAL("chebyshev_polynomial_t", ChebyshevT<6>, false),
                                           WEFT_POLYNOMIAL("chebyshev_polynomial_u", ChebyshevU<8>, false),
                                           WEFT_POLYNOMIAL("chebyshev_polynomial_v", ChebyshevV<8>, false),
                                           WEFT_POLYNOMIAL("chebyshev_polynomial_w", ChebyshevW<8>, false),
                                           WEFT_POLYNOMIAL("shifted_chebyshev_polynomial_t", ChebyshevT<6>, true),
                                           WEFT_POLYNOMIAL("shifted_chebyshev_polynomial_u", ChebyshevU<6>, true),
                                           WEFT_POLYNOMIAL("shifted_chebyshev_polynomial_v", ChebyshevV<6>, true),
                                           WEFT_POLYNOMIAL("shifted_chebyshev_polynomial_w", ChebyshevW<4>, true),
                                           WEFT_POLYNOMIAL("hermite_polynomial_h", HermiteH, false),
                                           WEFT_POLYNOMIAL("hermite_polynomial_he", HermiteHe, false),
                                           WEFT_POLYNOMIAL("laguerre_polynomial_l", Laguerre, false),
                                           WEFT_POLYNOMIAL("legendre_polynomial_p", Legendre, false),
                                           {nullptr, nullptr}};

}  // namespace weft

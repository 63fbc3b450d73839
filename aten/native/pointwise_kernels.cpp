// pointwise_kernels.cpp: kernels of elementwise ops that have no loop of the scalar vocabulary by their own name: divisions of integers,
// which refuse 0; arithmetic of few complex numbers (of many NumPy's loops are as fast); quotients, exponentials, squares and opposites
// of all.
#include <math.h>
#include <string.h>

#include <algorithm>
#include <complex>
#include <limits>
#include <numeric>

#include "by_dtype.h"
#include "clones.h"
#include "division.h"
#include "native_kernel.h"

namespace weft {

namespace {

// (out, n, x): digamma and trigamma are rows
PyObject *polygamma_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 3 ? plain(args[0]) : nullptr, *x = out ? plain(args[2]) : nullptr;
  int64_t n;
  if (!x || !exact_int(args[1], &n) || n < 0 || n > 1 || WEFT_DTYPE(x) != WEFT_DTYPE(out)) return not_for_these();
  WeftLoop body = weft_kernels.pointwise[n ? WEFT_TRIGAMMA : WEFT_DIGAMMA][WEFT_DTYPE(x)];
  if (!body) return not_for_these();
  Loop loop(WEFT_NDIM(out), out->sizes);
  loop.add(x);
  loop.add(out);
  loop.run(body, nullptr);
  return written();
}

// Runs `body` over two operands, tensors of the result's dtype or numbers. False: one of them is neither.
bool run_binary(WeftLoop body, WeftTensor *out, PyObject *const *operands) {
  alignas(16) char numbers[2][16] = {};
  Loop loop(WEFT_NDIM(out), out->sizes);
  for (int i = 0; i < 2; i++) {
    if (WeftTensor *t = plain(operands[i])) {
      if (WEFT_DTYPE(t) != WEFT_DTYPE(out)) return false;
      loop.add(t);
    } else {
      if (!(PyLong_CheckExact(operands[i]) || PyFloat_CheckExact(operands[i]) || PyComplex_CheckExact(operands[i]))) return false;
      if (!write_scalar(numbers[i], WEFT_DTYPE(out), operands[i])) return PyErr_Clear(), false;
      loop.add_number(numbers[i]);
    }
  }
  loop.add(out);
  loop.run(body, nullptr);
  return true;
}

// ------------------------------------------------------------------------------------------------------ integers
template <class T> void gcd_loop(char **args, const intptr_t *n, const intptr_t *steps, void *) {
  for (intptr_t i = 0; i < *n; i++)
    *reinterpret_cast<T *>(args[2] + i * steps[2]) = std::gcd(*reinterpret_cast<const T *>(args[0] + i * steps[0]), *reinterpret_cast<const T *>(args[1] + i * steps[1]));
}
constexpr Division GCD = DIVIDE_KINDS;

template <Division which, class T> WeftLoop loop_of(int dtype) {
  if constexpr (which == GCD) return gcd_loop<T>;
  else return division_table.loops[which][dtype] ? division_table.loops[which][dtype] : division_loop<which, T>;
}

template <class T> void find_zero(char **args, const intptr_t *n, const intptr_t *steps, void *data) {
  bool found = false;
  for (intptr_t i = 0; i < *n; i++) found |= *reinterpret_cast<const T *>(args[0] + i * steps[0]) == 0;
  if (found) *static_cast<volatile bool *>(data) = true;
}

template <Division which, class T> PyObject *divided_by(PyObject *const *args) {
  WeftTensor *out = plain(args[0]), *y = plain(args[2]);
  bool zero = false;
  if (which != GCD && y) {
    Loop loop(WEFT_NDIM(y), y->sizes);
    loop.add(y);
    loop.run(find_zero<T>, &zero);
  } else if (which != GCD) {
    const int truth = PyObject_IsTrue(args[2]);
    if (truth < 0) return nullptr;
    zero = !truth;
  }
  return !zero && run_binary(loop_of<which, T>(WEFT_DTYPE(out)), out, args + 1) ? written() : not_for_these();
}

// (out, x, y)
template <Division which> PyObject *division_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 3 ? plain(args[0]) : nullptr;
  if (!out || (!plain(args[1]) && !plain(args[2]))) return not_for_these();
  const int dtype = WEFT_DTYPE(out);
  for (int i = 1; i < 3; i++)
    if (const WeftTensor *t = plain(args[i]); t ? WEFT_DTYPE(t) != dtype : !PyLong_CheckExact(args[i])) return not_for_these();
  return dtype_kind(dtype) != KIND_INTEGER ? not_for_these() : by_dtype(dtype, (PyObject *)nullptr, [&](auto type) -> PyObject * {
    typedef typename decltype(type)::type T;
    if constexpr (std::is_integral<T>::value && !std::is_same<T, bool>::value) return divided_by<which, T>(args);
    else return not_for_these();
  });
}

// ------------------------------------------------------------------------------------------------ complex numbers
constexpr int64_t kFew = 2048;

enum Arithmetic { PLUS, MINUS, TIMES, BY };

template <Arithmetic which, class T> inline std::complex<T> combined(std::complex<T> x, std::complex<T> y) {
  const T a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
  if constexpr (which == PLUS) return {a + c, b + d};
  else if constexpr (which == MINUS) return {a - c, b - d};
  else return {a * c - b * d, a * d + b * c};
}

#define WEFT_INLINE inline __attribute__((always_inline, optimize("O3")))

// Quotients as NumPy computes them, by Smith's method (1962); without branches, so that a loop is one of vectors. Results may lie where
// an operand does.
template <class T> WEFT_INLINE void divide_all(int64_t n, const T *x, const T *y, T *out) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    const T a = x[2 * i], b = x[2 * i + 1], c = y[2 * i], d = y[2 * i + 1];
    const T high = std::fabs(c), low = std::fabs(d);
    const bool first = high >= low, none = c == 0 && d == 0;
    const T major = first ? c : d, minor = first ? d : c;
    const T ratio = minor / major, scale = (T)1 / (major + minor * ratio);
    const T p = first ? a : b, q = first ? b : a, pr = p * ratio, re = (p + q * ratio) * scale, im = (first ? b - pr : pr - a) * scale;
    const T far_re = a / high, far_im = b / high;
    out[2 * i] = none ? far_re : re;
    out[2 * i + 1] = none ? far_im : im;
  }
}
WEFT_CLONES void quotients(int64_t n, const float *x, const float *y, float *out) { divide_all(n, x, y, out); }
WEFT_CLONES void quotients(int64_t n, const double *x, const double *y, double *out) { divide_all(n, x, y, out); }

constexpr intptr_t kSome = 256;  // numbers that are brought together

// n numbers, where they lie or copied to `room`.
template <class T> const T *together(const char *from, intptr_t step, intptr_t n, T *room) {
  if (step == 2 * (intptr_t)sizeof(T)) return reinterpret_cast<const T *>(from);
  for (intptr_t i = 0; i < n; i++) memcpy(room + 2 * i, from + i * step, 2 * sizeof(T));
  return room;
}
template <class T> void apart(const T *from, intptr_t n, char *to, intptr_t step) {
  for (intptr_t i = 0; i < n; i++) memcpy(to + i * step, from + 2 * i, 2 * sizeof(T));
}

template <class T> void quotient_loop(char **args, const intptr_t *n, const intptr_t *steps) {
  T x[2 * kSome], y[2 * kSome], made[2 * kSome];
  for (intptr_t i = 0; i < *n; i += kSome) {
    const intptr_t some = std::min(kSome, *n - i);
    char *to = args[2] + i * steps[2];
    const bool dense = steps[2] == 2 * (intptr_t)sizeof(T);
    T *out = dense ? reinterpret_cast<T *>(to) : made;
    quotients(some, together(args[0] + i * steps[0], steps[0], some, x), together(args[1] + i * steps[1], steps[1], some, y), out);
    if (!dense) apart(out, some, to, steps[2]);
  }
}

template <Arithmetic which, class T> void complex_loop(char **args, const intptr_t *n, const intptr_t *steps, void *) {
  if constexpr (which == BY) quotient_loop<T>(args, n, steps);
  else
    for (intptr_t i = 0; i < *n; i++)
      *reinterpret_cast<std::complex<T> *>(args[2] + i * steps[2]) = combined<which>(
          *reinterpret_cast<const std::complex<T> *>(args[0] + i * steps[0]), *reinterpret_cast<const std::complex<T> *>(args[1] + i * steps[1]));
}

template <class T> WeftLoop real_loop(int code) { return weft_kernels.pointwise[code][sizeof(T) == 4 ? WEFT_FLOAT32 : WEFT_FLOAT64]; }

// exp(re) cos(im) and exp(re) sin(im) by the loops of real numbers; the C library's where a factor is not finite.
template <class T> void exp_loop(char **args, const intptr_t *n, const intptr_t *steps, void *) {
  typedef std::complex<T> Number;
  constexpr T most = sizeof(T) == 4 ? (T)88 : (T)709;
  const WeftLoop loops[] = {real_loop<T>(WEFT_EXP), real_loop<T>(WEFT_COS), real_loop<T>(WEFT_SIN)};
  alignas(64) T parts[2][kSome], made[3][kSome];
  for (intptr_t first = 0; first < *n; first += kSome) {
    const intptr_t some = std::min(kSome, *n - first), dense[] = {sizeof(T), sizeof(T)};
    for (intptr_t i = 0; i < some; i++) {
      const Number z = *reinterpret_cast<const Number *>(args[0] + (first + i) * steps[0]);
      parts[0][i] = z.real(), parts[1][i] = z.imag();
    }
    for (int k = 0; k < 3; k++) {
      char *of[] = {reinterpret_cast<char *>(parts[k > 0]), reinterpret_cast<char *>(made[k])};
      loops[k](of, &some, dense, nullptr);
    }
    for (intptr_t i = 0; i < some; i++) {
      const T re = parts[0][i], im = parts[1][i];
      const bool usual = re <= most && std::fabs(im) <= std::numeric_limits<T>::max();
      const Number found = usual ? Number(made[0][i] * made[1][i], made[0][i] * made[2][i]) : std::exp(Number(re, im));
      *reinterpret_cast<Number *>(args[1] + (first + i) * steps[1]) = found;
    }
  }
}

// (out, x)
PyObject *exp_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 2 ? plain(args[0]) : nullptr, *x = out ? plain(args[1]) : nullptr;
  if (!x || WEFT_DTYPE(x) != WEFT_DTYPE(out) || dtype_kind(WEFT_DTYPE(x)) != KIND_COMPLEX || !real_loop<float>(WEFT_EXP)) return not_for_these();
  const bool narrow = WEFT_DTYPE(x) == WEFT_COMPLEX64;
  if (!narrow && WEFT_DTYPE(x) != WEFT_COMPLEX128) return not_for_these();
  Loop loop(WEFT_NDIM(out), out->sizes);
  loop.add(x);
  loop.add(out);
  loop.run(narrow ? exp_loop<float> : exp_loop<double>, nullptr);
  return written();
}

// (out, x, y)
template <Arithmetic which> PyObject *complex_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 3 ? plain(args[0]) : nullptr;
  if (!out || (which != BY && out->numel > kFew) || (!plain(args[1]) && !plain(args[2]))) return not_for_these();
  WeftLoop body;
  switch (WEFT_DTYPE(out)) {
    case WEFT_COMPLEX64: body = complex_loop<which, float>; break;
    case WEFT_COMPLEX128: body = complex_loop<which, double>; break;
    default: return not_for_these();
  }
  return run_binary(body, out, args + 1) ? written() : not_for_these();
}

template <class T> void neg_loop(char **args, const intptr_t *n, const intptr_t *steps, void *) {
  constexpr intptr_t item = 2 * sizeof(T), dense[] = {sizeof(T), sizeof(T)};
  const bool together = steps[0] == item && steps[1] == item;
  const intptr_t parts = together ? 2 * *n : 2;
  for (intptr_t i = 0; i < (together ? 1 : *n); i++) {
    char *of[] = {args[0] + i * steps[0], args[1] + i * steps[1]};
    real_loop<T>(WEFT_NEG)(of, &parts, dense, nullptr);
  }
}

// (out, x) of complex numbers
PyObject *neg_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 2 ? plain(args[0]) : nullptr, *x = out ? plain(args[1]) : nullptr;
  const int dtype = x ? WEFT_DTYPE(x) : -1;
  if ((dtype != WEFT_COMPLEX64 && dtype != WEFT_COMPLEX128) || dtype != WEFT_DTYPE(out)) return not_for_these();
  if (!real_loop<float>(WEFT_NEG)) return not_for_these();  // (a processor without vectors)
  Loop loop(WEFT_NDIM(out), out->sizes);
  loop.add(x);
  loop.add(out);
  loop.run(dtype == WEFT_COMPLEX64 ? neg_loop<float> : neg_loop<double>, nullptr);
  return written();
}

// (out, x, exponent): squares of integers and complex numbers
PyObject *pow_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 3 ? plain(args[0]) : nullptr, *x = out ? plain(args[1]) : nullptr;
  if (!x || WEFT_DTYPE(x) != WEFT_DTYPE(out)) return not_for_these();
  int64_t whole;
  const bool two = PyFloat_CheckExact(args[2]) ? PyFloat_AS_DOUBLE(args[2]) == 2 : exact_int(args[2], &whole) && whole == 2;
  if (!two) return not_for_these();
  WeftLoop body;
  switch (WEFT_DTYPE(x)) {
    case WEFT_COMPLEX64: body = complex_loop<TIMES, float>; break;
    case WEFT_COMPLEX128: body = complex_loop<TIMES, double>; break;
    case WEFT_BOOL: return not_for_these();
    default: body = dtype_kind(WEFT_DTYPE(x)) < KIND_FLOAT ? weft_kernels.pointwise[WEFT_MUL][WEFT_DTYPE(x)] : nullptr;
  }
  if (!body) return not_for_these();
  Loop loop(WEFT_NDIM(out), out->sizes);
  for (WeftTensor *t : {x, x, out}) loop.add(t);
  loop.run(body, nullptr);
  return written();
}

}  // namespace

const NativeKernel pointwise_kernels[] = {{"polygamma", WEFT_KERNEL(polygamma_kernel)},
                                          {"floor_divide", WEFT_KERNEL(division_kernel<DIVIDE_FLOOR>)},
                                          {"remainder", WEFT_KERNEL(division_kernel<DIVIDE_REMAINDER>)},
                                          {"fmod", WEFT_KERNEL(division_kernel<DIVIDE_FMOD>)},
                                          {"truncated_quotient", WEFT_KERNEL(division_kernel<DIVIDE_TRUNC>)},
                                          {"gcd", WEFT_KERNEL(division_kernel<GCD>)},
                                          {"add", WEFT_KERNEL(complex_kernel<PLUS>)},
                                          {"sub", WEFT_KERNEL(complex_kernel<MINUS>)},
                                          {"mul", WEFT_KERNEL(complex_kernel<TIMES>)},
                                          {"div", WEFT_KERNEL(complex_kernel<BY>)},
                                          {"exp", WEFT_KERNEL(exp_kernel)},
                                          {"neg", WEFT_KERNEL(neg_kernel)},
                                          {"pow", WEFT_KERNEL(pow_kernel)},
                                          {nullptr, nullptr}};

}  // namespace weft

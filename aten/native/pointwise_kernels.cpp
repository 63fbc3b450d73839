// pointwise_kernels.cpp: kernels of elementwise ops that have no loop of the scalar vocabulary by their own name: divisions of integers,
// which refuse 0, and arithmetic of few complex numbers (of many NumPy's loops are as fast).
#include <math.h>

#include <algorithm>
#include <complex>
#include <numeric>

#include "by_dtype.h"
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
  for (int i = 1; i < 3; i++)
    if (!plain(args[i]) && !PyLong_CheckExact(args[i])) return not_for_these();
  const int dtype = WEFT_DTYPE(out);
  return dtype_kind(dtype) != KIND_INTEGER ? not_for_these() : by_dtype(dtype, (PyObject *)nullptr, [&](auto type) -> PyObject * {
    typedef typename decltype(type)::type T;
    if constexpr (std::is_integral<T>::value && !std::is_same<T, bool>::value) return divided_by<which, T>(args);
    else return not_for_these();
  });
}

// ------------------------------------------------------------------------------------------------ complex numbers
constexpr int64_t kFew = 2048;

enum Arithmetic { PLUS, MINUS, TIMES, BY };

// As NumPy computes them: the quotient by Smith's method (1962).
template <Arithmetic which, class T> inline std::complex<T> combined(std::complex<T> x, std::complex<T> y) {
  const T a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
  if constexpr (which == PLUS) return {a + c, b + d};
  else if constexpr (which == MINUS) return {a - c, b - d};
  else if constexpr (which == TIMES) return {a * c - b * d, a * d + b * c};
  else {
    if (std::fabs(c) >= std::fabs(d)) {
      if (c == 0 && d == 0) return {a / std::fabs(c), b / std::fabs(c)};
      const T ratio = d / c, scale = (T)1 / (c + d * ratio);
      return {(a + b * ratio) * scale, (b - a * ratio) * scale};
    }
    const T ratio = c / d, scale = (T)1 / (d + c * ratio);
    return {(a * ratio + b) * scale, (b * ratio - a) * scale};
  }
}

template <Arithmetic which, class T> void complex_loop(char **args, const intptr_t *n, const intptr_t *steps, void *) {
  for (intptr_t i = 0; i < *n; i++)
    *reinterpret_cast<std::complex<T> *>(args[2] + i * steps[2]) = combined<which>(
        *reinterpret_cast<const std::complex<T> *>(args[0] + i * steps[0]), *reinterpret_cast<const std::complex<T> *>(args[1] + i * steps[1]));
}

// (out, x, y)
template <Arithmetic which> PyObject *complex_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 3 ? plain(args[0]) : nullptr;
  if (!out || out->numel > kFew || (!plain(args[1]) && !plain(args[2]))) return not_for_these();
  WeftLoop body;
  switch (WEFT_DTYPE(out)) {
    case WEFT_COMPLEX64: body = complex_loop<which, float>; break;
    case WEFT_COMPLEX128: body = complex_loop<which, double>; break;
    default: return not_for_these();
  }
  return run_binary(body, out, args + 1) ? written() : not_for_these();
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
                                          {nullptr, nullptr}};

}  // namespace weft

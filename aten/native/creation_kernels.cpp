// creation_kernels.cpp: what is made from numbers alone: evenly spaced values.
#include "native_kernel.h"

namespace weft {

namespace {

// The same numbers on every processor: a product is rounded before it is added.
#define WEFT_ROUNDED __attribute__((target_clones("default", "avx2", "arch=x86-64-v4"), optimize("O3", "fp-contract=off")))

// to[i] = base + sign * ((first + i) * step); sign: which way the values are counted.
WEFT_ROUNDED void spaced_floats(float *to, int64_t n, double base, double step, int64_t first, int64_t along) {
  for (int64_t i = 0; i < n; i++) to[i] = (float)(base + (double)(int32_t)(first + i * along) * step);
}
WEFT_ROUNDED void spaced_doubles(double *to, int64_t n, double base, double step, int64_t first, int64_t along) {
  for (int64_t i = 0; i < n; i++) to[i] = base + (double)(int32_t)(first + i * along) * step;
}

// (out, start, end, step, steps, dtype, device): from the nearer end
PyObject *spaced_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 7 ? dense(args[0]) : nullptr;
  if (!out || !PyFloat_CheckExact(args[1]) || !PyFloat_CheckExact(args[2]) || !PyFloat_CheckExact(args[3])) return not_for_these();
  const double start = PyFloat_AS_DOUBLE(args[1]), end = PyFloat_AS_DOUBLE(args[2]), step = PyFloat_AS_DOUBLE(args[3]);
  const int64_t n = out->numel, low = n / 2;
  if (n >= INT32_MAX) return not_for_these();
  if (WEFT_DTYPE(out) == WEFT_FLOAT32) {
    float *to = reinterpret_cast<float *>(weft_data(out));
    spaced_floats(to, low, start, step, 0, 1), spaced_floats(to + low, n - low, end, -step, n - low - 1, -1);
  } else if (WEFT_DTYPE(out) == WEFT_FLOAT64) {
    double *to = reinterpret_cast<double *>(weft_data(out));
    spaced_doubles(to, low, start, step, 0, 1), spaced_doubles(to + low, n - low, end, -step, n - low - 1, -1);
  } else {
    return not_for_these();
  }
  return written();
}

}  // namespace

const NativeKernel creation_kernels[] = {{"spaced", WEFT_KERNEL(spaced_kernel)}, {nullptr, nullptr}};

}  // namespace weft

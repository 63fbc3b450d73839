// creation_kernels.cpp: what is made from numbers alone: evenly spaced values, and counts.
#include "clones.h"
#include "native_kernel.h"

namespace weft {

namespace {

// to[i] = base + sign * ((first + i) * step); sign: which way the values are counted.
WEFT_CLONES void spaced_floats(float *to, int64_t n, double base, double step, int64_t first, int64_t along) {
  for (int64_t i = 0; i < n; i++) to[i] = (float)(base + (double)(int32_t)(first + i * along) * step);
}
WEFT_CLONES void spaced_doubles(double *to, int64_t n, double base, double step, int64_t first, int64_t along) {
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

// to[i] = start + i * step, modulo the width. A sum that runs on: AVX2 multiplies no int64.
#define WEFT_COUNT(name, T)                                   \
  WEFT_CLONES void name(T *to, int64_t n, T start, T step) { \
    for (int64_t i = 0; i < n; i++) {                         \
      to[i] = start;                                          \
      start = (T)(start + step);                              \
    }                                                         \
  }
WEFT_COUNT(count_bytes, uint8_t)
WEFT_COUNT(count_16, uint16_t)
WEFT_COUNT(count_32, uint32_t)
WEFT_COUNT(count_64, uint64_t)
#undef WEFT_COUNT

// Integers as floats, each rounded once; where `narrow`, they all are of int32, which every processor turns into floats by vectors.
#define WEFT_COUNT_AS(name, T)                                                                               \
  WEFT_CLONES void name(T *to, int64_t n, int64_t start, int64_t step, bool narrow) {                       \
    uint32_t low = (uint32_t)start;                                                                          \
    uint64_t at = (uint64_t)start;                                                                           \
    if (narrow) for (int64_t i = 0; i < n; i++, low += (uint32_t)step) to[i] = (T)(int32_t)low;              \
    else for (int64_t i = 0; i < n; i++, at += (uint64_t)step) to[i] = (T)(int64_t)at;                       \
  }
WEFT_COUNT_AS(count_floats, float)
WEFT_COUNT_AS(count_doubles, double)
#undef WEFT_COUNT_AS

bool count_whole(WeftTensor *out, int64_t start, int64_t step) {
  const int64_t n = out->numel;
  char *to = weft_data(out);
  int64_t last;
  const bool narrow = !__builtin_mul_overflow(n, step, &last) && !__builtin_add_overflow(last, start, &last) && start == (int32_t)start && last == (int32_t)last;
  switch (WEFT_DTYPE(out)) {
    case WEFT_UINT8: case WEFT_INT8: return count_bytes((uint8_t *)to, n, (uint8_t)start, (uint8_t)step), true;
    case WEFT_UINT16: case WEFT_INT16: return count_16((uint16_t *)to, n, (uint16_t)start, (uint16_t)step), true;
    case WEFT_UINT32: case WEFT_INT32: return count_32((uint32_t *)to, n, (uint32_t)start, (uint32_t)step), true;
    case WEFT_UINT64: case WEFT_INT64: return count_64((uint64_t *)to, n, (uint64_t)start, (uint64_t)step), true;
    case WEFT_FLOAT32: return count_floats((float *)to, n, start, step, narrow), true;
    case WEFT_FLOAT64: return count_doubles((double *)to, n, start, step, narrow), true;
    default: return false;
  }
}

// (out, start, end, step, dtype, device): in int64 where start and step are ints, else in float64
PyObject *arange_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 6 ? dense(args[0]) : nullptr;
  if (!out || out->numel >= INT32_MAX) return not_for_these();
  if (!out->numel) return written();
  int64_t start, step;
  const bool whole_start = exact_int(args[1], &start), whole_step = exact_int(args[3], &step);
  if (whole_start && whole_step) return count_whole(out, start, step) ? written() : not_for_these();
  if ((!whole_start && !PyFloat_CheckExact(args[1])) || (!whole_step && !PyFloat_CheckExact(args[3]))) return not_for_these();
  const double base = whole_start ? (double)start : PyFloat_AS_DOUBLE(args[1]), by = whole_step ? (double)step : PyFloat_AS_DOUBLE(args[3]);
  if (WEFT_DTYPE(out) == WEFT_FLOAT32) spaced_floats(reinterpret_cast<float *>(weft_data(out)), out->numel, base, by, 0, 1);
  else if (WEFT_DTYPE(out) == WEFT_FLOAT64) spaced_doubles(reinterpret_cast<double *>(weft_data(out)), out->numel, base, by, 0, 1);
  else return not_for_these();
  return written();
}

}  // namespace

void count_int64(int64_t *to, int64_t n, int64_t start, int64_t step) { count_64(reinterpret_cast<uint64_t *>(to), n, (uint64_t)start, (uint64_t)step); }

const NativeKernel creation_kernels[] = {{"arange", WEFT_KERNEL(arange_kernel)}, {"spaced", WEFT_KERNEL(spaced_kernel)}, {nullptr, nullptr}};

}  // namespace weft

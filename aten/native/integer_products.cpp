// integer_products.cpp: matrix products of integers, whose sums wrap around: as products of doubles where those hold every
// sum, else by loops over integers.
#include <algorithm>
#include <memory>

#include "by_dtype.h"
#include "clones.h"
#include "matmul.h"

namespace weft {
namespace {

// Small unsigned integers are multiplied as int otherwise, which does not wrap.
template <typename T> inline auto wide(T x) { return x + 0u; }

// Rows added up and products along a line, of unsigned integers: signed ones wrap as they do.
#define WEFT_INTEGER_LOOPS(T)                                                                                     \
  WEFT_CLONES void add_row(T x, const T *y, int64_t step, int64_t n, T *__restrict sums) {                        \
    if (step == 1)                                                                                                \
      for (int64_t j = 0; j < n; j++) sums[j] = (T)(sums[j] + wide(x) * y[j]);                                    \
    else                                                                                                          \
      for (int64_t j = 0; j < n; j++) sums[j] = (T)(sums[j] + wide(x) * y[j * step]);                             \
  }                                                                                                               \
  WEFT_CLONES T line_product(const T *x, int64_t x_step, const T *y, int64_t y_step, int64_t n) {                 \
    T sum = 0;                                                                                                    \
    if (x_step == 1 && y_step == 1)                                                                               \
      for (int64_t j = 0; j < n; j++) sum = (T)(sum + wide(x[j]) * y[j]);                                         \
    else                                                                                                          \
      for (int64_t j = 0; j < n; j++) sum = (T)(sum + wide(x[j * x_step]) * y[j * y_step]);                       \
    return sum;                                                                                                   \
  }
WEFT_INTEGER_LOOPS(uint8_t)
WEFT_INTEGER_LOOPS(uint16_t)
WEFT_INTEGER_LOOPS(uint32_t)
WEFT_INTEGER_LOOPS(uint64_t)

// n elements as doubles; all bits that their sizes have.
#define WEFT_AS_DOUBLES(T)                                                                                        \
  WEFT_CLONES uint64_t row_as_doubles(const T *p, int64_t step, int64_t n, double *to) {                          \
    uint64_t bits = 0;                                                                                            \
    if (step == 1)                                                                                                \
      for (int64_t j = 0; j < n; j++) {                                                                           \
        const int64_t x = p[j];                                                                                   \
        to[j] = (double)x, bits |= (uint64_t)(x < 0 ? 0 - (uint64_t)x : (uint64_t)x);                             \
      }                                                                                                           \
    else                                                                                                          \
      for (int64_t j = 0; j < n; j++) {                                                                           \
        const int64_t x = p[j * step];                                                                            \
        to[j] = (double)x, bits |= (uint64_t)(x < 0 ? 0 - (uint64_t)x : (uint64_t)x);                             \
      }                                                                                                           \
    return bits;                                                                                                  \
  }
WEFT_AS_DOUBLES(int32_t)
WEFT_AS_DOUBLES(int64_t)

long position(const WeftGemm &g, const WeftGemmOperand &o, long batch, long row) {
  long index = row * o.row_stride;
  for (long d = g.batch_ndim - 1; d >= 0; batch /= g.batch_sizes[d--]) index += batch % g.batch_sizes[d] * o.batch_strides[d];
  return index;
}

long batch_size(const WeftGemm &g) {
  long batch = 1;
  for (long d = 0; d < g.batch_ndim; d++) batch *= g.batch_sizes[d];
  return batch;
}

template <typename T> void integer_rows(void *context, int64_t begin, int64_t end, int64_t) {
  const WeftGemmOutput &o = *(const WeftGemmOutput *)context;
  const WeftGemm &g = *o.gemm;
  const std::unique_ptr<T[]> sums(new T[(size_t)g.n]);
  const bool lines = g.n == 1 || (g.b.col_stride != 1 && g.b.row_stride == 1);  // of b along k
  for (long row = begin; row < end; row++) {
    const long batch = row / g.m, i = row % g.m;
    const T *x = (const T *)g.a.data + position(g, g.a, batch, i), *y = (const T *)g.b.data + position(g, g.b, batch, 0);
    if (lines) {
      for (long j = 0; j < g.n; j++) sums[(size_t)j] = line_product(x, g.a.col_stride, y + j * g.b.col_stride, g.b.row_stride, g.k);
    } else {
      std::fill(sums.get(), sums.get() + g.n, T(0));
      for (long k = 0; k < g.k; k++) add_row(x[k * g.a.col_stride], y + k * g.b.row_stride, g.b.col_stride, g.n, sums.get());
    }
    T *to = (T *)const_cast<void *>(o.out.data) + position(g, o.out, batch, i);
    for (long j = 0; j < g.n; j++) {
      const T old = o.beta != 0 ? (T)((T)(int64_t)o.beta * to[j * o.out.col_stride]) : T(0);
      to[j * o.out.col_stride] = (T)((T)(int64_t)o.alpha * sums[(size_t)j] + old);
    }
  }
}

typedef void (*Body)(void *, int64_t, int64_t, int64_t);

Body integer_body(int dtype) {
  switch (weft_itemsize(dtype)) {
    case 1: return integer_rows<uint8_t>;
    case 2: return integer_rows<uint16_t>;
    case 4: return integer_rows<uint32_t>;
    default: return integer_rows<uint64_t>;
  }
}

// The elements of the matrices of an operand as doubles, row by row, and a number that none of their sizes is above.
template <typename T>
std::unique_ptr<double[]> as_doubles(const WeftGemm &g, const WeftGemmOperand &o, long rows, long cols, double *most) {
  const long batch = batch_size(g);
  std::unique_ptr<double[]> made(new double[(size_t)(batch * rows * cols)]);
  uint64_t bits = 0;
  double *to = made.get();
  for (long b = 0; b < batch; b++)
    for (long i = 0; i < rows; i++, to += cols)
      bits |= row_as_doubles((const T *)o.data + position(g, o, b, i), o.col_stride, cols, to);
  *most = (double)bits;
  return made;
}

// Integers whose sums float64 holds exactly go as such: processors multiply these faster.
template <typename T> bool run_by_doubles(const WeftGemmOutput &o, const WeftKernelRuntime *runtime) {
  const WeftGemm &g = *o.gemm;
  double most[2];
  const auto x = as_doubles<T>(g, g.a, g.m, g.k, &most[0]), y = as_doubles<T>(g, g.b, g.k, g.n, &most[1]);
  if (most[0] * most[1] * (double)g.k >= 0x1p53) return false;
  const long batch = batch_size(g);
  const std::unique_ptr<double[]> sums(new double[(size_t)(batch * g.m * g.n)]);
  WeftGemm by = {};
  WeftGemmOutput plain = {};
  by.m = g.m, by.n = g.n, by.k = g.k, by.batch_ndim = 1, by.batch_sizes[0] = batch;
  by.a.data = x.get(), by.b.data = y.get(), plain.out.data = sums.get();
  by.a.row_stride = g.k, by.b.row_stride = plain.out.row_stride = g.n;
  by.a.batch_strides[0] = g.m * g.k, by.b.batch_strides[0] = g.k * g.n, plain.out.batch_strides[0] = g.m * g.n;
  for (WeftGemmOperand *each : {&by.a, &by.b, &plain.out}) each->dtype = WEFT_FLOAT64, each->col_stride = 1;
  plain.gemm = &by, plain.alpha = 1, by.store_env = &plain, by.store = gemm_table()->store_float64;
  gemm_table()->run_float64(&by, runtime);
  const double *from = sums.get();
  for (long b = 0; b < batch; b++)
    for (long i = 0; i < g.m; i++, from += g.n) {
      T *to = (T *)const_cast<void *>(o.out.data) + position(g, o.out, b, i);
      for (long j = 0; j < g.n; j++) to[j * o.out.col_stride] = (T)(int64_t)from[j];
    }
  return true;
}

constexpr int64_t kFewProducts = 1 << 14, kFewRows = 4;  // below them the copies cost more than they save

}  // namespace

void integer_product(const WeftGemmOutput &o, const WeftKernelRuntime *runtime) {
  const WeftGemm &g = *o.gemm;
  const int dtype = (int)o.out.dtype;
  const int64_t rows = g.m * batch_size(g);
  if (rows <= 0 || g.n <= 0) return;
  if (o.alpha == 1 && o.beta == 0 && std::min(g.m, g.n) >= kFewRows && rows * g.n * g.k >= kFewProducts) {
    if (dtype == WEFT_INT64 && run_by_doubles<int64_t>(o, runtime)) return;
    if (dtype == WEFT_INT32 && run_by_doubles<int32_t>(o, runtime)) return;
  }
  const int64_t work = std::max<int64_t>(g.n * g.k, 1);
  runtime->parallel_for(rows, std::max<int64_t>(1, 100000 / work), integer_body(dtype), const_cast<WeftGemmOutput *>(&o));
}

}  // namespace weft

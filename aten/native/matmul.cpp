// matmul.cpp: matrix products of tensors: which routine, and products that have no fast one.
#include "matmul.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "clones.h"
#include "by_dtype.h"
#include "kernels.h"
#include "released.h"

extern "C" {
void weft_fill_gemm_float32_v3(WeftGemmTable *);
void weft_fill_gemm_float64_v3(WeftGemmTable *);
void weft_fill_gemm_float32_v4(WeftGemmTable *);
void weft_fill_gemm_float64_v4(WeftGemmTable *);
void weft_fill_gemm_bfloat16_v4(WeftGemmTable *);
void weft_fill_gemm_tiles_v4(WeftGemmTable *);
void weft_fill_attention_v3(WeftGemmTable *);
void weft_fill_attention_v4(WeftGemmTable *);
}

namespace weft {
namespace {

// ------------------------------------------------------------------------------ processors without AVX2
// The sums of gemm.h, in its order, one at a time.
template <typename T> T read(const void *data, long dtype, long index) {
  return by_real((int)dtype, T(), [&](auto type) { return (T)((const typename decltype(type)::type *)data)[index]; });
}

template <typename T> void write(void *data, long dtype, long index, T value) {
  by_real((int)dtype, 0, [&](auto type) { return ((typename decltype(type)::type *)data)[index] = (typename decltype(type)::type)value, 0; });
}

long position(const WeftGemm &g, const WeftGemmOperand &o, long batch, long row, long col) {
  long index = row * o.row_stride + col * o.col_stride;
  for (long d = g.batch_ndim - 1; d >= 0; batch /= g.batch_sizes[d--])
    index += batch % g.batch_sizes[d] * o.batch_strides[d];
  return index;
}

template <typename T> T element(const WeftGemm &g, const WeftGemmOperand &o, long batch, long row, long col) {
  if (!o.load) return read<T>(o.data, o.dtype, position(g, o, batch, row, col));
  T room[1 + 64 / sizeof(T)];
  o.load(g.load_env, batch, row, col, 1, 1, room, 1);
  return room[0];
}

template <typename T> long run_portable(const WeftGemm *gemm, const WeftKernelRuntime *) {
  const WeftGemm &g = *gemm;
  long batch = 1, chunks = (g.k * (long)sizeof(T) + 1535) / 1536;
  for (long d = 0; d < g.batch_ndim; d++) batch *= g.batch_sizes[d];
  long chunk = chunks <= 1 ? std::max(g.k, 1l) : ((g.k + chunks - 1) / chunks + 15) / 16 * 16;
  for (long z = 0; z < batch; z++)
    for (long i = 0; i < g.m; i++)
      for (long j = 0; j < g.n; j++) {
        T sums[64 / sizeof(T)] = {};
        for (long k0 = 0; k0 < g.k; k0 += chunk) {
          T part = 0;
          for (long k = k0; k < std::min(g.k, k0 + chunk); k++) {
            T x = element<T>(g, g.a, z, i, k), y = element<T>(g, g.b, z, k, j);
            part = sizeof(T) == 4 ? (T)__builtin_fmaf((float)x, (float)y, (float)part) : (T)__builtin_fma(x, y, part);
          }
          sums[0] = k0 == 0 ? part : sums[0] + part;
        }
        g.store(g.store_env, z, i, 1, j, 1, sums, 0);
      }
  return 0;
}

template <typename T>
void store_portable(const void *env, long batch, long row, long rows, long col, long cols, const void *from, long ld) {
  const WeftGemmOutput &o = *(const WeftGemmOutput *)env;
  for (long i = 0; i < rows; i++)
    for (long j = 0; j < cols; j++) {
      long at = position(*o.gemm, o.out, batch, row + i, col + j);
      T value = (T)o.alpha * ((const T *)from)[i * ld + j];
      if (o.bias) value += read<T>(o.bias, o.out.dtype, col + j);
      if (o.beta != 0) value += (T)o.beta * read<T>(o.out.data, o.out.dtype, at);
      write(const_cast<void *>(o.out.data), o.out.dtype, at, value);
    }
}

// Levels of x86-64 that a table may use: 1 (portable), 3 (AVX2), 4 (AVX-512), 5: with AVX512_BF16, and 6: with tiles (AMX).
WeftGemmTable make_table(int level) {
  WeftGemmTable table = {run_portable<float>, run_portable<double>, nullptr, store_portable<float>, store_portable<double>,
                         nullptr, nullptr};
  if (level >= 3) {
    weft_fill_gemm_float32_v3(&table);
    weft_fill_gemm_float64_v3(&table);
    weft_fill_attention_v3(&table);
  }
  if (level >= 4) {
    weft_fill_gemm_float32_v4(&table);
    weft_fill_gemm_float64_v4(&table);
    weft_fill_attention_v4(&table);
  }
  table.run_bfloat16 = table.run_float32;
  if (level >= 5) weft_fill_gemm_bfloat16_v4(&table);
  if (level >= 6) weft_fill_gemm_tiles_v4(&table);
  return table;
}

// Whether the processor has tiles of bfloat16, and the system lets this process have them: it keeps 8 KB more of each thread then.
bool has_tiles() {
  constexpr unsigned kLeaf = 7, kBfloat16 = 1u << 22, kTiles = 1u << 24;
  constexpr long kAskForState = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  unsigned a, b, c, d;
  return __get_cpuid_count(kLeaf, 0, &a, &b, &c, &d) && d & kBfloat16 && d & kTiles && syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
}

int processor_level() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 1;
  bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return !wide ? 3 : !__builtin_cpu_supports("avx512bf16") ? 4 : has_tiles() ? 6 : 5;
}

// --------------------------------------------------------------------------------------------- tensors
WeftGemmOperand operand(const WeftTensor *t, const WeftTensor *out, int first_batch) {
  int ndim = WEFT_NDIM(t);
  WeftGemmOperand o = {};
  o.data = t->storage->data ? weft_data(t) : nullptr;
  o.dtype = WEFT_DTYPE(t);
  o.row_stride = t->strides[ndim - 2];
  o.col_stride = t->strides[ndim - 1];
  for (int d = first_batch; d < ndim - 2; d++)
    o.batch_strides[d - first_batch] = t->sizes[d] == 1 && out->sizes[d] != 1 ? 0 : t->strides[d];
  return o;
}

void run(const WeftGemmOutput &o, const WeftKernelRuntime *runtime) {
  const WeftGemm &g = *o.gemm;
  int dtype = (int)o.out.dtype;
  if (dtype == WEFT_FLOAT64) {
    gemm_table()->run_float64(&g, runtime);
  } else if (dtype == WEFT_BFLOAT16) {
    gemm_table()->run_bfloat16(&g, runtime);
  } else if (dtype == WEFT_FLOAT32 || dtype == WEFT_FLOAT16) {
    gemm_table()->run_float32(&g, runtime);
  } else {
    integer_product(o, runtime);
  }
}

// A column times a row of at most a vector, row after row: what is written beyond a row, the next one writes again.
constexpr int64_t kNarrow = 8;
#define WEFT_OUTER_ROWS(T)                                                                                                    \
  WEFT_CLONES void outer_rows(const T *a, int64_t a_step, const T *b, int64_t b_step, int64_t m, int64_t n, T *out) {         \
    typedef T Row __attribute__((vector_size(kNarrow * sizeof(T))));                                                          \
    typedef T Unaligned __attribute__((vector_size(kNarrow * sizeof(T)), aligned(sizeof(T)), may_alias));                     \
    Row row = {};                                                                                                             \
    for (int64_t j = 0; j < n; j++) row[j] = b[j * b_step];                                                                   \
    int64_t i = 0;                                                                                                            \
    for (; i * n + kNarrow <= m * n; i++) *(Unaligned *)(out + i * n) = a[i * a_step] * row;                                  \
    for (; i < m; i++)                                                                                                        \
      for (int64_t j = 0; j < n; j++) out[i * n + j] = a[i * a_step] * row[j];                                                \
  }
WEFT_OUTER_ROWS(float)
WEFT_OUTER_ROWS(double)

// A product over one element: of a row or a column with a number it is far more than the loops of the tiles can do.
bool run_outer(const WeftTensor *out, const WeftTensor *a, const WeftTensor *b) {
  const int dtype = WEFT_DTYPE(out);
  if (WEFT_NDIM(out) != 2 || a->sizes[1] != 1 || !out->numel || (dtype != WEFT_FLOAT32 && dtype != WEFT_FLOAT64)) return false;
  const WeftLoop multiply = weft_kernels.pointwise[WEFT_MUL][dtype];
  if (!multiply) return false;
  const int64_t item = weft_itemsize(dtype), m = out->sizes[0], n = out->sizes[1];
  if (n > 1 && n <= kNarrow && out->strides[0] == n && out->strides[1] == 1) {
    const auto rows = [&](auto type) {
      typedef decltype(type) T;
      outer_rows((const T *)weft_data(a), a->strides[0], (const T *)weft_data(b), b->strides[1], m, n, (T *)weft_data(out));
    };
    return dtype == WEFT_FLOAT64 ? rows(double()) : rows(float()), true;
  }
  const bool column = n == 1;  // as one row
  const intptr_t length = column ? m : n;
  const intptr_t steps[3] = {column ? (intptr_t)(a->strides[0] * item) : 0, column ? 0 : (intptr_t)(b->strides[1] * item),
                             (intptr_t)(out->strides[column ? 0 : 1] * item)};
  for (int64_t i = 0; i < (column ? 1 : m); i++) {
    char *args[3] = {weft_data(a) + i * a->strides[0] * item, weft_data(b), weft_data(out) + i * out->strides[0] * item};
    multiply(args, &length, steps, nullptr);
  }
  return true;
}

} // namespace

const WeftGemmTable *gemm_table() {
  static const WeftGemmTable table = make_table(processor_level());
  return &table;
}

void matmul(const WeftTensor *out, const WeftTensor *a, const WeftTensor *b, const WeftTensor *bias, double alpha,
            double beta, const WeftKernelRuntime *runtime) {
  if (!bias && alpha == 1 && beta == 0 && run_outer(out, a, b)) return;
  int ndim = WEFT_NDIM(out), first = std::max(0, ndim - 2 - WEFT_GEMM_MAX_BATCH); // dims before `first`: a loop here
  WeftGemm g = {};
  WeftGemmOutput o = {};
  g.m = out->sizes[ndim - 2];
  g.n = out->sizes[ndim - 1];
  g.k = a->sizes[WEFT_NDIM(a) - 1];
  g.batch_ndim = ndim - 2 - first;
  std::copy(out->sizes + first, out->sizes + ndim - 2, g.batch_sizes);
  g.a = operand(a, out, first);
  g.b = operand(b, out, first);
  o.gemm = &g;
  o.out = operand(out, out, first);
  o.bias = bias ? weft_data(bias) : nullptr;
  o.alpha = alpha;
  o.beta = beta;
  g.store_env = &o;
  g.store = o.out.dtype == WEFT_FLOAT64 ? gemm_table()->store_float64 : gemm_table()->store_float32;
  int64_t outer = 1;
  for (int d = 0; d < first; d++) outer *= out->sizes[d];
  const WeftTensor *tensors[3] = {a, b, out};
  WeftGemmOperand *operands[3] = {&g.a, &g.b, &o.out};
  for (int64_t i = 0; i < outer; i++) {
    for (int t = 0; t < 3 && first > 0; t++) {
      int64_t rest = i, offset = 0;
      for (int d = first - 1; d >= 0; rest /= out->sizes[d--])
        if (tensors[t]->sizes[d] != 1) offset += rest % out->sizes[d] * tensors[t]->strides[d];
      operands[t]->data = weft_data(tensors[t]) + offset * weft_itemsize((int)operands[t]->dtype);
    }
    run(o, runtime);
  }
}

// _gemm_table(level=0) -> address: of the table for a level of x86-64 (0: the processor's), None where it lacks that.
static PyObject *gemm_table_address(PyObject *, PyObject *args) {
  static WeftGemmTable tables[7];
  int level = 0;
  if (!PyArg_ParseTuple(args, "|i:_gemm_table", &level)) return nullptr;
  if (level == 0) return PyLong_FromVoidPtr(const_cast<WeftGemmTable *>(gemm_table()));
  if (level < 1 || level > processor_level()) Py_RETURN_NONE;
  tables[level] = make_table(level);
  return PyLong_FromVoidPtr(&tables[level]);
}

// False with RuntimeError set unless the tensors are what `matmul` expects.
static bool check_operands(WeftTensor *out, WeftTensor *a, WeftTensor *b, WeftTensor *bias) {
  int ndim = WEFT_NDIM(out), dtype = WEFT_DTYPE(out);
  for (WeftTensor *t : {out, a, b, bias}) {
    if (!t) continue;
    if (!need_memory(t, "matmul_into")) return false;
    if (WEFT_DEVICE_TYPE(t) != WEFT_CPU || WEFT_DTYPE(t) != dtype)
      return PyErr_SetString(PyExc_RuntimeError, "matmul_into: expected CPU tensors of one dtype"), false;
  }
  DTypeKind kind = dtype_kind(dtype);
  if ((kind != KIND_INTEGER && kind != KIND_FLOAT) || (bias && kind != KIND_FLOAT))
    return PyErr_Format(PyExc_RuntimeError, "matmul_into: no product of dtype %s", dtype_name(dtype)), false;
  bool fits = ndim >= 2 && WEFT_NDIM(a) == ndim && WEFT_NDIM(b) == ndim;
  for (int d = 0; fits && d < ndim - 2; d++)
    fits = (a->sizes[d] == out->sizes[d] || a->sizes[d] == 1) && (b->sizes[d] == out->sizes[d] || b->sizes[d] == 1);
  fits = fits && a->sizes[ndim - 2] == out->sizes[ndim - 2] && b->sizes[ndim - 1] == out->sizes[ndim - 1] &&
         a->sizes[ndim - 1] == b->sizes[ndim - 2];
  fits = fits && (!bias || (WEFT_NDIM(bias) == 1 && bias->sizes[0] == out->sizes[ndim - 1] &&
                            (bias->strides[0] == 1 || bias->sizes[0] < 2)));
  if (!fits) PyErr_SetString(PyExc_RuntimeError, "matmul_into: sizes do not fit");
  return fits;
}

// matmul_into(out, a, b, bias=None, alpha=1.0, beta=0.0): `matmul` of matmul.h.
static PyObject *matmul_into(PyObject *, PyObject *args, PyObject *kwargs) {
  static const char *names[] = {"out", "a", "b", "bias", "alpha", "beta", nullptr};
  PyObject *out, *a, *b, *bias = Py_None;
  double alpha = 1, beta = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O!|Odd:matmul_into", const_cast<char **>(names), tensor_type, &out,
                                   tensor_type, &a, tensor_type, &b, &bias, &alpha, &beta))
    return nullptr;
  if (bias != Py_None && !is_tensor(bias)) return PyErr_Format(PyExc_TypeError, "matmul_into: bias is a Tensor or None");
  WeftTensor *row = bias == Py_None ? nullptr : as_tensor(bias);
  if (!check_operands(as_tensor(out), as_tensor(a), as_tensor(b), row)) return nullptr;
  const WeftKernelRuntime *runtime = kernel_runtime();
  try {
    Released released;
    matmul(as_tensor(out), as_tensor(a), as_tensor(b), row, alpha, beta, runtime);
  } catch (const std::exception &) {
    return raise_caught();
  }
  Py_RETURN_NONE;
}

PyMethodDef matmul_functions[] = {{"matmul_into", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(matmul_into)),
                                   METH_VARARGS | METH_KEYWORDS, "out = alpha * (a @ b) + bias + beta * out, in place"},
                                  {"_gemm_table", gemm_table_address, METH_VARARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

} // namespace weft

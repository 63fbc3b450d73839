// fused_backward.cpp: derivatives of whole ops on plain tensors, for a backward walk that is not itself recorded. Each gives
// NotImplemented where it has no kernel; aten/autograd/fused.py then runs the op's vjp.
#include <algorithm>
#include <string.h>

#include "loops.h"
#include "op.h"
#include "released.h"
#include "statistics.h"
#include "strips.h"

namespace weft {

namespace {

// Contiguous, same sizes and dtype.
bool alike(const WeftTensor *a, const WeftTensor *b) {
  if (!a || !b || WEFT_DTYPE(a) != WEFT_DTYPE(b) || WEFT_NDIM(a) != WEFT_NDIM(b) || !(a->word & b->word & WEFT_WORD_CONTIGUOUS)) return false;
  for (int d = 0; d < WEFT_NDIM(a); d++)
    if (a->sizes[d] != b->sizes[d]) return false;
  return true;
}

PyObject *elementwise(WeftLoop body, WeftTensor *g, WeftTensor *x) {
  Ref out(empty(x->word, WEFT_NDIM(x), x->sizes, nullptr));
  if (!out) return nullptr;
  Loop loop(WEFT_NDIM(x), x->sizes);
  loop.add(g);
  loop.add(x);
  loop.add(as_tensor(out.get()));
  loop.run(body, nullptr);
  return out.release();
}

// gelu_backward(g, x, tanh), silu_backward(g, x)
PyObject *gelu_backward(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  if (nargs != 3) return PyErr_Format(PyExc_TypeError, "gelu_backward(g, x, tanh)");
  WeftTensor *g = plain(args[0]), *x = plain(args[1]);
  WeftLoop body = alike(g, x) ? weft_kernels.gelu_backward[args[2] == Py_True][WEFT_DTYPE(x)] : nullptr;
  return body ? elementwise(body, g, x) : Py_NewRef(Py_NotImplemented);
}

PyObject *silu_backward(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  if (nargs != 2) return PyErr_Format(PyExc_TypeError, "silu_backward(g, x)");
  WeftTensor *g = plain(args[0]), *x = plain(args[1]);
  WeftLoop body = alike(g, x) ? weft_kernels.silu_backward[WEFT_DTYPE(x)] : nullptr;
  return body ? elementwise(body, g, x) : Py_NewRef(Py_NotImplemented);
}

// loop_backward(code, g, x): the loop of the vocabulary with that code, of a gradient and what it is of, as one pass
PyObject *loop_backward(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  int64_t code;
  if (nargs != 3 || !exact_int(args[0], &code) || code < 0 || code >= WEFT_NUM_POINTWISE || weft_pointwise_rows[code].arity != 2)
    return PyErr_Format(PyExc_TypeError, "loop_backward(code, g, x)");
  WeftTensor *g = plain(args[1]), *x = plain(args[2]);
  WeftLoop body = alike(g, x) ? weft_kernels.pointwise[code][WEFT_DTYPE(x)] : nullptr;
  return body ? elementwise(body, g, x) : Py_NewRef(Py_NotImplemented);
}

struct SoftmaxJob {
  WeftSoftmaxBackward kernel;
  const char *g, *out;
  char *gin;
  int64_t n, bytes;
  static void run(void *ctx, int64_t begin, int64_t end, int64_t) {
    SoftmaxJob *j = static_cast<SoftmaxJob *>(ctx);
    j->kernel(end - begin, j->n, j->g + begin * j->bytes, j->out + begin * j->bytes, j->gin + begin * j->bytes);
  }
};

// softmax_backward(g, out, dim, log)
PyObject *softmax_backward(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  int64_t dim;
  if (nargs != 4 || !exact_int(args[2], &dim)) return PyErr_Format(PyExc_TypeError, "softmax_backward(g, out, dim, log)");
  WeftTensor *g = plain(args[0]), *out = plain(args[1]);
  if (!alike(g, out) || !out->numel || dim < 0 || dim >= WEFT_NDIM(out)) Py_RETURN_NOTIMPLEMENTED;
  WeftSoftmaxBackward kernel = (args[3] == Py_True ? weft_kernels.log_softmax_backward : weft_kernels.softmax_backward)[WEFT_DTYPE(out)];
  if (!kernel) Py_RETURN_NOTIMPLEMENTED;
  Ref gin(empty(out->word, WEFT_NDIM(out), out->sizes, nullptr));
  if (!gin) return nullptr;
  const int64_t n = out->sizes[dim], item = weft_itemsize(WEFT_DTYPE(out));
  int64_t m = 1;
  for (int d = (int)dim + 1; d < WEFT_NDIM(out); d++) m *= out->sizes[d];
  if (m > 1) {
    const WeftSoftmaxColumnsBackward columns = weft_statistics.softmax_columns_backward[args[3] == Py_True][WEFT_DTYPE(out)];
    if (!columns) Py_RETURN_NOTIMPLEMENTED;
    const char *from = weft_data(g), *y = weft_data(out);
    char *to = weft_data(as_tensor(gin.get()));
    share_strips<128>(out->numel / (n * m), n, m, [&](int64_t outer, int64_t first, int64_t count) {
      const int64_t at = (outer * n * m + first) * item;
      columns(n, count, from + at, y + at, m * item, to + at);
    });
    return gin.release();
  }
  SoftmaxJob job = {kernel, weft_data(g), weft_data(out), weft_data(as_tensor(gin.get())), n, n * item};
  const WeftKernelRuntime *runtime = kernel_runtime();
  {
    Released released(out->numel >= 65536);
    runtime->parallel_for(out->numel / n, std::max<int64_t>(1, kGrain / n), SoftmaxJob::run, &job);
  }
  return gin.release();
}

struct NormJob {
  WeftLayerNormBackward kernel;
  const char *g, *x, *weight;
  char *gx, *gw, *gb;  // gw, gb: one row of sums a block
  int64_t rows, per_block, n, bytes, sum_bytes;
  double eps;
  int rms;
  static void run(void *ctx, int64_t begin, int64_t end, int64_t) {
    NormJob *j = static_cast<NormJob *>(ctx);
    for (int64_t b = begin; b < end; b++) {
      int64_t first = b * j->per_block, rows = std::min(j->per_block, j->rows - first), at = first * j->bytes;
      j->kernel(rows, j->n, j->g + at, j->x + at, j->weight, j->eps, j->rms, j->gx ? j->gx + at : nullptr,
                j->gw ? j->gw + b * j->sum_bytes : nullptr, j->gb ? j->gb + b * j->sum_bytes : nullptr);
    }
  }
};

// The sums of all blocks, in their order, in the dtype and sizes of a weight.
PyObject *add_blocks(WeftTensor *sums, WeftTensor *weight) {
  int dtype = WEFT_DTYPE(sums);
  Ref total(empty((uint32_t)dtype, WEFT_NDIM(weight), weight->sizes, nullptr));
  if (!total) return nullptr;
  weft_kernels.reduce_column[WEFT_REDUCE_SUM][dtype](sums->sizes[0], sums->sizes[1], weft_data(sums),
                                                     sums->sizes[1] * weft_itemsize(dtype), weft_data(as_tensor(total.get())));
  return dtype == WEFT_DTYPE(weight) ? total.release() : cast_tensor(as_tensor(total.get()), WEFT_DTYPE(weight));
}

bool is_factor(PyObject *arg, const WeftTensor *x, int64_t n, WeftTensor **out) {
  *out = nullptr;
  if (arg == Py_None) return true;
  *out = plain(arg);
  return *out && WEFT_DTYPE(*out) == WEFT_DTYPE(x) && (*out)->numel == n && ((*out)->word & WEFT_WORD_CONTIGUOUS);
}

// layer_norm_backward(g, x, n, weight, eps, rms, needs) -> (gx, gw, gb), None where not needed; n: elements of a row
PyObject *layer_norm_backward(PyObject *, PyObject *args) {
  PyObject *g_arg, *x_arg, *weight_arg;
  long long n;
  double eps;
  int rms, needs_x, needs_w, needs_b;
  if (!PyArg_ParseTuple(args, "OOLOdp(ppp):layer_norm_backward", &g_arg, &x_arg, &n, &weight_arg, &eps, &rms, &needs_x, &needs_w, &needs_b))
    return nullptr;
  WeftTensor *g = plain(g_arg), *x = plain(x_arg), *weight;
  if (!alike(g, x) || !x->numel || n <= 0 || !is_factor(weight_arg, x, n, &weight) || !weft_kernels.layer_norm_backward[WEFT_DTYPE(x)] ||
      (needs_w && !weight))
    Py_RETURN_NOTIMPLEMENTED;
  int dtype = WEFT_DTYPE(x), sums = dtype == WEFT_FLOAT64 ? WEFT_FLOAT64 : WEFT_FLOAT32;
  int64_t rows = x->numel / n, per_block = std::max<int64_t>(16, (rows + 255) / 256), blocks = (rows + per_block - 1) / per_block;
  int64_t sum_sizes[2] = {blocks, n};
  Ref gx(needs_x ? empty(x->word, WEFT_NDIM(x), x->sizes, nullptr) : nullptr);
  Ref gw(needs_w ? empty((uint32_t)sums, 2, sum_sizes, nullptr) : nullptr), gb(needs_b ? empty((uint32_t)sums, 2, sum_sizes, nullptr) : nullptr);
  if ((needs_x && !gx) || (needs_w && !gw) || (needs_b && !gb)) return nullptr;
  auto data = [](Ref &t) { return t ? weft_data(as_tensor(t.get())) : nullptr; };
  NormJob job = {weft_kernels.layer_norm_backward[dtype], weft_data(g), weft_data(x), weight ? weft_data(weight) : nullptr, data(gx), data(gw),
                 data(gb), rows, per_block, n, n * weft_itemsize(dtype), n * weft_itemsize(sums), eps, rms};
  const WeftKernelRuntime *runtime = kernel_runtime();
  {
    Released released(x->numel >= 65536);
    runtime->parallel_for(blocks, std::max<int64_t>(1, kGrain / (per_block * n)), NormJob::run, &job);
  }
  if (gw) gw.reset(add_blocks(as_tensor(gw.get()), weight));
  if (gb) {  // a bias without a weight: the engine gives the gradient its sizes
    int64_t one[1] = {n};
    Ref shape(weight ? Py_NewRef(as_object(weight)) : empty((uint32_t)dtype, 1, one, nullptr));
    if (!shape) return nullptr;
    gb.reset(add_blocks(as_tensor(gb.get()), as_tensor(shape.get())));
  }
  if ((needs_w && !gw) || (needs_b && !gb)) return nullptr;
  auto give = [](Ref &t) { return t ? t.release() : Py_NewRef(Py_None); };
  return Py_BuildValue("NNN", give(gx), give(gw), give(gb));
}

}  // namespace

PyMethodDef fused_backward_functions[] = {
    {"gelu_backward", (PyCFunction)(void *)guarded<gelu_backward>, METH_FASTCALL, "gelu_backward(g, x, tanh)"},
    {"silu_backward", (PyCFunction)(void *)guarded<silu_backward>, METH_FASTCALL, "silu_backward(g, x)"},
    {"loop_backward", (PyCFunction)(void *)guarded<loop_backward>, METH_FASTCALL, "loop_backward(code, g, x)"},
    {"softmax_backward", (PyCFunction)(void *)guarded<softmax_backward>, METH_FASTCALL, "softmax_backward(g, out, dim, log)"},
    {"layer_norm_backward", guarded<layer_norm_backward>, METH_VARARGS, "layer_norm_backward(g, x, n, weight, eps, rms, needs) -> (gx, gw, gb)"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace weft

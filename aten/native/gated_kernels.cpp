// gated_kernels.cpp: one half of a tensor's elements along a dim, gated by the sigmoid of the other half (glu), and its derivative.
//
// The halves are runs of memory, each taken through the eager loops a block at a time that stays in cache: the bits of those loops on
// whole tensors.
#include <algorithm>

#include "native_kernel.h"

namespace weft {

namespace {

constexpr int64_t kBlock = 1024;

struct Gate {
  const char *grad, *in;  // grad: NULL for the value itself
  char *out;
  int64_t run;  // elements of a half that follow each other
  int dtype;

  int64_t item() const { return weft_itemsize(dtype); }
  void apply(int op, int64_t n, const char *x, const char *y, char *to) const {
    char *args[3] = {const_cast<char *>(x), const_cast<char *>(y ? y : to), to};
    const intptr_t step = (intptr_t)item(), steps[3] = {step, step, step}, count = (intptr_t)n;
    weft_kernels.pointwise[op][dtype](args, &count, steps, nullptr);
  }
  // n elements from the i-th of run r on
  void block(int64_t r, int64_t i, int64_t n) const {
    alignas(64) char share[kBlock * 8], slope[kBlock * 8];
    const char *a = in + (2 * r * run + i) * item(), *b = a + run * item();
    apply(WEFT_SIGMOID, n, b, nullptr, share);
    if (!grad) return apply(WEFT_MUL, n, a, share, out + (r * run + i) * item());
    const char *g = grad + (r * run + i) * item();
    char *to = out + (2 * r * run + i) * item();
    apply(WEFT_MUL, n, g, share, to);
    apply(WEFT_MUL, n, g, a, slope);
    apply(WEFT_SIGMOID_BACKWARD, n, slope, share, to + run * item());
  }
  static void range(void *context, int64_t begin, int64_t end, int64_t) {
    const Gate &gate = *static_cast<const Gate *>(context);
    const int64_t per = (gate.run + kBlock - 1) / kBlock;
    for (int64_t k = begin; k < end; k++) gate.block(k / per, k % per * kBlock, std::min(kBlock, gate.run - k % per * kBlock));
  }
};

// (out, x, dim) or (out, grad, x, dim)
template <bool backward> PyObject *gate_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 3 + backward ? dense(args[0]) : nullptr, *x = out ? dense(args[nargs - 2]) : nullptr;
  WeftTensor *half = backward && x ? dense(args[1]) : out;
  int64_t dim;
  if (!x || !half || !exact_int(args[nargs - 1], &dim) || dim < 0 || dim >= WEFT_NDIM(x) || 2 * half->numel != x->numel) return not_for_these();
  const int dtype = WEFT_DTYPE(x);
  if ((dtype != WEFT_FLOAT32 && dtype != WEFT_FLOAT64) || WEFT_DTYPE(out) != dtype || WEFT_DTYPE(half) != dtype || !weft_kernels.pointwise[WEFT_SIGMOID_BACKWARD][dtype]) return not_for_these();
  int64_t run = 1;
  for (int d = (int)dim; d < WEFT_NDIM(half); d++) run *= half->sizes[d];
  if (!half->numel) return written();
  Gate gate = {backward ? weft_data(half) : nullptr, weft_data(x), weft_data(out), run, dtype};
  const int64_t per = (run + kBlock - 1) / kBlock;
  Loop::parallel(4 * half->numel, half->numel / run * per, 4 * std::min(run, kBlock), Gate::range, &gate);
  return written();
}

}  // namespace

const NativeKernel gated_kernels[] = {{"glu_core", WEFT_KERNEL(gate_kernel<false>)}, {"glu_core_backward", WEFT_KERNEL(gate_kernel<true>)}, {nullptr, nullptr}};

}  // namespace weft

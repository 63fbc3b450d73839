// fast_rows.cpp: functions of contiguous rows: softmax and log_softmax along the last dim, layer_norm and rms_norm.
#include <algorithm>

#include "loops.h"
#include "reduce.h"
#include "released.h"
#include "statistics.h"
#include "strips.h"

namespace weft {

namespace {

// The tensor itself if it is row-major, else a copy; new reference.
PyObject *row_major(WeftTensor *t) {
  if (t->word & WEFT_WORD_CONTIGUOUS) return Py_NewRef(as_object(t));
  Ref out(empty(t->word, WEFT_NDIM(t), t->sizes, nullptr));
  if (out && !copy_into(as_tensor(out.get()), t)) return nullptr;
  return out.release();
}

// softmax(input, dim, dtype=None); log_softmax: `code` 1
PyObject *fast_softmax(Call &call) {
  NativeOp *op = call.op;
  WeftTensor *x = call.tensor(0);
  int dim;
  const int dtype = call.dtype(2, WEFT_DTYPE(x));
  if (call[1].none() || dtype < 0 || !WEFT_NDIM(x) || !x->numel || !call.dim(1, WEFT_NDIM(x), &dim)) return UNHANDLED;
  Ref cast(dtype == WEFT_DTYPE(x) ? nullptr : cast_tensor(x, dtype));
  if (dtype != WEFT_DTYPE(x) && !cast) return PyErr_Occurred() ? nullptr : UNHANDLED;
  if (cast) x = as_tensor(cast.get());
  WeftSoftmax kernel = (op->code ? weft_kernels.log_softmax : weft_kernels.softmax)[WEFT_DTYPE(x)];
  if (!kernel) return UNHANDLED;
  Ref in(row_major(x)), out(empty(x->word, WEFT_NDIM(x), x->sizes, nullptr));
  if (!in || !out) return PyErr_Occurred() ? nullptr : UNHANDLED;
  const int64_t n = x->sizes[dim], item = weft_itemsize(WEFT_DTYPE(x));
  const char *from = weft_data(as_tensor(in.get()));
  char *to = weft_data(as_tensor(out.get()));
  int64_t m = 1;
  for (int d = dim + 1; d < WEFT_NDIM(x); d++) m *= x->sizes[d];
  if (m == 1) {
    const int64_t bytes = n * item;
    share(x->numel / n, n, [&](int64_t begin, int64_t end) { kernel(end - begin, n, from + begin * bytes, bytes, to + begin * bytes, bytes); });
  } else {
    const WeftSoftmaxColumns columns = weft_statistics.softmax_columns[op->code][WEFT_DTYPE(x)];
    share_strips<128>(x->numel / (n * m), n, m, [&](int64_t outer, int64_t first, int64_t count) {
      const int64_t at = (outer * n * m + first) * item;
      columns(n, count, from + at, m * item, to + at);
    });
  }
  return call.made(std::move(out));
}

// A weight or bias (or none): whether it is contiguous, of `n` items of the dtype.
bool is_factor(const WeftTensor *t, int dtype, int64_t n) {
  return !t || (WEFT_DTYPE(t) == dtype && t->numel == n && (t->word & WEFT_WORD_CONTIGUOUS));
}

// The elements of the last dims, which are to have these sizes; 0 where they have not.
int64_t trailing(const WeftTensor *x, const Arg &sizes) {
  int64_t n = sizes.n > 0 && sizes.n <= WEFT_NDIM(x);
  for (int i = 0; n && i < sizes.n; i++) n = sizes.list[i] == x->sizes[WEFT_NDIM(x) - sizes.n + i] ? n * sizes.list[i] : 0;
  return n;
}

// layer_norm, and where `rms` is set rms_norm, which has no bias
PyObject *normalized(Call &call, WeftTensor *weight, WeftTensor *bias, double eps, bool rms) {
  WeftTensor *x = call.tensor(0);
  const int dtype = WEFT_DTYPE(x);
  const int64_t n = trailing(x, call[1]);
  if (n <= 0 || !x->numel || !weft_kernels.layer_norm[dtype] || !is_factor(weight, dtype, n) || !is_factor(bias, dtype, n)) return UNHANDLED;
  Ref in(row_major(x)), out(empty(x->word, WEFT_NDIM(x), x->sizes, nullptr));
  if (!in || !out) return PyErr_Occurred() ? nullptr : UNHANDLED;
  const WeftLayerNorm kernel = weft_kernels.layer_norm[dtype];
  const char *from = weft_data(as_tensor(in.get())), *w = weight ? weft_data(weight) : nullptr, *b = bias ? weft_data(bias) : nullptr;
  char *to = weft_data(as_tensor(out.get()));
  const int64_t bytes = n * weft_itemsize(dtype);
  share(x->numel / n, n, [&](int64_t begin, int64_t end) {
    kernel(end - begin, n, from + begin * bytes, w, b, eps, rms, to + begin * bytes, nullptr, nullptr);
  });
  return call.made(std::move(out));
}

// layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5)
PyObject *fast_layer_norm(Call &call) { return normalized(call, call.tensor(2), call.tensor(3), call[4].real, false); }

// The eps of rms_norm where none is given: that of the dtype in which it is computed, float32 for half types as well.
double epsilon(int dtype) { return dtype == WEFT_FLOAT64 ? 2.220446049250313e-16 : 1.1920928955078125e-07; }

// rms_norm(input, normalized_shape, weight=None, eps=None)
PyObject *fast_rms_norm(Call &call) {
  Ref eps(call[3].none() ? PyFloat_FromDouble(epsilon(WEFT_DTYPE(call.tensor(0)))) : Py_NewRef(call[3].object));
  if (!eps) return nullptr;
  if (call[3].none()) {
    call.args[3] = Arg(eps.get());
    call.args[3].real = PyFloat_AS_DOUBLE(eps.get());
  }
  return normalized(call, call.tensor(2), nullptr, call[3].real, true);
}

}  // namespace

const RuleRow row_rules[] = {{"softmax", fast_softmax, 0}, {"log_softmax", fast_softmax, 1}, {"layer_norm", fast_layer_norm}, {"rms_norm", fast_rms_norm},
                             {"batch_norm", fast_batch_norm}, {"group_norm", fast_group_norm}, {"channel_norm", fast_channel_norm}, {nullptr, nullptr}};

}  // namespace weft

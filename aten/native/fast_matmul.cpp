// fast_matmul.cpp: products of matrices: mm, bmm, matmul, linear. Where gradients are recorded, matmul and linear are one
// node each, whose backward is in aten/autograd/whole.py; without, linear adds its bias in the product's own store.
#include "matmul.h"

#include "op.h"
#include "released.h"

namespace weft {

namespace {

bool same_kind(const WeftTensor *a, const WeftTensor *b) {
  int dtype = WEFT_DTYPE(a);
  return dtype == WEFT_DTYPE(b) && dtype != WEFT_BOOL && dtype_kind(dtype) != KIND_COMPLEX;
}

void run_product(WeftTensor *out, WeftTensor *a, WeftTensor *b, WeftTensor *bias) {
  const WeftKernelRuntime *runtime = kernel_runtime();
  double work = (double)out->numel * (double)a->sizes[WEFT_NDIM(a) - 1];
  Released released(work > 1e6);
  matmul(out, a, b, bias, 1.0, 0.0, runtime);
}

// [n, k] @ [k, m], or (`batched`) batches of them, without history
PyObject *plain_product(WeftTensor *a, WeftTensor *b, bool batched) {
  const int ndim = batched ? 3 : 2;
  if (WEFT_NDIM(a) != ndim || WEFT_NDIM(b) != ndim || !same_kind(a, b) || a->sizes[ndim - 1] != b->sizes[ndim - 2]) return UNHANDLED;
  if (batched && a->sizes[0] != b->sizes[0]) return UNHANDLED;
  int64_t sizes[3] = {a->sizes[0], a->sizes[1], b->sizes[2 < ndim ? 2 : 1]};
  if (ndim == 2) sizes[1] = b->sizes[1];
  Ref out(empty(a->word, ndim, sizes, nullptr));
  if (!out) return nullptr;
  run_product(as_tensor(out.get()), a, b, nullptr);
  return out.release();
}

// mm, and bmm with `code` 1
PyObject *fast_mm(Call &call) {
  PyObject *out = plain_product(call.tensor(0), call.tensor(1), call.op->code);
  return out == UNHANDLED ? out : call.made(Ref(out));
}

// A node for a product as a whole, which keeps its operands.
bool record_product(WholeOp which, NativeOp *op, PyObject *const *inputs, int n_inputs, PyObject *out, WeftTensor *a, WeftTensor *b) {
  Ref saved(PyTuple_Pack(2, as_object(a), as_object(b)));
  return saved && record(op->node_name, whole_backwards[which], inputs, n_inputs, &out, 1, saved.get()) == 0;
}

// A tensor of the same memory with a size 1 or other sizes, for the kernel only: no history.
Ref shown(WeftTensor *t, int ndim, const int64_t *sizes, const int64_t *strides) { return Ref(alias(t, ndim, sizes, strides, t->offset)); }

// The leading dims of `t` as one, [*, n, k] → [prod, k]; the rows must lie evenly, as no rows do in any case. Empty Ref
// without exception if not.
Ref as_matrix(WeftTensor *t) {
  int n = WEFT_NDIM(t);
  int64_t rows = 1, step = 0;
  for (int d = 0; d < n - 1; d++)
    if (t->sizes[d] == 0) rows = 0;
  for (int d = n - 2; d >= 0 && rows; d--) {
    if (t->sizes[d] == 1) continue;
    if (rows == 1) step = t->strides[d];
    else if (t->strides[d] != step * rows) return Ref();
    rows *= t->sizes[d];
  }
  int64_t sizes[2] = {rows, t->sizes[n - 1]}, strides[2] = {step, t->strides[n - 1]};
  return shown(t, 2, sizes, strides);
}

// a: [*, n, k] @ b: [*, k, m], at least two dims each, batches broadcast.
PyObject *product(WeftTensor *a, WeftTensor *b) {
  int na = WEFT_NDIM(a), nb = WEFT_NDIM(b), ndim = na > nb ? na : nb;
  int64_t sizes[WEFT_MAX_NDIM];
  if (a->sizes[na - 1] != b->sizes[nb - 2] || ndim - 2 > WEFT_GEMM_MAX_BATCH) return UNHANDLED;
  for (int d = 0; d < ndim - 2; d++) {
    int64_t x = d < ndim - na ? 1 : a->sizes[d - (ndim - na)], y = d < ndim - nb ? 1 : b->sizes[d - (ndim - nb)];
    if (x != y && x != 1 && y != 1) return UNHANDLED;
    sizes[d] = x == 1 ? y : x;
  }
  sizes[ndim - 2] = a->sizes[na - 2];
  sizes[ndim - 1] = b->sizes[nb - 1];
  Ref out(empty(a->word, ndim, sizes, nullptr));
  if (!out) return nullptr;
  Ref flat(nb == 2 && na > 2 ? as_matrix(a) : Ref());
  if (PyErr_Occurred()) return nullptr;
  if (flat) {  // one matrix on the right: a taller left side
    Ref flat_out(as_matrix(as_tensor(out.get())));
    if (!flat_out) return nullptr;
    run_product(as_tensor(flat_out.get()), as_tensor(flat.get()), b, nullptr);
    return out.release();
  }
  Ref padded[2];
  WeftTensor *operands[2] = {a, b};
  for (int i = 0; i < 2; i++) {
    int n = WEFT_NDIM(operands[i]), extra = ndim - n;
    if (!extra) continue;
    int64_t s[WEFT_MAX_NDIM], t[WEFT_MAX_NDIM];
    for (int d = 0; d < ndim; d++) {
      s[d] = d < extra ? 1 : operands[i]->sizes[d - extra];
      t[d] = d < extra ? 0 : operands[i]->strides[d - extra];
    }
    padded[i] = shown(operands[i], ndim, s, t);
    if (!padded[i]) return nullptr;
    operands[i] = as_tensor(padded[i].get());
  }
  run_product(as_tensor(out.get()), operands[0], operands[1], nullptr);
  return out.release();
}

// The product of tensors of at least two dims, and its Node.
PyObject *whole_product(Call &call, WeftTensor *a, WeftTensor *b) {
  const bool matrices = WEFT_NDIM(a) == 2 && WEFT_NDIM(b) == 2;
  Ref out(matrices ? plain_product(a, b, false) : product(a, b));
  if (!out || out.get() == UNHANDLED || !call.recording()) return out.release();
  PyObject *inputs[2] = {as_object(a), as_object(b)};
  const bool done = matrices ? record_op(core_ops[CORE_MM], {Arg(a), Arg(b)}, out.get())
                             : record_product(WHOLE_MATMUL, call.op, inputs, 2, out.get(), a, b);
  return done ? out.release() : nullptr;
}

// A vector as a matrix of one row (dim 0) or column (dim 1); of another tensor a reference.
Ref matrix_of(Call &call, WeftTensor *t, int dim) {
  if (WEFT_NDIM(t) != 1) return Ref(Py_NewRef(as_object(t)));
  if (call.recording()) return Ref(unsqueezed(t, dim));
  const int64_t sizes[2] = {dim ? t->sizes[0] : 1, dim ? 1 : t->sizes[0]}, strides[2] = {dim ? t->strides[0] : t->sizes[0], dim ? 1 : t->strides[0]};
  return shown(t, 2, sizes, strides);
}

// Products of vectors: the dim that they were given is left out of the result.
PyObject *product_of_vectors(Call &call, WeftTensor *a, WeftTensor *b) {
  const bool row = WEFT_NDIM(a) == 1, column = WEFT_NDIM(b) == 1;
  if (row && column) return UNHANDLED;
  Ref left(matrix_of(call, a, 0)), right(left ? matrix_of(call, b, 1) : Ref());
  if (!right) return nullptr;
  Ref out(whole_product(call, as_tensor(left.get()), as_tensor(right.get())));
  if (!out || out.get() == UNHANDLED) return out.release();
  WeftTensor *t = as_tensor(out.get());
  const int n = WEFT_NDIM(t), dim = row ? n - 2 : n - 1;
  const int64_t dropped = dim;
  int64_t sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM];
  for (int d = 0, k = 0; d < n; d++)
    if (d != dim) sizes[k] = t->sizes[d], strides[k++] = t->strides[d];
  if (!call.recording()) return shown(t, n - 1, sizes, strides).release();
  Ref squeezed(make_view(CORE_SQUEEZE, t, n - 1, sizes, strides, t->offset, {Arg::of_integers(&dropped, 1)}));
  if (squeezed) be_no_view(as_tensor(squeezed.get()));
  return squeezed.release();
}

PyObject *fast_matmul(Call &call) {
  WeftTensor *a = call.tensor(0), *b = call.tensor(1);
  if (!WEFT_NDIM(a) || !WEFT_NDIM(b) || !same_kind(a, b)) return UNHANDLED;
  return WEFT_NDIM(a) == 1 || WEFT_NDIM(b) == 1 ? product_of_vectors(call, a, b) : whole_product(call, a, b);
}

// linear(input, weight, bias=None): input @ weight.T + bias
PyObject *fast_linear(Call &call) {
  WeftTensor *x = call.tensor(0), *w = call.tensor(1), *bias = call.tensor(2);
  if (WEFT_NDIM(w) != 2 || WEFT_NDIM(x) < 2 || !same_kind(x, w) || x->sizes[WEFT_NDIM(x) - 1] != w->sizes[1]) return UNHANDLED;
  if (dtype_kind(WEFT_DTYPE(x)) != KIND_FLOAT) return UNHANDLED;
  if (bias && (!same_kind(x, bias) || WEFT_NDIM(bias) != 1 || bias->sizes[0] != w->sizes[0] || !(bias->word & WEFT_WORD_CONTIGUOUS))) return UNHANDLED;
  Ref flat(as_matrix(x));
  if (!flat) return PyErr_Occurred() ? nullptr : UNHANDLED;
  int64_t sizes[WEFT_MAX_NDIM], turned[2] = {w->sizes[1], w->sizes[0]}, steps[2] = {w->strides[1], w->strides[0]};
  int n = WEFT_NDIM(x);
  for (int d = 0; d < n - 1; d++) sizes[d] = x->sizes[d];
  sizes[n - 1] = w->sizes[0];
  Ref out(empty(x->word, n, sizes, nullptr)), weight(shown(w, 2, turned, steps));
  if (!out || !weight) return nullptr;
  Ref flat_out(as_matrix(as_tensor(out.get())));
  if (!flat_out) return nullptr;
  run_product(as_tensor(flat_out.get()), as_tensor(flat.get()), as_tensor(weight.get()), bias);
  if (!call.recording()) return out.release();
  PyObject *inputs[3] = {call[0].object, call[1].object, call[2].object};
  return record_product(WHOLE_LINEAR, call.op, inputs, 3, out.get(), x, w) ? out.release() : nullptr;
}

}  // namespace

const RuleRow product_rules[] = {{"mm", fast_mm, 0}, {"bmm", fast_mm, 1}, {"matmul", fast_matmul}, {"linear", fast_linear}, {nullptr, nullptr}};

}  // namespace weft

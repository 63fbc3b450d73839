// attention.cpp: attention of tensors, by the kernel of this processor.
#include "matmul.h"
#include "released.h"

#include "attention.h"

namespace weft {
namespace {

bool is_half_or_float(int dtype) { return dtype == WEFT_FLOAT32 || dtype == WEFT_BFLOAT16 || dtype == WEFT_FLOAT16; }

// `t` against batch sizes of `out` (whose batch dims are the product's), aligned at the right; sizes of 1 are repeated.
WeftGemmOperand operand(WeftTensor *t, WeftTensor *out) {
  WeftGemmOperand o = {};
  if (!t) return o;
  int ndim = WEFT_NDIM(t), missing = WEFT_NDIM(out) - ndim;
  o.data = weft_data(t);
  o.dtype = WEFT_DTYPE(t);
  o.row_stride = t->sizes[ndim - 2] == 1 ? 0 : t->strides[ndim - 2];
  o.col_stride = t->sizes[ndim - 1] == 1 ? 1 : t->strides[ndim - 1];
  for (int d = 0; d < ndim - 2; d++) o.batch_strides[d + missing] = t->sizes[d] == 1 ? 0 : t->strides[d];
  return o;
}

// Whether sizes of `t` are, or repeat to, out's batch sizes and `rows` x `cols`.
bool fits(WeftTensor *t, WeftTensor *out, int64_t rows, int64_t cols, bool repeats) {
  int ndim = WEFT_NDIM(t), missing = WEFT_NDIM(out) - ndim;
  if (ndim < 2 || missing < 0) return false;
  for (int d = 0; d < ndim - 2; d++)
    if (t->sizes[d] != out->sizes[d + missing] && t->sizes[d] != 1) return false;
  int64_t r = t->sizes[ndim - 2], c = t->sizes[ndim - 1];
  return repeats ? (r == rows || r == 1) && (c == cols || c == 1) : r == rows && c == cols;
}

struct Tensors {
  WeftTensor *query, *key, *value, *mask, *out, *grad_out, *grad_query, *grad_key, *grad_value;
};

// 1: `a` is filled; 0: no kernel takes these; -1: an error is set.
int describe(const Tensors &t, bool causal, double scale, WeftAttention *a) {
  WeftTensor *all[] = {t.query, t.key, t.value, t.out, t.grad_out, t.grad_query, t.grad_key, t.grad_value, t.mask};
  for (WeftTensor *x : all)
    if (x && !need_memory(x, "attention")) return -1;
  int dtype = WEFT_DTYPE(t.query), ndim = WEFT_NDIM(t.out);
  if (!is_half_or_float(dtype) || ndim - 2 > WEFT_GEMM_MAX_BATCH || !gemm_table()->attention) return 0;
  for (WeftTensor *x : all)
    if (x && (WEFT_DEVICE_TYPE(x) != WEFT_CPU || (x != t.mask && WEFT_DTYPE(x) != dtype) || WEFT_NDIM(x) < 2)) return 0;
  if (t.mask && WEFT_DTYPE(t.mask) != WEFT_BOOL && !is_half_or_float(WEFT_DTYPE(t.mask))) return 0;
  *a = {};
  a->rows = t.query->sizes[WEFT_NDIM(t.query) - 2];
  a->width = t.query->sizes[WEFT_NDIM(t.query) - 1];
  a->keys = t.key->sizes[WEFT_NDIM(t.key) - 2];
  a->value_width = t.value->sizes[WEFT_NDIM(t.value) - 1];
  bool good = fits(t.query, t.out, a->rows, a->width, false) && fits(t.key, t.out, a->keys, a->width, false) &&
              fits(t.value, t.out, a->keys, a->value_width, false) && fits(t.out, t.out, a->rows, a->value_width, false) &&
              (!t.mask || fits(t.mask, t.out, a->rows, a->keys, true)) &&
              (!t.grad_out || fits(t.grad_out, t.out, a->rows, a->value_width, false)) &&
              (!t.grad_query || fits(t.grad_query, t.out, a->rows, a->width, false)) &&
              (!t.grad_key || fits(t.grad_key, t.out, a->keys, a->width, false)) &&
              (!t.grad_value || fits(t.grad_value, t.out, a->keys, a->value_width, false));
  if (!good) return PyErr_SetString(PyExc_RuntimeError, "attention: sizes do not fit"), -1;
  a->batch_ndim = ndim - 2;
  for (int d = 0; d < ndim - 2; d++) a->batch_sizes[d] = t.out->sizes[d];
  a->query = operand(t.query, t.out), a->key = operand(t.key, t.out), a->value = operand(t.value, t.out);
  a->mask = operand(t.mask, t.out), a->out = operand(t.out, t.out), a->grad_out = operand(t.grad_out, t.out);
  if (a->mask.data && t.mask->sizes[WEFT_NDIM(t.mask) - 1] == 1) a->mask.col_stride = 0;
  a->grad_query = operand(t.grad_query, t.out), a->grad_key = operand(t.grad_key, t.out);
  a->grad_value = operand(t.grad_value, t.out);
  a->causal = causal;
  a->scale = scale;
  return 1;
}

bool read_tensor(PyObject *object, WeftTensor **tensor) { // a Tensor or None; false with TypeError set
  *tensor = object && object != Py_None ? as_tensor(object) : nullptr;
  if (*tensor && !is_tensor(object)) return PyErr_SetString(PyExc_TypeError, "attention takes Tensors"), false;
  return true;
}

// attention_into(out, query, key, value, mask, causal, scale) -> whether a kernel took it.
PyObject *attention_into(PyObject *, PyObject *args) {
  PyObject *o[5];
  int causal;
  double scale;
  Tensors t = {};
  WeftTensor **slots[5] = {&t.out, &t.query, &t.key, &t.value, &t.mask};
  if (!PyArg_ParseTuple(args, "OOOOOpd:attention_into", &o[0], &o[1], &o[2], &o[3], &o[4], &causal, &scale)) return nullptr;
  for (int i = 0; i < 5; i++)
    if (!read_tensor(o[i], slots[i])) return nullptr;
  if (!t.out || !t.query || !t.key || !t.value) return PyErr_Format(PyExc_TypeError, "attention takes Tensors");
  WeftAttention a;
  int found = describe(t, causal, scale, &a);
  if (found < 0) return nullptr;
  if (found) {
    const WeftKernelRuntime *runtime = kernel_runtime();
    Released released;
    gemm_table()->attention(&a, runtime);
  }
  return PyBool_FromLong(found);
}

// attention_derivative_into(grad_query, grad_key, grad_value, grad_out, query, key, value, mask, out, causal, scale)
// -> whether a kernel took it. The first three may be None: not wanted.
PyObject *attention_derivative_into(PyObject *, PyObject *args) {
  PyObject *o[9];
  int causal;
  double scale;
  Tensors t = {};
  WeftTensor **slots[9] = {&t.grad_query, &t.grad_key, &t.grad_value, &t.grad_out, &t.query,
                           &t.key, &t.value, &t.mask, &t.out};
  if (!PyArg_ParseTuple(args, "OOOOOOOOOpd:attention_derivative_into", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6],
                        &o[7], &o[8], &causal, &scale))
    return nullptr;
  for (int i = 0; i < 9; i++)
    if (!read_tensor(o[i], slots[i])) return nullptr;
  if (!t.grad_out || !t.query || !t.key || !t.value || !t.out)
    return PyErr_Format(PyExc_TypeError, "attention takes Tensors");
  WeftAttention a;
  int found = describe(t, causal, scale, &a);
  if (found < 0) return nullptr;
  if (found) {
    const WeftKernelRuntime *runtime = kernel_runtime();
    Released released;
    gemm_table()->attention_derivative(&a, runtime);
  }
  return PyBool_FromLong(found);
}

}  // namespace

PyMethodDef attention_functions[] = {
    {"attention_into", guarded<attention_into>, METH_VARARGS, "scaled dot product attention into given memory"},
    {"attention_derivative_into", guarded<attention_derivative_into>, METH_VARARGS, "its derivative, into given memory"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace weft

// fast_join.cpp: cat, recorded whole, and scaled_dot_product_attention by the kernel of attention.h.
#include <math.h>

#include "loops.h"
#include "op.h"

namespace weft {

namespace {

// cat(tensors, dim=0) of tensors of one dtype and rank
PyObject *fast_cat(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  PyObject *slots[2] = {};
  int64_t given = 0;
  int dim;
  if (!bind_arguments(op, args, nargs, names, slots) || !slots[0] || (slots[1] && !exact_int(slots[1], &given))) return UNHANDLED;
  if (!PyList_CheckExact(slots[0]) && !PyTuple_CheckExact(slots[0])) return UNHANDLED;
  Ref held(PySequence_Tuple(slots[0]));  // the list may change while a kernel runs
  if (!held) return nullptr;
  Py_ssize_t n = PyTuple_GET_SIZE(held.get());
  PyObject **items = reinterpret_cast<PyTupleObject *>(held.get())->ob_item;
  WeftTensor *first = n ? plain(items[0]) : nullptr;
  if (!first || !WEFT_NDIM(first) || !wrap_dim(given, WEFT_NDIM(first), &dim) || !weft_kernels.cast[WEFT_DTYPE(first)][WEFT_DTYPE(first)])
    return UNHANDLED;
  int64_t sizes[WEFT_MAX_NDIM], total = 0;
  bool recording = false;
  std::vector<int64_t> along;
  for (Py_ssize_t i = 0; i < n; i++) {
    WeftTensor *t = plain(items[i]);
    if (!t || WEFT_DTYPE(t) != WEFT_DTYPE(first) || WEFT_NDIM(t) != WEFT_NDIM(first)) return UNHANDLED;
    for (int d = 0; d < WEFT_NDIM(t); d++)
      if (d != dim && t->sizes[d] != first->sizes[d]) return UNHANDLED;
    along.push_back(t->sizes[dim]);
    if (__builtin_add_overflow(total, t->sizes[dim], &total)) return UNHANDLED;
    recording |= records(t);
  }
  for (int d = 0; d < WEFT_NDIM(first); d++) sizes[d] = d == dim ? total : first->sizes[d];
  Ref out(empty(first->word, WEFT_NDIM(first), sizes, nullptr));
  if (!out) return nullptr;
  WeftTensor *o = as_tensor(out.get());
  int64_t offset = 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    sizes[dim] = along[(size_t)i];
    Ref part(alias(o, WEFT_NDIM(o), sizes, o->strides, offset));
    if (!part) return nullptr;
    copy_into(as_tensor(part.get()), as_tensor(items[i]));
    offset += along[(size_t)i] * o->strides[dim];
  }
  if (!recording) return out.release();
  Ref saved(Py_BuildValue("(iN)", dim, CoreArg::integers(along.data(), (int)along.size()).build()));
  PyObject *result = out.get();
  if (!saved || record(op->node_name, whole_backwards[WHOLE_CAT], items, n, &result, 1, saved.get()) < 0) return nullptr;
  return out.release();
}

// The sizes of the result of attention; false where q, k and v are not batches of one size.
bool attention_sizes(const WeftTensor *q, const WeftTensor *k, const WeftTensor *v, int64_t *sizes) {
  int n = WEFT_NDIM(q);
  if (n < 2 || WEFT_NDIM(k) != n || WEFT_NDIM(v) != n || WEFT_DTYPE(k) != WEFT_DTYPE(q) || WEFT_DTYPE(v) != WEFT_DTYPE(q)) return false;
  for (int d = 0; d < n - 2; d++) {
    if (k->sizes[d] != q->sizes[d] || v->sizes[d] != q->sizes[d]) return false;
    sizes[d] = q->sizes[d];
  }
  sizes[n - 2] = q->sizes[n - 2];
  sizes[n - 1] = v->sizes[n - 1];
  return q->sizes[n - 1] == k->sizes[n - 1] && k->sizes[n - 2] == v->sizes[n - 2] && q->numel && k->numel && v->numel;
}

// attention_into(out, query, key, value, mask, causal, scale): 1 done, 0 no kernel takes these, -1 an exception is set
int run_attention(PyObject *out, PyObject *const *qkv, PyObject *mask, bool causal, double scale) {
  static PyObject *function;
  if (!function) {
    Ref module(PyImport_ImportModule("aten._native"));
    function = module ? PyObject_GetAttrString(module.get(), "attention_into") : nullptr;
    if (!function) return -1;
  }
  Ref taken(PyObject_CallFunction(function, "OOOOOOd", out, qkv[0], qkv[1], qkv[2], mask, causal ? Py_True : Py_False, scale));
  return taken ? taken.get() == Py_True : -1;
}

// scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False)
PyObject *fast_attention(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  PyObject *slots[8] = {};
  bool causal = false, gqa = false;
  if (!bind_arguments(op, args, nargs, names, slots) || !slots[0] || !slots[1] || !slots[2]) return UNHANDLED;
  WeftTensor *q = plain(slots[0]), *k = plain(slots[1]), *v = plain(slots[2]), *mask = nullptr;
  int64_t sizes[WEFT_MAX_NDIM];
  if (!q || !k || !v || dtype_kind(WEFT_DTYPE(q)) != KIND_FLOAT || !attention_sizes(q, k, v, sizes)) return UNHANDLED;
  if ((slots[5] && !exact_bool(slots[5], &causal)) || (slots[7] && (!exact_bool(slots[7], &gqa) || gqa))) return UNHANDLED;
  if (slots[4] && !(PyFloat_CheckExact(slots[4]) && PyFloat_AS_DOUBLE(slots[4]) == 0)) return UNHANDLED;
  if (slots[3] && slots[3] != Py_None) {
    mask = plain(slots[3]);
    if (!mask || causal || records(mask) || (WEFT_DTYPE(mask) != WEFT_BOOL && WEFT_DTYPE(mask) != WEFT_DTYPE(q))) return UNHANDLED;
  }
  double scale = 1 / sqrt((double)q->sizes[WEFT_NDIM(q) - 1]);
  if (slots[6] && slots[6] != Py_None) {
    if (!PyFloat_CheckExact(slots[6])) return UNHANDLED;
    scale = PyFloat_AS_DOUBLE(slots[6]);
  }
  Ref out(empty(q->word, WEFT_NDIM(q), sizes, nullptr));
  if (!out) return nullptr;
  PyObject *mask_object = mask ? slots[3] : Py_None;
  int taken = run_attention(out.get(), slots, mask_object, causal, scale);
  if (taken <= 0) return taken < 0 ? nullptr : UNHANDLED;
  if (!records(q) && !records(k) && !records(v)) return out.release();
  Ref dropout(PyFloat_FromDouble(0)), scale_object(PyFloat_FromDouble(scale));
  if (!dropout || !scale_object) return nullptr;
  CoreArg core[7] = {CoreArg(q), CoreArg(k), CoreArg(v), CoreArg(mask_object), CoreArg(dropout.get()), CoreArg::boolean(causal),
                     CoreArg(scale_object.get())};
  PyObject *result = out.get();
  if (!record_op(op, core, 7, &result, 1)) return nullptr;
  return out.release();
}

}  // namespace

const Family join_families[] = {{"cat", fast_cat}, {"attention", fast_attention}, {nullptr, nullptr}};

}  // namespace weft

// fast_join.cpp: cat, recorded whole, and scaled_dot_product_attention by the kernel of attention.h.
#include <math.h>
#include <string.h>

#include <algorithm>
#include <vector>

#include "loops.h"
#include "op.h"

namespace weft {

namespace {

// Row-major tensors joined along a dim: a run of each after the other, so that the result is written from its begin to its end.
struct Runs {
  std::vector<const char *> from;
  std::vector<size_t> bytes;  // of a run of each
  size_t all = 0;
  char *to;

  static void range(void *ctx, int64_t begin, int64_t end, int64_t) {
    const Runs &r = *static_cast<Runs *>(ctx);
    char *to = r.to + (size_t)begin * r.all;
    for (int64_t i = begin; i < end; i++)
      for (size_t k = 0; k < r.from.size(); to += r.bytes[k++]) memcpy(to, r.from[k] + (size_t)i * r.bytes[k], r.bytes[k]);
  }
};

// Two row-major tensors whose runs are one element: their elements in turns (a stack along a new last dim, as of complex numbers' parts).
template <class T> struct Pairs {
  const T *first, *second;
  T *to;

  static void range(void *ctx, int64_t begin, int64_t end, int64_t) {
    const Pairs &p = *static_cast<Pairs *>(ctx);
    for (int64_t i = begin; i < end; i++) p.to[2 * i] = p.first[i], p.to[2 * i + 1] = p.second[i];
  }
  static bool join(const Runs &runs, int64_t count) {
    Pairs pairs = {reinterpret_cast<const T *>(runs.from[0]), reinterpret_cast<const T *>(runs.from[1]), reinterpret_cast<T *>(runs.to)};
    Loop::parallel(2 * count, count, 2, range, &pairs);
    return true;
  }
};
bool join_pairs(const Runs &runs, int64_t count) {
  if (runs.from.size() != 2 || runs.bytes[0] != runs.bytes[1]) return false;
  switch (runs.bytes[0]) {
    case 1: return Pairs<uint8_t>::join(runs, count);
    case 2: return Pairs<uint16_t>::join(runs, count);
    case 4: return Pairs<uint32_t>::join(runs, count);
    case 8: return Pairs<uint64_t>::join(runs, count);
    default: return false;
  }
}

// Whether that was done: short runs, and tensors laid out otherwise, are for loops.
bool join_runs(PyObject *const *items, Py_ssize_t n, int dim, WeftTensor *out) {
  constexpr size_t kRun = 256;
  Runs runs;
  bool short_runs = false;
  int64_t count = 1, inner = weft_itemsize(WEFT_DTYPE(out));
  for (int d = 0; d < dim; d++) count *= out->sizes[d];
  for (int d = dim + 1; d < WEFT_NDIM(out); d++) inner *= out->sizes[d];
  for (Py_ssize_t i = 0; i < n; i++) {
    WeftTensor *t = as_tensor(items[i]);
    const size_t run = (size_t)(t->sizes[dim] * inner);
    if (!(t->word & WEFT_WORD_CONTIGUOUS) || run == 0 || (run < kRun && n != 2)) return false;
    short_runs |= run < kRun;
    runs.from.push_back(weft_data(t)), runs.bytes.push_back(run);
    runs.all += run;
  }
  runs.to = weft_data(out);
  if (short_runs) return join_pairs(runs, count);
  Loop::parallel(out->numel, count, out->numel / std::max<int64_t>(count, 1), Runs::range, &runs);
  return true;
}

// cat(tensors, dim=0) of tensors of one dtype and rank
PyObject *fast_cat(Call &call) {
  NativeOp *op = call.op;
  int dim;
  Ref held(PySequence_Tuple(call[0].object));  // the list may change while a kernel runs
  if (!held) return nullptr;
  Py_ssize_t n = PyTuple_GET_SIZE(held.get());
  PyObject **items = reinterpret_cast<PyTupleObject *>(held.get())->ob_item;
  WeftTensor *first = n ? plain(items[0]) : nullptr;
  if (!first || !WEFT_NDIM(first) || !call.dim(1, WEFT_NDIM(first), &dim) || !weft_kernels.cast[WEFT_DTYPE(first)][WEFT_DTYPE(first)])
    return UNHANDLED;
  int64_t sizes[WEFT_MAX_NDIM], total = 0;
  bool recording = false, innermost = true;
  std::vector<int64_t> along;
  for (Py_ssize_t i = 0; i < n; i++) {
    WeftTensor *t = plain(items[i]);
    if (!t || WEFT_DTYPE(t) != WEFT_DTYPE(first) || WEFT_NDIM(t) != WEFT_NDIM(first)) return UNHANDLED;
    for (int d = 0; d < WEFT_NDIM(t); d++)
      if (d != dim && t->sizes[d] != first->sizes[d]) return UNHANDLED;
    along.push_back(t->sizes[dim]);
    if (__builtin_add_overflow(total, t->sizes[dim], &total)) return UNHANDLED;
    recording |= records(t);
    innermost &= channels_innermost(t);
  }
  if (innermost) return UNHANDLED;  // of images laid out so it makes another
  for (int d = 0; d < WEFT_NDIM(first); d++) sizes[d] = d == dim ? total : first->sizes[d];
  Ref out(empty(first->word, WEFT_NDIM(first), sizes, nullptr));
  if (!out) return nullptr;
  WeftTensor *o = as_tensor(out.get());
  int64_t offset = 0;
  const bool done = dim && o->numel && join_runs(items, n, dim, o);
  for (Py_ssize_t i = 0; i < n && !done; i++) {
    sizes[dim] = along[(size_t)i];
    Ref part(alias(o, WEFT_NDIM(o), sizes, o->strides, offset));
    if (!part) return nullptr;
    copy_into(as_tensor(part.get()), as_tensor(items[i]));
    offset += along[(size_t)i] * o->strides[dim];
  }
  if (!recording) return out.release();
  Ref saved(Py_BuildValue("(iN)", dim, Arg::of_integers(along.data(), (int)along.size()).build()));
  PyObject *result = out.get();
  if (!saved || record(op->node_name, whole_backwards[WHOLE_CAT], items, n, &result, 1, saved.get()) < 0) return nullptr;
  return out.release();
}

// stack(tensors, dim=0) of tensors of one dtype and sizes, without history: with it each tensor is one of `unsqueeze` and they of `cat`
PyObject *fast_stack(Call &call) {
  Ref held(PySequence_Tuple(call[0].object));  // the list may change while a kernel runs
  if (!held) return nullptr;
  const Py_ssize_t n = PyTuple_GET_SIZE(held.get());
  PyObject **items = reinterpret_cast<PyTupleObject *>(held.get())->ob_item;
  WeftTensor *first = n ? plain(items[0]) : nullptr;
  int dim;
  if (!first || WEFT_NDIM(first) == WEFT_MAX_NDIM || !call.dim(1, WEFT_NDIM(first) + 1, &dim)) return UNHANDLED;
  if (!weft_kernels.cast[WEFT_DTYPE(first)][WEFT_DTYPE(first)]) return UNHANDLED;
  for (Py_ssize_t i = 0; i < n; i++) {
    WeftTensor *t = plain(items[i]);
    if (!t || WEFT_DTYPE(t) != WEFT_DTYPE(first) || !has_sizes(t, WEFT_NDIM(first), first->sizes)) return UNHANDLED;
    if (channels_innermost(t) || records(t)) return UNHANDLED;  // (of images laid out so it makes another)
  }
  const int ndim = WEFT_NDIM(first) + 1;
  int64_t sizes[WEFT_MAX_NDIM];
  for (int d = 0, k = 0; d < ndim; d++) sizes[d] = d == dim ? n : first->sizes[k++];
  Ref out(empty(first->word, ndim, sizes, nullptr));
  if (!out) return nullptr;
  WeftTensor *o = as_tensor(out.get());
  std::vector<Ref> rows;  // the tensors with a dim of one element: what is joined along it
  std::vector<PyObject *> joined;
  for (Py_ssize_t i = 0; i < n; i++) {
    WeftTensor *t = as_tensor(items[i]);
    int64_t strides[WEFT_MAX_NDIM];
    for (int d = 0, k = 0; d < ndim; d++) strides[d] = d == dim ? 1 : t->strides[k++];
    sizes[dim] = 1;
    if (t->word & WEFT_WORD_CONTIGUOUS) contiguous_strides(ndim, sizes, strides);
    rows.emplace_back(alias(t, ndim, sizes, strides, t->offset));
    if (!rows.back()) return nullptr;
    joined.push_back(rows.back().get());
  }
  const bool done = dim && o->numel && join_runs(joined.data(), n, dim, o);
  for (Py_ssize_t i = 0; i < n && !done; i++) {
    Ref part(alias(o, ndim, sizes, o->strides, i * o->strides[dim]));
    if (!part) return nullptr;
    copy_into(as_tensor(part.get()), as_tensor(joined[(size_t)i]));
  }
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

// Whether the result lies as the query does, without gaps: PyTorch's does where its flash kernel takes these, which is of images of
// heads whose rows are one piece, and a mask that requires no grad. (aten/ops/attention.py says the same.)
bool lies_as_query(const WeftTensor *q, const WeftTensor *k, const WeftTensor *v, const WeftTensor *mask) {
  if (mask && WEFT_REQUIRES_GRAD(mask)) return false;
  return WEFT_NDIM(q) == 4 && q->sizes[3] == v->sizes[3] && q->strides[3] == 1 && k->strides[3] == 1 && v->strides[3] == 1;
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
PyObject *fast_attention(Call &call) {
  WeftTensor *q = call.tensor(0), *k = call.tensor(1), *v = call.tensor(2), *mask = call.tensor(3);
  const bool causal = call.truth(5);
  int64_t sizes[WEFT_MAX_NDIM];
  if (dtype_kind(WEFT_DTYPE(q)) != KIND_FLOAT || !attention_sizes(q, k, v, sizes)) return UNHANDLED;
  if (call[4].real != 0 || call.truth(7)) return UNHANDLED;
  if (mask && (causal || records(mask) || (WEFT_DTYPE(mask) != WEFT_BOOL && WEFT_DTYPE(mask) != WEFT_DTYPE(q)))) return UNHANDLED;
  Ref scale(call[6].none() ? PyFloat_FromDouble(1 / sqrt((double)q->sizes[WEFT_NDIM(q) - 1])) : PyFloat_FromDouble(call[6].real));
  if (!scale) return nullptr;
  call.args[6] = Arg(scale.get());
  int64_t strides[WEFT_MAX_NDIM];
  const bool as_query = lies_as_query(q, k, v, mask);
  if (as_query) dense_strides(q, strides);
  Ref out(empty(q->word, WEFT_NDIM(q), sizes, as_query ? strides : nullptr));
  if (!out) return nullptr;
  PyObject *qkv[3] = {as_object(q), as_object(k), as_object(v)};
  int taken = run_attention(out.get(), qkv, call[3].object, causal, PyFloat_AS_DOUBLE(scale.get()));
  if (taken <= 0) return taken < 0 ? nullptr : UNHANDLED;
  return call.made(std::move(out));
}

}  // namespace

const RuleRow join_rules[] = {{"cat", fast_cat}, {"stack", fast_stack}, {"scaled_dot_product_attention", fast_attention}, {nullptr, nullptr}};

}  // namespace weft

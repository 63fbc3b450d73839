// fast_pointwise.cpp: elementwise families: unary, binary, where, clamp; results of their own and in place.
#include <math.h>

#include "loops.h"
#include "op.h"

namespace weft {

void dense_strides(const WeftTensor *t, int64_t *strides) {
  int n = WEFT_NDIM(t);
  if (!(t->word & WEFT_WORD_CONTIGUOUS)) {
    int order[WEFT_MAX_NDIM], m = 0;
    for (int d = 0; d < n; d++) {
      if (t->sizes[d] == 1) continue;
      int k = m++;
      // Insertion by stride; of equal strides the later dimension first, as aten/meta.py does.
      for (; k > 0 && t->strides[order[k - 1]] >= t->strides[d]; k--) order[k] = order[k - 1];
      order[k] = d;
    }
    int64_t expected = 1;
    bool dense = true;
    for (int k = 0; k < m && dense; k++) {
      dense = t->strides[order[k]] == expected;
      expected *= t->sizes[order[k]];
    }
    if (dense) {
      for (int d = 0; d < n; d++) strides[d] = t->strides[d];
      return;
    }
    // Elements apart, as a slice leaves them: in the same order, with the gaps closed.
    bool apart = m > 0 && t->numel > 0 && t->strides[order[0]] > 0;
    for (int k = 1; k < m && apart; k++) apart = t->strides[order[k]] >= t->strides[order[k - 1]] * t->sizes[order[k - 1]];
    if (apart) {
      int64_t step = 1;
      for (int k = 0; k < m; k++) {
        strides[order[k]] = step;
        step *= t->sizes[order[k]];
      }
      for (int d = 0; d < n; d++) {
        if (t->sizes[d] != 1) continue;
        strides[d] = 1;
        for (int k = 0; k < m; k++)
          if (t->strides[order[k]] < t->strides[d] || (t->strides[order[k]] == t->strides[d] && order[k] > d)) strides[d] *= t->sizes[order[k]];
      }
      return;
    }
  }
  contiguous_strides(n, t->sizes, strides);
}

PyObject *empty_like(WeftTensor *t, int dtype) {
  int64_t strides[WEFT_MAX_NDIM];
  uint32_t word = (t->word & ~WEFT_WORD_DTYPE) | (uint32_t)dtype;
  if (t->word & WEFT_WORD_CONTIGUOUS) return empty(word, WEFT_NDIM(t), t->sizes, nullptr);
  dense_strides(t, strides);
  return empty(word, WEFT_NDIM(t), t->sizes, strides);
}

namespace {

constexpr int64_t kSmall = 16384;

// Runs a loop over tensors of one size each, or numbers (data with NULL tensor); the result last.
void run_loop(WeftLoop body, WeftTensor *const *tensors, void *const *numbers, int n) {
  WeftTensor *out = tensors[n - 1];
  bool simple = out->numel < kSmall;
  for (int i = 0; i < n && simple; i++)
    simple = !tensors[i] || ((tensors[i]->word & WEFT_WORD_CONTIGUOUS) && tensors[i]->numel == out->numel);
  if (simple) {
    char *args[kMaxOperands];
    intptr_t steps[kMaxOperands], count = (intptr_t)out->numel;
    if (!count) return;
    for (int i = 0; i < n; i++) {
      args[i] = tensors[i] ? weft_data(tensors[i]) : static_cast<char *>(numbers[i]);
      steps[i] = tensors[i] ? weft_itemsize(WEFT_DTYPE(tensors[i])) : 0;
    }
    body(args, &count, steps, nullptr);
    return;
  }
  Loop loop(WEFT_NDIM(out), out->sizes);
  for (int i = 0; i < n; i++) tensors[i] ? loop.add(tensors[i]) : loop.add_number(numbers[i]);
  loop.run(body, nullptr);
}

// ---------------------------------------------------------------------------------------------------- unary

int unary_dtype(NativeOp *op, int dtype) {
  return op->flags & OP_FLOAT && dtype_kind(dtype) < KIND_FLOAT ? default_dtype() : dtype;
}

PyObject *unary_into(NativeOp *op, WeftTensor *x, PyObject *out_given) {
  int dtype = unary_dtype(op, WEFT_DTYPE(x));
  WeftLoop body = weft_kernels.pointwise[op->code][dtype];
  if (!body) return UNHANDLED;
  Ref cast(dtype == WEFT_DTYPE(x) ? nullptr : cast_tensor(x, dtype));
  if (dtype != WEFT_DTYPE(x)) {
    if (!cast) return PyErr_Occurred() ? nullptr : UNHANDLED;
    x = as_tensor(cast.get());
  }
  Ref out(out_given ? Py_NewRef(out_given) : empty_like(x, weft_pointwise_rows[op->code].truth ? WEFT_BOOL : dtype));
  if (!out) return nullptr;
  WeftTensor *tensors[2] = {x, as_tensor(out.get())};
  run_loop(body, tensors, nullptr, 2);
  return out.release();
}

PyObject *fast_unary(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  if (nargs != 1 || names) return UNHANDLED;
  WeftTensor *x = plain(args[0]);
  if (!x) return UNHANDLED;
  PyObject *out = unary_into(op, x, nullptr);
  if (!out || out == UNHANDLED || !op->node_name || !records(x)) return out;
  Ref owned(out);
  return record_op(op, {CoreArg(x)}, out) ? owned.release() : nullptr;
}

// gelu(input, *, approximate='none'): the kernel is chosen by the string.
PyObject *fast_gelu(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  PyObject *slots[2];
  if (!bind_arguments(op, args, nargs, names, slots) || !slots[0]) return UNHANDLED;
  WeftTensor *x = plain(slots[0]);
  if (!x || dtype_kind(WEFT_DTYPE(x)) != KIND_FLOAT) return UNHANDLED;
  bool tanh = slots[1] && PyUnicode_Check(slots[1]) && PyUnicode_CompareWithASCIIString(slots[1], "tanh") == 0;
  bool none = !slots[1] || (PyUnicode_Check(slots[1]) && PyUnicode_CompareWithASCIIString(slots[1], "none") == 0);
  if (!tanh && !none) return UNHANDLED;
  WeftLoop body = weft_kernels.pointwise[tanh ? WEFT_GELU_TANH : WEFT_GELU][WEFT_DTYPE(x)];
  if (!body) return UNHANDLED;
  Ref out(empty_like(x, WEFT_DTYPE(x)));
  if (!out) return nullptr;
  WeftTensor *tensors[2] = {x, as_tensor(out.get())};
  run_loop(body, tensors, nullptr, 2);
  if (records(x)) {
    Ref approximate(slots[1] ? Py_NewRef(slots[1]) : PyUnicode_InternFromString("none"));
    if (!approximate || !record_op(op, {CoreArg(x), CoreArg(approximate.get())}, out.get())) return nullptr;
  }
  return out.release();
}

// --------------------------------------------------------------------------------------------------- binary

// An argument of a binary op: a tensor, or a number with its category.
struct Term {
  WeftTensor *tensor = nullptr;
  PyObject *number = nullptr;
  DTypeKind kind = KIND_BOOL;  // of a number
  alignas(16) char value[16];  // of a number, in the dtype of the loop
};

bool read_term(PyObject *arg, Term *term) {
  if ((term->tensor = plain(arg))) return true;
  term->number = arg;
  if (PyFloat_CheckExact(arg)) term->kind = KIND_FLOAT;
  else if (PyLong_CheckExact(arg)) term->kind = KIND_INTEGER;
  else if (PyBool_Check(arg)) term->kind = KIND_BOOL;
  else return false;
  return true;
}

bool wide_unsigned(int dtype) { return dtype >= WEFT_UINT16 && dtype <= WEFT_UINT64; }

// The promoted dtype of terms, PyTorch's way: dimensioned tensors before 0-d ones before numbers; -1: leave it to Python.
int promoted(const Term *terms, int n) {
  int dtype[3] = {-1, -1, -1};  // by rank: numbers, 0-d tensors, tensors
  for (int i = 0; i < n; i++) {
    const Term &t = terms[i];
    int rank = t.tensor ? (WEFT_NDIM(t.tensor) ? 2 : 1) : 0;
    int d = t.tensor ? WEFT_DTYPE(t.tensor) : t.kind == KIND_FLOAT ? default_dtype() : t.kind == KIND_INTEGER ? WEFT_INT64 : WEFT_BOOL;
    if (dtype[rank] >= 0 && dtype[rank] != d) {
      if (wide_unsigned(d) || wide_unsigned(dtype[rank])) return -1;
      d = promote_dtypes(dtype[rank], d);
    }
    dtype[rank] = d;
  }
  int found = -1;
  for (int rank = 2; rank >= 0; rank--) {
    if (dtype[rank] < 0) continue;
    if (found < 0) found = dtype[rank];
    else if (dtype_kind(dtype[rank]) > dtype_kind(found)) {
      if (dtype_kind(dtype[rank]) == KIND_COMPLEX || wide_unsigned(found)) return -1;
      found = dtype[rank];
    }
  }
  return found;
}

// Numbers as elements of `dtype`; false where Python must decide (integers that do not fit).
bool place_number(Term *t, int dtype) {
  if (dtype_kind(dtype) == KIND_COMPLEX) return false;
  if (write_scalar(t->value, dtype, t->number)) return true;
  PyErr_Clear();
  return false;
}

bool is_half(int dtype) { return dtype == WEFT_FLOAT16 || dtype == WEFT_BFLOAT16; }

// A number keeps its float32 value beside a half tensor: exact in half precision, or the loop runs in float32.
bool number_is_exact(const Term &t, int dtype) {
  Ref rounded(read_scalar(t.value, dtype));
  if (!rounded) return false;
  double exact = PyFloat_AsDouble(t.number);
  return exact == PyFloat_AS_DOUBLE(rounded.get()) || exact != exact;
}

// Broadcast sizes of the tensors among the terms; -1 if they do not broadcast.
int broadcast_terms(const Term *terms, int n, int64_t *sizes) {
  int ndim = 0;
  for (int i = 0; i < n; i++)
    if (terms[i].tensor && WEFT_NDIM(terms[i].tensor) > ndim) ndim = WEFT_NDIM(terms[i].tensor);
  for (int d = 0; d < ndim; d++) sizes[d] = 1;
  for (int i = 0; i < n; i++) {
    const WeftTensor *t = terms[i].tensor;
    if (!t) continue;
    int extra = ndim - WEFT_NDIM(t);
    for (int d = 0; d < WEFT_NDIM(t); d++) {
      int64_t size = t->sizes[d], &have = sizes[extra + d];
      if (size == have || size == 1) continue;
      if (have != 1) return -1;
      have = size;
    }
  }
  return ndim;
}

bool has_sizes(const WeftTensor *t, int ndim, const int64_t *sizes) {
  if (WEFT_NDIM(t) != ndim) return false;
  for (int d = 0; d < ndim; d++)
    if (t->sizes[d] != sizes[d]) return false;
  return true;
}

// Memory for the result of terms: the layout of the first tensor that has the result's sizes, if dense.
PyObject *result_of(const Term *terms, int n, int ndim, const int64_t *sizes, int dtype) {
  for (int i = 0; i < n; i++)
    if (terms[i].tensor && has_sizes(terms[i].tensor, ndim, sizes)) return empty_like(terms[i].tensor, dtype);
  return empty((uint32_t)dtype, ndim, sizes, nullptr);
}

// Everything between the promoted dtype and the kernel: casts (kept alive in `kept`), numbers in place.
// False: not handled (or, with an exception set, failed).
bool prepare(Term *terms, int n, int dtype, Ref *kept) {
  for (int i = 0; i < n; i++) {
    Term &t = terms[i];
    if (!t.tensor) {
      if (!place_number(&t, dtype)) return false;
    } else if (WEFT_DTYPE(t.tensor) != dtype) {
      if (records(t.tensor)) return false;  // the cast is recorded, by the general path
      kept[i].reset(cast_tensor(t.tensor, dtype));
      if (!kept[i]) return false;
      t.tensor = as_tensor(kept[i].get());
    }
  }
  return true;
}

PyObject *failed() { return PyErr_Occurred() ? nullptr : UNHANDLED; }

// The dtype the loop runs in: of a half tensor with an inexact number float32, else `dtype`.
int loop_dtype(const Term *terms, int n, int dtype) {
  if (!is_half(dtype)) return dtype;
  for (int i = 0; i < n; i++) {
    if (terms[i].tensor) continue;
    Term t = terms[i];
    if (!place_number(&t, dtype) || !number_is_exact(t, dtype)) return WEFT_FLOAT32;
  }
  return dtype;
}

// `out_given`: memory of the right sizes and dtype, or NULL.
PyObject *binary_into(NativeOp *op, Term *terms, int dtype, PyObject *out_given) {
  int run = loop_dtype(terms, 2, dtype);
  WeftLoop body = weft_kernels.pointwise[op->code][run];
  if (!body) return UNHANDLED;
  Ref kept[2];
  int64_t sizes[WEFT_MAX_NDIM];
  int ndim = broadcast_terms(terms, 2, sizes);
  if (ndim < 0) return UNHANDLED;
  int out_dtype = weft_pointwise_rows[op->code].truth ? WEFT_BOOL : run;
  Term original[2] = {terms[0], terms[1]};
  if (!prepare(terms, 2, run, kept)) return failed();
  bool direct = out_given && out_dtype == dtype;
  Ref out(direct ? Py_NewRef(out_given) : result_of(original, 2, ndim, sizes, out_dtype));
  if (!out) return nullptr;
  WeftTensor *tensors[3] = {terms[0].tensor, terms[1].tensor, as_tensor(out.get())};
  void *numbers[3] = {terms[0].value, terms[1].value, nullptr};
  run_loop(body, tensors, numbers, 3);
  if (out_dtype == WEFT_BOOL || run == dtype || direct) return out.release();
  if (!out_given) return cast_tensor(as_tensor(out.get()), dtype);
  return copy_into(as_tensor(out_given), as_tensor(out.get())) ? Py_NewRef(out_given) : nullptr;
}

// The dtype a binary op computes in, by its operands; -1: not handled.
int binary_dtype(NativeOp *op, const Term *terms) {
  const WeftTensor *a = terms[0].tensor, *b = terms[1].tensor;
  auto is_bool = [](const Term &t) { return t.tensor ? WEFT_DTYPE(t.tensor) == WEFT_BOOL : t.kind == KIND_BOOL; };
  if (op->code == WEFT_SUB && (is_bool(terms[0]) || is_bool(terms[1]))) return -1;  // refused
  int dtype = a && b && WEFT_DTYPE(a) == WEFT_DTYPE(b) ? WEFT_DTYPE(a) : promoted(terms, 2);
  if (dtype >= 0 && op->flags & OP_FLOAT && dtype_kind(dtype) < KIND_FLOAT) dtype = default_dtype();
  return dtype;
}

// `alpha` of add and sub: `other * alpha` as a tensor (its history is the general path's business), or UNHANDLED. NULL names:
// new reference to `other`.
PyObject *with_alpha(NativeOp *op, PyObject *const *args, PyObject *names) {
  if (!names) return Py_NewRef(args[1]);
  if (!(op->flags & OP_ALPHA) || PyTuple_GET_SIZE(names) != 1 || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "alpha") != 0)
    return UNHANDLED;
  Term terms[2];
  int64_t one;
  if (exact_int(args[2], &one) && one == 1) return Py_NewRef(args[1]);
  if (!read_term(args[1], &terms[0]) || !terms[0].tensor || !read_term(args[2], &terms[1]) || terms[1].tensor) return UNHANDLED;
  int dtype = WEFT_DTYPE(terms[0].tensor);
  if (records(terms[0].tensor) || terms[1].kind > dtype_kind(dtype)) return UNHANDLED;
  NativeOp mul = {};
  mul.code = WEFT_MUL;
  return binary_into(&mul, terms, dtype, nullptr);
}

PyObject *fast_binary(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  Term terms[2];
  if (nargs != 2) return UNHANDLED;
  Ref scaled(with_alpha(op, args, names));
  if (!scaled || scaled.get() == UNHANDLED) return scaled.release();
  if (!read_term(args[0], &terms[0]) || !read_term(scaled.get(), &terms[1])) return UNHANDLED;
  WeftTensor *a = terms[0].tensor, *b = terms[1].tensor;
  if (!a && !b) return UNHANDLED;
  int dtype = binary_dtype(op, terms);
  if (dtype < 0) return UNHANDLED;
  bool recording = op->node_name && grad_enabled() && ((a && WEFT_REQUIRES_GRAD(a)) || (b && WEFT_REQUIRES_GRAD(b)));
  if (recording) {  // what is saved are the operands as promoted: here they already are
    if ((a && WEFT_DTYPE(a) != dtype) || (b && WEFT_DTYPE(b) != dtype)) return UNHANDLED;
  }
  PyObject *out = binary_into(op, terms, dtype, nullptr);
  if (!recording || !out || out == UNHANDLED) return out;
  Ref owned(out);
  return record_op(op, {CoreArg(args[0]), CoreArg(scaled.get())}, out) ? owned.release() : nullptr;
}

// ------------------------------------------------------------------------------------------------- in place

// Whether `t` shares memory with the target without being exactly it.
bool overlaps(const WeftTensor *target, const WeftTensor *t) {
  if (!t || t->storage != target->storage || t == target) return false;
  if (t->offset == target->offset && has_sizes(t, WEFT_NDIM(target), target->sizes)) {
    bool same = true;
    for (int d = 0; d < WEFT_NDIM(t); d++) same &= t->sizes[d] == 1 || t->strides[d] == target->strides[d];
    if (same) return false;
  }
  return true;
}

// target (op)= other. With gradients to record, or of another dtype or size, the general path takes it.
PyObject *fast_inplace_binary(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  Term terms[2];
  if (nargs != 2) return UNHANDLED;
  Ref scaled(with_alpha(op, args, names));
  if (!scaled || scaled.get() == UNHANDLED) return scaled.release();
  if (!read_term(args[0], &terms[0]) || !terms[0].tensor || !read_term(scaled.get(), &terms[1])) return UNHANDLED;
  WeftTensor *target = terms[0].tensor, *other = terms[1].tensor;
  if (check_inplace(target) < 0) return nullptr;
  if (records(target) || (other && records(other)) || overlaps(target, other)) return UNHANDLED;
  int64_t sizes[WEFT_MAX_NDIM];
  int ndim = broadcast_terms(terms, 2, sizes), dtype = binary_dtype(op, terms);
  bool truth = weft_pointwise_rows[op->code].truth;
  if (ndim < 0 || dtype < 0 || !has_sizes(target, ndim, sizes) || (truth ? WEFT_BOOL : dtype) != WEFT_DTYPE(target)) return UNHANDLED;
  if (truth && dtype != WEFT_BOOL) return UNHANDLED;
  PyObject *out = binary_into(op, terms, dtype, as_object(target));
  if (out && out != UNHANDLED) weft_bump_version(target);
  return out;
}

PyObject *fast_inplace_unary(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  if (nargs != 1 || names) return UNHANDLED;
  WeftTensor *target = plain(args[0]);
  if (!target) return UNHANDLED;
  if (check_inplace(target) < 0) return nullptr;
  if (records(target) || weft_pointwise_rows[op->code].truth || unary_dtype(op, WEFT_DTYPE(target)) != WEFT_DTYPE(target)) return UNHANDLED;
  PyObject *out = unary_into(op, target, as_object(target));
  if (out && out != UNHANDLED) weft_bump_version(target);
  return out;
}

// ------------------------------------------------------------------------------------------------ where, clamp

PyObject *fast_where(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  Term terms[3];
  if (nargs != 3 || names) return UNHANDLED;
  WeftTensor *condition = plain(args[0]);
  if (!condition || WEFT_DTYPE(condition) != WEFT_BOOL || !read_term(args[1], &terms[0]) || !read_term(args[2], &terms[1])) return UNHANDLED;
  if (!terms[0].tensor && !terms[1].tensor) return UNHANDLED;
  int dtype = promoted(terms, 2);
  WeftLoop body = dtype < 0 ? nullptr : weft_kernels.where[dtype];
  if (!body) return UNHANDLED;
  bool recording = op->node_name && ((terms[0].tensor && records(terms[0].tensor)) || (terms[1].tensor && records(terms[1].tensor)));
  terms[2].tensor = condition;
  int64_t sizes[WEFT_MAX_NDIM];
  int ndim = broadcast_terms(terms, 3, sizes);
  Ref kept[2];
  if (ndim < 0) return UNHANDLED;
  // The layout is that of the first argument with the result's sizes, and the condition is the first argument.
  Term order[3] = {terms[2], terms[0], terms[1]};
  Ref out(result_of(order, 3, ndim, sizes, dtype));
  if (!out) return nullptr;
  if (!prepare(terms, 2, dtype, kept)) return failed();
  WeftTensor *tensors[4] = {condition, terms[0].tensor, terms[1].tensor, as_tensor(out.get())};
  void *numbers[4] = {nullptr, terms[0].value, terms[1].value, nullptr};
  run_loop(body, tensors, numbers, 4);
  if (recording && !record_op(op, {CoreArg(args[0]), CoreArg(args[1]), CoreArg(args[2])}, out.get())) return nullptr;
  return out.release();
}

// A bound of clamp as an element: absent ones are the dtype's limits.
bool place_bound(PyObject *bound, int dtype, bool upper, char *place) {
  if (bound && bound != Py_None) {
    Term t;
    if (!read_term(bound, &t) || t.tensor || t.kind > dtype_kind(dtype) || !place_number(&t, dtype)) return false;
    memcpy(place, t.value, sizeof t.value);
    return true;
  }
  double infinite = upper ? INFINITY : -INFINITY;
  switch (dtype) {
    case WEFT_FLOAT32: { float f = (float)infinite; memcpy(place, &f, 4); return true; }
    case WEFT_FLOAT64: memcpy(place, &infinite, 8); return true;
    case WEFT_INT32: { int32_t v = upper ? INT32_MAX : INT32_MIN; memcpy(place, &v, 4); return true; }
    case WEFT_INT64: { int64_t v = upper ? INT64_MAX : INT64_MIN; memcpy(place, &v, 8); return true; }
    default: return false;
  }
}

// clamp(input, min=None, max=None) between numbers
PyObject *fast_clamp(NativeOp *op, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  PyObject *slots[3];
  if (!bind_arguments(op, args, nargs, names, slots) || !slots[0]) return UNHANDLED;
  WeftTensor *x = plain(slots[0]);
  bool bounded = (slots[1] && slots[1] != Py_None) || (slots[2] && slots[2] != Py_None);
  if (!x || !bounded) return UNHANDLED;
  int dtype = WEFT_DTYPE(x);
  WeftLoop body = weft_kernels.pointwise[WEFT_CLAMP][dtype];
  alignas(16) char low[16], high[16];
  if (!body || is_half(dtype) || !place_bound(slots[1], dtype, false, low) || !place_bound(slots[2], dtype, true, high)) return UNHANDLED;
  Ref out(empty_like(x, dtype));
  if (!out) return nullptr;
  WeftTensor *tensors[4] = {x, nullptr, nullptr, as_tensor(out.get())};
  void *numbers[4] = {nullptr, low, high, nullptr};
  run_loop(body, tensors, numbers, 4);
  if (records(x)) {
    PyObject *lower = slots[1] ? slots[1] : Py_None, *upper = slots[2] ? slots[2] : Py_None;
    if (!record_op(op, {CoreArg(x), CoreArg(lower), CoreArg(upper)}, out.get())) return nullptr;
  }
  return out.release();
}

}  // namespace

const Family pointwise_families[] = {{"unary", fast_unary, WEFT_NUM_POINTWISE},
                                     {"gelu", fast_gelu},
                                     {"binary", fast_binary, WEFT_NUM_POINTWISE},
                                     {"inplace_binary", fast_inplace_binary, WEFT_NUM_POINTWISE},
                                     {"inplace_unary", fast_inplace_unary, WEFT_NUM_POINTWISE},
                                     {"where", fast_where},
                                     {"clamp", fast_clamp},
                                     {nullptr, nullptr}};

}  // namespace weft

// fast_pointwise.cpp: elementwise rules: unary, binary, where, clamp; results of their own and in place (their layout: result_layout.cpp).
#include <math.h>
#include <string.h>

#include "loops.h"
#include "op.h"

namespace weft {

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

// ------------------------------------------------------------------------------------------------ results

PyObject *room_for(const Call &call, WeftTensor *like, int dtype) {
  PyObject *given = call.room(dtype, WEFT_NDIM(like), like->sizes);
  return given ? Py_NewRef(given) : empty_like(like, dtype);
}

// Whether what is written into, if anything is, lies row-major as the operands do.
bool is_row_major(const Call &call) { return !call.target || call.target->word & WEFT_WORD_CONTIGUOUS; }

// ---------------------------------------------------------------------------------------------------- unary

int unary_dtype(NativeOp *op, int dtype) {
  return op->floats && dtype_kind(dtype) < KIND_FLOAT ? default_dtype() : dtype;
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
  const int out_dtype = weft_pointwise_rows[op->code].truth ? WEFT_BOOL : dtype;
  Ref out(out_given ? Py_NewRef(out_given) : empty_like(x, out_dtype));
  if (!out) return nullptr;
  WeftTensor *tensors[2] = {x, as_tensor(out.get())};
  run_loop(body, tensors, nullptr, 2);
  return out.release();
}

// Of a row-major tensor, few elements: as binary_of_alike.
PyObject *unary_of_small(Call &call, WeftTensor *x) {
  NativeOp *op = call.op;
  const int dtype = WEFT_DTYPE(x);
  const WeftLoop body = weft_kernels.pointwise[op->code][dtype];
  if (!body || !(x->word & WEFT_WORD_CONTIGUOUS) || x->numel >= kSmall || !x->numel || unary_dtype(op, dtype) != dtype || !is_row_major(call))
    return UNHANDLED;
  const int out_dtype = weft_pointwise_rows[op->code].truth ? WEFT_BOOL : dtype;
  PyObject *out = room_for(call, x, out_dtype);
  if (!out) return nullptr;
  const intptr_t count = (intptr_t)x->numel, steps[2] = {(intptr_t)weft_itemsize(dtype), (intptr_t)weft_itemsize(out_dtype)};
  char *args[2] = {weft_data(x), weft_data(as_tensor(out))};
  body(args, &count, steps, nullptr);
  return out;
}

PyObject *fast_unary(Call &call) {
  if (call.binder->n == 1) {
    PyObject *out = unary_of_small(call, call.tensor(0));
    if (out != UNHANDLED) return out ? call.made(Ref(out)) : nullptr;
  }
  if (!call.usual(1)) return UNHANDLED;
  WeftTensor *x = call.tensor(0);
  const int dtype = weft_pointwise_rows[call.op->code].truth ? WEFT_BOOL : unary_dtype(call.op, WEFT_DTYPE(x));
  PyObject *out = unary_into(call.op, x, call.room(dtype, WEFT_NDIM(x), x->sizes));
  return out == UNHANDLED ? out : call.made(Ref(out));
}

// gelu(input, *, approximate='none'): the kernel is chosen by the string.
PyObject *fast_gelu(Call &call) {
  WeftTensor *x = call.tensor(0);
  const bool tanh = PyUnicode_CompareWithASCIIString(call[1].object, "tanh") == 0;
  if (dtype_kind(WEFT_DTYPE(x)) != KIND_FLOAT || (!tanh && PyUnicode_CompareWithASCIIString(call[1].object, "none") != 0)) return UNHANDLED;
  WeftLoop body = weft_kernels.pointwise[tanh ? WEFT_GELU_TANH : WEFT_GELU][WEFT_DTYPE(x)];
  if (!body) return UNHANDLED;
  Ref out(room_for(call, x, WEFT_DTYPE(x)));
  if (!out) return nullptr;
  WeftTensor *tensors[2] = {x, as_tensor(out.get())};
  run_loop(body, tensors, nullptr, 2);
  return call.made(std::move(out));
}

// --------------------------------------------------------------------------------------------------- binary

// An argument of a binary op: a tensor, or a number with its category.
struct Term {
  WeftTensor *tensor = nullptr;
  PyObject *number = nullptr;
  DTypeKind kind = KIND_BOOL;  // of a number
  alignas(16) char value[16];  // of a number, in the dtype of the loop
};

Term term_of(const Arg &arg) {
  Term term;
  if ((term.tensor = arg.tensor)) return term;
  term.number = arg.object;
  term.kind = PyFloat_CheckExact(arg.object) ? KIND_FLOAT : PyLong_CheckExact(arg.object) ? KIND_INTEGER : KIND_BOOL;
  return term;
}

// The promoted dtype of terms, PyTorch's way: dimensioned tensors before 0-d ones before numbers; -1: leave it to Python.
int promoted(const Term *terms, int n) {
  int dtype[3] = {-1, -1, -1};  // by rank: numbers, 0-d tensors, tensors
  for (int i = 0; i < n; i++) {
    const Term &t = terms[i];
    int rank = t.tensor ? (WEFT_NDIM(t.tensor) ? 2 : 1) : 0;
    int d = t.tensor ? WEFT_DTYPE(t.tensor) : t.kind == KIND_FLOAT ? default_dtype() : t.kind == KIND_INTEGER ? WEFT_INT64 : WEFT_BOOL;
    if (dtype[rank] >= 0 && dtype[rank] != d) {
      d = promote_dtypes(dtype[rank], d);
      if (d == WEFT_NUM_DTYPES) return -1;
    }
    dtype[rank] = d;
  }
  int found = -1;
  for (int rank = 2; rank >= 0; rank--) {
    if (dtype[rank] < 0) continue;
    if (found < 0) found = dtype[rank];
    else if (dtype_kind(dtype[rank]) > dtype_kind(found)) {
      if (dtype_kind(dtype[rank]) == KIND_COMPLEX || is_wide_unsigned(found)) return -1;
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

// The same where a number that does not fit is refused; `alone` as in write_element.
bool fits(Term *t, int dtype, bool alone = false) {
  if (dtype_kind(dtype) == KIND_COMPLEX) return false;
  if (write_element(t->value, dtype, t->number, alone)) return true;
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

// What an elementwise result looks like: the sizes that its tensors broadcast to, and its layout.
struct Shape {
  int ndim = -1;               // -1: they do not broadcast
  const int64_t *sizes;
  WeftTensor *const *tensors;  // n of them
  int n;
  int64_t room[WEFT_MAX_NDIM];

  // `tensors` may have NULLs, for numbers, and stay where they are.
  Shape(WeftTensor *const *tensors, int n) : tensors(tensors), n(n) {
    const WeftTensor *like = nullptr;
    bool same = true;
    for (int i = 0; i < n && same; i++) {
      if (!tensors[i]) continue;
      if (!like) like = tensors[i];
      else same = has_sizes(tensors[i], WEFT_NDIM(like), like->sizes);
    }
    sizes = like->sizes;
    if (same) ndim = WEFT_NDIM(like);
    else broadcast();
  }
  PyObject *make(int dtype, bool row_major = false) const {
    int64_t strides[WEFT_MAX_NDIM];
    if (row_major) return empty((uint32_t)dtype, ndim, sizes, nullptr);
    return empty((uint32_t)dtype, ndim, sizes, pointwise_strides(ndim, sizes, tensors, n, strides) ? strides : nullptr);
  }

 private:
  void broadcast() {
    int most = 0;
    for (int i = 0; i < n; i++)
      if (tensors[i] && WEFT_NDIM(tensors[i]) > most) most = WEFT_NDIM(tensors[i]);
    for (int d = 0; d < most; d++) room[d] = 1;
    for (int i = 0; i < n; i++) {
      const WeftTensor *t = tensors[i];
      const int extra = t ? most - WEFT_NDIM(t) : 0;
      for (int d = 0; t && d < WEFT_NDIM(t); d++) {
        const int64_t size = t->sizes[d];
        int64_t &have = room[extra + d];
        if (size == have || size == 1) continue;
        if (have != 1) return;
        have = size;
      }
    }
    ndim = most;
    sizes = room;
  }
};

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

// `out_given`: memory of the right sizes and dtype, or NULL; or what `call` brings.
PyObject *binary_into(NativeOp *op, Term *terms, int dtype, PyObject *out_given, const Call *call = nullptr) {
  int run = loop_dtype(terms, 2, dtype);
  WeftLoop body = weft_kernels.pointwise[op->code][run];
  if (!body) return UNHANDLED;
  Ref kept[2];
  if (!prepare(terms, 2, run, kept)) return failed();
  WeftTensor *given[2] = {terms[0].tensor, terms[1].tensor};
  const Shape shape(given, 2);
  if (shape.ndim < 0) return UNHANDLED;
  const int out_dtype = weft_pointwise_rows[op->code].truth ? WEFT_BOOL : run;
  if (call && (out_dtype == WEFT_BOOL || run == dtype)) out_given = call->room(out_dtype, shape.ndim, shape.sizes);
  const bool direct = out_given && out_dtype == WEFT_DTYPE(as_tensor(out_given));
  Ref out(direct ? Py_NewRef(out_given) : shape.make(out_dtype, op->code == WEFT_POW && !terms[0].tensor));
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
  if (dtype >= 0 && op->floats && dtype_kind(dtype) < KIND_FLOAT) dtype = default_dtype();
  return dtype;
}

// What follows the operands: `alpha` of add and sub, by which the second is multiplied into `scaled` (its history is the general path's
// business). False: not handled, or an exception is set.
bool read_rest(Call &call, Term *terms, Ref *scaled) {
  if (call.binder->n == 2) return true;
  const Arg &rest = call[2];
  int64_t one;
  if (rest.none() || (exact_int(rest.object, &one) && one == 1)) return true;
  WeftTensor *other = terms[1].tensor;
  if (!is_number(rest.object) || PyBool_Check(rest.object) || !other || records(other) || WEFT_DTYPE(other) == WEFT_BOOL) return false;
  Term product[2] = {terms[1], term_of(Arg(rest.object))};
  // (The product is of the dtype of the sum, which the factor must fit.)
  if (product[1].kind > dtype_kind(WEFT_DTYPE(other)) || promoted(terms, 2) != WEFT_DTYPE(other) || !fits(product + 1, WEFT_DTYPE(other))) return false;
  NativeOp mul = {};
  mul.code = WEFT_MUL;
  scaled->reset(binary_into(&mul, product, WEFT_DTYPE(other), nullptr));
  if (!*scaled || scaled->get() == UNHANDLED) {
    (void)scaled->release();
    return false;
  }
  terms[1].tensor = as_tensor(scaled->get());
  call.args[1] = Arg(terms[1].tensor);
  return true;
}

// a + alpha * b, block by block: the products of a block are added while they are in cache.
struct Scaled {
  static constexpr int64_t kBlock = 2048;
  WeftLoop mul, add;
  const char *a, *b;
  char *out, *number;
  intptr_t item;

  static void run(void *context, int64_t begin, int64_t end, int64_t) {
    const Scaled &s = *static_cast<Scaled *>(context);
    alignas(64) char products[kBlock * 16];
    for (int64_t first = begin; first < end; first += kBlock) {
      const intptr_t n = (intptr_t)std::min(kBlock, end - first), at = first * s.item;
      char *factors[3] = {const_cast<char *>(s.b) + at, s.number, products}, *terms[3] = {const_cast<char *>(s.a) + at, products, s.out + at};
      const intptr_t of_product[3] = {s.item, 0, s.item}, of_sum[3] = {s.item, s.item, s.item};
      s.mul(factors, &n, of_product, nullptr);
      s.add(terms, &n, of_sum, nullptr);
    }
  }
};

// add and sub with an alpha, of two row-major tensors of one dtype and the same sizes, into `target` or a tensor of its own. Else UNHANDLED.
PyObject *scaled_of_alike(Call &call, WeftTensor *target) {
  WeftTensor *a = plain(call[0].object), *b = a && call.binder->n == 3 ? plain(call[1].object) : nullptr;
  if (!b || !is_number(call[2].object) || PyBool_Check(call[2].object) || records(a) || records(b) || WEFT_DTYPE(a) != WEFT_DTYPE(b)) return UNHANDLED;
  const int dtype = WEFT_DTYPE(a), code = call.op->code;
  int64_t one;
  if ((exact_int(call[2].object, &one) && one == 1) || is_half(dtype)) return UNHANDLED;
  if ((code != WEFT_ADD && code != WEFT_SUB) || dtype == WEFT_BOOL || !(a->word & b->word & WEFT_WORD_CONTIGUOUS) || !has_sizes(b, WEFT_NDIM(a), a->sizes)) return UNHANDLED;
  Term alpha = term_of(Arg(call[2].object));
  Scaled s = {weft_kernels.pointwise[WEFT_MUL][dtype], weft_kernels.pointwise[code][dtype], weft_data(a), weft_data(b), nullptr, (char *)alpha.value, weft_itemsize(dtype)};
  if (!s.mul || !s.add || alpha.kind > dtype_kind(dtype) || !fits(&alpha, dtype)) return UNHANDLED;
  Ref out(target ? Py_NewRef(as_object(target)) : empty_like(a, dtype));
  if (!out) return nullptr;
  s.out = weft_data(as_tensor(out.get()));
  Loop::parallel(a->numel, a->numel, 1, Scaled::run, &s);
  return out.release();
}

// Of two row-major tensors of one dtype and the same sizes, few elements: there is nothing to promote, broadcast or cast. Else UNHANDLED.
PyObject *binary_of_alike(Call &call, WeftTensor *a, WeftTensor *b) {
  NativeOp *op = call.op;
  const int dtype = WEFT_DTYPE(a);
  if (dtype != WEFT_DTYPE(b) || !(a->word & b->word & WEFT_WORD_CONTIGUOUS) || a->numel != b->numel || a->numel >= kSmall || !a->numel ||
      !has_sizes(b, WEFT_NDIM(a), a->sizes) || (op->floats && dtype_kind(dtype) < KIND_FLOAT) || (dtype == WEFT_BOOL && op->code == WEFT_SUB) || !is_row_major(call))
    return UNHANDLED;
  const WeftLoop body = weft_kernels.pointwise[op->code][dtype];
  if (!body) return UNHANDLED;
  const int out_dtype = weft_pointwise_rows[op->code].truth ? WEFT_BOOL : dtype;
  PyObject *out = room_for(call, a, out_dtype);
  if (!out) return nullptr;
  const intptr_t item = weft_itemsize(dtype), count = (intptr_t)a->numel, steps[3] = {item, item, (intptr_t)weft_itemsize(out_dtype)};
  char *args[3] = {weft_data(a), weft_data(b), weft_data(as_tensor(out))};
  body(args, &count, steps, nullptr);
  return out;
}

PyObject *fast_binary(Call &call) {
  NativeOp *op = call.op;
  int64_t alpha = 1;
  if (call[0].tensor && call[1].tensor && (call.binder->n == 2 || call[2].none() || (exact_int(call[2].object, &alpha) && alpha == 1))) {
    PyObject *out = binary_of_alike(call, call[0].tensor, call[1].tensor);
    if (out != UNHANDLED) return out ? call.made(Ref(out)) : nullptr;
  }
  Term terms[2] = {term_of(call[0]), term_of(call[1])};
  PyObject *into = terms[0].tensor && is_row_major(call) ? call.room(WEFT_DTYPE(terms[0].tensor), WEFT_NDIM(terms[0].tensor), terms[0].tensor->sizes) : nullptr;
  if (PyObject *made = scaled_of_alike(call, into ? call.target : nullptr); made != UNHANDLED) return made;
  Ref scaled;
  if (!read_rest(call, terms, &scaled)) return failed();
  WeftTensor *a = terms[0].tensor, *b = terms[1].tensor;
  if (!a && !b) return UNHANDLED;
  int dtype = binary_dtype(op, terms);
  if (dtype < 0) return UNHANDLED;
  if (call.recording()) {  // what is saved are the operands as promoted: here they already are
    if ((a && WEFT_DTYPE(a) != dtype) || (b && WEFT_DTYPE(b) != dtype)) return UNHANDLED;
  }
  PyObject *out = binary_into(op, terms, dtype, nullptr, &call);
  return out == UNHANDLED ? out : call.made(Ref(out));
}

// ------------------------------------------------------------------------------------------------- in place

// target (op)= other. With gradients to record, or of another dtype or size, the general path takes it.
PyObject *fast_inplace_binary(Call &call) {
  NativeOp *op = call.op;
  Term terms[2] = {term_of(call[0]), term_of(call[1])};
  Ref scaled;
  if (terms[0].tensor && terms[1].tensor && check_overlap(terms[0].tensor, terms[1].tensor) < 0) return nullptr;
  if (terms[0].tensor && call.binder->n == 3) {
    WeftTensor *t = terms[0].tensor;
    if (check_inplace(t) < 0) return nullptr;
    PyObject *made = overlaps(t, terms[1].tensor) ? UNHANDLED : scaled_of_alike(call, t);
    if (made && made != UNHANDLED) weft_bump_version(t);
    if (made != UNHANDLED) return made;
  }
  if (!terms[0].tensor || !read_rest(call, terms, &scaled)) return failed();
  WeftTensor *target = terms[0].tensor, *other = terms[1].tensor;
  if (check_inplace(target) < 0) return nullptr;
  if (records(target) || (other && records(other)) || overlaps(target, other)) return UNHANDLED;
  WeftTensor *given[2] = {target, other};
  const Shape shape(given, 2);
  const int dtype = binary_dtype(op, terms);
  bool truth = weft_pointwise_rows[op->code].truth;
  if (shape.ndim < 0 || dtype < 0 || !has_sizes(target, shape.ndim, shape.sizes) || (truth ? WEFT_BOOL : dtype) != WEFT_DTYPE(target)) return UNHANDLED;
  if (truth && dtype != WEFT_BOOL) return UNHANDLED;
  PyObject *out = binary_into(op, terms, dtype, as_object(target));
  if (out && out != UNHANDLED) weft_bump_version(target);
  return out;
}

PyObject *fast_inplace_unary(Call &call) {
  NativeOp *op = call.op;
  WeftTensor *target = call.tensor(0);
  if (!call.usual(1)) return UNHANDLED;
  if (check_inplace(target) < 0) return nullptr;
  if (records(target) || weft_pointwise_rows[op->code].truth || unary_dtype(op, WEFT_DTYPE(target)) != WEFT_DTYPE(target)) return UNHANDLED;
  PyObject *out = unary_into(op, target, as_object(target));
  if (out && out != UNHANDLED) weft_bump_version(target);
  return out;
}

// ------------------------------------------------------------------------------------------------ where, clamp

// Of a row-major mask and values alike, few elements: as binary_of_alike.
PyObject *where_of_alike(Call &call, WeftTensor *condition, WeftTensor *a, WeftTensor *b) {
  const int dtype = WEFT_DTYPE(a), ndim = WEFT_NDIM(a);
  const WeftLoop body = weft_kernels.where[dtype];
  if (!body || dtype != WEFT_DTYPE(b) || !(condition->word & a->word & b->word & WEFT_WORD_CONTIGUOUS) || a->numel >= kSmall || !a->numel ||
      !has_sizes(b, ndim, a->sizes) || !has_sizes(condition, ndim, a->sizes) || !is_row_major(call))
    return UNHANDLED;
  PyObject *out = room_for(call, a, dtype);
  if (!out) return nullptr;
  const intptr_t item = weft_itemsize(dtype), count = (intptr_t)a->numel, steps[4] = {1, item, item, item};
  char *args[4] = {weft_data(condition), weft_data(a), weft_data(b), weft_data(as_tensor(out))};
  body(args, &count, steps, nullptr);
  return out;
}

PyObject *fast_where(Call &call) {
  WeftTensor *condition = call.tensor(0);
  if (!condition || WEFT_DTYPE(condition) != WEFT_BOOL || call[1].none() || call[2].none()) return UNHANDLED;
  if (call[1].tensor && call[2].tensor) {
    PyObject *out = where_of_alike(call, condition, call[1].tensor, call[2].tensor);
    if (out != UNHANDLED) return out ? call.made(Ref(out)) : nullptr;
  }
  Term terms[2] = {term_of(call[1]), term_of(call[2])};
  if (!terms[0].tensor && !terms[1].tensor) return UNHANDLED;
  int dtype = promoted(terms, 2);
  WeftLoop body = dtype < 0 ? nullptr : weft_kernels.where[dtype];
  if (!body) return UNHANDLED;
  Ref kept[2];
  if (!prepare(terms, 2, dtype, kept)) return failed();
  for (Term t : terms)
    if (!t.tensor && !fits(&t, dtype, true)) return UNHANDLED;
  WeftTensor *given[3] = {condition, terms[0].tensor, terms[1].tensor};
  const Shape shape(given, 3);
  if (shape.ndim < 0) return UNHANDLED;
  PyObject *into = call.room(dtype, shape.ndim, shape.sizes);
  Ref out(into ? Py_NewRef(into) : shape.make(dtype));
  if (!out) return nullptr;
  WeftTensor *tensors[4] = {condition, terms[0].tensor, terms[1].tensor, as_tensor(out.get())};
  void *numbers[4] = {nullptr, terms[0].value, terms[1].value, nullptr};
  run_loop(body, tensors, numbers, 4);
  return call.made(std::move(out));
}

// A bound of clamp as an element: absent ones are the dtype's limits. (A bound that is rounded to a half lies on the same side of every
// half, and is what the result is rounded to.)
bool place_bound(PyObject *bound, int dtype, bool upper, char *place) {
  if (bound != Py_None) {
    if (!is_number(bound)) return false;
    Term t = term_of(Arg(bound));
    if (t.kind > dtype_kind(dtype) || !fits(&t, dtype)) return false;
    memcpy(place, t.value, sizeof t.value);
    return true;
  }
  double infinite = upper ? INFINITY : -INFINITY;
  switch (dtype) {
    case WEFT_FLOAT32: { float f = (float)infinite; memcpy(place, &f, 4); return true; }
    case WEFT_FLOAT64: memcpy(place, &infinite, 8); return true;
    case WEFT_FLOAT16: { const uint16_t bits = upper ? 0x7c00 : 0xfc00; memcpy(place, &bits, 2); return true; }
    case WEFT_BFLOAT16: { const uint16_t bits = upper ? 0x7f80 : 0xff80; memcpy(place, &bits, 2); return true; }
    case WEFT_INT32: { int32_t v = upper ? INT32_MAX : INT32_MIN; memcpy(place, &v, 4); return true; }
    case WEFT_INT64: { int64_t v = upper ? INT64_MAX : INT64_MIN; memcpy(place, &v, 8); return true; }
    default: return false;
  }
}

// Row-major floats between bounds of the same sizes, the greater of one and then the less of the other while they are in cache.
struct Bounded {
  static constexpr int64_t kBlock = 2048;
  WeftLoop greater, less;
  char *x, *low, *high, *out;
  intptr_t item;

  static void run(void *context, int64_t begin, int64_t end, int64_t) {
    const Bounded &b = *static_cast<Bounded *>(context);
    const intptr_t steps[3] = {b.item, b.item, b.item};
    for (int64_t i = begin; i < end; i += kBlock) {
      const intptr_t count = std::min(kBlock, end - i), at = i * b.item;
      char *raised[3] = {b.x + at, b.low + at, b.out + at}, *lowered[3] = {b.out + at, b.high + at, b.out + at};
      b.greater(raised, &count, steps, nullptr);
      b.less(lowered, &count, steps, nullptr);
    }
  }
};

PyObject *between_tensors(Call &call, WeftTensor *x, WeftTensor *low, WeftTensor *high) {
  const int dtype = WEFT_DTYPE(x);
  Bounded b = {weft_kernels.pointwise[WEFT_MAXIMUM][dtype], weft_kernels.pointwise[WEFT_MINIMUM][dtype], nullptr, nullptr, nullptr, nullptr, weft_itemsize(dtype)};
  if (dtype_kind(dtype) != KIND_FLOAT || !b.greater || !b.less || !(x->word & low->word & high->word & WEFT_WORD_CONTIGUOUS) || records(x)) return UNHANDLED;
  for (WeftTensor *bound : {low, high})
    if (WEFT_DTYPE(bound) != dtype || records(bound) || !has_sizes(bound, WEFT_NDIM(x), x->sizes)) return UNHANDLED;
  Ref out(empty_like(x, dtype));
  if (!out) return nullptr;
  b.x = weft_data(x), b.low = weft_data(low), b.high = weft_data(high), b.out = weft_data(as_tensor(out.get()));
  Loop::parallel(2 * x->numel, x->numel, 2, Bounded::run, &b);
  return call.made(std::move(out));
}

// clamp(input, min=None, max=None) between numbers, or tensors
PyObject *fast_clamp(Call &call) {
  WeftTensor *x = call.tensor(0);
  if (call[1].none() && call[2].none()) return UNHANDLED;
  WeftTensor *least = plain(call[1].object), *most = plain(call[2].object);
  if (least && most) return between_tensors(call, x, least, most);
  int dtype = WEFT_DTYPE(x);
  WeftLoop body = weft_kernels.pointwise[WEFT_CLAMP][dtype];
  alignas(16) char low[16], high[16];
  if (!body || dtype == WEFT_BOOL) return UNHANDLED;
  if (!place_bound(call[1].object, dtype, false, low) || !place_bound(call[2].object, dtype, true, high)) return UNHANDLED;
  Ref out(room_for(call, x, dtype));
  if (!out) return nullptr;
  WeftTensor *tensors[4] = {x, nullptr, nullptr, as_tensor(out.get())};
  void *numbers[4] = {nullptr, low, high, nullptr};
  run_loop(body, tensors, numbers, 4);
  return call.made(std::move(out));
}

PyObject *fast_inplace_clamp(Call &call) {
  WeftTensor *target = call.tensor(0);
  const int dtype = WEFT_DTYPE(target);
  WeftLoop body = weft_kernels.pointwise[WEFT_CLAMP][dtype];
  alignas(16) char low[16], high[16];
  if ((call[1].none() && call[2].none()) || !body || dtype == WEFT_BOOL || records(target)) return UNHANDLED;
  if (!place_bound(call[1].object, dtype, false, low) || !place_bound(call[2].object, dtype, true, high)) return UNHANDLED;
  if (check_inplace(target) < 0) return nullptr;
  WeftTensor *tensors[4] = {target, nullptr, nullptr, target};
  void *numbers[4] = {nullptr, low, high, nullptr};
  run_loop(body, tensors, numbers, 4);
  weft_bump_version(target);
  return Py_NewRef(as_object(target));
}

}  // namespace

const RuleRow pointwise_rules[] = {{"gelu", fast_gelu}, {"where", fast_where}, {"clamp", fast_clamp}, {"clamp_", fast_inplace_clamp}, {nullptr, nullptr}};

RuleRow pointwise_rule(const char *name) {
  for (int code = 0; code < WEFT_NUM_POINTWISE; code++) {
    const WeftPointwiseRow &row = weft_pointwise_rows[code];
    const size_t n = strlen(row.name);
    const bool inplace = strncmp(name, row.name, n) == 0 && strcmp(name + n, "_") == 0;
    if (!inplace && strcmp(name, row.name) != 0) continue;
    if (row.arity == 1) return {row.name, inplace ? fast_inplace_unary : fast_unary, code};
    if (row.arity == 2) return {row.name, inplace ? fast_inplace_binary : fast_binary, code};
  }
  return {name, nullptr};
}

}  // namespace weft

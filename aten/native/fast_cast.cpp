// fast_cast.cpp: copies: other dtypes, copies laid out alike or row-major, copy_, detach.
#include <string.h>

#include "loops.h"
#include "op.h"

namespace weft {

bool copy_into(WeftTensor *out, WeftTensor *source) {
  WeftLoop body = weft_kernels.cast[WEFT_DTYPE(source)][WEFT_DTYPE(out)];
  if (!body && WEFT_DTYPE(source) == WEFT_DTYPE(out)) body = weft_kernels.copy[__builtin_ctz((unsigned)weft_itemsize(WEFT_DTYPE(out)))];  // complex numbers only move
  if (!body) return false;
  bool plain_copy = WEFT_DTYPE(source) == WEFT_DTYPE(out) && (source->word & out->word & WEFT_WORD_CONTIGUOUS) && source->numel == out->numel;
  if (plain_copy && out->numel < 65536) {
    if (out->numel) memmove(weft_data(out), weft_data(source), (size_t)(out->numel * weft_itemsize(WEFT_DTYPE(out))));
    return true;
  }
  Loop loop(WEFT_NDIM(out), out->sizes);
  loop.add(source);
  loop.add(out);
  loop.run(body, nullptr);
  return true;
}

PyObject *cast_tensor(WeftTensor *t, int dtype) {
  if (!weft_kernels.cast[WEFT_DTYPE(t)][dtype]) return nullptr;
  Ref out(empty_like(t, dtype));
  if (!out) return nullptr;
  copy_into(as_tensor(out.get()), t);
  return out.release();
}

// Recorded as clone: what derives it is the same whatever the layout.
static PyObject *copied(WeftTensor *t, bool row_major) {
  if (!weft_kernels.cast[WEFT_DTYPE(t)][WEFT_DTYPE(t)]) return UNHANDLED;
  Ref out(row_major ? empty(t->word, WEFT_NDIM(t), t->sizes, nullptr) : empty_like(t, WEFT_DTYPE(t)));
  if (!out) return nullptr;
  copy_into(as_tensor(out.get()), t);
  if (!records(t)) return out.release();
  return record_op(core_ops[CORE_CLONE], {Arg(t)}, out.get()) ? out.release() : nullptr;
}

PyObject *contiguous_copy(WeftTensor *t) { return copied(t, true); }

PyObject *converted(WeftTensor *t, int dtype) {
  if (WEFT_DTYPE(t) == dtype) return Py_NewRef(as_object(t));
  Ref out(cast_tensor(t, dtype));
  if (!out) return PyErr_Occurred() ? nullptr : UNHANDLED;
  if (!records(t) || dtype_kind(dtype) < KIND_FLOAT) return out.release();
  return record_op(core_ops[CORE_CAST], {Arg(t), Arg(dtype_object(dtype))}, out.get()) ? out.release() : nullptr;
}

namespace {

// float(), long(), ...: `code` is the dtype
PyObject *fast_convert(Call &call) { return call.usual(1) ? converted(call.tensor(0), call.op->code) : UNHANDLED; }

// to(first, second, non_blocking, copy, *, dtype, device, memory_format, other) of dtypes and of the CPU
PyObject *fast_to(Call &call) {
  int dtype = (int)call[5].integer;
  bool moves = !call[6].none();
  for (int i : {1, 2}) {
    PyObject *given = call[i].object;
    if (given == Py_None) continue;
    if (Py_TYPE(given) == dtype_type) {
      dtype = dtype_code(given);
    } else {
      if (!is_main_memory(given)) return UNHANDLED;
      moves = true;
    }
  }
  if ((dtype < 0 && !moves) || call.truth(4) || !call.usual(7)) return UNHANDLED;
  return converted(call.tensor(0), dtype < 0 ? WEFT_DTYPE(call.tensor(0)) : dtype);
}

PyObject *fast_cast(Call &call) {
  return WEFT_DTYPE(call.tensor(0)) == call[1].integer ? UNHANDLED : converted(call.tensor(0), (int)call[1].integer);
}

PyObject *fast_clone(Call &call) { return call.usual(1) ? copied(call.tensor(0), false) : UNHANDLED; }

PyObject *fast_row_major(Call &call) { return contiguous_copy(call.tensor(0)); }

PyObject *fast_contiguous(Call &call) {
  if (!call.usual(1)) return UNHANDLED;
  return call.tensor(0)->word & WEFT_WORD_CONTIGUOUS ? Py_NewRef(call[0].object) : contiguous_copy(call.tensor(0));
}

PyObject *fast_detach(Call &call) {
  WeftTensor *t = call.tensor(0);
  return alias(t, WEFT_NDIM(t), t->sizes, t->strides, t->offset);
}

bool broadcasts_to(const WeftTensor *t, const WeftTensor *target) {
  int extra = WEFT_NDIM(target) - WEFT_NDIM(t);
  if (extra < 0) return false;
  for (int d = 0; d < WEFT_NDIM(t); d++)
    if (t->sizes[d] != 1 && t->sizes[d] != target->sizes[extra + d]) return false;
  return true;
}

// copy_(input, src): without gradients to record and without shared memory
PyObject *fast_copy_(Call &call) {
  WeftTensor *out = call.tensor(0), *source = call.tensor(1);
  if (!out || !source || source->storage == out->storage || !broadcasts_to(source, out)) return UNHANDLED;
  if (check_inplace(out) < 0) return nullptr;
  if (records(out) || records(source)) return UNHANDLED;
  if (!copy_into(out, source)) return UNHANDLED;
  weft_bump_version(out);
  return Py_NewRef(call[0].object);
}

// copy(input, src): src in the layout and the dtype of row-major input, or written into a target
PyObject *fast_functional_copy(Call &call) {
  WeftTensor *x = call.tensor(0), *source = call.tensor(1);
  if (!x || !source || !broadcasts_to(source, x)) return UNHANDLED;
  PyObject *const room = call.room(WEFT_DTYPE(x), WEFT_NDIM(x), x->sizes);
  if (!room && !(x->word & WEFT_WORD_CONTIGUOUS)) return UNHANDLED;
  Ref out(room ? Py_NewRef(room) : empty(x->word, WEFT_NDIM(x), x->sizes, nullptr));
  if (!out) return nullptr;
  if (!copy_into(as_tensor(out.get()), source)) return UNHANDLED;
  return dtype_kind(WEFT_DTYPE(x)) < KIND_FLOAT ? out.release() : call.made(std::move(out));
}

// fill_(input, number) and zero_(input), `code` 1
PyObject *fast_fill_(Call &call) {
  const bool zero = call.op->code == 1;
  WeftTensor *out = call.tensor(0);
  if (!zero && !is_number(call[1].object)) return UNHANDLED;
  int dtype = WEFT_DTYPE(out);
  WeftLoop body = weft_kernels.cast[dtype][dtype];
  if (!body) return UNHANDLED;
  if (check_fill(out) < 0) return nullptr;
  if (records(out)) return UNHANDLED;
  if (zero && (out->word & WEFT_WORD_CONTIGUOUS) && out->numel < 65536) {
    if (out->numel) memset(weft_data(out), 0, (size_t)(out->numel * weft_itemsize(dtype)));
  } else {
    alignas(16) char value[16] = {};
    if (!zero && !write_element(value, dtype, call[1].object, out->numel == 1)) {
      PyErr_Clear();
      return UNHANDLED;
    }
    Loop loop(WEFT_NDIM(out), out->sizes);
    loop.add_number(value);
    loop.add(out);
    loop.run(body, nullptr);
  }
  weft_bump_version(out);
  return Py_NewRef(call[0].object);
}

}  // namespace

const RuleRow copy_rules[] = {{"float", fast_convert, WEFT_FLOAT32}, {"double", fast_convert, WEFT_FLOAT64}, {"half", fast_convert, WEFT_FLOAT16},
                                 {"bfloat16", fast_convert, WEFT_BFLOAT16}, {"long", fast_convert, WEFT_INT64}, {"int", fast_convert, WEFT_INT32},
                                 {"short", fast_convert, WEFT_INT16}, {"char", fast_convert, WEFT_INT8}, {"byte", fast_convert, WEFT_UINT8},
                                 {"bool", fast_convert, WEFT_BOOL}, {"to", fast_to}, {"cast", fast_cast}, {"clone", fast_clone},
                                 {"row_major", fast_row_major},
                                 {"contiguous", fast_contiguous}, {"detach", fast_detach}, {"copy_", fast_copy_}, {"copy", fast_functional_copy},
                                 {"fill_", fast_fill_, 0}, {"zero_", fast_fill_, 1}, {nullptr, nullptr}};

}  // namespace weft

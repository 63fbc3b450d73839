// fast_masked.cpp: masked_fill with a number or a tensor of one element, without history; in place, too.
#include "loops.h"
#include "op.h"

namespace weft {

// Whether `t` is shown with the sizes of `like` by broadcasting.
static bool broadcasts_to(const WeftTensor *t, const WeftTensor *like) {
  const int extra = WEFT_NDIM(like) - WEFT_NDIM(t);
  for (int d = 0; extra >= 0 && d < WEFT_NDIM(t); d++)
    if (t->sizes[d] != 1 && t->sizes[d] != like->sizes[extra + d]) return false;
  return extra >= 0;
}

// masked_fill(input, mask, value)
static PyObject *fast_masked_fill(Call &call) {
  WeftTensor *x = call.tensor(0), *mask = call.tensor(1), *value = plain(call[2].object);
  const int dtype = WEFT_DTYPE(x);
  WeftLoop body = weft_kernels.where[dtype];
  if (!body || WEFT_DTYPE(mask) != WEFT_BOOL || !broadcasts_to(mask, x) || records(x)) return UNHANDLED;
  alignas(16) char number[16];
  if (value) {
    if (WEFT_NDIM(value) || WEFT_DTYPE(value) != dtype || records(value)) return UNHANDLED;
  } else {
    PyObject *given = call[2].object;
    const DTypeKind kind = PyFloat_CheckExact(given) ? KIND_FLOAT : PyLong_CheckExact(given) ? KIND_INTEGER : KIND_BOOL;
    if (!is_number(given) || kind > dtype_kind(dtype) || dtype_kind(dtype) == KIND_COMPLEX) return UNHANDLED;
    if (!write_element(number, dtype, given)) {
      PyErr_Clear();
      return UNHANDLED;
    }
  }
  PyObject *into = call.room(dtype, WEFT_NDIM(x), x->sizes);
  Ref out(into ? Py_NewRef(into) : empty((uint32_t)dtype, WEFT_NDIM(x), x->sizes, nullptr));
  if (!out) return nullptr;
  Loop loop(WEFT_NDIM(x), x->sizes);
  loop.add(mask);
  value ? loop.add(value) : loop.add_number(number);
  loop.add(x);
  loop.add(as_tensor(out.get()));
  loop.run(body, nullptr);
  return out.release();
}

const RuleRow masked_rules[] = {{"masked_fill", fast_masked_fill}, {nullptr, nullptr}};

}  // namespace weft

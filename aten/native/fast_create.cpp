// fast_create.cpp: new tensors: zeros, ones, empty, full, their _like and new_ forms, arange of integers; rules of draws (philox.cpp).
#include <string.h>

#include "native_kernel.h"
#include "philox.h"

namespace weft {

namespace {

enum Code { ZEROS, ONES, EMPTY, FULL };

// A row-major tensor of one value (given as a Python number unless it is 0 or undefined).
PyObject *filled(Code code, int dtype, int ndim, const int64_t *sizes, PyObject *number) {
  for (int d = 0; d < ndim; d++)
    if (sizes[d] < 0) return UNHANDLED;
  WeftLoop copy = weft_kernels.cast[dtype][dtype];
  if (!copy) return UNHANDLED;
  alignas(16) char value[16] = {};
  if (code == ONES || code == FULL) {
    bool real = number && PyFloat_CheckExact(number) && dtype_kind(dtype) < KIND_FLOAT;
    int64_t numel = 1;
    for (int d = 0; d < ndim; d++) numel = sizes[d] == 1 ? numel : 0;
    Ref one(number ? Py_NewRef(number) : PyLong_FromLong(1));
    if (real || !one || !write_element(value, dtype, one.get(), numel == 1)) {
      PyErr_Clear();
      return UNHANDLED;
    }
  }
  Ref out(empty((uint32_t)dtype, ndim, sizes, nullptr));
  if (!out || code == EMPTY) return out.release();
  WeftTensor *t = as_tensor(out.get());
  if (!t->numel) return out.release();
  if (code == ZEROS && t->numel < 65536) {
    memset(weft_data(t), 0, (size_t)(t->numel * weft_itemsize(dtype)));
    return out.release();
  }
  Loop loop(ndim, sizes);
  loop.add_number(value);
  loop.add(t);
  loop.run(copy, nullptr);
  return out.release();
}

// What a factory takes by keyword, from argument `at` on: dtype, a device, then what is to be the default. False: not handled.
bool read_keywords(const Call &call, int at, int *dtype) {
  if (!call.usual(at + 2)) return false;
  if (call[at].integer >= 0) *dtype = (int)call[at].integer;
  return true;
}

// zeros(*size), ones(*size), empty(*size); full(size, value) with FULL
PyObject *fast_create(Call &call) {
  const bool full = call.op->code == FULL;
  int dtype = default_dtype();
  PyObject *value = full ? call[1].object : nullptr;
  if (full && !PyFloat_CheckExact(value)) dtype = PyBool_Check(value) ? WEFT_BOOL : WEFT_INT64;
  if (!read_keywords(call, full ? 2 : 1, &dtype)) return UNHANDLED;
  return filled((Code)call.op->code, dtype, call[0].n, call[0].list, value);
}

// zeros_like(input), ...; full_like(input, value), of row-major tensors: others keep their layout
PyObject *fast_like(Call &call) {
  const bool full = call.op->code == FULL;
  WeftTensor *t = call.tensor(0);
  int dtype = WEFT_DTYPE(t);
  if (!(t->word & WEFT_WORD_CONTIGUOUS) || !read_keywords(call, full ? 2 : 1, &dtype)) return UNHANDLED;
  return filled((Code)call.op->code, dtype, WEFT_NDIM(t), t->sizes, full ? call[1].object : nullptr);
}

// new_zeros(input, *size), ...; new_full(input, size, value)
PyObject *fast_new(Call &call) {
  const bool full = call.op->code == FULL;
  int dtype = WEFT_DTYPE(call.tensor(0));
  if (!read_keywords(call, full ? 3 : 2, &dtype)) return UNHANDLED;
  return filled((Code)call.op->code, dtype, call[1].n, call[1].list, full ? call[2].object : nullptr);
}

// arange(end), arange(start, end, step=1) of ints, as int64
PyObject *fast_arange(Call &call) {
  int64_t start = 0, end, step;
  int dtype = WEFT_INT64;
  if (!read_keywords(call, 3, &dtype) || dtype != WEFT_INT64 || !exact_int(call[2].object, &step)) return UNHANDLED;
  if (!exact_int(call[call[1].none() ? 0 : 1].object, &end) || (!call[1].none() && !exact_int(call[0].object, &start))) return UNHANDLED;
  constexpr int64_t kLimit = int64_t(1) << 40;
  if (step <= 0 || end < start || start < -kLimit || end > kLimit || step > kLimit) return UNHANDLED;
  int64_t n = (end - start + step - 1) / step;
  Ref out(empty(WEFT_INT64, 1, &n, nullptr));
  if (!out) return nullptr;
  if (n) count_int64(reinterpret_cast<int64_t *>(weft_data(as_tensor(out.get()))), n, start, step);
  return out.release();
}

}  // namespace

const RuleRow create_rules[] = {{"zeros", fast_create, ZEROS}, {"ones", fast_create, ONES}, {"empty", fast_create, EMPTY}, {"full", fast_create, FULL},
                                {"zeros_like", fast_like, ZEROS}, {"ones_like", fast_like, ONES}, {"empty_like", fast_like, EMPTY},
                                {"full_like", fast_like, FULL}, {"new_zeros", fast_new, ZEROS}, {"new_ones", fast_new, ONES},
                                {"new_empty", fast_new, EMPTY}, {"new_full", fast_new, FULL}, {"arange", fast_arange}, {"bernoulli", fast_bernoulli},
                                {"dropout", fast_dropout}, {"dropout_kept", fast_dropout_kept}, {"uniform_", fast_fill, DRAW_UNIFORM},
                                {"normal_fill_", fast_fill, DRAW_NORMAL}, {"exponential_", fast_fill, DRAW_OTHER}, {"cauchy_", fast_fill, DRAW_OTHER},
                                {"log_normal_", fast_fill, DRAW_OTHER}, {"geometric_", fast_fill, DRAW_OTHER}, {"random_", fast_fill, DRAW_OTHER},
                                {"bernoulli_fill_", fast_fill, DRAW_OTHER},
                                {nullptr, nullptr}};

}  // namespace weft

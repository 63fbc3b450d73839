// selection.cpp: elements where a mask holds, taken one after the other and put back; and whether all elements of two tensors are equal.
#include <string.h>

#include <algorithm>

#include "by_dtype.h"
#include "native_kernel.h"
#include "reduce.h"

namespace weft {

int64_t count_true(const char *mask, int64_t n) {
  constexpr uint64_t low = 0x7f7f7f7f7f7f7f7full, ones = 0x0101010101010101ull;
  int64_t count = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t word;
    memcpy(&word, mask + i, 8);
    count += (int64_t)(((((word & low) + low) | word) >> 7 & ones) * ones >> 56);
  }
  for (; i < n; i++) count += mask[i] != 0;
  return count;
}

namespace {

// The elements where the mask holds, `count` of them. Which those are nobody foresees: no branch on it.
template <class T> void take(const T *x, const char *mask, int64_t n, T *to, int64_t count) {
  int64_t k = 0;
  for (int64_t i = 0; i < n && k < count; i++) {
    to[k] = x[i];
    k += mask[i] != 0;
  }
}

// x, but from where the mask holds, in order; `from` has `count` elements at least, and x one.
template <class T> void put(const T *x, const char *mask, int64_t n, const T *from, int64_t count, T *to) {
  int64_t k = 0;
  for (int64_t i = 0; i < n; i++) {
    const bool here = mask[i] && k < count;
    to[i] = here ? from[k] : x[i];
    k += here;
  }
}

bool same_sizes(const WeftTensor *a, const WeftTensor *b) { return WEFT_NDIM(a) == WEFT_NDIM(b) && std::equal(a->sizes, a->sizes + WEFT_NDIM(a), b->sizes); }
bool is_dense(const WeftTensor *t) { return (t->word & WEFT_WORD_CONTIGUOUS) != 0; }

// (x, mask) -> elements
PyObject *masked_select_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *x = nargs == 2 ? dense(args[0]) : nullptr, *mask = x ? dense(args[1]) : nullptr;
  if (!mask || WEFT_DTYPE(mask) != WEFT_BOOL || !same_sizes(x, mask)) return not_for_these();
  const char *holds = weft_data(mask);
  const int64_t n = x->numel, count = n ? count_true(holds, n) : 0;
  Ref out(empty((uint32_t)WEFT_DTYPE(x), 1, &count, nullptr));
  if (!out) return nullptr;
  const bool known = !count || by_size<bool>(weft_itemsize(WEFT_DTYPE(x)), false, [&](auto type) {
    typedef typename decltype(type)::type T;
    take(reinterpret_cast<const T *>(weft_data(x)), holds, n, reinterpret_cast<T *>(weft_data(as_tensor(out.get()))), count);
    return true;
  });
  return known ? out.release() : not_for_these();
}

}  // namespace

// masked_select(input, mask) of row-major tensors of the same sizes
PyObject *fast_masked_select(Call &call) {
  PyObject *const args[] = {call[0].object, call[1].object};
  Ref out(masked_select_kernel(nullptr, args, 2));
  return out && out.get() == Py_NotImplemented ? UNHANDLED : call.made(std::move(out));
}

// masked_scatter(input, mask, source)
PyObject *fast_masked_scatter(Call &call) {
  WeftTensor *x = call.tensor(0), *mask = call.tensor(1), *source = call.tensor(2);
  if (!x->numel || !is_dense(x) || !is_dense(mask) || !is_dense(source)) return UNHANDLED;
  if (WEFT_DTYPE(mask) != WEFT_BOOL || WEFT_DTYPE(source) != WEFT_DTYPE(x) || !same_sizes(x, mask)) return UNHANDLED;
  const int64_t count = count_true(weft_data(mask), x->numel);
  if (count > source->numel) return UNHANDLED;
  Ref out(empty_like(x, WEFT_DTYPE(x)));
  if (!out) return nullptr;
  by_size<bool>(weft_itemsize(WEFT_DTYPE(x)), false, [&](auto type) {
    typedef typename decltype(type)::type T;
    const T *own = reinterpret_cast<const T *>(weft_data(x)), *from = count ? reinterpret_cast<const T *>(weft_data(source)) : own;
    put(own, weft_data(mask), x->numel, from, count, reinterpret_cast<T *>(weft_data(as_tensor(out.get()))));
    return true;
  });
  if (!records(x) && !records(source)) return out.release();
  const Ref saved(Py_BuildValue("(ON)", as_object(mask), size_object(WEFT_NDIM(source), source->sizes)));
  PyObject *result = out.get(), *const inputs[] = {as_object(x), as_object(source)};
  if (!saved || record(call.op->node_name, whole_backwards[WHOLE_MASKED_SCATTER], inputs, 2, &result, 1, saved.get()) < 0) return nullptr;
  return out.release();
}

// equal(input, other) of row-major tensors
PyObject *fast_equal(Call &call) {
  constexpr int64_t kBlock = 4096;
  WeftTensor *x = call.tensor(0), *y = call.tensor(1);
  const int dtype = WEFT_DTYPE(x), item = weft_itemsize(dtype);
  const WeftLoop differ = weft_kernels.pointwise[WEFT_NE][dtype];
  if (dtype != WEFT_DTYPE(y) || !differ || !is_dense(x) || !is_dense(y)) return UNHANDLED;
  if (!same_sizes(x, y)) Py_RETURN_FALSE;
  char found[kBlock];
  const intptr_t steps[3] = {item, item, 1};
  for (int64_t i = 0; i < x->numel; i += kBlock) {
    const intptr_t n = (intptr_t)std::min(kBlock, x->numel - i);
    char *places[3] = {weft_data(x) + i * item, weft_data(y) + i * item, found};
    differ(places, &n, steps, nullptr);
    if (memchr(found, 1, (size_t)n)) Py_RETURN_FALSE;
  }
  Py_RETURN_TRUE;
}

const NativeKernel selection_kernels[] = {{"masked_select", WEFT_KERNEL(masked_select_kernel)}, {nullptr, nullptr}};

}  // namespace weft

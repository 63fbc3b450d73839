// result_layout.cpp: how elementwise results lie in memory, as aten/meta.py says it for Metas.
#include <algorithm>

#include "op.h"

namespace weft {

namespace {

// Whether the strides are a permutation of row-major ones.
bool is_dense(const WeftTensor *t) {
  int order[WEFT_MAX_NDIM], m = 0;
  for (int d = 0; d < WEFT_NDIM(t); d++) {
    if (t->sizes[d] == 1) continue;
    int k = m++;
    for (; k > 0 && t->strides[order[k - 1]] >= t->strides[d]; k--) order[k] = order[k - 1];  // by stride, of equal ones the later first
    order[k] = d;
  }
  int64_t expected = 1;
  for (int k = 0; k < m; k++) {
    if (t->strides[order[k]] != expected) return false;
    expected *= t->sizes[order[k]];
  }
  return true;
}

// The stride of a tensor by a dim of the result that it broadcasts to; 0 where it broadcasts.
int64_t step_of(const WeftTensor *t, int ndim, const int64_t *sizes, int d) {
  const int own = d - (ndim - WEFT_NDIM(t));
  return own < 0 || (t->sizes[own] == 1 && sizes[d] != 1) ? 0 : t->strides[own];
}

// 1: dim a lies outside of b in memory, -1: inside, 0: no tensor says so.
int lies_outside(int ndim, const int64_t *sizes, WeftTensor *const *tensors, int n, int a, int b) {
  for (int i = 0; i < n; i++) {
    if (!tensors[i]) continue;
    const int64_t x = step_of(tensors[i], ndim, sizes, a), y = step_of(tensors[i], ndim, sizes, b);
    if (x == 0 || y == 0) continue;
    if (x != y) return x > y ? 1 : -1;
    if (sizes[a] > sizes[b]) return 1;
  }
  return 0;
}

// Without gaps, the dims in the order that the first tensor gives them which has them both apart from 0.
void strides_in_order(int ndim, const int64_t *sizes, WeftTensor *const *tensors, int n, int64_t *strides) {
  int order[WEFT_MAX_NDIM];
  for (int d = 0; d < ndim; d++) {
    if (sizes[d] == 0) return contiguous_strides(ndim, sizes, strides);
    order[d] = ndim - 1 - d;
  }
  for (int i = 1; i < ndim; i++) {
    int at = i;  // of what nothing says the dim stays where it is, and is compared with what lies farther inside
    for (int k = i - 1; k >= 0; k--) {
      const int outside = lies_outside(ndim, sizes, tensors, n, order[k], order[at]);
      if (outside < 0) break;
      if (outside > 0) std::swap(order[k], order[at]), at = k;
    }
  }
  int64_t step = 1;
  for (int k = 0; k < ndim; k++) {
    strides[order[k]] = step;
    step *= sizes[order[k]];
  }
}

}  // namespace

void dense_strides(WeftTensor *t, int64_t *strides) {
  if (t->word & WEFT_WORD_CONTIGUOUS) contiguous_strides(WEFT_NDIM(t), t->sizes, strides);
  else if (is_dense(t)) std::copy(t->strides, t->strides + WEFT_NDIM(t), strides);
  else strides_in_order(WEFT_NDIM(t), t->sizes, &t, 1, strides);
}

PyObject *empty_like(WeftTensor *t, int dtype) {
  if (t->word & WEFT_WORD_CONTIGUOUS && WEFT_NDIM(t) <= WEFT_INLINE_NDIM) return empty_like_row_major(t, dtype);
  int64_t strides[WEFT_MAX_NDIM];
  uint32_t word = (t->word & ~WEFT_WORD_DTYPE) | (uint32_t)dtype;
  if (t->word & WEFT_WORD_CONTIGUOUS) return empty(word, WEFT_NDIM(t), t->sizes, nullptr);
  dense_strides(t, strides);
  return empty(word, WEFT_NDIM(t), t->sizes, strides);
}

bool channels_innermost(const WeftTensor *t) {
  const int n = WEFT_NDIM(t);
  if ((n != 4 && n != 5) || (t->word & WEFT_WORD_CONTIGUOUS)) return false;
  int64_t least = 0;
  for (int k = 0; k < n; k++) {
    const int d = k == 0 ? 1 : k == n - 1 ? 0 : n - k;
    const int64_t stride = t->strides[d];
    if (t->sizes[d] == 0 || stride == 0 || stride < least || (d == 0 && least == t->strides[1])) return false;
    least = stride * t->sizes[d];
  }
  return true;
}

bool pointwise_strides(int ndim, const int64_t *sizes, WeftTensor *const *tensors, int n, int64_t *strides) {
  WeftTensor *first = nullptr;
  bool row_major = true, alike = true;
  int count = 0;
  for (int i = 0; i < n; i++) {
    WeftTensor *t = tensors[i];
    if (!t) continue;
    count++;
    row_major &= (t->word & WEFT_WORD_CONTIGUOUS) != 0;
    if (!first) first = t;
    else if (alike) {
      alike = WEFT_NDIM(t) == WEFT_NDIM(first);
      for (int d = 0; alike && d < WEFT_NDIM(t); d++) alike = t->sizes[d] == first->sizes[d] && t->strides[d] == first->strides[d];
    }
  }
  if (row_major) return false;
  if (count == 1) dense_strides(first, strides);
  else if (alike && is_dense(first)) std::copy(first->strides, first->strides + ndim, strides);
  else strides_in_order(ndim, sizes, tensors, n, strides);
  return true;
}

}  // namespace weft

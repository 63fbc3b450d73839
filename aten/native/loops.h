// loops.h: running an elementwise loop over tensors of any layout.
#ifndef WEFT_LOOPS_H
#define WEFT_LOOPS_H

#include "kernels.h"
#include "native.h"

namespace weft {

constexpr int kMaxOperands = 4;

// One operand of a loop: memory and, in bytes, its step along each dimension of the result (0 where broadcast).
struct Operand {
  char *data;
  int64_t item;  // bytes of one element
  int64_t steps[WEFT_MAX_NDIM];
};

// The operands of one elementwise call, inputs first, the result last. add() in that order.
class Loop {
 public:
  Loop(int ndim, const int64_t *sizes) : ndim_(ndim), sizes_(sizes) {}
  void add(const WeftTensor *t);                  // broadcast to the sizes
  void add_number(const void *value) {            // one value for all
    Operand &o = operands_[n_++];
    o.data = static_cast<char *>(const_cast<void *>(value));
    o.item = 0;
    for (int i = 0; i < ndim_; i++) o.steps[i] = 0;
  }
  // The operand added last runs backwards along a dimension.
  void reverse(int dim) {
    Operand &o = operands_[n_ - 1];
    if (sizes_[dim] > 0) o.data += o.steps[dim] * (sizes_[dim] - 1);
    o.steps[dim] = -o.steps[dim];
  }
  // part(job, begin, end, worker) over [0, n), each worth `each` of `total` elements: on several threads, without the GIL,
  // when there are many.
  static void parallel(int64_t total, int64_t n, int64_t each, void (*part)(void *, int64_t, int64_t, int64_t), void *job);
  // Runs the loop over all elements, on several threads (without the GIL) when there are many.
  void run(WeftLoop loop, void *data);

 private:
  friend struct LoopJob;
  friend struct RowsJob;
  friend struct TileJob;
  void collapse();
  void widen_items(WeftLoop *body);
  int64_t copied_bytes(WeftLoop body) const;
  bool run_tiles(WeftLoop body, void *data, int64_t total);  // tiles.cpp; false: nothing to pack
  uint32_t scattered() const;
  int dimension_across(uint32_t packed) const;
  int ndim_, n_ = 0;
  const int64_t *sizes_;
  int64_t extents_[WEFT_MAX_NDIM];
  Operand operands_[kMaxOperands];
};

}  // namespace weft
#endif

// places.h: elements at the places that index tensors name, read or written, for the eager ops.
//
// One description serves gather, scatter, index, index_put, index_select, embedding and their sums: `far` is the tensor that is
// indexed, `near` the one that has an element (or a block of them) for each element of the indices.
#ifndef WEFT_PLACES_H
#define WEFT_PLACES_H

#include "native.h"

namespace weft {

constexpr int kMaxIndices = 16;

enum class PlaceOp { TAKE, PUT, ADD, MULTIPLY, MAXIMUM, MINIMUM };  // TAKE: near = far[place]; the others: far[place] op= near

struct Places {
  char *far, *near;
  int n_indices = 0, ndim = 0;             // index tensors, all of one size; their dims
  int64_t sizes[WEFT_MAX_NDIM];
  int64_t near_steps[WEFT_MAX_NDIM];       // all steps in elements
  int64_t far_steps[WEFT_MAX_NDIM] = {};   // of what moves along with the indices (gather's other dims); else 0
  const int64_t *index[kMaxIndices];
  int64_t index_steps[kMaxIndices][WEFT_MAX_NDIM];
  int64_t extent[kMaxIndices], stride[kMaxIndices];  // of the dims of `far` that are indexed
  bool wraps = true;                       // negative indices count from the end
  int block_ndim = 0;                      // dims that move as a whole
  int64_t block_sizes[WEFT_MAX_NDIM], block_far[WEFT_MAX_NDIM], block_near[WEFT_MAX_NDIM];
  int bad_index = -1;                      // which index was out of range, and its value
  int64_t bad_value = 0;

  // Index tensor k, which broadcasts to `sizes`, selects along a dim of `far`; false if it is no such int64 tensor of the CPU.
  bool add_index(const WeftTensor *t, int64_t far_extent, int64_t far_stride);
  void add_block(int64_t size, int64_t far_step, int64_t near_step) {
    block_sizes[block_ndim] = size, block_far[block_ndim] = far_step, block_near[block_ndim++] = near_step;
  }
  // Dims of elements but `dim` along which the (one) index says the same become a block, which moves as a whole.
  void make_blocks(int dim);
  int64_t count() const;  // elements of an index
};

bool has_place_op(PlaceOp op, int dtype);
// The elements of the indices in row-major order, so that equal places are written in that order; TAKE on several threads. False:
// an index is out of range (some before it have been written). Without the GIL where there are many.
bool run_places(Places &places, PlaceOp op, int dtype);

extern PyMethodDef places_functions[];

}  // namespace weft
#endif

// pool.h: windows of images of at most three dims one by one: where their largest elements stand, and gradients brought back to them.
#ifndef WEFT_POOL_H
#define WEFT_POOL_H

#include <algorithm>

#include "native.h"

namespace weft {

// Depth, height, width; dims that are not there have one window of one element.
struct PoolWindows {
  int64_t images, size[3], out[3], kernel[3], stride[3], padding[3], dilation[3];  // images: of all leading dims
  bool beyond;      // ceil_mode: the last window of a dim may reach beyond the padding
  bool of_padding;  // count_include_pad: whether means count padding
  double divisor;   // by which sums are divided instead of by their number; 0: none

  bool apart(int d) const { return stride[d] > (kernel[d] - 1) * dilation[d]; }
  int64_t area() const { return size[1] * size[2]; }

  // How many windows fit along dim d; none: 0 or less.
  int64_t places(int d) const {
    const int64_t span = size[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1;
    if (span < 0) return beyond && -span < stride[d] ? 1 : 0;
    if (!beyond) return span / stride[d] + 1;
    const int64_t n = (span + stride[d] - 1) / stride[d] + 1;
    return (n - 1) * stride[d] >= size[d] + padding[d] ? n - 1 : n;  // the last window must start inside
  }
  // How many elements of window o along dim d a mean counts.
  int64_t counted(int d, int64_t o) const {
    const int64_t start = o * stride[d] - padding[d], end = start + kernel[d];
    return of_padding ? std::min(end, size[d] + padding[d]) - start : std::min(end, size[d]) - std::max(start, int64_t(0));
  }
};

// The first largest element of each window (a NaN is larger than all), and its place in the flattened image.
void pool_extremes(const PoolWindows &w, int dtype, const char *in, char *values, int64_t *places);
extern PyMethodDef pool_functions[];

}  // namespace weft
#endif

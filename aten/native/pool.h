// pool.h: windows of images of at most two dims one by one: where their largest elements stand, and gradients brought back to them.
#ifndef WEFT_POOL_H
#define WEFT_POOL_H

#include "native.h"

namespace weft {

struct PoolWindows {
  int64_t images, size[2], out[2], kernel[2], stride[2], padding[2], dilation[2];  // height, width; images: of all leading dims

  bool apart() const { return stride[0] > (kernel[0] - 1) * dilation[0] && stride[1] > (kernel[1] - 1) * dilation[1]; }
};

// The first largest element of each window (a NaN is larger than all), and its place in the flattened image.
void pool_extremes(const PoolWindows &w, int dtype, const char *in, char *values, int64_t *places);
extern PyMethodDef pool_functions[];

}  // namespace weft
#endif

// column_norm.h: batch_norm of [samples, channels]: a channel is a column, its elements lie a row apart.
#ifndef WEFT_COLUMN_NORM_H
#define WEFT_COLUMN_NORM_H

#include "weft.h"

namespace weft {

// float32 or float64, row-major; weight and bias are of `channels` elements, or NULL.
struct ColumnNorm {
  int dtype;
  int64_t samples, channels;
  const char *x, *weight, *bias;
  double eps;

  bool takes() const;
  // y of each column's own statistics: means and sums of squared deviations, which are left in `means` and `squares`.
  void train(char *y, double *means, double *squares) const;
  // y of given means and variances, of the dtype.
  void evaluate(char *y, const char *mean, const char *variance) const;
  // The gradients of x, weight and bias from that of y, in training.
  void backward(const char *g, char *gx, char *gw, char *gb) const;
};

}  // namespace weft
#endif

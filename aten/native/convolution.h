// convolution.h: what a convolution is, and the way of most of them.
#ifndef WEFT_CONVOLUTION_H
#define WEFT_CONVOLUTION_H

#include "weft.h"

namespace weft {

// A cross-correlation of up to three spatial dimensions (missing ones in front are 1): position p meets place
// p * stride + tap * dilation - before of an image whose elements lie `hole` apart, zeros between and around them.
struct ConvolutionSizes {
  int64_t images, groups, channels, made;    // channels and results of a group
  int64_t size[3], kernel[3], result[3], stride[3], before[3], dilation[3], hole[3];
  int64_t taps, places, pixels;              // products of kernel, result, size
};

// By the loops of shifted.h, for float and double: of images with their zeros around them, row-major: x [images, groups * channels, *size],
// weight [groups * made, channels, *kernel], out [images, groups * made, *result]. False: not for these sizes, nothing is written.
template <class T> bool shifted_convolution(const ConvolutionSizes &c, const T *x, const T *weight, const T *bias, T *out, const WeftKernelRuntime *runtime);
// The derivative by the weights, for g as `out`. Also false where x or g is not finite: gradients of zeros are not skipped.
template <class T> bool shifted_convolution_weight(const ConvolutionSizes &c, const T *g, const T *x, T *weight, const WeftKernelRuntime *runtime);

}  // namespace weft
#endif

// convolution.h: convolutions of tensors, for the eager ops.
#ifndef WEFT_CONVOLUTION_H
#define WEFT_CONVOLUTION_H

#include "native.h"

namespace weft {

extern PyMethodDef convolution_functions[];

}  // namespace weft
#endif

// accumulate.h: sums of values into indexed places, for the eager ops.
#ifndef WEFT_ACCUMULATE_H
#define WEFT_ACCUMULATE_H

#include "native.h"

namespace weft {

extern PyMethodDef accumulate_functions[];

}  // namespace weft
#endif

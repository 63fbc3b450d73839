// fill.cpp: all tables of this instruction set.
#include "vectors.h"

extern "C" void WEFT_GLUE(weft_fill_kernels_, WEFT_ISA)(WeftKernels *k) {
  k->isa = sizeof(float) * F32::kLanes == 64 ? "avx512" : "avx2";
  WEFT_FILL(floats)(k);
  WEFT_FILL(halves)(k);
  WEFT_FILL(integers)(k);
  WEFT_FILL(power)(k);
  WEFT_FILL(choice)(k);
  WEFT_FILL(cast)(k);
  WEFT_FILL(transpose)(k);
  WEFT_FILL(philox)(k);
  WEFT_FILL(order)(k);
  WEFT_FILL(reduce)(k);
  WEFT_FILL(rows)(k);
  WEFT_FILL(backward)(k);
}

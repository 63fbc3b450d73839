// gemm_float32.cpp: matrix products summed in float32, for one instruction set.
#include "weft.h"

#include "gemm_kernel.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

extern "C" void JOIN(weft_fill_gemm_float32_, WEFT_ISA)(WeftGemmTable *table) {
  table->run_float32 = weft_gemm::run<float>;
  table->store_float32 = weft_gemm::store_plain<float>;
}

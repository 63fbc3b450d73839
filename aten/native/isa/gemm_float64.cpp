// gemm_float64.cpp: matrix products summed in float64, for one instruction set.
#include "weft.h"

#include "gemm_kernel.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

extern "C" void JOIN(weft_fill_gemm_float64_, WEFT_ISA)(WeftGemmTable *table) {
  table->run_float64 = weft_gemm::run<double>;
  table->store_float64 = weft_gemm::store_plain<double>;
}

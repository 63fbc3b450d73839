// kernels.cpp: the table of eager kernels in use. Without an instruction set that aten/native/isa is built for, entries stay
// NULL, and ops take their general path.
#include "op.h"

#include "kernels.h"
#include "statistics.h"

WeftKernels weft_kernels;
WeftStatistics weft_statistics;

namespace weft {

bool init_kernels() {
  weft_kernels.isa = "none";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && weft_fill_kernels_v3) {
    weft_fill_kernels_v3(&weft_kernels);
    if (weft_fill_statistics_v3) weft_fill_statistics_v3(&weft_statistics);
    bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (wide && weft_fill_kernels_v4) weft_fill_kernels_v4(&weft_kernels);
    if (wide && weft_fill_statistics_v4) weft_fill_statistics_v4(&weft_statistics);
  }
  return true;
}

}  // namespace weft

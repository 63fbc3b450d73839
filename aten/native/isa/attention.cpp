// attention.cpp: attention and its derivative, for one instruction set.
#include "weft.h"

#include <initializer_list>

#include "attention_kernel.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

extern "C" void JOIN(weft_fill_attention_, WEFT_ISA)(WeftGemmTable *table) {
  table->attention = weft_gemm::attention;
  table->attention_derivative = weft_gemm::attention_derivative;
}

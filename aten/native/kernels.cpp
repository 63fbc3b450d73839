// kernels.cpp: the table of eager kernels in use. Without an instruction set that aten/native/isa is built for, entries stay
// NULL, and ops take their general path.
#include "op.h"

#include <algorithm>

#include "distance.h"
#include "division.h"
#include "embedding.h"
#include "factor.h"
#include "fourier.h"
#include "kernels.h"
#include "shifted.h"
#include "statistics.h"

WeftKernels weft_kernels;
WeftStatistics weft_statistics;
WeftShifted weft_shifted;
const WeftPointwiseRow weft_pointwise_rows[WEFT_NUM_POINTWISE] = {WEFT_POINTWISE_ROWS};

namespace weft {

FourierTable fourier;
FactorTable factor_table;
DistanceTable distance_table;
DivisionTable division_table;
EmbeddingTable embedding_table;

// The tables for the processor's instruction set, at most `level`.
static void fill_tables(int level) {
  weft_kernels = WeftKernels{};
  weft_statistics = WeftStatistics{};
  weft_shifted = WeftShifted{};
  fourier = FourierTable{};
  factor_table = FactorTable{};
  distance_table = DistanceTable{};
  division_table = DivisionTable{};
  embedding_table = EmbeddingTable{};
  weft_kernels.isa = "none";
  if (level < 3 || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !weft_fill_kernels_v3) return;
  weft_fill_kernels_v3(&weft_kernels);
  if (weft_fill_statistics_v3) weft_fill_statistics_v3(&weft_statistics);
  if (weft_fill_shifted_v3) weft_fill_shifted_v3(&weft_shifted);
  if (weft_fill_fourier_v3) weft_fill_fourier_v3(&fourier);
  if (weft_fill_factor_v3) weft_fill_factor_v3(&factor_table);
  if (weft_fill_distance_v3) weft_fill_distance_v3(&distance_table);
  if (weft_fill_division_v3) weft_fill_division_v3(&division_table);
  if (weft_fill_embedding_v3) weft_fill_embedding_v3(&embedding_table);
  bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
              __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (level < 4 || !wide) return;
  if (weft_fill_kernels_v4) weft_fill_kernels_v4(&weft_kernels);
  if (weft_fill_statistics_v4) weft_fill_statistics_v4(&weft_statistics);
  if (weft_fill_shifted_v4) weft_fill_shifted_v4(&weft_shifted);
  if (weft_fill_fourier_v4) weft_fill_fourier_v4(&fourier);
  if (weft_fill_factor_v4) weft_fill_factor_v4(&factor_table);
  if (weft_fill_distance_v4) weft_fill_distance_v4(&distance_table);
  if (weft_fill_division_v4) weft_fill_division_v4(&division_table);
  if (weft_fill_embedding_v4) weft_fill_embedding_v4(&embedding_table);
}

// pointwise_rows() -> [(name, arity)], by code
PyObject *pointwise_rows(PyObject *, PyObject *) {
  PyObject *rows = PyList_New(WEFT_NUM_POINTWISE);
  for (int code = 0; rows && code < WEFT_NUM_POINTWISE; code++) {
    PyObject *row = Py_BuildValue("si", weft_pointwise_rows[code].name, weft_pointwise_rows[code].arity);
    if (!row) Py_CLEAR(rows);
    else PyList_SET_ITEM(rows, code, row);
  }
  return rows;
}

bool init_kernels() {
  fill_tables(4);
  return true;
}

// _use_kernels(level): for tests that compare instruction sets, while no other thread runs; the name of what is in use now.
PyObject *use_kernels(PyObject *, PyObject *arg) {
  long level = PyLong_AsLong(arg);
  if (level == -1 && PyErr_Occurred()) return nullptr;
  if (!wait_for_calls()) return nullptr;
  fill_tables((int)std::min<long>(level, 4));
  return PyUnicode_FromString(weft_kernels.isa);
}

}  // namespace weft

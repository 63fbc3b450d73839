// embedding.h: sums and maxima of rows of a table, as tables of plain functions, one set an instruction set.
//
// A sum goes over the rows in order, so numbers do not depend on the instruction set.
#ifndef WEFT_EMBEDDING_H
#define WEFT_EMBEDDING_H

#include <stdint.h>

namespace weft {

template <class T> struct Bags {
  // out [width] = the sum of rows `at` (n of them) of `table` [*, width], each times its scale (NULL: 1).
  void (*sum)(int64_t n, int64_t width, const T *table, const int64_t *at, const T *scales, T *out);
  // The largest element of each column of those rows, n > 0, and which row it is from: the first of equal ones, the first NaN.
  void (*most)(int64_t n, int64_t width, const T *table, const int64_t *at, T *out, int64_t *from);
  // to [width] += scale * row
  void (*add)(int64_t width, T scale, const T *row, T *to);
  T (*dot)(int64_t width, const T *a, const T *b);
};

struct EmbeddingTable {
  Bags<float> single;
  Bags<double> wide;
};

void weft_fill_embedding_v3(EmbeddingTable *) __attribute__((weak));
void weft_fill_embedding_v4(EmbeddingTable *) __attribute__((weak));
extern EmbeddingTable embedding_table;  // the table in use; without an instruction set its entries are NULL

}  // namespace weft
#endif

// distance.h: distances between rows and their derivatives, as tables of plain functions, one set an instruction set.
//
// A distance is a chain over the columns, whatever the vectors: numbers do not depend on the instruction set.
#ifndef WEFT_DISTANCE_H
#define WEFT_DISTANCE_H

#include <stdint.h>

namespace weft {

enum Norm { NORM_0, NORM_1, NORM_2, NORM_MAX };  // NORM_0: how many differ

template <class T> struct Distances {
  // The distances of a row x [k] from m others: number j has element l at columns[l * step + j]. NaN wins.
  void (*row)(Norm norm, int64_t k, int64_t m, const T *x, const T *columns, int64_t step, T *out);
  // to [k] += the sum over j < m of weights[j] times the derivative of the distance of x from row j of y [m, k], which is distances[j]:
  // none for NORM_0, for NORM_2 the difference of the rows (the weight was divided by the distance), else the signs of it, for NORM_MAX of what attains it.
  void (*pull)(Norm norm, int64_t k, int64_t m, const T *x, const T *y, const T *weights, const T *distances, T *to);
};

struct DistanceTable {
  Distances<float> single;
  Distances<double> wide;
};

void weft_fill_distance_v3(DistanceTable *) __attribute__((weak));
void weft_fill_distance_v4(DistanceTable *) __attribute__((weak));
extern DistanceTable distance_table;  // the table in use; without an instruction set its entries are NULL

}  // namespace weft
#endif

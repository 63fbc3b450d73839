// fourier.h: the passes of discrete Fourier transforms, as tables of plain functions, one set an instruction set.
//
// Stockham's passes (Van Loan, "Computational frameworks for the fast Fourier transform", 1992, 1.7) over planes of real and imaginary
// parts. Every element goes through the same operations, whatever runs beside it: numbers do not depend on the instruction set.
#ifndef WEFT_FOURIER_H
#define WEFT_FOURIER_H

#include <stdint.h>

namespace weft {

constexpr int kMostPrime = 31;  // sizes are products of primes up to it
constexpr int64_t kFourierLanes = 16;

template <class T> struct FourierPlan {
  int64_t n;
  int count;
  const int *radices;                       // `count` of them, eights first
  const T *cosine, *sine;                   // of -2 pi t / n
  const T *first_cosine, *first_sine;       // of -2 pi p k / n at (k - 1) n / 8 + p, k from 1 to 7, p < n / 8: the factors of a first pass of 8
};

template <class T> struct FourierPlanes {
  T *re, *im;
};

template <class T> struct Fourier {
  // `lanes` transforms at a time: element t of transform l is number t * lanes + l. Whether the result is in y, not in x.
  bool (*passes)(const FourierPlan<T> &, int64_t lanes, FourierPlanes<T> x, FourierPlanes<T> y);
  // One transform, where it `fits`: from and to complex numbers in memory, or the planes x or y where `in` or `out` is NULL; both planes
  // are written. `swapped`: real parts and imaginary parts change places. The planes that the result is in, if it is there.
  bool (*fits)(const FourierPlan<T> &);
  FourierPlanes<T> (*whole)(const FourierPlan<T> &, bool swapped, const T *in, T *out, FourierPlanes<T> x, FourierPlanes<T> y);
  // The first half of the spectrum of 2 h real numbers from z, the spectrum of h pairs of them; `whole` is the plan of 2 h. And back:
  // from half of a spectrum, whose parts are exchanged in z.
  void (*halve)(const FourierPlan<T> &whole, int64_t h, FourierPlanes<T> z, T *out);
  void (*join)(const FourierPlan<T> &whole, int64_t h, const T *in, FourierPlanes<T> z);
  // The same of kFourierLanes transforms, between planes: of h + 1 numbers of half of a spectrum, and of h pairs of real numbers.
  void (*halve_planes)(const FourierPlan<T> &whole, int64_t h, FourierPlanes<T> z, FourierPlanes<T> half);
  void (*join_planes)(const FourierPlan<T> &whole, int64_t h, FourierPlanes<T> half, FourierPlanes<T> z);
  // Complex numbers of kFourierLanes transforms that lie `row` numbers of T apart, as planes, and back.
  void (*planes_of_lines)(const T *x, int64_t row, int64_t count, FourierPlanes<T> to);
  void (*lines_of_planes)(FourierPlanes<T> from, int64_t count, T *y, int64_t row);
  // The same of transforms that lie side by side: `row` numbers of T from one element of them all to the next.
  void (*planes_of_columns)(const T *x, int64_t row, int64_t count, FourierPlanes<T> to);
  void (*columns_of_planes)(FourierPlanes<T> from, int64_t count, T *y, int64_t row);
};

struct FourierTable {
  Fourier<float> single;
  Fourier<double> wide;
};

void weft_fill_fourier_v3(FourierTable *) __attribute__((weak));
void weft_fill_fourier_v4(FourierTable *) __attribute__((weak));
extern FourierTable fourier;  // the table in use; without an instruction set its entries are NULL

template <class T> const Fourier<T> &fourier_of();
template <> inline const Fourier<float> &fourier_of<float>() { return fourier.single; }
template <> inline const Fourier<double> &fourier_of<double>() { return fourier.wide; }

}  // namespace weft
#endif

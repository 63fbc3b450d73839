// cast.cpp: every real dtype to every other, and to complex ones. A float becomes an integer by way of int32, or int64 for uint8, uint32 and what is
// wider (the processor's "indefinite" value, the minimum, for what does not fit there and NaN), and is cut to the width; uint64 has its
// upper half by way of int64 too. Those are PyTorch's results on x86. Bool is "not equal to zero".
#include "vectors.h"

namespace {

struct Bool {
  typedef uint8_t Stored;
};
template <class S> struct Int {
  typedef S Stored;
};

template <class S> struct By { typedef int64_t T; };
template <> struct By<int8_t> { typedef int32_t T; };
template <> struct By<int16_t> { typedef int32_t T; };
template <> struct By<uint16_t> { typedef int32_t T; };
template <> struct By<int32_t> { typedef int32_t T; };
template <class S> using Whole = typename By<S>::T;

template <class From> inline auto value(typename From::Stored x) { return From::widen(x); }
template <> inline auto value<Bool>(uint8_t x) { return (uint8_t)(x != 0); }
#define INTEGER(S) \
  template <> inline auto value<Int<S>>(S x) { return x; }
INTEGER(uint8_t) INTEGER(int8_t) INTEGER(int16_t) INTEGER(int32_t) INTEGER(int64_t) INTEGER(uint16_t) INTEGER(uint32_t)
INTEGER(uint64_t)

template <class To> struct Put {
  template <class T> static inline typename To::Stored call(T x) { return To::narrow((typename To::Lane)x); }
};
template <> struct Put<Bool> {
  template <class T> static inline uint8_t call(T x) { return x != 0; }
};
template <class S> struct Put<Int<S>> {
  template <class T> static inline S call(T x) { return (S)x; }
  static inline S call(float x) { return whole(x); }
  static inline S call(double x) { return whole(x); }
  template <class F> static inline S whole(F x) {
    if constexpr (sizeof(S) == 8 && (S)-1 > 0)
      return x >= (F)0x1p63 ? (S)(int64_t)(x - (F)0x1p63) ^ (S)1 << 63 : (S)(int64_t)x;
    else return (S)(Whole<S>)x;
  }
};

template <class From, class To> void cast(char **args, const intptr_t *count, const intptr_t *steps, void *) {
  const intptr_t n = *count;  // stores of bytes may alias it
  typedef typename From::Stored A;
  typedef typename To::Stored B;
  const char *a = args[0];
  char *b = args[1];
  if (steps[0] == sizeof(A) && steps[1] == sizeof(B)) {
    const A *x = (const A *)a;
    B *y = (B *)b;
#pragma GCC ivdep
    for (intptr_t i = 0; i < n; i++) y[i] = Put<To>::call(value<From>(x[i]));
    return;
  }
  for (intptr_t i = 0; i < n; i++) {
    A x;
    memcpy(&x, a + i * steps[0], sizeof x);
    const B y = Put<To>::call(value<From>(x));
    memcpy(b + i * steps[1], &y, sizeof y);
  }
}

// Copies move whole items. Sources that run backwards or repeat one item go by registers.
template <class T> void copy(char **args, const intptr_t *count, const intptr_t *steps, void *) {
  const intptr_t n = *count;  // stores of bytes may alias it
  constexpr intptr_t item = sizeof(T);
  if (steps[0] == item && steps[1] == item) {
    memmove(args[1], args[0], n * item);
    return;
  }
  typedef T Unaligned __attribute__((aligned(1), may_alias));
  const Unaligned *x = (const Unaligned *)args[0];
  Unaligned *y = (Unaligned *)args[1];
  if (steps[1] == item && steps[0] == -item) {
#pragma GCC ivdep
    for (intptr_t i = 0; i < n; i++) y[i] = x[-i];
    return;
  }
  if (steps[1] == item && steps[0] == 0) {
    const T value = *x;
    for (intptr_t i = 0; i < n; i++) y[i] = value;
    return;
  }
  if (steps[1] == item && steps[0] == 2 * item) {
#pragma GCC ivdep
    for (intptr_t i = 0; i < n; i++) y[i] = x[2 * i];
    return;
  }
  for (intptr_t i = 0; i < n; i++) memcpy(args[1] + i * steps[1], args[0] + i * steps[0], sizeof(T));
}

// The last register of a row may overlap the one before it.
template <int kWidth> void rows_of(const char *from, intptr_t from_step, char *to, intptr_t to_step, int64_t rows, int64_t bytes) {
  typedef uint8_t Run __attribute__((vector_size(kWidth), aligned(1), may_alias));
  for (int64_t r = 0; r < rows; r++, from += from_step, to += to_step) {
    int64_t i = 0;
    for (; i + kWidth <= bytes; i += kWidth) *(Run *)(to + i) = *(const Run *)(from + i);
    if (i < bytes) *(Run *)(to + bytes - kWidth) = *(const Run *)(from + bytes - kWidth);
  }
}

void copy_rows(const char *from, intptr_t from_step, char *to, intptr_t to_step, int64_t rows, int64_t bytes) {
  const auto run = bytes >= 64 ? rows_of<64> : bytes >= 32 ? rows_of<32> : bytes >= 16 ? rows_of<16> : bytes >= 8 ? rows_of<8> : rows_of<4>;
  run(from, from_step, to, to_step, rows, bytes);
}

// Between half types and float32: whole registers.
template <class From, class To> void convert(char **args, const intptr_t *n, const intptr_t *steps, void *data) {
  if (steps[0] != sizeof(typename From::Stored) || steps[1] != sizeof(typename To::Stored)) return cast<From, To>(args, n, steps, data);
  const Contiguous<From> in(args[0], 0);
  int64_t i = 0;
  for (; i + From::kLanes <= *n; i += From::kLanes) To::store(args[1] + i * steps[1], in.full(i));
  if (i < *n) store_part<To>(args[1] + i * steps[1], in.part(i, *n - i), *n - i);
}

template <class D> constexpr bool is_float = false;
template <> constexpr bool is_float<F16> = true;
template <> constexpr bool is_float<BF16> = true;
template <> constexpr bool is_float<F32> = true;
template <class From, class To> inline void to_or_from_half(char **args, const intptr_t *n, const intptr_t *steps, void *data) {
  constexpr bool half = (sizeof(typename From::Stored) == 2 && sizeof(typename To::Stored) == 4) ||
                        (sizeof(typename From::Stored) == 4 && sizeof(typename To::Stored) == 2);
  if constexpr (half && is_float<From> && is_float<To>) convert<From, To>(args, n, steps, data);
  else cast<From, To>(args, n, steps, data);
}

// float16 to and from other dtypes than float32: by way of it, a piece at a time, in registers.
constexpr intptr_t kPiece = 512;
template <class From, class To> void through(char **args, const intptr_t *count, const intptr_t *steps, void *data) {
  alignas(64) float between[kPiece];
  const intptr_t in_steps[2] = {steps[0], sizeof(float)}, out_steps[2] = {sizeof(float), steps[1]};
  const intptr_t total = *count;
  for (intptr_t i = 0; i < total; i += kPiece) {
    const intptr_t n = total - i < kPiece ? total - i : kPiece;
    char *in[2] = {args[0] + i * steps[0], (char *)between}, *out[2] = {(char *)between, args[1] + i * steps[1]};
    to_or_from_half<From, F32>(in, &n, in_steps, data);
    to_or_from_half<F32, To>(out, &n, out_steps, data);
  }
}

// To complex numbers of two `To`, whose imaginary parts are 0.
template <class From, class To> void to_complex(char **args, const intptr_t *count, const intptr_t *steps, void *) {
  const intptr_t n = *count;
  typedef typename From::Stored A;
  struct Pair { typename To::Stored real, imaginary; };
  if (steps[0] == sizeof(A) && steps[1] == sizeof(Pair)) {
    const A *x = (const A *)args[0];
    Pair *y = (Pair *)args[1];
    for (intptr_t i = 0; i < n; i++) y[i] = {Put<To>::call(value<From>(x[i])), 0};
    return;
  }
  for (intptr_t i = 0; i < n; i++) {
    A x;
    memcpy(&x, args[0] + i * steps[0], sizeof x);
    const Pair y = {Put<To>::call(value<From>(x)), 0};
    memcpy(args[1] + i * steps[1], &y, sizeof y);
  }
}

// Between complex64 and complex128.
template <class A, class B> void between_complex(char **args, const intptr_t *count, const intptr_t *steps, void *) {
  for (intptr_t i = 0; i < *count; i++) {
    A x[2];
    memcpy(x, args[0] + i * steps[0], sizeof x);
    const B y[2] = {(B)x[0], (B)x[1]};
    memcpy(args[1] + i * steps[1], y, sizeof y);
  }
}

template <class From> void fill_from(WeftKernels *k, int from) {
  WeftLoop *row = k->cast[from];
  row[WEFT_BOOL] = cast<From, Bool>;
  row[WEFT_UINT8] = cast<From, Int<uint8_t>>;
  row[WEFT_INT8] = cast<From, Int<int8_t>>;
  row[WEFT_INT16] = cast<From, Int<int16_t>>;
  row[WEFT_INT32] = cast<From, Int<int32_t>>;
  row[WEFT_INT64] = cast<From, Int<int64_t>>;
  row[WEFT_UINT16] = cast<From, Int<uint16_t>>;
  row[WEFT_UINT32] = cast<From, Int<uint32_t>>;
  row[WEFT_UINT64] = cast<From, Int<uint64_t>>;
  row[WEFT_FLOAT16] = cast<From, F16>;
  row[WEFT_BFLOAT16] = cast<From, BF16>;
  row[WEFT_FLOAT32] = cast<From, F32>;
  row[WEFT_FLOAT64] = cast<From, F64>;
  row[WEFT_COMPLEX64] = to_complex<From, F32>;
  row[WEFT_COMPLEX128] = to_complex<From, F64>;
}

template <class D> void fill_float16(WeftKernels *k, int dtype) {
  k->cast[WEFT_FLOAT16][dtype] = through<F16, D>;
  k->cast[dtype][WEFT_FLOAT16] = through<D, F16>;
}

}  // namespace

void WEFT_FILL(cast)(WeftKernels *k) {
  fill_from<Bool>(k, WEFT_BOOL);
  fill_from<Int<uint8_t>>(k, WEFT_UINT8);
  fill_from<Int<int8_t>>(k, WEFT_INT8);
  fill_from<Int<int16_t>>(k, WEFT_INT16);
  fill_from<Int<int32_t>>(k, WEFT_INT32);
  fill_from<Int<int64_t>>(k, WEFT_INT64);
  fill_from<Int<uint16_t>>(k, WEFT_UINT16);
  fill_from<Int<uint32_t>>(k, WEFT_UINT32);
  fill_from<Int<uint64_t>>(k, WEFT_UINT64);
  fill_from<F16>(k, WEFT_FLOAT16);
  fill_from<BF16>(k, WEFT_BFLOAT16);
  fill_from<F32>(k, WEFT_FLOAT32);
  fill_from<F64>(k, WEFT_FLOAT64);
  fill_float16<Bool>(k, WEFT_BOOL);
  fill_float16<Int<uint8_t>>(k, WEFT_UINT8);
  fill_float16<Int<int8_t>>(k, WEFT_INT8);
  fill_float16<Int<int16_t>>(k, WEFT_INT16);
  fill_float16<Int<int32_t>>(k, WEFT_INT32);
  fill_float16<Int<int64_t>>(k, WEFT_INT64);
  fill_float16<Int<uint16_t>>(k, WEFT_UINT16);
  fill_float16<Int<uint32_t>>(k, WEFT_UINT32);
  fill_float16<Int<uint64_t>>(k, WEFT_UINT64);
  fill_float16<BF16>(k, WEFT_BFLOAT16);
  fill_float16<F64>(k, WEFT_FLOAT64);
  k->cast[WEFT_FLOAT16][WEFT_FLOAT32] = convert<F16, F32>;
  k->cast[WEFT_FLOAT32][WEFT_FLOAT16] = convert<F32, F16>;
  k->cast[WEFT_BFLOAT16][WEFT_FLOAT32] = convert<BF16, F32>;
  k->cast[WEFT_FLOAT32][WEFT_BFLOAT16] = convert<F32, BF16>;
  k->cast[WEFT_COMPLEX64][WEFT_COMPLEX128] = between_complex<float, double>;
  k->cast[WEFT_COMPLEX128][WEFT_COMPLEX64] = between_complex<double, float>;
  k->copy[0] = copy<uint8_t>;
  k->copy[1] = copy<uint16_t>;
  k->copy[2] = copy<uint32_t>;
  k->copy[3] = copy<uint64_t>;
  k->copy[4] = copy<unsigned __int128>;
  k->copy_rows = copy_rows;
  for (int d = 0; d <= WEFT_FLOAT64; d++) k->cast[d][d] = k->copy[__builtin_ctz((unsigned)weft_itemsize(d))];
}

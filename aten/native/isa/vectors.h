// vectors.h: how the eager kernels of one instruction set read and write memory: a full register of lanes at a time, half
// types widened to float32, the last few elements through a zeroed register, so that every value goes the same way.
#ifndef WEFT_ISA_VECTORS_H
#define WEFT_ISA_VECTORS_H

#include <stdint.h>
#include <string.h>

#include "kernels.h"
#include "vecmath.h"
#include "vecrandom.h"
#include "vecspecial.h"
// after it
#include "lanes.h"
#include "scalar_functions.h"

#define WEFT_GLUE_(a, b) a##b
#define WEFT_GLUE(a, b) WEFT_GLUE_(a, b)
#define WEFT_FILL(part) WEFT_GLUE(weft_fill_##part##_, WEFT_ISA)

void WEFT_FILL(floats)(WeftKernels *);
void WEFT_FILL(halves)(WeftKernels *);
void WEFT_FILL(integers)(WeftKernels *);
void WEFT_FILL(power)(WeftKernels *);
void WEFT_FILL(choice)(WeftKernels *);
void WEFT_FILL(cast)(WeftKernels *);
void WEFT_FILL(transpose)(WeftKernels *);
void WEFT_FILL(philox)(WeftKernels *);
void WEFT_FILL(order)(WeftKernels *);
void WEFT_FILL(reduce)(WeftKernels *);
void WEFT_FILL(rows)(WeftKernels *);
void WEFT_FILL(backward)(WeftKernels *);

namespace {

#ifdef __AVX512F__
constexpr int kBytes = 64;
#else
constexpr int kBytes = 32;
#endif

template <class T, int N> struct VecOf { typedef T type __attribute__((vector_size(sizeof(T) * N))); };
template <class T, int N> using Vec = typename VecOf<T, N>::type;

template <class To, class From> inline To bits_of(From x) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To y;
  memcpy(&y, &x, sizeof y);
  return y;
}

// A stored dtype: Lane is what arithmetic sees, kLanes how many fit a register.
template <class S> struct Plain {
  typedef S Stored;
  typedef S Lane;
  static constexpr int kLanes = kBytes / sizeof(S);
  typedef Vec<S, kLanes> V;
  static inline V load(const void *p) {
    V v;
    memcpy(&v, p, sizeof v);
    return v;
  }
  static inline void store(void *p, V v) { memcpy(p, &v, sizeof v); }
  static inline Lane widen(S x) { return x; }
  static inline S narrow(Lane x) { return x; }
};
typedef Plain<float> F32;
typedef Plain<double> F64;

// Words whose upper halves are 0, as those halves. Without AVX-512 the compiler takes lanes one by one.
template <class H, class U> inline H halves_of(U r) {
#if defined(__AVX512F__) || defined(__clang__)
  return __builtin_convertvector(r, H);
#else
  typedef Vec<int, 8> I;
  return (H)__builtin_ia32_packusdw128(__builtin_shufflevector((I)r, (I)r, 0, 1, 2, 3), __builtin_shufflevector((I)r, (I)r, 4, 5, 6, 7));
#endif
}

struct BF16 {
  typedef uint16_t Stored;
  typedef float Lane;
  static constexpr int kLanes = kBytes / 4;
  typedef Vec<float, kLanes> V;
  typedef Vec<uint32_t, kLanes> U;
  typedef Vec<uint16_t, kLanes> H;
  static inline V load(const void *p) {
    H h;
    memcpy(&h, p, sizeof h);
    return (V)(__builtin_convertvector(h, U) << 16);
  }
  // Round to nearest even; a NaN stays one.
  static inline void store(void *p, V v) {
    const U b = (U)v;
    U r = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
    r = (v != v) ? (b >> 16) | 0x40u : r;
    const H h = halves_of<H>(r);
    memcpy(p, &h, sizeof h);
  }
  static inline float widen(uint16_t x) { return bits_of<float>((uint32_t)x << 16); }
  static inline uint16_t narrow(float x) {
    const uint32_t b = bits_of<uint32_t>(x);
    return x != x ? (uint16_t)((b >> 16) | 0x40u) : (uint16_t)((b + 0x7fffu + ((b >> 16) & 1u)) >> 16);
  }
};

struct F16 {
  typedef uint16_t Stored;
  typedef float Lane;
  static constexpr int kLanes = kBytes / 4;
  typedef Vec<float, kLanes> V;
  typedef Vec<short, kLanes> H;
  static inline V load(const void *p) {
    H h;
    memcpy(&h, p, sizeof h);
#ifdef __AVX512F__
    return __builtin_ia32_vcvtph2ps512_mask(h, V{}, -1, 4);
#else
    return __builtin_ia32_vcvtph2ps256(h);
#endif
  }
  static inline void store(void *p, V v) {
#ifdef __AVX512F__
    const H h = __builtin_ia32_vcvtps2ph512_mask(v, 0, H{}, -1);
#else
    const H h = __builtin_ia32_vcvtps2ph256(v, 0);
#endif
    memcpy(p, &h, sizeof h);
  }
  static inline float widen(uint16_t x) {
    uint16_t buffer[kLanes] = {x};
    return load(buffer)[0];
  }
  static inline uint16_t narrow(float x) {
    uint16_t buffer[kLanes];
    store(buffer, x - V{});
    return buffer[0];
  }
};

// Truth is a mask of lanes, 0 or -1, as wide as a byte here.
struct TruthLanes {
  typedef uint8_t Stored;
  typedef signed char Lane;
  static constexpr int kLanes = kBytes;
  typedef Vec<signed char, kLanes> V;
  static inline V load(const void *p) {
    V v;
    memcpy(&v, p, sizeof v);
    return v != 0;
  }
  static inline void store(void *p, V v) {
    v &= 1;
    memcpy(p, &v, sizeof v);
  }
  static inline Lane widen(uint8_t x) { return x ? -1 : 0; }
  static inline uint8_t narrow(Lane x) { return x & 1; }
};

// What the texts of the vocabulary say of masks: those of the lanes' own width.
template <class M> inline M w_mask(M m) { return m; }
template <class M, class V> inline V w_select(M m, V a, V b) { return m ? a : b; }

// The first `n` lanes of memory; the others hold `fill`. By a mask where the processor has one for the type.
template <class D> inline typename D::V load_part(const void *p, int64_t n, typename D::Lane fill = 0) {
  typename D::Stored buffer[D::kLanes];
  const typename D::Stored f = D::narrow(fill);
  for (int i = 0; i < D::kLanes; i++) buffer[i] = f;
  memcpy(buffer, p, n * sizeof(typename D::Stored));
  return D::load(buffer);
}
template <class D> inline void store_part(void *p, typename D::V v, int64_t n) {
  typename D::Stored buffer[D::kLanes];
  D::store(buffer, v);
  memcpy(p, buffer, n * sizeof(typename D::Stored));
}
#ifdef __AVX512F__
inline unsigned lanes_below(int64_t n) { return (1u << n) - 1; }
template <> inline F32::V load_part<F32>(const void *p, int64_t n, float fill) {
  return __builtin_ia32_loadups512_mask((const float *)p, F32::V{} + fill, lanes_below(n));
}
template <> inline void store_part<F32>(void *p, F32::V v, int64_t n) { __builtin_ia32_storeups512_mask((float *)p, v, lanes_below(n)); }
template <> inline F64::V load_part<F64>(const void *p, int64_t n, double fill) {
  return __builtin_ia32_loadupd512_mask((const double *)p, F64::V{} + fill, lanes_below(n));
}
template <> inline void store_part<F64>(void *p, F64::V v, int64_t n) { __builtin_ia32_storeupd512_mask((double *)p, v, lanes_below(n)); }
typedef Vec<short, 16> HalfBits;
template <class D> inline typename D::V load_half_part(const void *p, int64_t n, float fill) {
  const HalfBits bits = __builtin_ia32_loaddquhi256_mask((const short *)p, HalfBits{} + (short)D::narrow(fill), lanes_below(n));
  return D::load(&bits);
}
template <class D> inline void store_half_part(void *p, typename D::V v, int64_t n) {
  HalfBits bits;
  D::store(&bits, v);
  __builtin_ia32_storedquhi256_mask((short *)p, bits, lanes_below(n));
}
template <> inline BF16::V load_part<BF16>(const void *p, int64_t n, float fill) { return load_half_part<BF16>(p, n, fill); }
template <> inline F16::V load_part<F16>(const void *p, int64_t n, float fill) { return load_half_part<F16>(p, n, fill); }
template <> inline void store_part<BF16>(void *p, BF16::V v, int64_t n) { store_half_part<BF16>(p, v, n); }
template <> inline void store_part<F16>(void *p, F16::V v, int64_t n) { store_half_part<F16>(p, v, n); }
#else
inline Vec<int, 8> words_below(int64_t n) { return Vec<int, 8>{0, 1, 2, 3, 4, 5, 6, 7} < (int)n; }
inline Vec<long long, 4> longs_below(int64_t n) { return Vec<long long, 4>{0, 1, 2, 3} < (long long)n; }
template <> inline F32::V load_part<F32>(const void *p, int64_t n, float fill) {
  const Vec<int, 8> mask = words_below(n);
  const F32::V v = __builtin_ia32_maskloadps256((const F32::V *)p, mask);
  return mask ? v : F32::V{} + fill;
}
template <> inline void store_part<F32>(void *p, F32::V v, int64_t n) { __builtin_ia32_maskstoreps256((F32::V *)p, words_below(n), v); }
template <> inline F64::V load_part<F64>(const void *p, int64_t n, double fill) {
  const Vec<long long, 4> mask = longs_below(n);
  const F64::V v = __builtin_ia32_maskloadpd256((const F64::V *)p, mask);
  return mask ? v : F64::V{} + fill;
}
template <> inline void store_part<F64>(void *p, F64::V v, int64_t n) { __builtin_ia32_maskstorepd256((F64::V *)p, longs_below(n), v); }
#endif
// Lanes `step` bytes apart.
template <class D> inline typename D::V load_strided(const char *p, intptr_t step, int64_t n) {
  typename D::Stored buffer[D::kLanes] = {};
  for (int64_t i = 0; i < n; i++) memcpy(buffer + i, p + i * step, sizeof(typename D::Stored));
  return D::load(buffer);
}
template <class D> inline void store_strided(char *p, intptr_t step, typename D::V v, int64_t n) {
  typename D::Stored buffer[D::kLanes];
  D::store(buffer, v);
  for (int64_t i = 0; i < n; i++) memcpy(p + i * step, buffer + i, sizeof(typename D::Stored));
}
template <class D> inline typename D::V splat(const char *p) {
  typename D::Stored x;
  memcpy(&x, p, sizeof x);
  return D::widen(x) - typename D::V{};  // -0 stays: plus 0 it would be 0
}

// How one operand of a loop is read: Contiguous, Same (one value for all).
// An operand that is used several times is read once: a read that crosses lines costs two (memory of NumPy is often not aligned).
template <class D> struct Contiguous {
  const char *p;
  Contiguous(const char *p, intptr_t) : p(p) {}
  inline typename D::V full(int64_t i) const {
    typename D::V v = D::load(p + i * sizeof(typename D::Stored));
    if constexpr (std::is_floating_point<typename D::Stored>::value) asm("" : "+v"(v));
    return v;
  }
  inline typename D::V part(int64_t i, int64_t n) const { return load_part<D>(p + i * sizeof(typename D::Stored), n); }
};
template <class D> struct Same {
  typename D::V v;
  Same(const char *p, intptr_t) : v(splat<D>(p)) {}
  inline typename D::V full(int64_t) const { return v; }
  inline typename D::V part(int64_t, int64_t) const { return v; }
};

// How results are written: values of D, or truth values (a mask of lanes) as bytes.
template <class D> struct Values {
  static constexpr intptr_t kItem = sizeof(typename D::Stored);
  template <class V> static inline void full(char *p, V v) { D::store(p, v); }
  template <class V> static inline void part(char *p, intptr_t step, V v, int64_t n) {
    if (step == kItem) store_part<D>(p, v, n);
    else store_strided<D>(p, step, v, n);
  }
};
template <class D> struct Truths {
  static constexpr intptr_t kItem = 1;
  typedef Vec<signed char, D::kLanes> B;
  template <class M> static inline void full(char *p, M m) {
#if !defined(__AVX512F__) && defined(__BMI2__)  // the compiler takes lanes one by one: by the bits of their signs
    if constexpr (sizeof(M) == 32 && sizeof(m[0]) == 4) {
      const uint64_t b = __builtin_ia32_pdep_di((uint64_t)__builtin_ia32_movmskps256((Vec<float, 8>)m), 0x0101010101010101);
      memcpy(p, &b, sizeof b);
      return;
    }
    if constexpr (sizeof(M) == 32 && sizeof(m[0]) == 8) {
      const uint32_t b = __builtin_ia32_pdep_si((uint32_t)__builtin_ia32_movmskpd256((Vec<double, 4>)m), 0x01010101);
      memcpy(p, &b, sizeof b);
      return;
    }
#endif
    const B b = __builtin_convertvector(m, B) & 1;
    memcpy(p, &b, sizeof b);
  }
  template <class M> static inline void part(char *p, intptr_t step, M m, int64_t n) {
    for (int64_t i = 0; i < n; i++) p[i * step] = m[i] != 0;
  }
};

}  // namespace
#endif

// gemm_simd.h: vectors of the target's width, loads that convert to the type of the sums, stores that round from it.
// For the files that are compiled once per instruction set.
#ifndef WEFT_GEMM_SIMD_H
#define WEFT_GEMM_SIMD_H

#ifdef __AVX512F__
#define WEFT_GEMM_BYTES 64
#else
#define WEFT_GEMM_BYTES 32
#endif
#define WEFT_GEMM_UNROLL _Pragma("GCC unroll 16")

namespace weft_gemm {
namespace { // the same text is compiled for several instruction sets: nothing of it may be shared between them

typedef long i64;
struct bfloat16 { unsigned short bits; };
struct float16 { unsigned short bits; };

template <typename T> struct Simd;
template <> struct Simd<float> {
  typedef float V __attribute__((vector_size(WEFT_GEMM_BYTES)));
  typedef float U __attribute__((vector_size(WEFT_GEMM_BYTES), aligned(4), may_alias));
  typedef int I __attribute__((vector_size(WEFT_GEMM_BYTES)));
};
template <> struct Simd<double> {
  typedef double V __attribute__((vector_size(WEFT_GEMM_BYTES)));
  typedef double U __attribute__((vector_size(WEFT_GEMM_BYTES), aligned(8), may_alias));
  typedef long I __attribute__((vector_size(WEFT_GEMM_BYTES)));
};
template <typename T> using Vec = typename Simd<T>::V;
template <typename T> using VecU = typename Simd<T>::U;
template <typename T> constexpr i64 lanes = WEFT_GEMM_BYTES / (i64)sizeof(T);

#if defined(__clang__)
template <typename V> static inline V fma(V a, V b, V c) { return __builtin_elementwise_fma(a, b, c); }
#elif WEFT_GEMM_BYTES == 64
static inline Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) {
  return (Vec<float>)__builtin_ia32_vfmaddps512_mask(a, b, c, (unsigned short)-1, 4);
}
static inline Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) {
  return (Vec<double>)__builtin_ia32_vfmaddpd512_mask(a, b, c, (unsigned char)-1, 4);
}
#else
static inline Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) { return __builtin_ia32_vfmaddps256(a, b, c); }
static inline Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) { return __builtin_ia32_vfmaddpd256(a, b, c); }
#endif

template <typename T> static inline Vec<T> splat(T x) { return x - Vec<T>{}; } // -0 - 0 is -0: folds to a broadcast

// ------------------------------------------------------------------------------- loads that convert to T
static inline Vec<float> load(const float *p, float) { return *(const VecU<float> *)p; }
static inline Vec<double> load(const double *p, double) { return *(const VecU<double> *)p; }
static inline float one(const float *p, float) { return *p; }
static inline double one(const double *p, double) { return *p; }

static inline Vec<float> load(const bfloat16 *p, float) {
  typedef unsigned short H __attribute__((vector_size(WEFT_GEMM_BYTES / 2), aligned(2), may_alias));
  typedef unsigned int W __attribute__((vector_size(WEFT_GEMM_BYTES)));
  return (Vec<float>)(__builtin_convertvector(*(const H *)p, W) << 16);
}
static inline float one(const bfloat16 *p, float) {
  union { unsigned int bits; float value; } u = {(unsigned int)p->bits << 16};
  return u.value;
}

static inline Vec<float> load(const float16 *p, float) {
  typedef short H __attribute__((vector_size(WEFT_GEMM_BYTES / 2), aligned(2), may_alias));
#if WEFT_GEMM_BYTES == 64
  typedef short A __attribute__((vector_size(32)));
  return (Vec<float>)__builtin_ia32_vcvtph2ps512_mask((A)(*(const H *)p), Vec<float>{}, (unsigned short)-1, 4);
#else
  typedef short A __attribute__((vector_size(16)));
  return (Vec<float>)__builtin_ia32_vcvtph2ps256((A)(*(const H *)p));
#endif
}
static inline float one(const float16 *p, float) {
  typedef short A __attribute__((vector_size(16)));
  A h = {(short)p->bits};
  return __builtin_ia32_vcvtph2ps(h)[0];
}

// The first n < lanes elements, zeros after them; reads nothing else.
template <typename T, typename S> static inline Vec<T> load_part(const S *p, i64 n) {
  Vec<T> v = {};
  for (i64 l = 0; l < n; l++) v[l] = one(p + l, T());
  return v;
}

#if WEFT_GEMM_BYTES == 64
template <> inline Vec<float> load_part<float, float>(const float *p, i64 n) {
  return __builtin_ia32_loadups512_mask(p, Vec<float>{}, (unsigned short)((1u << n) - 1));
}
template <> inline Vec<double> load_part<double, double>(const double *p, i64 n) {
  return __builtin_ia32_loadupd512_mask(p, Vec<double>{}, (unsigned char)((1u << n) - 1));
}
#endif

// ------------------------------------------------------------------------------------ stores that round from T
static inline void store(float *p, Vec<float> v) { *(VecU<float> *)p = v; }
static inline void store(double *p, Vec<double> v) { *(VecU<double> *)p = v; }

static inline void store(bfloat16 *p, Vec<float> v) { // to nearest, ties to even; NaN stays NaN
  typedef unsigned short H __attribute__((vector_size(WEFT_GEMM_BYTES / 2)));
  typedef unsigned short HU __attribute__((vector_size(WEFT_GEMM_BYTES / 2), aligned(2), may_alias));
  typedef unsigned int W __attribute__((vector_size(WEFT_GEMM_BYTES)));
  W bits = (W)v, rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  rounded = v == v ? rounded : (bits >> 16 | 0x40);
#if WEFT_GEMM_BYTES == 64 || defined(__clang__)
  *(HU *)p = __builtin_convertvector(rounded, H);
#else // lane by lane, if the compiler does it
  typedef int I __attribute__((vector_size(32)));
  *(HU *)p = (H)__builtin_ia32_packusdw128(__builtin_shufflevector((I)rounded, (I)rounded, 0, 1, 2, 3),
                                           __builtin_shufflevector((I)rounded, (I)rounded, 4, 5, 6, 7));
#endif
}

static inline void store(float16 *p, Vec<float> v) {
#if WEFT_GEMM_BYTES == 64
  typedef short HU __attribute__((vector_size(32), aligned(2), may_alias));
  typedef short A __attribute__((vector_size(32)));
  *(HU *)p = (A)__builtin_ia32_vcvtps2ph512_mask(v, 0, A{}, (unsigned short)-1);
#else
  typedef short HU __attribute__((vector_size(16), aligned(2), may_alias));
  *(HU *)p = (HU)__builtin_ia32_vcvtps2ph256(v, 0);
#endif
}

// The first n lanes.
template <typename S, typename V> static inline void store_part(S *p, V v, i64 n) {
  S whole[sizeof(V) / sizeof(v[0])];
  store(whole, v);
  for (i64 l = 0; l < n; l++) p[l] = whole[l];
}
#if WEFT_GEMM_BYTES == 64
static inline void store_part(float *p, Vec<float> v, i64 n) {
  __builtin_ia32_storeups512_mask(p, v, (unsigned short)((1u << n) - 1));
}
static inline void store_part(double *p, Vec<double> v, i64 n) {
  __builtin_ia32_storeupd512_mask(p, v, (unsigned char)((1u << n) - 1));
}
#endif

} // namespace
} // namespace weft_gemm
#endif

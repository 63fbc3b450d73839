// philox.cpp: the lanes of WEFT_PHILOX_RUN counters of Philox4x32-10, several counters side by side.
//
// A word of 32 bits lies in the low half of 64: the product of two is one instruction, whose halves are the next round's words, and what
// it reads is the low half, whatever lies above.
#pragma GCC diagnostic ignored "-Wuninitialized"  // of GCC 12's own header
#include <immintrin.h>

#include "vectors.h"

namespace {

#ifdef __AVX512F__
typedef __m512i Words;
constexpr int kWords = 8;
inline Words splat(uint64_t x) { return _mm512_set1_epi64((long long)x); }
inline Words times(Words a, Words b) { return _mm512_mul_epu32(a, b); }
inline Words high(Words a) { return _mm512_srli_epi64(a, 32); }
inline Words both(Words a, Words b, Words c) { return _mm512_xor_si512(_mm512_xor_si512(a, b), c); }
inline Words joined(Words low_half, Words high_half) { return _mm512_mask_shuffle_epi32(low_half, 0xAAAA, high_half, _MM_PERM_CCAA); }
inline Words counters(uint64_t first) { return _mm512_add_epi64(splat(first), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0)); }
// Words 0 and 1, and 2 and 3, of each counter: counter by counter.
inline void store(uint32_t *out, Words a, Words b) {
  const Words even = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), odd = _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4);
  _mm512_storeu_si512(out, _mm512_permutex2var_epi64(a, even, b));
  _mm512_storeu_si512(out + 16, _mm512_permutex2var_epi64(a, odd, b));
}
#else
typedef __m256i Words;
constexpr int kWords = 4;
inline Words splat(uint64_t x) { return _mm256_set1_epi64x((long long)x); }
inline Words times(Words a, Words b) { return _mm256_mul_epu32(a, b); }
inline Words high(Words a) { return _mm256_srli_epi64(a, 32); }
inline Words both(Words a, Words b, Words c) { return _mm256_xor_si256(_mm256_xor_si256(a, b), c); }
inline Words joined(Words low_half, Words high_half) { return _mm256_blend_epi32(low_half, _mm256_slli_epi64(high_half, 32), 0xAA); }
inline Words counters(uint64_t first) { return _mm256_add_epi64(splat(first), _mm256_set_epi64x(3, 2, 1, 0)); }
inline void store(uint32_t *out, Words a, Words b) {
  const Words even = _mm256_unpacklo_epi64(a, b), odd = _mm256_unpackhi_epi64(a, b);  // counters 0 and 2, 1 and 3
  _mm256_storeu_si256((__m256i *)out, _mm256_permute2x128_si256(even, odd, 0x20));
  _mm256_storeu_si256((__m256i *)(out + 8), _mm256_permute2x128_si256(even, odd, 0x31));
}
#endif

void run(uint64_t seed, uint64_t first, uint32_t *out) {
  constexpr int kApart = 4;  // chains of products that do not wait for each other
  const Words m0 = splat(0xD2511F53u), m1 = splat(0xCD9E8D57u);
  for (int j = 0; j < WEFT_PHILOX_RUN; j += kApart * kWords) {
    Words c0[kApart], c1[kApart], c2[kApart], c3[kApart];
    for (int i = 0; i < kApart; i++) {
      c0[i] = counters(first + (uint64_t)(j + i * kWords));
      c1[i] = high(c0[i]);
      c2[i] = c3[i] = splat(0);
    }
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
      const Words a0 = splat(k0), a1 = splat(k1);
      for (int i = 0; i < kApart; i++) {
        const Words p = times(c0[i], m0), q = times(c2[i], m1);
        c0[i] = both(high(q), c1[i], a0);
        c2[i] = both(high(p), c3[i], a1);
        c1[i] = q, c3[i] = p;  // (with what lies above)
      }
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    for (int i = 0; i < kApart; i++) store(out + 4 * (j + i * kWords), joined(c0[i], c1[i]), joined(c2[i], c3[i]));
  }
}

template <bool normal> void floats(const uint32_t *lanes, float *out) {
  typedef F32::V V;
  for (int i = 0; i < 4 * WEFT_PHILOX_RUN; i += F32::kLanes) {
    vm_bits<V> bits;
    memcpy(&bits, lanes + i, sizeof bits);
    const V u = vm_unit<V>(bits);
    F32::store(out + i, normal ? vm_normal_pairs(u) : u);
  }
}

}  // namespace

void WEFT_FILL(philox)(WeftKernels *k) { k->philox_run = run, k->philox_uniform = floats<false>, k->philox_normal = floats<true>; }

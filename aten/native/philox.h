// philox.h: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
#ifndef WEFT_PHILOX_H
#define WEFT_PHILOX_H

#include "native.h"

namespace weft {

struct Philox {
  uint32_t lane[4];
};

// The four lanes of one counter under a 64-bit seed.
inline Philox philox(uint64_t seed, uint64_t counter) {
  uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32), c2 = 0, c3 = 0;
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
    uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)p1;
    c3 = (uint32_t)p0;
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return Philox{{c0, c1, c2, c3}};
}

// [0, 1): 24 bits of a lane, or 53 bits of two.
inline float philox_uniform(uint32_t bits) { return (float)(bits >> 8) * 0x1p-24f; }
inline double philox_uniform64(uint32_t high, uint32_t low) {
  return (double)(((uint64_t)high << 32 | low) >> 11) * 0x1p-53;
}

struct Call;
// Rules.
PyObject *fast_bernoulli(Call &call);
PyObject *fast_fill(Call &call);  // of ops in place, by what is drawn
enum DrawCode { DRAW_UNIFORM, DRAW_NORMAL, DRAW_OTHER };
PyObject *fast_dropout(Call &call);
PyObject *fast_dropout_kept(Call &call);

// Of n elements the 53 bits of which philox_uniform64 makes numbers, as the upper bits of a word.
void philox_keys(uint64_t seed, uint64_t offset, uint64_t *out, int64_t n);
// n numbers of [0, 1).
void philox_floats(uint64_t seed, uint64_t offset, float *out, int64_t n);

}  // namespace weft
#endif

// gemm_tiles.cpp: products of bfloat16 matrices in the processor's tiles (AMX), where it has them: registers of 16 rows of 64 bytes.
//
// A panel of a is rows of pairs, one of b has the pairs of its columns for each k: both are what tiles take (gemm_pairs.h).
#pragma GCC diagnostic ignored "-Wuninitialized"  // of GCC 12's own header
#ifdef __AVX512F__
#pragma GCC target("amx-tile,amx-bf16")
#include <immintrin.h>
#endif
#include "weft.h"

#include "gemm_pairs.h"

#ifdef __AVX512F__
namespace weft_gemm {
namespace {

constexpr int tile_pairs = 16, tile_rows = 16;

// Every tile is as high as the blocks of the panels of a, but those of b.
struct alignas(64) TileShapes {
  unsigned char palette = 1, start = 0, reserved[14] = {};
  unsigned short bytes[16] = {};
  unsigned char rows[16] = {};
};

// A panel higher than a tile is two blocks, of which the second begins `apart` rows down: where they overlap both make the same numbers.
constexpr i64 block_rows(i64 mr) { return mr > tile_rows ? (mr + 1) / 2 : mr; }

// What follows reads memory at p, of which the intrinsics do not tell the compiler.
inline void written(const void *p) { asm volatile("" : : "r"(p) : "memory"); }

void enter(i64 mr) {
  TileShapes t;
  for (int i = 0; i < 8; i++) t.bytes[i] = 64, t.rows[i] = (unsigned char)block_rows(mr);
  for (int i = mr > tile_rows ? 6 : 5; i < 8; i++) t.rows[i] = tile_pairs;
  written(&t);
  _tile_loadconfig(&t);
}
void leave() { _tile_release(); }

// Where a step of 16 pairs begins: the blocks of a, the tiles of b.
struct Step {
  const float *a[2], *b[4];
  i64 a_step, b_step;  // in bytes
};

// Four sums hide the latency of a product, whether of two blocks or of one.
template <int MR, int NV> inline void take(const Step &s) {
#define MULTIPLY(j, t, second) { _tile_loadd(t, s.b[j], s.b_step); _tile_dpbf16ps(j, 4, t); if constexpr (MR > tile_rows) _tile_dpbf16ps(second, 5, t); }
  _tile_loadd(4, s.a[0], s.a_step);
  if constexpr (MR > tile_rows) _tile_loadd(5, s.a[1], s.a_step);
  MULTIPLY(0, 6, 2)
  if constexpr (NV > 1) MULTIPLY(1, 7, 3)
  if constexpr (NV > 2) {
    _tile_loadd(5, s.b[2], s.b_step);
    _tile_dpbf16ps(2, 4, 5);
    _tile_loadd(6, s.b[3], s.b_step);
    _tile_dpbf16ps(3, 4, 6);
  }
#undef MULTIPLY
}

// The last `rest` pairs, as 16 of which the others are zero.
template <int MR, int NV> void take_rest(const Step &s, i64 rest) {
  constexpr int rows = (int)block_rows(MR), blocks = MR > tile_rows ? 2 : 1;
  Vec<float> a[2][tile_rows], b[NV][tile_pairs];
  Step to = {{(float *)a[0], (float *)a[1]}, {}, 64, 64};
  for (int i = 0; i < blocks; i++)
    for (int r = 0; r < rows; r++) a[i][r] = load_part<float>(s.a[i] + r * (s.a_step / 4), rest);
  for (int j = 0; j < NV; j++) {
    to.b[j] = (float *)b[j];
    for (int r = 0; r < tile_pairs; r++) b[j][r] = r < rest ? *(const VecU<float> *)(s.b[j] + r * (s.b_step / 4)) : Vec<float>{};
  }
  written(a), written(b);
  take<MR, NV>(to);
}

// `micro` of gemm_panel.h in tiles: a line of k more than the sums of the chunks before it, where there are any.
template <int MR, int NV>
void micro_tiles(i64 kc, const float *a, const float *b, i64 ldb, float *c, i64 ldc, bool add, Ahead) {
  constexpr i64 apart = MR - block_rows(MR);
  Step s = {{a, a + apart * panel_stride<float>}, {b, b + 16, b + 32, b + 48}, panel_stride<float> * 4, ldb * 4};
  float *c1 = c + apart * ldc;
  const i64 c_step = ldc * 4;
#define EACH(f) f(0) if constexpr (NV > 1) f(1) if constexpr (NV > 2) { f(2) f(3) }
#define EACH_SECOND(f) if constexpr (MR > tile_rows) { f(2, 0) if constexpr (NV > 1) f(3, 1) }
#define BEGIN(j) { if (add) _tile_loadd(j, c + 16 * j, c_step); else _tile_zero(j); }
#define BEGIN_SECOND(t, j) { if (add) _tile_loadd(t, c1 + 16 * j, c_step); else _tile_zero(t); }
#define END(j) _tile_stored(j, c + 16 * j, c_step);
#define END_SECOND(t, j) _tile_stored(t, c1 + 16 * j, c_step);
  EACH(BEGIN)
  EACH_SECOND(BEGIN_SECOND)
  for (i64 i = 0; i < kc / tile_pairs; i++) {
    take<MR, NV>(s);
    s.a[0] += tile_pairs, s.a[1] += tile_pairs;
    for (int j = 0; j < NV; j++) s.b[j] += tile_pairs * ldb;
  }
  if (kc % tile_pairs) take_rest<MR, NV>(s, kc % tile_pairs);
  EACH(END)
  EACH_SECOND(END_SECOND)
}

template <int NV, int MR> Micro<float> choose_tiles(i64 mr) {
  if constexpr (MR > 1)
    return mr == MR ? micro_tiles<MR, NV> : choose_tiles<NV, MR - 1>(mr);
  else
    return micro_tiles<1, NV>;
}
Micro<float> choose_tiles(i64 mr, i64 nv, bool) {
  return nv == 4 ? choose_tiles<4, tile_rows>(mr) : nv == 2 ? choose_tiles<2, 2 * tile_rows>(mr) : choose_tiles<1, 2 * tile_rows>(mr);
}

constexpr Tiles<float> in_tiles = {choose_tiles, 2 * tile_rows, tile_rows, enter, leave};

} // namespace
} // namespace weft_gemm
#endif

WEFT_FILL_PAIRS(tiles, in_tiles, true)

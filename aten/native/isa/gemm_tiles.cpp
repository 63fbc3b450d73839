// gemm_tiles.cpp: products of bfloat16 matrices in the processor's tiles (AMX), where it has them: registers of 16 rows of 64 bytes.
//
// A panel of a is rows of pairs, one of b has the pairs of its columns for each k: both are what tiles take (gemm_pairs.h). A chunk's last
// pairs, fewer than a tile holds, have tiles of their own, so that nothing beyond them is read.
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

constexpr int tile_pairs = 16;

// Tiles 0 to 3 are sums, 4 is of a, 5 of b; 6 and 7 are those of what is left of a chunk.
struct alignas(64) TileShapes {
  unsigned char palette = 1, start = 0, reserved[14] = {};
  unsigned short bytes[16] = {};
  unsigned char rows[16] = {};
};
struct Shapes {
  TileShapes of[tile_pairs];  // by how many pairs are left
};
template <int MR> constexpr Shapes shapes() {
  Shapes all;
  for (int rest = 0; rest < tile_pairs; rest++) {
    TileShapes &t = all.of[rest];
    for (int i = 0; i < 5; i++) t.bytes[i] = 64, t.rows[i] = MR;
    t.bytes[5] = 64, t.rows[5] = tile_pairs;
    t.bytes[6] = (unsigned short)(rest ? 4 * rest : 4), t.rows[6] = MR;
    t.bytes[7] = 64, t.rows[7] = (unsigned char)(rest ? rest : 1);
  }
  return all;
}
template <int MR> const Shapes kept_shapes = shapes<MR>();

// `micro` of gemm_panel.h in tiles: a line of k more than the sums of the chunks before it, where there are any.
template <int MR, int NV>
void micro_tiles(i64 kc, const float *a, const float *b, i64 ldb, float *c, i64 ldc, bool add, Ahead) {
  const i64 whole = kc / tile_pairs, rest = kc % tile_pairs, a_step = panel_stride<float> * 4, b_step = ldb * 4, c_step = ldc * 4;
  _tile_loadconfig(&kept_shapes<MR>.of[rest]);
#define EACH(f) f(0) if constexpr (NV > 1) f(1) if constexpr (NV > 2) { f(2) f(3) }
#define BEGIN(j) { if (add) _tile_loadd(j, c + 16 * j, c_step); else _tile_zero(j); }
#define STEP(j) { _tile_loadd(5, b + 16 * j, b_step); _tile_dpbf16ps(j, 4, 5); }
#define LAST(j) { _tile_loadd(7, b + 16 * j, b_step); _tile_dpbf16ps(j, 6, 7); }
#define END(j) _tile_stored(j, c + 16 * j, c_step);
  EACH(BEGIN)
  for (i64 i = 0; i < whole; i++, a += tile_pairs, b += tile_pairs * ldb) {
    _tile_loadd(4, a, a_step);
    EACH(STEP)
  }
  if (rest) {
    _tile_loadd(6, a, a_step);
    EACH(LAST)
  }
  EACH(END)
  _tile_release();
}

template <int NV, int MR> Micro<float> choose_tiles(i64 mr) {
  if constexpr (MR > 1)
    return mr == MR ? micro_tiles<MR, NV> : choose_tiles<NV, MR - 1>(mr);
  else
    return micro_tiles<1, NV>;
}
Micro<float> choose_tiles(i64 mr, i64 nv, bool) {
  return nv == 4 ? choose_tiles<4, WEFT_GEMM_WIDE_ROWS>(mr) : nv == 2 ? choose_tiles<2, WEFT_GEMM_ROWS>(mr) : choose_tiles<1, WEFT_GEMM_ROWS>(mr);
}

} // namespace
} // namespace weft_gemm
#endif

WEFT_FILL_PAIRS(tiles, choose_tiles, true)

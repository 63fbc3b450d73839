// tiles.cpp: loops whose operands run along different dimensions.
//
// The result's innermost dimension is the loop's. An input that is not dense along it is packed, a tile of two dimensions
// at a time, into memory near the processor: by a transpose where its items are adjacent along the other dimension, by a
// strided copy otherwise. The loop then runs over dense rows. A plain transposing copy needs no packing.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "loops.h"

namespace weft {

namespace {

constexpr int64_t kTileBytes = 16384;  // of one packed operand
constexpr int64_t kColumns = 256;      // of a tile; its rows then are 64 bytes of source

int item_log(int64_t item) { return __builtin_ctzll((unsigned long long)item); }

}  // namespace

struct TileJob {
  const Loop *loop;
  WeftLoop body;
  void *data;
  int last, across;                      // the dimensions of a tile: its columns, its rows
  int64_t rows, columns, row_tiles, column_tiles;
  uint32_t packed;                       // bit p: operand p is packed
  bool whole;                            // a tile is one run of every operand that is not packed
  bool direct;                           // a transposing copy

  void start(int64_t tile, char **args, int64_t *n_rows, int64_t *n_columns) const {
    const Loop &l = *loop;
    int64_t j = tile % column_tiles * columns, rest = tile / column_tiles, i = rest % row_tiles * rows;
    rest /= row_tiles;
    *n_rows = std::min(rows, l.extents_[across] - i);
    *n_columns = std::min(columns, l.extents_[last] - j);
    for (int p = 0; p < l.n_; p++) args[p] = l.operands_[p].data + i * l.operands_[p].steps[across] + j * l.operands_[p].steps[last];
    for (int d = last - 1; d >= 0; d--) {
      if (d == across) continue;
      int64_t at = rest % l.extents_[d];
      rest /= l.extents_[d];
      for (int p = 0; p < l.n_; p++) args[p] += at * l.operands_[p].steps[d];
    }
  }

  void pack(const Operand &o, const char *from, char *to, int64_t n_rows, int64_t n_columns) const {
    int log = item_log(o.item);
    if (o.steps[across] == o.item) {
      weft_kernels.transpose[log](from, o.steps[last], to, n_columns * o.item, n_rows, n_columns);
      return;
    }
    intptr_t n = n_columns, steps[2] = {(intptr_t)o.steps[last], o.item};
    for (int64_t i = 0; i < n_rows; i++) {
      char *args[2] = {const_cast<char *>(from) + i * o.steps[across], to + i * n_columns * o.item};
      weft_kernels.copy[log](args, &n, steps, nullptr);
    }
  }

  void tile(int64_t which) const {
    alignas(WEFT_ALIGNMENT) char buffers[kMaxOperands - 1][kTileBytes];
    const Loop &l = *loop;
    char *args[kMaxOperands], *now[kMaxOperands];
    intptr_t steps[kMaxOperands], n;
    int64_t down[kMaxOperands], n_rows, n_columns;
    start(which, args, &n_rows, &n_columns);
    if (direct) {
      const Operand &in = l.operands_[0], &out = l.operands_[1];
      weft_kernels.transpose[item_log(in.item)](args[0], in.steps[last], args[1], out.steps[across], n_rows, n_columns);
      return;
    }
    for (int p = 0; p < l.n_; p++) {
      const Operand &o = l.operands_[p];
      steps[p] = o.steps[last];
      down[p] = o.steps[across];
      if (packed >> p & 1) {
        pack(o, args[p], buffers[p], n_rows, n_columns);
        args[p] = buffers[p];
        steps[p] = o.item;
        down[p] = n_columns * o.item;
      }
    }
    n = whole ? n_rows * n_columns : n_columns;
    for (int64_t i = 0; i < (whole ? 1 : n_rows); i++) {
      for (int p = 0; p < l.n_; p++) now[p] = args[p] + i * down[p];
      body(now, &n, steps, data);
    }
  }

  static void range(void *ctx, int64_t begin, int64_t end, int64_t) {
    for (int64_t i = begin; i < end; i++) static_cast<TileJob *>(ctx)->tile(i);
  }
};

// Inputs that are neither dense nor repeated along the innermost dimension.
uint32_t Loop::scattered() const {
  uint32_t found = 0;
  for (int p = 0; p < n_ - 1; p++) {
    int64_t step = operands_[p].steps[ndim_ - 1];
    if (step != 0 && step != operands_[p].item) found |= 1u << p;
  }
  return found;
}

// The dimension of a tile's rows: where the first packed operand's items lie closest.
int Loop::dimension_across(uint32_t packed) const {
  const Operand &o = operands_[__builtin_ctz(packed)];
  int found = ndim_ - 2;
  for (int d = ndim_ - 3; d >= 0; d--)
    if (o.steps[d] && (!o.steps[found] || std::abs(o.steps[d]) < std::abs(o.steps[found]))) found = d;
  return found;
}

bool Loop::run_tiles(WeftLoop body, void *data, int64_t total) {
  uint32_t packed = scattered();
  if (!packed || !weft_kernels.transpose[0]) return false;
  if (ndim_ == 1) {  // one row
    extents_[1] = std::exchange(extents_[0], 1);
    for (int p = 0; p < n_; p++) operands_[p].steps[1] = std::exchange(operands_[p].steps[0], 0);
    ndim_ = 2;
  }
  TileJob job = {this, body, data, ndim_ - 1, dimension_across(packed), 0, 0, 0, 0, packed, true, false};
  const Operand &in = operands_[0], &out = operands_[n_ - 1];
  bool copies = n_ == 2 && in.item == out.item && body == weft_kernels.copy[item_log(in.item)];
  job.direct = copies && in.steps[job.across] == in.item && out.steps[job.last] == out.item;
  bool transposes = false;
  for (int p = 0; p < n_ - 1; p++) transposes |= (packed >> p & 1) && operands_[p].steps[job.across] == operands_[p].item;
  if (!transposes || (copies && !job.direct)) return false;  // strided rows are read where they lie
  int64_t item = 1;
  for (int p = 0; p < n_ - 1; p++)
    if (packed >> p & 1) item = std::max(item, operands_[p].item);
  job.columns = std::min(extents_[job.last], kColumns);
  job.rows = std::min(extents_[job.across], std::max<int64_t>(1, kTileBytes / item / job.columns));
  job.column_tiles = (extents_[job.last] + job.columns - 1) / job.columns;
  job.row_tiles = (extents_[job.across] + job.rows - 1) / job.rows;
  job.whole = job.column_tiles == 1;
  for (int p = 0; p < n_; p++)
    if (!(packed >> p & 1)) job.whole &= operands_[p].steps[job.across] == operands_[p].steps[job.last] * extents_[job.last];
  int64_t tiles = job.column_tiles * job.row_tiles;
  for (int d = 0; d < job.last; d++)
    if (d != job.across) tiles *= extents_[d];
  parallel(total, tiles, job.rows * job.columns, TileJob::range, &job);
  return true;
}

}  // namespace weft

// shifted_convolution.cpp: convolutions whose windows are read where they lie.
//
// A channel is copied once, with the zeros around it: then a tap is a distance, and all positions of an image are one run of elements,
// those of a row followed by the few that the kernel reaches beyond it, which are dropped. A stride makes an image of each remainder of
// places, so that neighbours in a run are neighbours again; holes make a convolution of each remainder of positions, with the taps that
// meet elements there.
#include "convolution.h"

#include <string.h>

#include <algorithm>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "shifted.h"

namespace weft {
namespace {

constexpr int64_t kSlack = 64;                 // elements after memory that loops of whole tiles may read
constexpr int64_t kMemory = int64_t(1) << 22;  // elements of images that are copied at a time
constexpr int64_t kOverAndOver = int64_t(1) << 18;  // of images and gradients that every block of results reads
constexpr int64_t kLargest = int64_t(1) << 24; // of one image
constexpr int64_t kStored = 2048;              // sums that are stored together
constexpr int64_t kManyPairs = 2048;           // dots of whole images, from which on a product that packs its sides reads less memory
constexpr int64_t kNear = int64_t(1) << 18;    // elements of a channel that is copied and read while it is in cache
constexpr int64_t kTogether = int64_t(1) << 15; // elements of several images that are
constexpr int64_t kFewResults = 2;             // of a channel: tiles of more read it less often
constexpr int64_t kLong = 12;                  // positions of a row that fill most of a register
constexpr int64_t kChunk = 128;                // rows of windows that stay in the first-level cache

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

// One remainder of the positions: a convolution without holes.
struct Part {
  int64_t first[3], step[3], count[3];         // its positions
  int64_t low[3], rows[3];                     // the first place that is copied, and how many of each remainder of places
  int64_t plane, span, run;                    // elements of a remainder, of a channel; of a run of all positions
  std::vector<int64_t> taps, offsets;          // the taps that meet elements, and how far each is

  bool any() const { return count[0] && count[1] && count[2]; }
};

Part part_of(const ConvolutionSizes &c, const int64_t *remainder) {
  Part p = {};
  int64_t least[3], most[3];
  std::vector<int64_t> at[3], which[3];        // of the taps of a dim: the distance in elements
  for (int d = 0; d < 3; d++) {
    p.first[d] = remainder[d], p.step[d] = c.hole[d];
    p.count[d] = c.result[d] > remainder[d] ? (c.result[d] - 1 - remainder[d]) / c.hole[d] + 1 : 0;
    for (int64_t t = 0; t < c.kernel[d]; t++) {
      const int64_t place = remainder[d] + t * c.dilation[d] - c.before[d];
      if (c.hole[d] > 1 && (place % c.hole[d] + c.hole[d]) % c.hole[d]) continue;
      at[d].push_back(c.hole[d] > 1 ? floor_div(place, c.hole[d]) : place), which[d].push_back(t);
    }
    least[d] = at[d].empty() ? 0 : at[d].front(), most[d] = at[d].empty() ? 0 : at[d].back();
    p.low[d] = least[d];
    p.rows[d] = p.count[d] ? (p.count[d] - 1) + (most[d] - least[d]) / c.stride[d] + 1 : 0;
  }
  p.plane = p.rows[0] * p.rows[1] * p.rows[2];
  p.span = p.plane * c.stride[0] * c.stride[1] * c.stride[2];
  p.run = p.any() ? ((p.count[0] - 1) * p.rows[1] + p.count[1] - 1) * p.rows[2] + p.count[2] : 0;
  for (size_t a = 0; a < at[0].size(); a++)
    for (size_t b = 0; b < at[1].size(); b++)
      for (size_t k = 0; k < at[2].size(); k++) {
        const int64_t o[3] = {at[0][a] - least[0], at[1][b] - least[1], at[2][k] - least[2]};
        int64_t image = 0, place = 0;
        for (int d = 0; d < 3; d++) image = image * c.stride[d] + o[d] % c.stride[d], place = place * p.rows[d] + o[d] / c.stride[d];
        p.offsets.push_back(image * p.plane + place);
        p.taps.push_back((which[0][a] * c.kernel[1] + which[1][b]) * c.kernel[2] + which[2][k]);
      }
  return p;
}

// Whether runs are mostly positions, and long enough for a tile, and an image is copied in little memory.
bool pays(const ConvolutionSizes &c, const Part &p) {
  const int64_t positions = p.count[0] * p.count[1] * p.count[2];
  const bool holes = c.hole[0] * c.hole[1] * c.hole[2] > 1;  // what decides there is less_than_columns
  return positions >= 24 && (holes || 2 * p.run <= 3 * positions) && p.span <= kLargest / (c.groups * c.channels);
}

template <class T> bool all_finite(const T *x, int64_t n) { return weft_shifted.finite[sizeof(T) == 8](n, x); }

// A channel with its zeros, one image for each remainder of places.
template <class T> void copy_channel(const ConvolutionSizes &c, const Part &p, const T *from, T *to) {
  const int64_t s = c.stride[2], n = p.rows[2];
  for (int64_t q0 = 0; q0 < c.stride[0]; q0++)
    for (int64_t q1 = 0; q1 < c.stride[1]; q1++)
      for (int64_t q2 = 0; q2 < s; q2++) {
        const int64_t x0 = q2 + p.low[2], low = std::min(n, std::max<int64_t>(0, ceil_div(-x0, s)));
        const int64_t high = std::max(low, std::min(n, ceil_div(c.size[2] - x0, s)));
        const int64_t y1 = q1 + p.low[1], above = std::min(p.rows[1], std::max<int64_t>(0, ceil_div(-y1, c.stride[1])));
        const int64_t below = std::max(above, std::min(p.rows[1], ceil_div(c.size[1] - y1, c.stride[1])));
        for (int64_t r0 = 0; r0 < p.rows[0]; r0++, to += p.rows[1] * n) {
          const int64_t y0 = r0 * c.stride[0] + q0 + p.low[0];
          const bool inside = y0 >= 0 && y0 < c.size[0] && above < below;
          std::fill(to, to + (inside ? above : p.rows[1]) * n, T());
          if (!inside) continue;
          const T *first = from + (y0 * c.size[1] + y1 + above * c.stride[1]) * c.size[2] + x0 + low * s;
          weft_shifted.copy_rows[sizeof(T) == 8](below - above, first, c.stride[1] * c.size[2], s, low, high, n, to + above * n);
          std::fill(to + below * n, to + p.rows[1] * n, T());
        }
      }
}

template <class T> struct Images {
  const ConvolutionSizes &c;
  const Part &p;
  const T *x;
  T *copied;

  static void copy(void *context, int64_t begin, int64_t end, int64_t) {
    Images &m = *static_cast<Images *>(context);
    for (int64_t i = begin; i < end; i++) copy_channel(m.c, m.p, m.x + i * m.c.pixels, m.copied + i * m.p.span);
  }
};

constexpr std::align_val_t kLine{64};          // whole registers of memory that begins with a line of cache lie in one each

struct FreeLines {
  void operator()(void *memory) const { ::operator delete(memory, kLine); }
};
template <class T> using Lines = std::unique_ptr<T[], FreeLines>;

template <class T> Lines<T> unwritten(int64_t n) {
  Lines<T> memory(static_cast<T *>(::operator new(sizeof(T) * (size_t)(n + kSlack), kLine)));
  std::fill(memory.get() + n, memory.get() + n + kSlack, T());
  return memory;
}
template <class T> Lines<T> memory_of(int64_t n) {
  Lines<T> memory = unwritten<T>(n);
  std::fill(memory.get(), memory.get() + n, T());
  return memory;
}

int64_t images_at_a_time(const ConvolutionSizes &c, int64_t memory, int64_t each) {
  return std::max<int64_t>(1, std::min(c.images, memory / std::max<int64_t>(1, each)));
}

// Where each row of windows of a group begins: the taps of a channel, channel by channel.
std::vector<int64_t> all_offsets(const ConvolutionSizes &c, const Part &p) {
  const int64_t taps = (int64_t)p.taps.size();
  std::vector<int64_t> offsets((size_t)(c.channels * taps));
  for (int64_t k = 0; k < c.channels * taps; k++) offsets[(size_t)k] = k / taps * p.span + p.offsets[(size_t)(k % taps)];
  return offsets;
}

// ------------------------------------------------------------------------------------------------------ forward
template <class T> struct Forward {
  const ConvolutionSizes &c;
  const Part &p;
  const T *copied, *panels, *bias;
  T *out;                                      // of the first image that is copied
  const int64_t *offsets;                      // of all rows of windows of a group
  const WeftKernelRuntime *runtime;
  int64_t terms, blocks, height, width, strip, columns;  // strip: columns that are stored together, a multiple of the tile's width
  int64_t row, all;                            // columns that are computed of a row, and of all

  // Where a column's windows begin.
  int64_t place(int64_t column) const { return column / row * p.rows[2] + column % row; }

  // The columns [j, j + strip) of all results of a group.
  void store(T *to, const T *sums, int64_t group, int64_t j) const {
    const int64_t end = std::min(j + strip, all);
    int64_t x = j % row, y0 = j / row / p.rows[1], y1 = j / row % p.rows[1];
    for (int64_t at = j; at < end; x = 0) {
      const int64_t next = std::min(end, at - x + row), n = std::min(next - at, p.count[2] - x);
      if (n > 0 && y1 < p.count[1]) {
        T *first = to + ((p.first[0] + y0 * p.step[0]) * c.result[1] + p.first[1] + y1 * p.step[1]) * c.result[2] + p.first[2] + x * p.step[2];
        const T *from = sums + at - j;
        for (int64_t i = 0; i < c.made; i++, first += c.places, from += strip) {
          const T more = bias ? bias[group * c.made + i] : T();
          if (p.step[2] == 1)
            for (int64_t k = 0; k < n; k++) first[k] = from[k] + more;
          else
            for (int64_t k = 0; k < n; k++) first[k * p.step[2]] = from[k] + more;
        }
      }
      at = next;
      if (++y1 == p.rows[1]) y1 = 0, y0++;
    }
  }

  static void run(void *context, int64_t begin, int64_t end, int64_t worker) {
    const Forward &f = *static_cast<Forward *>(context);
    T *sums = static_cast<T *>(f.runtime->scratch(worker, (f.blocks * f.height * f.strip + kSlack) * (int64_t)sizeof(T)));
    const int d = sizeof(T) == 8;
    for (int64_t i = begin; i < end; i++) {
      const int64_t j = i % f.columns * f.strip, which = i / f.columns, group = which % f.c.groups, last = std::min(f.strip, f.all - j);
      for (int64_t at = 0; at < last; at += f.width) {
        const T *base = f.copied + which * f.c.channels * f.p.span + f.place(j + at);
        for (int64_t k = 0; k < f.terms || k == 0; k += kChunk) {
          const int64_t n = std::min(kChunk, f.terms - k);
          for (int64_t b = 0; b < f.blocks; b++) {
            const T *panel = f.panels + ((group * f.blocks + b) * f.terms + k) * f.height;
            weft_shifted.tile[d][f.height](n, panel, base, f.offsets + k, sums + b * f.height * f.strip + at, f.strip, k > 0);
          }
        }
      }
      f.store(f.out + which * f.c.made * f.c.places, sums, group, j);
    }
  }
};

// Tiles of `height` results; `row` columns are computed of a row of positions, and `all` of all rows.
struct Tiling {
  int64_t height, row, all;
};

// The tiles of `made` results: all of a tile is computed, and a wide one reads less of the weights. The positions are one run, or each row
// by itself, in whole tiles, where that is less. Times of a sum, in hundredths, by height (measured with AVX-512; of AVX2's heights the
// order is the same).
Tiling tiling_of(int64_t made, const Part &p, int d) {
  constexpr int64_t times[WEFT_SHIFTED_HEIGHTS] = {0, 240, 140, 0, 105, 0, 97, 0, 104, 0, 106, 0, 110};
  const int64_t rows = (p.count[0] - 1) * p.rows[1] + p.count[1];
  Tiling best = {};
  int64_t least = INT64_MAX;
  for (int64_t height = 1; height < WEFT_SHIFTED_HEIGHTS; height++) {
    if (!weft_shifted.tile[d][height]) continue;
    const int64_t width = weft_shifted.width[d][height], wide = ceil_div(p.count[2], width) * width, run = ceil_div(p.run, width) * width;
    const bool apart = rows * wide < run;
    const int64_t cost = ceil_div(made, height) * height * std::min(run, rows * wide) * times[height];
    if (cost <= least) best = apart ? Tiling{height, wide, rows * wide} : Tiling{height, p.rows[2], p.run}, least = cost;
  }
  return best;
}

// Whether the parts of a convolution with holes are less work than its columns, which are made of no zeros but added up one by one: in sums.
// An element of a column and one that is copied or put apart cost as many as they do here (measured with AVX-512). The order of a sum hangs on
// it, so that it must not hang on the tiles of an instruction set.
bool less_than_columns(const ConvolutionSizes &c, const std::vector<Part> &parts) {
  constexpr int64_t kHeight = 4, kWidth = 32;
  constexpr double kColumn = 24, kFarColumn = 48, kCopied = 16, kPut = 8, kNearColumns = 1 << 20;
  const double columns = (double)c.made * (double)(c.taps * c.pixels);
  double work = 0;
  for (const Part &p : parts) {
    const int64_t rows = (p.count[0] - 1) * p.rows[1] + p.count[1];
    const int64_t places = std::min(ceil_div(p.run, kWidth), rows * ceil_div(p.count[2], kWidth)) * kWidth;
    const double computed = (double)(ceil_div(c.made, kHeight) * kHeight * places) * (double)(c.channels * (int64_t)p.taps.size());
    work += computed + kCopied * (double)(c.channels * p.span) + kPut * (double)(c.made * p.count[0] * p.count[1] * p.count[2]);
  }
  return work <= columns * ((double)c.channels + ((double)c.groups * columns > kNearColumns ? kFarColumn : kColumn));
}

template <class T> bool run_part(const ConvolutionSizes &c, const Part &p, const T *x, const T *weight, const T *bias, T *out, const WeftKernelRuntime *runtime) {
  const int d = sizeof(T) == 8;
  const int64_t taps = (int64_t)p.taps.size(), terms = c.channels * taps;
  const Tiling tiling = tiling_of(c.made, p, d);
  const int64_t height = tiling.height, blocks = ceil_div(c.made, height);
  const int64_t width = weft_shifted.width[d][height], strip = width * std::max<int64_t>(1, kStored / (blocks * height * width));
  Lines<T> panels = memory_of<T>(c.groups * blocks * height * terms);
  for (int64_t g = 0; g < c.groups; g++)
    for (int64_t i = 0; i < c.made; i++) {
      T *to = panels.get() + (g * blocks + i / height) * terms * height + i % height;
      const T *from = weight + (g * c.made + i) * c.channels * c.taps;
      for (int64_t channel = 0; channel < c.channels; channel++, from += c.taps)
        for (int64_t t = 0; t < taps; t++, to += height) *to = from[p.taps[(size_t)t]];
    }
  const std::vector<int64_t> offsets = all_offsets(c, p);
  const int64_t each = c.groups * c.channels, some = images_at_a_time(c, kMemory, p.span * each);
  Lines<T> copied = unwritten<T>(some * each * p.span + width);
  for (int64_t first = 0; first < c.images; first += some) {
    const int64_t n = std::min(some, c.images - first);
    Images<T> images = {c, p, x + first * each * c.pixels, copied.get()};
    runtime->parallel_for(n * each, std::max<int64_t>(1, 16384 / p.span), Images<T>::copy, &images);
    Forward<T> f = {c, p, copied.get(), panels.get(), bias, out + first * c.groups * c.made * c.places, offsets.data(), runtime, terms, blocks, height, width, strip, ceil_div(tiling.all, strip), tiling.row, tiling.all};
    runtime->parallel_for(n * c.groups * f.columns, std::max<int64_t>(1, 262144 / std::max<int64_t>(1, terms * c.made * strip)), Forward<T>::run, &f);
  }
  return true;
}

// ------------------------------------------------------------------------------------------ of one channel each
// Where a group has few results a row of windows serves few sums: what takes time is to bring elements to their places. The channels of a
// group are copied and summed while they are in cache, rows of results from rows of the copies.
template <class T> struct ChannelByChannel {
  const ConvolutionSizes &c;
  const Part &p;
  const T *x, *weight, *bias;                  // weight: the taps that meet elements, channel by channel, of each result
  const int64_t *offsets;                      // of all of them
  T *out;
  const WeftKernelRuntime *runtime;

  static void run(void *context, int64_t begin, int64_t end, int64_t worker) {
    const ChannelByChannel &f = *static_cast<ChannelByChannel *>(context);
    const ConvolutionSizes &c = f.c;
    const Part &p = f.p;
    const int64_t rows = p.count[0] * p.count[1], terms = c.channels * (int64_t)p.taps.size(), span = c.channels * p.span, d = sizeof(T) == 8;
    const bool apart = p.step[2] > 1;
    T *copied = static_cast<T *>(f.runtime->scratch(worker, (span + kSlack + (apart ? rows * p.count[2] : 0)) * (int64_t)sizeof(T))), *sums = copied + span + kSlack;
    std::fill(copied + span, sums, T());
    for (int64_t i = begin; i < end; i++) {
      for (int64_t k = 0; k < c.channels; k++) copy_channel(c, p, f.x + (i * c.channels + k) * c.pixels, copied + k * p.span);
      for (int64_t m = i * c.made; m < (i + 1) * c.made; m++) {
        const int64_t channel = m % (c.groups * c.made);
        const T none = T(), *more = f.bias ? f.bias + channel : &none;
        for (int64_t y0 = 0; y0 < p.count[0]; y0++) {
          T *to = f.out + m * c.places + ((p.first[0] + y0 * p.step[0]) * c.result[1] + p.first[1]) * c.result[2] + p.first[2];
          const T *base = copied + y0 * p.rows[1] * p.rows[2];
          const int64_t next = p.step[1] * c.result[2];
          weft_shifted.rows[d](terms, f.weight + channel * terms, base, f.offsets, p.rows[2], p.count[1], p.count[2], more, apart ? sums : to, apart ? p.count[2] : next);
          if (!apart) continue;
          for (int64_t y1 = 0; y1 < p.count[1]; y1++)
            for (int64_t k = 0; k < p.count[2]; k++) to[y1 * next + k * p.step[2]] = sums[y1 * p.count[2] + k];
        }
      }
    }
  }
};

template <class T> void run_channels(const ConvolutionSizes &c, const Part &p, const T *x, const T *weight, const T *bias, T *out, const WeftKernelRuntime *runtime) {
  const int64_t taps = (int64_t)p.taps.size(), results = c.groups * c.made, lines = results * c.channels;
  const std::vector<int64_t> offsets = all_offsets(c, p);
  Lines<T> met = memory_of<T>(lines * taps);
  for (int64_t i = 0; i < lines; i++)
    for (int64_t t = 0; t < taps; t++) met[(size_t)(i * taps + t)] = weight[i * c.taps + p.taps[(size_t)t]];
  ChannelByChannel<T> f = {c, p, x, met.get(), bias, offsets.data(), out, runtime};
  const int64_t each = c.channels * p.span + c.channels * c.made * taps * p.count[0] * p.count[1] * p.count[2];
  runtime->parallel_for(c.images * c.groups, std::max<int64_t>(1, 262144 / each), ChannelByChannel<T>::run, &f);
}

// ------------------------------------------------------------------------------------------ derivative by the weights
template <class T> struct ByWeight {
  const ConvolutionSizes &c;
  const Part &p;
  const T *copied, *spread;                    // images; gradients as runs, zeros where no position is
  T *weight;
  const int64_t *offsets;                      // of all columns of windows of a group
  int64_t images, run, block;

  static void lay_out(const Part &p, int64_t run, const T *from, T *to) {
    const int64_t n = p.rows[2], rows = p.count[1], end = (p.count[0] - 1) * p.rows[1] * n + (rows - 1) * n;  // where the last row begins
    for (int64_t y0 = 0; y0 < p.count[0]; y0++, from += rows * p.count[2]) {
      T *first = to + y0 * p.rows[1] * n;
      const bool last = y0 + 1 == p.count[0];
      weft_shifted.copy_rows[sizeof(T) == 8](rows - last, from, p.count[2], 1, 0, p.count[2], n, first);
      if (!last) std::fill(first + rows * n, first + p.rows[1] * n, T());
    }
    weft_shifted.copy_rows[sizeof(T) == 8](1, from - p.count[2], 0, 1, 0, p.count[2], run - end, to + end);
  }

  static void range(void *context, int64_t begin, int64_t end, int64_t) {
    const ByWeight &b = *static_cast<ByWeight *>(context);
    const ConvolutionSizes &c = b.c;
    const int d = sizeof(T) == 8;
    const int64_t blocks = ceil_div(c.made, b.block), terms = c.channels * c.taps;
    for (int64_t task = begin; task < end; task++) {
      const int64_t i = task % blocks * b.block, group = task / blocks;
      for (int64_t n = 0; n < b.images; n++) {
        const T *base = b.copied + (n * c.groups + group) * c.channels * b.p.span, *rows = b.spread + ((n * c.groups + group) * c.made + i) * b.run;
        weft_shifted.dots[d](b.run, std::min(b.block, c.made - i), terms, rows, b.run, base, b.offsets, b.weight + (group * c.made + i) * terms, terms);
      }
    }
  }
};

// What both sides of the products are copied to, and whether all of it is finite: what is not meets zeros that no position has.
template <class T> struct Sides {
  const ConvolutionSizes &c;
  const Part &p;
  const T *x, *g;
  T *copied, *spread;
  int64_t run, channels;                       // of all images
  bool finite = true;

  static void copy(void *context, int64_t begin, int64_t end, int64_t) {
    Sides &s = *static_cast<Sides *>(context);
    bool finite = true;
    for (int64_t i = begin; i < end && finite; i++) {
      const bool image = i < s.channels;
      const int64_t k = image ? i : i - s.channels;
      T *to = image ? s.copied + k * s.p.span : s.spread + k * s.run;
      if (image) copy_channel(s.c, s.p, s.x + k * s.c.pixels, to);
      else ByWeight<T>::lay_out(s.p, s.run, s.g + k * s.c.places, to);
      finite = all_finite(to, image ? s.p.span : s.run);
    }
    if (!finite) __atomic_store_n(&s.finite, false, __ATOMIC_RELAXED);
  }
};

// Of results that see one channel each: a channel's images and gradients are copied some at a time, and multiplied in cache.
template <class T> struct WeightOfChannel {
  const ConvolutionSizes &c;
  const Part &p;
  const T *x, *g;
  T *weight;
  const WeftKernelRuntime *runtime;
  int64_t run, some;                           // of a gradient, rounded up; images at a time
  bool finite = true;

  static void range(void *context, int64_t begin, int64_t end, int64_t worker) {
    WeightOfChannel &f = *static_cast<WeightOfChannel *>(context);
    const ConvolutionSizes &c = f.c;
    const int64_t span = f.p.span, n = f.some * (span + f.run) + kSlack + f.run, d = sizeof(T) == 8;
    T *gradients = static_cast<T *>(f.runtime->scratch(worker, n * (int64_t)sizeof(T))), *images = gradients + f.some * f.run;
    for (int64_t channel = begin; channel < end; channel++)
      for (int64_t first = 0; first < c.images; first += f.some) {
        const int64_t count = std::min(f.some, c.images - first);
        for (int64_t i = 0; i < count; i++) copy_channel(c, f.p, f.x + ((first + i) * c.groups + channel) * c.pixels, images + i * span);
        std::fill(images + count * span, images + count * span + kSlack + f.run, T());
        bool finite = all_finite(images, count * span);
        for (int64_t m = channel * c.made; m < (channel + 1) * c.made && finite; m++) {
          for (int64_t i = 0; i < count; i++) ByWeight<T>::lay_out(f.p, f.run, f.g + ((first + i) * c.groups * c.made + m) * c.places, gradients + i * f.run);
          finite = all_finite(gradients, count * f.run);
          weft_shifted.image_dots[d](count, f.run, c.taps, gradients, f.run, images, span, f.p.offsets.data(), f.weight + m * c.taps);
        }
        if (finite) continue;
        __atomic_store_n(&f.finite, false, __ATOMIC_RELAXED);
        return;
      }
  }
};

template <class T> bool weight_by_channel(const ConvolutionSizes &c, const Part &p, const T *g, const T *x, T *weight, const WeftKernelRuntime *runtime) {
  constexpr int64_t lanes = 64 / (int64_t)sizeof(T);
  const int64_t results = c.groups * c.made, run = ceil_div(p.run, lanes) * lanes;
  WeightOfChannel<T> f = {c, p, x, g, weight, runtime, run, std::max<int64_t>(1, std::min(c.images, kTogether / (p.span + run)))};
  std::fill(weight, weight + results * c.taps, T());
  runtime->parallel_for(c.groups, std::max<int64_t>(1, 262144 / (c.images * (p.span + c.made * c.taps * run))), WeightOfChannel<T>::range, &f);
  return f.finite;
}

}  // namespace

template <class T> bool shifted_convolution(const ConvolutionSizes &c, const T *x, const T *weight, const T *bias, T *out, const WeftKernelRuntime *runtime) {
  const bool holes = c.hole[0] > 1 || c.hole[1] > 1 || c.hole[2] > 1;
  if (!weft_shifted.dots[0] || !c.images || !c.channels || !c.made || !c.taps || !c.pixels) return false;
  if (holes && (c.stride[0] > 1 || c.stride[1] > 1 || c.stride[2] > 1 || c.hole[0] * c.hole[1] * c.hole[2] > 16)) return false;
  std::vector<Part> parts;
  const bool few = c.made <= kFewResults;
  bool alone = c.channels == 1 && few, together = few && !holes, pay = true;
  for (int64_t a = 0; a < c.hole[0]; a++)
    for (int64_t b = 0; b < c.hole[1]; b++)
      for (int64_t k = 0; k < c.hole[2]; k++) {
        const int64_t remainder[3] = {a, b, k};
        Part p = part_of(c, remainder);
        if (!p.any()) continue;
        alone = alone && p.span <= kNear;
        together = together && p.count[2] >= kLong && c.channels * p.span <= kMemory;  // better than a product of few rows
        pay = pay && pays(c, p);
        if (!alone && !together && !pay) return false;
        parts.push_back(std::move(p));
      }
  if (!alone && holes && !less_than_columns(c, parts)) return false;
  for (const Part &p : parts) {
    if (alone || !pay) run_channels(c, p, x, weight, bias, out, runtime);
    else run_part(c, p, x, weight, bias, out, runtime);
  }
  return true;
}

template <class T> bool shifted_convolution_weight(const ConvolutionSizes &c, const T *g, const T *x, T *weight, const WeftKernelRuntime *runtime) {
  if (!weft_shifted.dots[0] || !c.images || !c.channels || !c.made || !c.taps || !c.pixels || c.hole[0] * c.hole[1] * c.hole[2] > 1) return false;
  const int64_t none[3] = {0, 0, 0};
  const Part p = part_of(c, none);
  constexpr int64_t lanes = 64 / (int64_t)sizeof(T);
  const std::vector<int64_t> offsets = all_offsets(c, p);
  if (c.channels == 1 && c.made <= kFewResults && p.any() && p.span <= kNear) return weight_by_channel(c, p, g, x, weight, runtime);
  if (!pays(c, p) || p.run < 16 * lanes) return false;
  const int64_t run = ceil_div(p.run, lanes) * lanes, each = c.groups * c.channels, results = c.groups * c.made;
  const int64_t some = images_at_a_time(c, kOverAndOver, each * p.span + results * run);
  Lines<T> sums = memory_of<T>(results * c.channels * c.taps);
  const int64_t block = weft_shifted.dot_rows;
  const bool whole = run == p.run && run == c.places && p.span == c.pixels && !p.low[0] && !p.low[1] && !p.low[2];
  if (whole && c.made * c.channels >= kManyPairs) return false;
  if (whole) {  // images and gradients are runs as they are
    ByWeight<T> b = {c, p, x, g, sums.get(), offsets.data(), c.images, run, block};
    runtime->parallel_for(c.groups * ceil_div(c.made, block), std::max<int64_t>(1, 262144 / (c.images * run * c.channels * block)), ByWeight<T>::range, &b);
    std::copy(sums.get(), sums.get() + results * c.channels * c.taps, weight);
    return true;
  }
  Lines<T> copied = unwritten<T>(some * each * p.span), spread = unwritten<T>(some * results * run);
  for (int64_t first = 0; first < c.images; first += some) {
    const int64_t n = std::min(some, c.images - first);
    Sides<T> sides = {c, p, x + first * each * c.pixels, g + first * results * c.places, copied.get(), spread.get(), run, n * each};
    runtime->parallel_for(n * (each + results), std::max<int64_t>(1, 16384 / p.span), Sides<T>::copy, &sides);
    if (!sides.finite) return false;
    ByWeight<T> b = {c, p, copied.get(), spread.get(), sums.get(), offsets.data(), n, run, block};
    runtime->parallel_for(c.groups * ceil_div(c.made, block), std::max<int64_t>(1, 262144 / (n * run * c.channels * c.taps * block)), ByWeight<T>::range, &b);
  }
  std::copy(sums.get(), sums.get() + results * c.channels * c.taps, weight);
  return true;
}

template bool shifted_convolution<float>(const ConvolutionSizes &, const float *, const float *, const float *, float *, const WeftKernelRuntime *);
template bool shifted_convolution<double>(const ConvolutionSizes &, const double *, const double *, const double *, double *, const WeftKernelRuntime *);
template bool shifted_convolution_weight<float>(const ConvolutionSizes &, const float *, const float *, float *, const WeftKernelRuntime *);
template bool shifted_convolution_weight<double>(const ConvolutionSizes &, const double *, const double *, double *, const WeftKernelRuntime *);

}  // namespace weft

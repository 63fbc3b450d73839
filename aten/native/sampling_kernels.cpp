// sampling_kernels.cpp: images [N, C, H, W] at the points of a grid [N, H', W', 2], or volumes [N, C, D, H, W] at points of 3 numbers;
// linear, nearest or (images) cubic, and the derivatives.
//
// A block of points is made offsets and weights once, which every channel then uses. The arithmetic is that of the definition
// (aten/ops/sampling.py), in its order: places of halves are rounded to halves at each step, so that they name the pixels that they
// do everywhere; sums are float32. Images of many channels are laid out with their channels innermost, so that a point's are vectors;
// those of few are gathered.
#include <math.h>
#include <string.h>

#include <algorithm>
#include <vector>

#include "clones.h"
#include "half.h"
#include "native_kernel.h"

namespace weft {

namespace {

enum Border { BORDER_ZEROS, BORDER_CLAMP, BORDER_REFLECT };
enum Mode { MODE_LINEAR, MODE_NEAREST, MODE_CUBIC };

constexpr int64_t kBlock = 128;
constexpr int kTaps = 16, kDims = 3;  // the most pixels that a point is made of, and the most coordinates it has

// A float as the next half of a kind. No branches, so that loops are vectors; a NaN has the low bits of a half already.
inline float rounded(float f, BFloat16) {
  const uint32_t bits = float_to_bits(f);
  return bits_to_float((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
}
inline float rounded(float f, Half) {
  const uint32_t bits = float_to_bits(f);
  const float size = std::fabs(f), normal = bits_to_float((bits + 0xfff + (bits >> 13 & 1)) & ~(uint32_t)0x1fff);
  const float found = size < 0x1p-14f ? std::copysign((size + 0.5f) - 0.5f, f) : normal;  // (floats beside 0.5 lie 2^-24 apart)
  return size >= 65520.0f ? std::copysign(INFINITY, f) : found;
}

// A number of which every sum and product is rounded to a half; numbers that are given are not.
template <class H> struct Rounded {
  float value;
  Rounded() = default;
  Rounded(float x) : value(x) {}
  explicit operator float() const { return value; }
  explicit operator int32_t() const { return (int32_t)value; }
  Rounded operator-() const { return -value; }
  friend Rounded operator+(Rounded a, Rounded b) { return rounded(a.value + b.value, H()); }
  friend Rounded operator-(Rounded a, Rounded b) { return rounded(a.value - b.value, H()); }
  friend Rounded operator*(Rounded a, Rounded b) { return rounded(a.value * b.value, H()); }
  friend Rounded operator/(Rounded a, Rounded b) { return rounded(a.value / b.value, H()); }
  friend bool operator<(Rounded a, Rounded b) { return a.value < b.value; }
  friend bool operator>(Rounded a, Rounded b) { return a.value > b.value; }
  friend bool operator<=(Rounded a, Rounded b) { return a.value <= b.value; }
  friend bool operator>=(Rounded a, Rounded b) { return a.value >= b.value; }
  friend Rounded fabs(Rounded a) { return std::fabs(a.value); }
  friend Rounded floor(Rounded a) { return std::floor(a.value); }
  friend Rounded nearbyint(Rounded a) { return std::nearbyint(a.value); }
  friend Rounded fmod(Rounded a, Rounded b) { return rounded(std::fmod(a.value, b.value), H()); }
};

// Of numbers that places are computed with: what grids are stored as, and what sums are.
template <class A> struct Kind {
  typedef A stored;
  typedef A sum;
};
template <class H> struct Kind<Rounded<H>> {
  typedef H stored;
  typedef float sum;
};

// Elements of an image at n places (-1: 0), and sums of four such, weighed, or such a sum added: gathered by vectors, which there
// are because `out` is said to be memory of its own. What is outside reads the first element.
#define WEFT_GATHERED(T)                                                                                                              \
  WEFT_CLONES void take(const T *image, const int32_t *at, int64_t n, T *__restrict out) {                                            \
    for (int64_t i = 0; i < n; i++) {                                                                                                 \
      const T x = image[at[i] < 0 ? 0 : at[i]];                                                                                       \
      out[i] = at[i] < 0 ? (T)0 : x;                                                                                                  \
    }                                                                                                                                 \
  }                                                                                                                                   \
  WEFT_CLONES void blend(const T *image, const int32_t (*at)[kBlock], const T (*weight)[kBlock], int64_t n, T *__restrict out) {      \
    for (int64_t i = 0; i < n; i++) {                                                                                                 \
      const T a = image[at[0][i] < 0 ? 0 : at[0][i]], b = image[at[1][i] < 0 ? 0 : at[1][i]];                                         \
      const T c = image[at[2][i] < 0 ? 0 : at[2][i]], d = image[at[3][i] < 0 ? 0 : at[3][i]];                                         \
      T total = (at[0][i] < 0 ? (T)0 : a) * weight[0][i];                                                                             \
      total += (at[1][i] < 0 ? (T)0 : b) * weight[1][i];                                                                              \
      total += (at[2][i] < 0 ? (T)0 : c) * weight[2][i];                                                                              \
      out[i] = total + (at[3][i] < 0 ? (T)0 : d) * weight[3][i];                                                                      \
    }                                                                                                                                 \
  }                                                                                                                                   \
  WEFT_CLONES void blend_more(const T *image, const int32_t (*at)[kBlock], const T (*weight)[kBlock], int64_t n, T *__restrict out) { \
    for (int64_t i = 0; i < n; i++) {                                                                                                 \
      const T a = image[at[0][i] < 0 ? 0 : at[0][i]], b = image[at[1][i] < 0 ? 0 : at[1][i]];                                         \
      const T c = image[at[2][i] < 0 ? 0 : at[2][i]], d = image[at[3][i] < 0 ? 0 : at[3][i]];                                         \
      T total = out[i] + (at[0][i] < 0 ? (T)0 : a) * weight[0][i];                                                                    \
      total += (at[1][i] < 0 ? (T)0 : b) * weight[1][i];                                                                              \
      total += (at[2][i] < 0 ? (T)0 : c) * weight[2][i];                                                                              \
      out[i] = total + (at[3][i] < 0 ? (T)0 : d) * weight[3][i];                                                                      \
    }                                                                                                                                 \
  }
WEFT_GATHERED(float)
WEFT_GATHERED(double)

// Of channels that lie side by side: the sums of four pixels, weighed, or such a sum added; and of the gradient of such a sum, what it
// adds to a pixel's, and its product with the pixel, in 16 chains that are added in halves.
#define WEFT_BESIDE(T)                                                                                                   \
  WEFT_CLONES void mix(const T *const *p, const T *weight, int64_t n, T *__restrict out) {                               \
    const T *a = p[0], *b = p[1], *c = p[2], *d = p[3];                                                                  \
    for (int64_t i = 0; i < n; i++) {                                                                                    \
      T total = a[i] * weight[0];                                                                                        \
      total += b[i] * weight[1];                                                                                         \
      total += c[i] * weight[2];                                                                                         \
      out[i] = total + d[i] * weight[3];                                                                                 \
    }                                                                                                                    \
  }                                                                                                                      \
  WEFT_CLONES void mix_more(const T *const *p, const T *weight, int64_t n, T *__restrict out) {                          \
    const T *a = p[0], *b = p[1], *c = p[2], *d = p[3];                                                                  \
    for (int64_t i = 0; i < n; i++) {                                                                                    \
      T total = out[i] + a[i] * weight[0];                                                                               \
      total += b[i] * weight[1];                                                                                         \
      total += c[i] * weight[2];                                                                                         \
      out[i] = total + d[i] * weight[3];                                                                                 \
    }                                                                                                                    \
  }                                                                                                                      \
  WEFT_CLONES T spread(const T *g, const T *pixel, T weight, int64_t n, T *to) {                                         \
    T chains[16] = {};                                                                                                   \
    int64_t i = 0;                                                                                                       \
    for (; i + 16 <= n; i += 16)                                                                                         \
      for (int64_t l = 0; l < 16; l++) to[i + l] += g[i + l] * weight, chains[l] += g[i + l] * pixel[i + l];             \
    for (int64_t l = 0; i + l < n; l++) to[i + l] += g[i + l] * weight, chains[l] += g[i + l] * pixel[i + l];            \
    for (int64_t half = 8; half; half /= 2)                                                                              \
      for (int64_t l = 0; l < half; l++) chains[l] += chains[l + half];                                                  \
    return chains[0];                                                                                                    \
  }
WEFT_BESIDE(float)
WEFT_BESIDE(double)

constexpr int64_t kManyChannels = 8;

// out[j][i] = in[i][j] of m rows of n, in rows `in_row` and `out_row` apart.
template <class T> void turn(const T *in, int64_t in_row, T *out, int64_t out_row, int64_t m, int64_t n) {
  if (const WeftTranspose transpose = weft_kernels.transpose[sizeof(T) == 4 ? 2 : 3])
    return transpose((const char *)in, in_row * (int64_t)sizeof(T), (char *)out, out_row * (int64_t)sizeof(T), n, m);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) out[j * out_row + i] = in[i * in_row + j];
}

// `A`: the numbers that places are computed with.
template <class A> struct Sampler {
  typedef typename Kind<A>::stored G;
  typedef typename Kind<A>::sum T;

  const T *image, *g;
  const G *grid;
  T *out, *image_grad, *grid_grad;
  int dims;
  int64_t channels, size[kDims], area, points;  // area: of an image; points: of a sample's grid
  Border border;
  Mode mode;
  bool align;

  // A coordinate of [-1, 1] in pixels; `slope`: its derivative.
  __attribute__((always_inline)) inline A pixel(A x, int d, T *slope) const {
    const T n = (T)size[d];
    *slope = align ? (n - 1) / 2 : n / 2;
    return align ? (x + A(1)) * A((n - 1) / 2) : ((x + A(1)) * A(n) - A(1)) / A(2);
  }

  // A place in pixels moved into the image where the border says so, and what that makes of the slope.
  __attribute__((always_inline)) inline A inside(A x, int d, T *slope) const {
    if (border == BORDER_ZEROS) return x;
    const T n = (T)size[d];
    if (border == BORDER_REFLECT) {
      const T low = align ? (T)0 : (T)-1, high = align ? 2 * (n - 1) : 2 * n - 1;
      if (low == high) {
        *slope = 0;
        x = x * A(0);
      } else {
        const A start = low / 2, span = (high - low) / 2, away = x - start;
        *slope *= away > A(0) ? (T)1 : away < A(0) ? (T)-1 : (T)0;
        const A distance = fabs(away), rest = fmod(distance, span), flips = floor(distance / span);
        const bool even = !(fmod(flips, A(2)) > A(0));
        if (!even) *slope = -*slope;
        x = even ? rest + start : span - rest + start;
      }
    }
    if (!(x > A(0) && x < A(n - 1))) *slope = 0;  // as PyTorch's, on the border too
    return x > A(n - 1) ? A(n - 1) : x >= A(0) ? x : A(0);  // NaN lies at 0
  }

  // Of a block of points: where their pixels lie (-1: outside) and what each weighs; `by`: derivatives of the weights by a coordinate.
  struct Block {
    int taps;
    int32_t at[kTaps][kBlock];
    T weight[kTaps][kBlock], by[kDims][kTaps][kBlock], slope[kDims][kBlock];
  };

  template <int n> __attribute__((always_inline)) inline int32_t place(const A *x) const {
    bool fits = true;
    int32_t at = 0;
    for (int d = 0; d < n; d++) {
      const bool here = x[d] >= A(0) && x[d] <= A((T)(size[d] - 1));
      fits = fits & here;
      at = at * (int32_t)size[d] + (here ? (int32_t)x[d] : 0);  // (an image has no more than 2^31 pixels)
    }
    return fits ? at : -1;
  }

  template <int n> __attribute__((always_inline)) inline void find_linear(const A *x, int64_t i, Block *b) const {
    A low[n], share[n][2];
    for (int d = 0; d < n; d++) low[d] = floor(x[d]), share[d][0] = low[d] + A(1) - x[d], share[d][1] = x[d] - low[d];
#pragma GCC unroll 8
    for (int k = 0; k < 1 << n; k++) {
      A at[n], weight = 1;
      for (int d = 0; d < n; d++) at[d] = low[d] + A((T)(k >> d & 1)), weight = weight * share[d][k >> d & 1];
      b->at[k][i] = place<n>(at), b->weight[k][i] = (T)weight;
      for (int d = 0; d < n; d++) {
        T others = k >> d & 1 ? (T)1 : (T)-1;
        for (int e = 0; e < n; e++)
          if (e != d) others *= (T)share[e][k >> e & 1];
        b->by[d][k][i] = others;
      }
    }
  }

  // What the pixels before, at, behind and two behind a place weigh that lies `t` behind its own, and the derivatives.
  __attribute__((always_inline)) static inline void cubic(A t, A *weight, T *by) {
    constexpr T a = (T)-0.75;
    const auto far = [](A x) { return ((A(a) * x - A(5 * a)) * x + A(8 * a)) * x - A(4 * a); };
    const auto near = [](A x) { return (A(a + 2) * x - A(a + 3)) * x * x + A(1); };
    const auto far_by = [](T x) { return (3 * a * x - 10 * a) * x + 8 * a; };
    const auto near_by = [](T x) { return (3 * (a + 2) * x - 2 * (a + 3)) * x; };
    const A rest[4] = {t + A(1), t, A(1) - t, A(2) - t};
    weight[0] = far(rest[0]), weight[1] = near(rest[1]), weight[2] = near(rest[2]), weight[3] = far(rest[3]);
    by[0] = far_by((T)rest[0]), by[1] = near_by((T)rest[1]), by[2] = -near_by((T)rest[2]), by[3] = -far_by((T)rest[3]);
  }

  __attribute__((always_inline)) inline void find_cubic(const A *x, int64_t i, Block *b) const {
    A weight[2][4], at[2][4];
    T by[2][4], unused = 0;
    for (int d = 0; d < 2; d++) {
      const A low = floor(x[d]);
      cubic(x[d] - low, weight[d], by[d]);
      for (int k = 0; k < 4; k++) at[d][k] = inside(low + A((T)(k - 1)), d, &unused);
    }
    for (int k = 0; k < 16; k++) {
      const A place_of[2] = {at[0][k / 4], at[1][k % 4]};
      b->at[k][i] = place<2>(place_of), b->weight[k][i] = (T)(weight[0][k / 4] * weight[1][k % 4]);
      b->by[0][k][i] = by[0][k / 4] * (T)weight[1][k % 4], b->by[1][k][i] = (T)weight[0][k / 4] * by[1][k % 4];
    }
  }

  void find(const G *points_of, int64_t n, Block *b) const {
    b->taps = mode == MODE_NEAREST ? 1 : mode == MODE_CUBIC ? 16 : 1 << dims;
    find_points(*this, points_of, n, b);
  }

  // Where it is called from says for which instruction set it is compiled.
  template <int n, Mode how> __attribute__((always_inline)) inline void find_here(const G *points_of, int64_t count, Block *b) const {
    for (int64_t i = 0; i < count; i++) {
      A x[n];
      for (int d = 0; d < n; d++) {
        x[d] = pixel(A((T)points_of[n * i + n - 1 - d]), d, &b->slope[d][i]);
        if (how != MODE_CUBIC) x[d] = inside(x[d], d, &b->slope[d][i]);
        if (how == MODE_NEAREST) x[d] = nearbyint(x[d]);  // ties go to the even one
      }
      if constexpr (how == MODE_CUBIC) find_cubic(x, i, b);
      else if constexpr (how == MODE_LINEAR) find_linear<n>(x, i, b);
      else b->at[0][i] = place<n>(x);
    }
  }

  static void forward(void *context, int64_t begin, int64_t end, int64_t) {  // over blocks of all samples
    const Sampler &s = *static_cast<Sampler *>(context);
    const int64_t per = (s.points + kBlock - 1) / kBlock;
    Block b;
    for (int64_t part = begin; part < end; part++) {
      const int64_t sample = part / per, first = part % per * kBlock, n = std::min(kBlock, s.points - first);
      s.find(s.grid + (sample * s.points + first) * s.dims, n, &b);
      for (int64_t c = 0; c < s.channels; c++) {
        const T *image = s.image + (sample * s.channels + c) * s.area;
        T *out = s.out + (sample * s.channels + c) * s.points + first;
        if (s.mode == MODE_NEAREST) take(image, b.at[0], n, out);
        else blend(image, b.at, b.weight, n, out);
        for (int k = 4; k < b.taps; k += 4) blend_more(image, b.at + k, b.weight + k, n, out);
      }
    }
  }

  // Forward, over samples, with the channels of images side by side.
  static void forward_beside(void *context, int64_t begin, int64_t end, int64_t) {
    const Sampler &s = *static_cast<Sampler *>(context);
    const int64_t channels = s.channels, area = s.area;
    std::vector<T> image((size_t)(area * channels)), made((size_t)(kBlock * channels)), nothing((size_t)channels);
    Block b;
    for (int64_t sample = begin; sample < end; sample++) {
      turn(s.image + sample * channels * area, area, image.data(), channels, channels, area);
      for (int64_t first = 0; first < s.points; first += kBlock) {
        const int64_t n = std::min(kBlock, s.points - first);
        s.find(s.grid + (sample * s.points + first) * s.dims, n, &b);
        for (int64_t i = 0; i < n; i++) {
          const T *pixels[kTaps];
          T weights[kTaps], *to = made.data() + i * channels;
          for (int k = 0; k < b.taps; k++) pixels[k] = b.at[k][i] < 0 ? nothing.data() : image.data() + b.at[k][i] * channels, weights[k] = b.weight[k][i];
          mix(pixels, weights, channels, to);
          for (int k = 4; k < b.taps; k += 4) mix_more(pixels + k, weights + k, channels, to);
        }
        turn(made.data(), channels, s.out + sample * channels * s.points + first, s.points, n, channels);
      }
      poll_signals();
    }
  }
  static void backward_beside(void *context, int64_t begin, int64_t end, int64_t) {
    const Sampler &s = *static_cast<Sampler *>(context);
    const int64_t channels = s.channels, area = s.area;
    std::vector<T> image((size_t)(area * channels)), grad((size_t)(area * channels)), g((size_t)(kBlock * channels));
    Block b;
    for (int64_t sample = begin; sample < end; sample++) {
      turn(s.image + sample * channels * area, area, image.data(), channels, channels, area);
      std::fill(grad.begin(), grad.end(), T(0));
      for (int64_t first = 0; first < s.points; first += kBlock) {
        const int64_t n = std::min(kBlock, s.points - first);
        s.find(s.grid + (sample * s.points + first) * s.dims, n, &b);
        turn(s.g + sample * channels * s.points + first, s.points, g.data(), channels, channels, n);
        T *to = s.grid_grad + (sample * s.points + first) * s.dims;
        for (int64_t i = 0; i < n; i++) {
          T sums[kDims] = {};
          for (int k = 0; k < b.taps; k++) {
            const int64_t at = b.at[k][i] * channels;
            if (at < 0) continue;
            const T product = spread(g.data() + i * channels, image.data() + at, b.weight[k][i], channels, grad.data() + at);
            for (int d = 0; d < s.dims; d++) sums[d] += product * b.by[d][k][i];
          }
          for (int d = 0; d < s.dims; d++) to[s.dims * i + s.dims - 1 - d] = sums[d] * b.slope[d][i];
        }
      }
      turn(grad.data(), channels, s.image_grad + sample * channels * area, area, area, channels);
      poll_signals();
    }
  }
  bool beside() const { return mode != MODE_NEAREST && channels >= kManyChannels; }

  // What a channel's gradient of one pixel of each point adds to the image's, and its products with the pixels.
  static void spread_tap(const Block &b, int k, const T *image, const T *g, int64_t n, T *to, T *products) {
    for (int64_t i = 0; i < n; i++) {
      const int64_t at = b.at[k][i];
      if (at < 0) products[i] = 0;
      else to[at] += g[i] * b.weight[k][i], products[i] = g[i] * image[at];
    }
  }

  static void backward(void *context, int64_t begin, int64_t end, int64_t) {  // over samples
    const Sampler &s = *static_cast<Sampler *>(context);
    Block b;
    for (int64_t sample = begin; sample < end; sample++) {
      std::fill(s.image_grad + sample * s.channels * s.area, s.image_grad + (sample + 1) * s.channels * s.area, T(0));
      for (int64_t first = 0; first < s.points; first += kBlock) {
        const int64_t n = std::min(kBlock, s.points - first);
        s.find(s.grid + (sample * s.points + first) * s.dims, n, &b);
        T sums[kDims][kBlock] = {}, products[kBlock];
        for (int64_t c = 0; c < s.channels; c++) {
          const T *image = s.image + (sample * s.channels + c) * s.area, *g = s.g + (sample * s.channels + c) * s.points + first;
          T *to = s.image_grad + (sample * s.channels + c) * s.area;
          if (s.mode == MODE_NEAREST) {
            for (int64_t i = 0; i < n; i++)
              if (b.at[0][i] >= 0) to[b.at[0][i]] += g[i];
            continue;
          }
          for (int k = 0; k < b.taps; k++) {
            spread_tap(b, k, image, g, n, to, products);
            for (int d = 0; d < s.dims; d++)
              for (int64_t i = 0; i < n; i++) sums[d][i] += products[i] * b.by[d][k][i];
          }
        }
        T *to = s.grid_grad + (sample * s.points + first) * s.dims;
        for (int d = 0; d < s.dims; d++)
          for (int64_t i = 0; i < n; i++) to[s.dims * i + s.dims - 1 - d] = sums[d][i] * b.slope[d][i];
      }
      poll_signals();
    }
  }
};

#define WEFT_FINDER(A)                                                                                                 \
  WEFT_CLONES void find_points(const Sampler<A> &s, const Sampler<A>::G *points, int64_t n, Sampler<A>::Block *b) {    \
    if (s.mode == MODE_CUBIC) s.find_here<2, MODE_CUBIC>(points, n, b);                                                \
    else if (s.mode == MODE_LINEAR && s.dims == 2) s.find_here<2, MODE_LINEAR>(points, n, b);                          \
    else if (s.mode == MODE_LINEAR) s.find_here<3, MODE_LINEAR>(points, n, b);                                         \
    else if (s.dims == 2) s.find_here<2, MODE_NEAREST>(points, n, b);                                                  \
    else s.find_here<3, MODE_NEAREST>(points, n, b);                                                                   \
  }
WEFT_FINDER(float)
WEFT_FINDER(double)
WEFT_FINDER(Rounded<Half>)
WEFT_FINDER(Rounded<BFloat16>)

// An image, a grid and perhaps a gradient, row-major and of one floating dtype, and the modes by name. Halves but for those of grids
// are float32 then, and what is made of them is.
struct Operands {
  Ref kept[3], made[2];
  WeftTensor *t[3], *to[2];
  int dtype, dims;
  Mode mode;
  Border border;
  bool align;

  bool read(PyObject *const *args, int n, PyObject *const *modes) {
    for (int i = 0; i < n; i++) {
      WeftTensor *given = plain(args[i]);
      if (!given || !given->numel) return false;
      if (i == 0) dtype = WEFT_DTYPE(given), dims = WEFT_NDIM(given) - 2;
      if (WEFT_DTYPE(given) != dtype || WEFT_NDIM(given) != dims + 2) return false;
      kept[i] = i != 1 && is_half(dtype) ? Ref(cast_tensor(given, WEFT_FLOAT32)) : Ref(Py_NewRef(args[i]));
      if (kept[i]) kept[i] = row_major(as_tensor(kept[i].get()));
      if (!kept[i]) return false;
      t[i] = as_tensor(kept[i].get());
    }
    if (dtype != WEFT_FLOAT32 && dtype != WEFT_FLOAT64 && !is_half(dtype)) return false;
    return (dims == 2 || dims == 3) && t[1]->sizes[dims + 1] == dims && t[1]->sizes[0] == t[0]->sizes[0] && read_modes(modes);
  }

  bool read_modes(PyObject *const *names) {
    const char *how = PyUnicode_Check(names[0]) ? PyUnicode_AsUTF8(names[0]) : nullptr, *edge = PyUnicode_Check(names[1]) ? PyUnicode_AsUTF8(names[1]) : nullptr;
    if (!how || !edge || !exact_bool(names[2], &align)) return false;
    mode = !strcmp(how, "nearest") ? MODE_NEAREST : !strcmp(how, "bicubic") ? MODE_CUBIC : MODE_LINEAR;
    border = !strcmp(edge, "zeros") ? BORDER_ZEROS : !strcmp(edge, "border") ? BORDER_CLAMP : BORDER_REFLECT;
    return mode != MODE_CUBIC || dims == 2;
  }

  // Memory that result i is written to first.
  bool result(int i, WeftTensor *out) {
    if (!out || WEFT_DTYPE(out) != dtype) return false;
    made[i] = is_half(dtype) ? Ref(empty((uint32_t)WEFT_FLOAT32, WEFT_NDIM(out), out->sizes, nullptr)) : Ref(Py_NewRef(as_object(out)));
    to[i] = made[i] ? as_tensor(made[i].get()) : nullptr;
    return to[i];
  }
  bool store(int i, WeftTensor *out) { return to[i] == out || copy_into(out, to[i]); }

  template <class T> T *data(WeftTensor *of) const { return reinterpret_cast<T *>(weft_data(of)); }

  // False: an image of too many pixels.
  template <class A> bool describe(Sampler<A> *s) const {
    s->dims = dims, s->mode = mode, s->border = border, s->align = align;
    s->channels = t[0]->sizes[1], s->area = s->points = 1;
    for (int d = 0; d < dims; d++) {
      s->size[d] = t[0]->sizes[2 + d], s->points *= t[1]->sizes[1 + d];
      if (__builtin_mul_overflow(s->area, s->size[d], &s->area) || s->area > INT32_MAX) return false;
    }
    s->image = data<typename Sampler<A>::T>(t[0]), s->grid = data<typename Sampler<A>::G>(t[1]);
    return true;
  }

  template <class F> bool with_places(F f) const {
    switch (dtype) {
      case WEFT_FLOAT32: return f(Sampler<float>());
      case WEFT_FLOAT64: return f(Sampler<double>());
      case WEFT_FLOAT16: return f(Sampler<Rounded<Half>>());
      default: return f(Sampler<Rounded<BFloat16>>());
    }
  }
};

// (out, input, grid, mode, border, align)
PyObject *sample_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  Operands o;
  WeftTensor *out = nargs == 6 ? dense(args[0]) : nullptr;
  if (!out || !o.read(args + 1, 2, args + 3) || !o.result(0, out)) return PyErr_Occurred() ? nullptr : not_for_these();
  const bool done = o.with_places([&](auto s) {
    typedef decltype(s) S;
    const int64_t samples = o.t[0]->sizes[0];
    if (!o.describe(&s) || out->numel != samples * s.channels * s.points) return false;
    s.out = o.data<typename S::T>(o.to[0]);
    if (s.beside()) Loop::parallel(out->numel, samples, s.channels * s.points, S::forward_beside, &s);
    else Loop::parallel(4 * out->numel, samples * ((s.points + kBlock - 1) / kBlock), kBlock * s.channels * 4, S::forward, &s);
    return true;
  });
  return done && o.store(0, out) ? written() : PyErr_Occurred() ? nullptr : not_for_these();
}

// ((gradient of input, of grid), input, grid, grad, mode, border, align)
PyObject *sample_backward_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  Operands o;
  const bool two = nargs == 7 && PyTuple_Check(args[0]) && PyTuple_GET_SIZE(args[0]) == 2;
  WeftTensor *image = two ? dense(PyTuple_GET_ITEM(args[0], 0)) : nullptr, *grid = image ? dense(PyTuple_GET_ITEM(args[0], 1)) : nullptr;
  if (!grid || !o.read(args + 1, 3, args + 4) || !o.result(0, image) || !o.result(1, grid)) return PyErr_Occurred() ? nullptr : not_for_these();
  if (image->numel != o.t[0]->numel || grid->numel != o.t[1]->numel) return not_for_these();
  const bool done = o.with_places([&](auto s) {
    typedef decltype(s) S;
    const int64_t samples = o.t[0]->sizes[0];
    if (!o.describe(&s) || o.t[2]->numel != samples * s.channels * s.points) return false;
    s.g = o.data<typename S::T>(o.t[2]), s.image_grad = o.data<typename S::T>(o.to[0]), s.grid_grad = o.data<typename S::T>(o.to[1]);
    Loop::parallel(8 * o.t[2]->numel, samples, 8 * s.channels * s.points, s.beside() ? S::backward_beside : S::backward, &s);
    return true;
  });
  return done && o.store(0, image) && o.store(1, grid) ? written() : PyErr_Occurred() ? nullptr : not_for_these();
}

}  // namespace

const NativeKernel sampling_kernels[] = {{"sample_points", WEFT_KERNEL(sample_kernel)},
                                         {"sample_points_backward", WEFT_KERNEL(sample_backward_kernel)},
                                         {nullptr, nullptr}};

}  // namespace weft

// sampling_kernels.cpp: images [N, C, H, W] at the points of a grid [N, H', W', 2], bilinear or nearest, and the derivatives.
//
// A block of points is made offsets and weights once, which every channel then uses. The arithmetic is that of the definition
// (aten/ops/sampling.py), in its order. Images of many channels are laid out with their channels innermost, so that a point's are vectors;
// those of few are gathered.
#include <math.h>
#include <string.h>

#include <algorithm>
#include <vector>

#include "clones.h"
#include "native_kernel.h"

namespace weft {

namespace {

enum Border { BORDER_ZEROS, BORDER_CLAMP, BORDER_REFLECT };

constexpr int64_t kBlock = 256;

// Elements of an image at n places (-1: 0), and sums of four such, weighed: gathered by vectors, which there are because `out` is said to
// be memory of its own. What is outside reads the first element.
#define WEFT_GATHERED(T)                                                                                                              \
  WEFT_CLONES void take(const T *image, const int32_t *at, int64_t n, T *__restrict out) {                                            \
    for (int64_t i = 0; i < n; i++) {                                                                                                 \
      const T x = image[at[i] < 0 ? 0 : at[i]];                                                                                       \
      out[i] = at[i] < 0 ? (T)0 : x;                                                                                                  \
    }                                                                                                                                 \
  }                                                                                                                                   \
  WEFT_CLONES void blend(const T *image, const int32_t (*at)[kBlock], const T (*weight)[kBlock], int64_t n, T *__restrict out) {           \
    for (int64_t i = 0; i < n; i++) {                                                                                                 \
      const T a = image[at[0][i] < 0 ? 0 : at[0][i]], b = image[at[1][i] < 0 ? 0 : at[1][i]];                                         \
      const T c = image[at[2][i] < 0 ? 0 : at[2][i]], d = image[at[3][i] < 0 ? 0 : at[3][i]];                                         \
      T total = (at[0][i] < 0 ? (T)0 : a) * weight[0][i];                                                                             \
      total += (at[1][i] < 0 ? (T)0 : b) * weight[1][i];                                                                              \
      total += (at[2][i] < 0 ? (T)0 : c) * weight[2][i];                                                                              \
      out[i] = total + (at[3][i] < 0 ? (T)0 : d) * weight[3][i];                                                                      \
    }                                                                                                                                 \
  }
WEFT_GATHERED(float)
WEFT_GATHERED(double)

// Of channels that lie side by side: the sums of four pixels, weighed; and of the gradient of such a sum, what it adds to a pixel's, and
// its product with the pixel, in 16 chains that are added in halves.
#define WEFT_BESIDE(T)                                                                                                   \
  WEFT_CLONES void mix(const T *a, const T *b, const T *c, const T *d, const T *weight, int64_t n, T *out) {             \
    const T p = weight[0], q = weight[1], r = weight[2], s = weight[3];                                                  \
    for (int64_t i = 0; i < n; i++) {                                                                                    \
      T total = a[i] * p;                                                                                                \
      total += b[i] * q;                                                                                                 \
      total += c[i] * r;                                                                                                 \
      out[i] = total + d[i] * s;                                                                                         \
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

template <class T> struct Sampler {
  const T *image, *grid, *g;
  T *out, *image_grad, *grid_grad;
  int64_t channels, size[2], points;  // points: of a sample's grid
  Border border;
  bool nearest, align;

  // A coordinate of [-1, 1] in pixels, moved into the image where the border says so; `slope`: its derivative.
  __attribute__((always_inline)) inline T pixel(T x, int d, T *slope) const {
    const T n = (T)size[d];
    *slope = align ? (n - 1) / 2 : n / 2;
    x = align ? (x + 1) * ((n - 1) / 2) : ((x + 1) * n - 1) / 2;
    if (border == BORDER_ZEROS) return x;
    if (border == BORDER_REFLECT) {
      const T low = align ? (T)0 : (T)-1, high = align ? 2 * (n - 1) : 2 * n - 1;
      if (low == high) {
        *slope = 0;
        x = x * 0;
      } else {
        const T start = low / 2, span = (high - low) / 2, away = x - start;
        *slope *= away > 0 ? (T)1 : away < 0 ? (T)-1 : (T)0;
        const T distance = std::fabs(away), rest = std::fmod(distance, span), flips = std::floor(distance / span);
        const bool even = std::fmod(flips, (T)2) == 0;
        if (!even) *slope = -*slope;
        x = even ? rest + start : span - rest + start;
      }
    }
    if (!(x > 0 && x < n - 1)) *slope = 0; // as PyTorch's, on the border too
    return x > n - 1 ? n - 1 : x >= 0 ? x : (T)0;  // NaN lies at 0
  }

  // Of a block of points: where their pixels lie (-1: outside) and what each weighs; dx, dy: derivatives of the weights.
  struct Block {
    int corners;
    int32_t at[4][kBlock];
    T weight[4][kBlock], dy[4][kBlock], dx[4][kBlock], slope[2][kBlock];
  };

  static T nearest_to(T x) { return std::nearbyint(x); }  // ties go to the even one

  __attribute__((always_inline)) inline int32_t place(T y, T x) const {
    const bool inside = y >= 0 && y <= (T)(size[0] - 1) && x >= 0 && x <= (T)(size[1] - 1);
    return inside ? (int32_t)y * (int32_t)size[1] + (int32_t)x : -1;  // (an image has no more than 2^31 pixels)
  }

  void find(const T *points_of, int64_t n, Block *b) const { find_points(*this, points_of, n, b); }

  // Where it is called from says for which instruction set it is compiled.
  __attribute__((always_inline)) inline void find_here(const T *points_of, int64_t n, Block *b) const {
    b->corners = nearest ? 1 : 4;
    for (int64_t i = 0; i < n; i++) {
      const T y = pixel(points_of[2 * i + 1], 0, &b->slope[0][i]), x = pixel(points_of[2 * i], 1, &b->slope[1][i]);
      if (nearest) {
        b->at[0][i] = place(nearest_to(y), nearest_to(x));
        continue;
      }
      const T y0 = std::floor(y), x0 = std::floor(x);
      for (int corner = 0; corner < 4; corner++) {
        const bool down = corner & 1, across = corner >> 1 & 1;
        const T wy = down ? y - y0 : y0 + 1 - y, wx = across ? x - x0 : x0 + 1 - x;
        b->at[corner][i] = place(y0 + (T)down, x0 + (T)across);
        b->weight[corner][i] = wy * wx;
        b->dy[corner][i] = down ? wx : -wx;
        b->dx[corner][i] = across ? wy : -wy;
      }
    }
  }

  static void forward(void *context, int64_t begin, int64_t end, int64_t) {  // over blocks of all samples
    const Sampler &s = *static_cast<Sampler *>(context);
    const int64_t per = (s.points + kBlock - 1) / kBlock, area = s.size[0] * s.size[1];
    Block b;
    for (int64_t part = begin; part < end; part++) {
      const int64_t sample = part / per, first = part % per * kBlock, n = std::min(kBlock, s.points - first);
      s.find(s.grid + (sample * s.points + first) * 2, n, &b);
      for (int64_t c = 0; c < s.channels; c++) {
        const T *image = s.image + (sample * s.channels + c) * area;
        T *out = s.out + (sample * s.channels + c) * s.points + first;
        if (s.nearest) {
          take(image, b.at[0], n, out);
          continue;
        }
        blend(image, b.at, b.weight, n, out);
      }
    }
  }

  // Forward, over samples, with the channels of images side by side.
  static void forward_beside(void *context, int64_t begin, int64_t end, int64_t) {
    const Sampler &s = *static_cast<Sampler *>(context);
    const int64_t channels = s.channels, area = s.size[0] * s.size[1];
    std::vector<T> image((size_t)(area * channels)), made((size_t)(kBlock * channels)), nothing((size_t)channels);
    Block b;
    for (int64_t sample = begin; sample < end; sample++) {
      turn(s.image + sample * channels * area, area, image.data(), channels, channels, area);
      for (int64_t first = 0; first < s.points; first += kBlock) {
        const int64_t n = std::min(kBlock, s.points - first);
        s.find(s.grid + (sample * s.points + first) * 2, n, &b);
        for (int64_t i = 0; i < n; i++) {
          const T *pixels[4], weights[4] = {b.weight[0][i], b.weight[1][i], b.weight[2][i], b.weight[3][i]};
          for (int k = 0; k < 4; k++) pixels[k] = b.at[k][i] < 0 ? nothing.data() : image.data() + b.at[k][i] * channels;
          mix(pixels[0], pixels[1], pixels[2], pixels[3], weights, channels, made.data() + i * channels);
        }
        turn(made.data(), channels, s.out + sample * channels * s.points + first, s.points, n, channels);
      }
      poll_signals();
    }
  }
  static void backward_beside(void *context, int64_t begin, int64_t end, int64_t) {
    const Sampler &s = *static_cast<Sampler *>(context);
    const int64_t channels = s.channels, area = s.size[0] * s.size[1];
    std::vector<T> image((size_t)(area * channels)), grad((size_t)(area * channels)), g((size_t)(kBlock * channels));
    Block b;
    for (int64_t sample = begin; sample < end; sample++) {
      turn(s.image + sample * channels * area, area, image.data(), channels, channels, area);
      std::fill(grad.begin(), grad.end(), T(0));
      for (int64_t first = 0; first < s.points; first += kBlock) {
        const int64_t n = std::min(kBlock, s.points - first);
        s.find(s.grid + (sample * s.points + first) * 2, n, &b);
        turn(s.g + sample * channels * s.points + first, s.points, g.data(), channels, channels, n);
        T *to = s.grid_grad + (sample * s.points + first) * 2;
        for (int64_t i = 0; i < n; i++) {
          T down = 0, across = 0;
          for (int k = 0; k < 4; k++) {
            const int64_t at = b.at[k][i] * channels;
            if (at < 0) continue;
            const T product = spread(g.data() + i * channels, image.data() + at, b.weight[k][i], channels, grad.data() + at);
            down += product * b.dy[k][i], across += product * b.dx[k][i];
          }
          to[2 * i] = across * b.slope[1][i], to[2 * i + 1] = down * b.slope[0][i];
        }
      }
      turn(grad.data(), channels, s.image_grad + sample * channels * area, area, area, channels);
      poll_signals();
    }
  }
  bool beside() const { return !nearest && channels >= kManyChannels; }

  static void backward(void *context, int64_t begin, int64_t end, int64_t) {  // over samples
    const Sampler &s = *static_cast<Sampler *>(context);
    const int64_t area = s.size[0] * s.size[1];
    Block b;
    for (int64_t sample = begin; sample < end; sample++) {
      std::fill(s.image_grad + sample * s.channels * area, s.image_grad + (sample + 1) * s.channels * area, T(0));
      for (int64_t first = 0; first < s.points; first += kBlock) {
        const int64_t n = std::min(kBlock, s.points - first);
        s.find(s.grid + (sample * s.points + first) * 2, n, &b);
        T down[kBlock] = {}, across[kBlock] = {};
        for (int64_t c = 0; c < s.channels; c++) {
          const T *image = s.image + (sample * s.channels + c) * area, *g = s.g + (sample * s.channels + c) * s.points + first;
          T *to = s.image_grad + (sample * s.channels + c) * area;
          if (s.nearest) {
            for (int64_t i = 0; i < n; i++)
              if (b.at[0][i] >= 0) to[b.at[0][i]] += g[i];
            continue;
          }
          for (int k = 0; k < 4; k++)
            for (int64_t i = 0; i < n; i++) {
              const int64_t at = b.at[k][i];
              if (at < 0) continue;
              to[at] += g[i] * b.weight[k][i];
              down[i] += g[i] * image[at] * b.dy[k][i];
              across[i] += g[i] * image[at] * b.dx[k][i];
            }
        }
        T *to = s.grid_grad + (sample * s.points + first) * 2;
        for (int64_t i = 0; i < n; i++) to[2 * i] = across[i] * b.slope[1][i], to[2 * i + 1] = down[i] * b.slope[0][i];
      }
    }
  }
};

#define WEFT_FINDER(T) \
  WEFT_CLONES void find_points(const Sampler<T> &s, const T *points, int64_t n, Sampler<T>::Block *b) { s.find_here(points, n, b); }
WEFT_FINDER(float)
WEFT_FINDER(double)

// The modes by name, and whether image and grid are 2-d and of one dtype.
template <class T> bool read(WeftTensor *image, WeftTensor *grid, PyObject *const *modes, Sampler<T> *s) {
  const char *mode = PyUnicode_Check(modes[0]) ? PyUnicode_AsUTF8(modes[0]) : nullptr, *border = PyUnicode_Check(modes[1]) ? PyUnicode_AsUTF8(modes[1]) : nullptr;
  if (!mode || !border || !exact_bool(modes[2], &s->align) || !strcmp(mode, "bicubic")) return false;
  if (image->sizes[2] > INT32_MAX / image->sizes[3]) return false;
  s->nearest = !strcmp(mode, "nearest");
  s->border = !strcmp(border, "zeros") ? BORDER_ZEROS : !strcmp(border, "border") ? BORDER_CLAMP : BORDER_REFLECT;
  s->image = reinterpret_cast<T *>(weft_data(image)), s->grid = reinterpret_cast<T *>(weft_data(grid));
  s->channels = image->sizes[1], s->size[0] = image->sizes[2], s->size[1] = image->sizes[3], s->points = grid->sizes[1] * grid->sizes[2];
  return true;
}

struct Operands {
  Ref kept[3];
  WeftTensor *t[3];

  // n tensors, row-major, the first two an image and a grid
  bool read(PyObject *const *args, int n) {
    for (int i = 0; i < n; i++) {
      WeftTensor *given = plain(args[i]);
      if (!given || WEFT_NDIM(given) != 4 || !given->numel) return false;
      kept[i] = row_major(given);
      if (!kept[i]) return false;
      t[i] = as_tensor(kept[i].get());
      if (WEFT_DTYPE(t[i]) != WEFT_DTYPE(t[0])) return false;
    }
    return t[1]->sizes[3] == 2 && t[1]->sizes[0] == t[0]->sizes[0] && (WEFT_DTYPE(t[0]) == WEFT_FLOAT32 || WEFT_DTYPE(t[0]) == WEFT_FLOAT64);
  }
};

template <class T> PyObject *sampled(Operands &o, WeftTensor *out, PyObject *const *modes) {
  Sampler<T> s = {};
  if (!read(o.t[0], o.t[1], modes, &s) || out->numel != o.t[0]->sizes[0] * s.channels * s.points) return not_for_these();
  s.out = reinterpret_cast<T *>(weft_data(out));
  const int64_t samples = o.t[0]->sizes[0];
  if (s.beside()) Loop::parallel(out->numel, samples, s.channels * s.points, Sampler<T>::forward_beside, &s);
  else Loop::parallel(4 * out->numel, samples * ((s.points + kBlock - 1) / kBlock), kBlock * s.channels * 4, Sampler<T>::forward, &s);
  return written();
}

// (out, input, grid, mode, border, align)
PyObject *sample_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  Operands o;
  WeftTensor *out = nargs == 6 ? dense(args[0]) : nullptr;
  if (!out || !o.read(args + 1, 2) || WEFT_DTYPE(out) != WEFT_DTYPE(o.t[0])) return PyErr_Occurred() ? nullptr : not_for_these();
  return WEFT_DTYPE(out) == WEFT_FLOAT32 ? sampled<float>(o, out, args + 3) : sampled<double>(o, out, args + 3);
}

template <class T> PyObject *sampled_backward(Operands &o, WeftTensor *image, WeftTensor *grid, PyObject *const *modes) {
  Sampler<T> s = {};
  if (!read(o.t[0], o.t[1], modes, &s) || o.t[2]->numel != o.t[0]->sizes[0] * s.channels * s.points) return not_for_these();
  if (image->numel != o.t[0]->numel || grid->numel != o.t[1]->numel) return not_for_these();
  s.g = reinterpret_cast<T *>(weft_data(o.t[2])), s.image_grad = reinterpret_cast<T *>(weft_data(image)), s.grid_grad = reinterpret_cast<T *>(weft_data(grid));
  Loop::parallel(8 * o.t[2]->numel, o.t[0]->sizes[0], 8 * s.channels * s.points, s.beside() ? Sampler<T>::backward_beside : Sampler<T>::backward, &s);
  return written();
}

// ((gradient of input, of grid), input, grid, grad, mode, border, align)
PyObject *sample_backward_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  Operands o;
  const bool two = nargs == 7 && PyTuple_Check(args[0]) && PyTuple_GET_SIZE(args[0]) == 2;
  WeftTensor *image = two ? dense(PyTuple_GET_ITEM(args[0], 0)) : nullptr, *grid = image ? dense(PyTuple_GET_ITEM(args[0], 1)) : nullptr;
  if (!grid || !o.read(args + 1, 3) || WEFT_DTYPE(image) != WEFT_DTYPE(o.t[0]) || WEFT_DTYPE(grid) != WEFT_DTYPE(o.t[0])) return PyErr_Occurred() ? nullptr : not_for_these();
  return WEFT_DTYPE(image) == WEFT_FLOAT32 ? sampled_backward<float>(o, image, grid, args + 4) : sampled_backward<double>(o, image, grid, args + 4);
}

}  // namespace

const NativeKernel sampling_kernels[] = {{"sample_points", WEFT_KERNEL(sample_kernel)},
                                         {"sample_points_backward", WEFT_KERNEL(sample_backward_kernel)},
                                         {nullptr, nullptr}};

}  // namespace weft

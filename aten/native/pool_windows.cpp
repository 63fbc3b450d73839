// pool_windows.cpp: the loops of pool.h; gradients are of float32 and float64.
#include "pool.h"

#include <string.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "by_dtype.h"
#include "clones.h"
#include "loops.h"
#include "op.h"
#include "released.h"

namespace weft {

namespace {

// The taps [first, last) of a window that lie inside of the image.
inline void taps_inside(int64_t start, int64_t size, int64_t kernel, int64_t dilation, int64_t *first, int64_t *last) {
  *first = start < 0 ? (-start + dilation - 1) / dilation : 0;
  *last = std::min(kernel, start < size ? (size - start + dilation - 1) / dilation : 0);
}

// Of n columns of a plane the largest elements (NaN if there is one) and in which row they stand first, side by side.
template <typename T, typename Row>
inline __attribute__((always_inline)) void columns_side_by_side(const T *x, int64_t step, int64_t rows, int64_t n, T *__restrict values, Row *__restrict at) {
  for (int64_t k = 0; k < n; k++) values[k] = x[k], at[k] = 0;
  for (int64_t j = 1; j < rows; j++) {
    const T *from = x + j * step;
    for (int64_t k = 0; k < n; k++) {
      const bool larger = (from[k] > values[k]) | ((from[k] != from[k]) & (values[k] == values[k]));
      values[k] = larger ? from[k] : values[k];
      at[k] = larger ? (Row)j : at[k];
    }
  }
}
WEFT_CLONES void largest_of_columns(const float *x, int64_t step, int64_t rows, int64_t n, float *values, int32_t *at) { columns_side_by_side(x, step, rows, n, values, at); }
WEFT_CLONES void largest_of_columns(const double *x, int64_t step, int64_t rows, int64_t n, double *values, int64_t *at) { columns_side_by_side(x, step, rows, n, values, at); }

constexpr int64_t kFewRows = 4, kFewColumns = 8, kManyColumns = 64;  // what is worth columns side by side, and so many at most

// Where the first of the largest elements of a part of a plane stands.
template <typename T>
int64_t first_largest(const T *x, int64_t step, int64_t rows, int64_t n) {
  T values[kManyColumns];
  std::conditional_t<sizeof(T) == 4, int32_t, int64_t> at[kManyColumns];
  largest_of_columns(x, step, rows, n, values, at);
  int64_t best = 0;
  for (int64_t k = 1; k < n; k++) {
    const T v = values[k], most = values[best];
    const bool larger = (v > most) | ((v != v) & (most == most)), same = (v == most) | ((v != v) & (most != most));
    best = larger | (same & (at[k] < at[best])) ? k : best;
  }
  return at[best] * step + best;
}

template <typename T>
struct Extremes {
  typedef std::conditional_t<std::is_class<T>::value, float, T> Wide;  // of halves
  static constexpr Wide lowest = std::is_integral<Wide>::value ? std::numeric_limits<Wide>::lowest() : -std::numeric_limits<Wide>::infinity();
  PoolWindows w;
  const T *in;
  T *values;
  int64_t *places;

  static void rows(void *ctx, int64_t begin, int64_t end, int64_t) {
    const Extremes &e = *static_cast<Extremes *>(ctx);
    const PoolWindows &w = e.w;
    const int64_t width = w.size[2], area = w.area();
    for (int64_t r = begin; r < end; r++) {
      const int64_t z0 = r / w.out[1] % w.out[0] * w.stride[0] - w.padding[0], y0 = r % w.out[1] * w.stride[1] - w.padding[1];
      const T *image = e.in + r / w.out[1] / w.out[0] * w.size[0] * area;
      int64_t d0, d1, j0, j1;
      taps_inside(z0, w.size[0], w.kernel[0], w.dilation[0], &d0, &d1);
      taps_inside(y0, w.size[1], w.kernel[1], w.dilation[1], &j0, &j1);
      for (int64_t ow = 0; ow < w.out[2]; ow++) {
        const int64_t x0 = ow * w.stride[2] - w.padding[2];
        int64_t i0, i1;
        taps_inside(x0, width, w.kernel[2], w.dilation[2], &i0, &i1);
        int64_t best = (z0 + d0 * w.dilation[0]) * area + (y0 + j0 * w.dilation[1]) * width + x0 + i0 * w.dilation[2];
        const bool any = d0 < d1 && j0 < j1 && i0 < i1;  // taps far apart may all lie in the padding
        Wide value = any ? (Wide)image[best] : lowest;
        for (int64_t d = d0; d < d1; d++) {
          if constexpr (std::is_floating_point<T>::value) {
            if (w.dilation[2] == 1 && j1 - j0 >= kFewRows && i1 - i0 >= kFewColumns && i1 - i0 <= kManyColumns) {
              const int64_t part = (z0 + d * w.dilation[0]) * area + (y0 + j0 * w.dilation[1]) * width + x0 + i0;
              const int64_t at = part + first_largest(image + part, w.dilation[1] * width, j1 - j0, i1 - i0);
              const T v = image[at];
              if ((v > value) | ((v != v) & (value == value))) best = at, value = v;
              continue;
            }
          }
          for (int64_t j = j0; j < j1; j++) {
            const int64_t row = (z0 + d * w.dilation[0]) * area + (y0 + j * w.dilation[1]) * width + x0;
            for (int64_t i = i0; i < i1; i++) {
              const int64_t at = row + i * w.dilation[2];
              const Wide v = (Wide)image[at];
              const bool larger = (v > value) | ((v != v) & (value == value));  // no branch: which is larger nobody foresees
              best = larger ? at : best;
              value = larger ? v : value;
            }
          }
        }
        e.values[r * w.out[2] + ow] = (T)value;
        e.places[r * w.out[2] + ow] = best;
      }
    }
  }
};

// Gradients of largest elements, added where these stood in the order of the windows. Places outside of the image (somebody wrote them past
// their version, or all taps of a window lie in the padding) are left out.
template <typename T>
struct PlacesBack {
  PoolWindows w;
  const T *g;
  const int64_t *places;
  T *out;

  static void images(void *ctx, int64_t begin, int64_t end, int64_t) {
    const PlacesBack &b = *static_cast<PlacesBack *>(ctx);
    const int64_t whole = b.w.size[0] * b.w.area(), windows = b.w.out[0] * b.w.out[1] * b.w.out[2];
    for (int64_t n = begin; n < end; n++) {
      T *to = b.out + n * whole;
      const T *g = b.g + n * windows;
      const int64_t *at = b.places + n * windows;
      memset(to, 0, sizeof(T) * (size_t)whole);
      for (int64_t k = 0; k < windows; k++)
        if ((uint64_t)at[k] < (uint64_t)whole) to[at[k]] += g[k];
    }
  }
};

// Shares of the gradients of averages. An element's are added as the derivatives of the windows along each dim do it: those of a row of
// windows first, then those of a plane of them.
template <typename T>
struct SharesBack {
  PoolWindows w;
  const T *g;
  T *out;
  const WeftKernelRuntime *runtime;

  void row_of_shares(int64_t od, int64_t oh, const T *g_row, T *sums) const {
    const int64_t width = w.size[2];
    memset(sums, 0, sizeof(T) * (size_t)width);
    const bool alike = w.divisor || (w.of_padding && !w.beyond);
    const int64_t rows = alike ? 0 : w.counted(0, od) * w.counted(1, oh);
    const T count = w.divisor ? (T)w.divisor : (T)(w.kernel[0] * w.kernel[1] * w.kernel[2]);
    for (int64_t ow = 0; ow < w.out[2]; ow++) {
      const int64_t x0 = ow * w.stride[2] - w.padding[2];
      int64_t i0, i1;
      taps_inside(x0, width, w.kernel[2], 1, &i0, &i1);
      const T q = g_row[ow] / (alike ? count : (T)(rows * w.counted(2, ow)));
      for (int64_t i = i0; i < i1; i++) sums[x0 + i] += q;
    }
  }

  // What plane `od` of windows brings to each plane of the image that it sees.
  void plane(int64_t od, const T *g_plane, T *sums, T *to) const {
    const int64_t width = w.size[2];
    memset(to, 0, sizeof(T) * (size_t)w.area());
    for (int64_t oh = 0; oh < w.out[1]; oh++) {
      const int64_t y0 = oh * w.stride[1] - w.padding[1];
      int64_t j0, j1;
      taps_inside(y0, w.size[1], w.kernel[1], 1, &j0, &j1);
      row_of_shares(od, oh, g_plane + oh * w.out[2], sums);
      for (int64_t j = j0; j < j1; j++) add(width, sums, to + (y0 + j) * width);
    }
  }

  static void add(int64_t n, const T *from, T *to) {
    for (int64_t i = 0; i < n; i++) to[i] += from[i];
  }

  // Planes of an image that no other plane of windows sees are written where they are, others by way of `scratch`.
  void image(const T *g_image, T *sums, T *scratch, T *to) const {
    const int64_t area = w.area(), windows = w.out[1] * w.out[2];
    memset(to, 0, sizeof(T) * (size_t)(w.size[0] * area));
    for (int64_t od = 0; od < w.out[0]; od++) {
      const int64_t z0 = od * w.stride[0] - w.padding[0];
      int64_t d0, d1;
      taps_inside(z0, w.size[0], w.kernel[0], 1, &d0, &d1);
      for (int64_t d = d0; d < d1; d++) {
        T *whole = to + (z0 + d) * area;
        if (!scratch || d == d0) plane(od, g_image + od * windows, sums, scratch ? scratch : whole);
        if (scratch) add(area, scratch, whole);
      }
    }
  }

  static void images(void *ctx, int64_t begin, int64_t end, int64_t worker) {
    const SharesBack &b = *static_cast<SharesBack *>(ctx);
    const PoolWindows &w = b.w;
    const int64_t width = w.size[2], area = w.area(), whole = w.size[0] * area, windows = w.out[0] * w.out[1] * w.out[2];
    const bool through = !w.apart(0) && (w.kernel[0] > 1 || w.out[0] > 1);
    T *sums = static_cast<T *>(b.runtime->scratch(worker, (int64_t)sizeof(T) * (width + (through ? area : 0))));
    for (int64_t n = begin; n < end; n++) b.image(b.g + n * windows, sums, through ? sums + width : nullptr, b.out + n * whole);
  }
};

template <typename T>
void run_extremes(const PoolWindows &w, const char *in, char *values, int64_t *places) {
  Extremes<T> job = {w, reinterpret_cast<const T *>(in), reinterpret_cast<T *>(values), places};
  const int64_t rows = w.images * w.out[0] * w.out[1], each = w.out[2] * w.kernel[0] * w.kernel[1] * w.kernel[2];
  Loop::parallel(rows * each, rows, each, Extremes<T>::rows, &job);
}

template <typename T>
void run_backward(const PoolWindows &w, WeftTensor *g, const int64_t *places, WeftTensor *out) {
  const T *from = reinterpret_cast<const T *>(weft_data(g));
  T *to = reinterpret_cast<T *>(weft_data(out));
  PlacesBack<T> of_places = {w, from, places, to};
  SharesBack<T> of_shares = {w, from, to, kernel_runtime()};
  const int64_t each = w.size[0] * w.area();
  if (places) Loop::parallel(out->numel, w.images, each, PlacesBack<T>::images, &of_places);
  else Loop::parallel(out->numel, w.images, each, SharesBack<T>::images, &of_shares);
}

// The windows that a Node has saved, `n` of whose dims are there; false: something else was given.
bool read_windows(PyObject *saved, PoolWindows *w, int *n) {
  int beyond, of_padding;
  long long k[3], s[3], p[3], d[3];
  if (!PyArg_ParseTuple(saved, "i(LLL)(LLL)(LLL)(LLL)ppd", n, &k[0], &k[1], &k[2], &s[0], &s[1], &s[2], &p[0], &p[1], &p[2], &d[0], &d[1], &d[2], &beyond, &of_padding, &w->divisor)) return false;
  for (int i = 0; i < 3; i++) {
    if (k[i] < 1 || s[i] < 1 || p[i] < 0 || d[i] < 1) return false;
    w->kernel[i] = k[i], w->stride[i] = s[i], w->padding[i] = p[i], w->dilation[i] = d[i];
  }
  w->beyond = beyond, w->of_padding = of_padding;
  return *n >= 1 && *n <= 3;
}

// pool_backward(g, places or None, sizes of the input, windows) -> gradient; NotImplemented: not for these
PyObject *pool_backward(PyObject *, PyObject *args) {
  PyObject *g_object, *places_object, *sizes_object, *windows;
  if (!PyArg_ParseTuple(args, "OOO!O!:pool_backward", &g_object, &places_object, &PyTuple_Type, &sizes_object, &PyTuple_Type, &windows)) return nullptr;
  WeftTensor *g = plain(g_object), *places = places_object == Py_None ? nullptr : plain(places_object);
  int64_t sizes[WEFT_MAX_NDIM];
  const int ndim = parse_ints(sizes_object, sizes, "sizes");
  if (ndim < 0) return nullptr;
  PoolWindows w = {};
  int n = 0;
  if (!read_windows(windows, &w, &n) && PyErr_Occurred()) return nullptr;
  if (n < 1 || n > 3 || !g || ndim < n || WEFT_NDIM(g) != ndim || !(g->word & WEFT_WORD_CONTIGUOUS)) Py_RETURN_NOTIMPLEMENTED;
  if (places_object != Py_None && (!places || WEFT_DTYPE(places) != WEFT_INT64 || !(places->word & WEFT_WORD_CONTIGUOUS) || places->numel != g->numel)) Py_RETURN_NOTIMPLEMENTED;
  w.images = 1;
  for (int i = 0; i < ndim - n; i++) {
    if (sizes[i] != g->sizes[i]) Py_RETURN_NOTIMPLEMENTED;
    w.images *= sizes[i];
  }
  for (int i = 0; i < 3; i++) {
    const int at = ndim - 3 + i;
    w.size[i] = i < 3 - n ? 1 : sizes[at], w.out[i] = i < 3 - n ? 1 : g->sizes[at];
  }
  Ref out(empty((uint32_t)WEFT_DTYPE(g), ndim, sizes, nullptr));
  if (!out) return nullptr;
  const int64_t *at = places ? reinterpret_cast<int64_t *>(weft_data(places)) : nullptr;
  if (WEFT_DTYPE(g) == WEFT_FLOAT32) run_backward<float>(w, g, at, as_tensor(out.get()));
  else if (WEFT_DTYPE(g) == WEFT_FLOAT64) run_backward<double>(w, g, at, as_tensor(out.get()));
  else Py_RETURN_NOTIMPLEMENTED;
  return out.release();
}

}  // namespace

void pool_extremes(const PoolWindows &w, int dtype, const char *in, char *values, int64_t *places) {
  by_real<bool>(dtype, false, [&](auto type) {
    run_extremes<typename decltype(type)::type>(w, in, values, places);
    return true;
  });
}

PyMethodDef pool_functions[] = {{"pool_backward", guarded<pool_backward>, METH_VARARGS, "pool_backward(g, places, sizes, windows): the gradient of a pooling's input"},
                                {nullptr, nullptr, 0, nullptr}};

}  // namespace weft

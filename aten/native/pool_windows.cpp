// pool_windows.cpp: the loops of pool.h, for float32 and float64.
#include "pool.h"

#include <string.h>

#include <algorithm>

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

template <typename T>
struct Extremes {
  PoolWindows w;
  const T *in;
  T *values;
  int64_t *places;

  static void rows(void *ctx, int64_t begin, int64_t end, int64_t) {
    const Extremes &e = *static_cast<Extremes *>(ctx);
    const PoolWindows &w = e.w;
    for (int64_t r = begin; r < end; r++) {
      const int64_t oh = r % w.out[0], y0 = oh * w.stride[0] - w.padding[0];
      const T *image = e.in + r / w.out[0] * w.size[0] * w.size[1];
      int64_t j0, j1;
      taps_inside(y0, w.size[0], w.kernel[0], w.dilation[0], &j0, &j1);
      for (int64_t ow = 0; ow < w.out[1]; ow++) {
        const int64_t x0 = ow * w.stride[1] - w.padding[1];
        int64_t i0, i1;
        taps_inside(x0, w.size[1], w.kernel[1], w.dilation[1], &i0, &i1);
        int64_t best = (y0 + j0 * w.dilation[0]) * w.size[1] + x0 + i0 * w.dilation[1];
        T value = image[best];
        for (int64_t j = j0; j < j1; j++) {
          const int64_t row = (y0 + j * w.dilation[0]) * w.size[1] + x0;
          for (int64_t i = i0; i < i1; i++) {
            const int64_t at = row + i * w.dilation[1];
            const T v = image[at];
            const bool larger = (v > value) | ((v != v) & (value == value));  // no branch: which is larger nobody foresees
            best = larger ? at : best;
            value = larger ? v : value;
          }
        }
        e.values[r * w.out[1] + ow] = value;
        e.places[r * w.out[1] + ow] = best;
      }
    }
  }
};

// Places that no window has (somebody wrote them past their version) are left out. An element's gradients are added as the derivatives of the windows along each dim do it: those of a row of windows first.
template <typename T>
struct Backward {
  PoolWindows w;
  const T *g;
  const int64_t *places;  // of the largest elements; NULL: of averages
  T count;
  T *out;
  const WeftKernelRuntime *runtime;

  // Taps that are neighbouring rows: a place is one of them by its distance. Those that an earlier row of windows has too, the first
  // ones, are summed apart; to the others these windows are the first that add anything.
  void row_of_neighbours(int64_t oh, const T *g_row, const int64_t *at, T *sums, T *image) const {
    const int64_t width = w.size[1], start = (oh * w.stride[0] - w.padding[0]) * width;
    const uint64_t within = (uint64_t)(width * w.kernel[0]), area = (uint64_t)(w.size[0] * width), shared = (uint64_t)(width * shared_taps(oh));
    T *const bases[2] = {image + start, sums};  // no branch: which it is nobody foresees
    std::fill(sums, sums + shared, T(0));
    for (int64_t ow = 0; ow < w.out[1]; ow++) {
      const uint64_t place = (uint32_t)at[ow], away = place - (uint64_t)start;
      if (away >= within || place >= area) continue;
      bases[away < shared][away] += g_row[ow];
    }
  }
  int64_t shared_taps(int64_t oh) const { return oh && w.kernel[0] > w.stride[0] ? w.kernel[0] - w.stride[0] : 0; }

  void row(int64_t oh, const T *g_row, const int64_t *at, T *sums) const {
    const int64_t width = w.size[1], y0 = oh * w.stride[0] - w.padding[0];
    memset(sums, 0, sizeof(T) * (size_t)(width * (at ? w.kernel[0] : 1)));
    for (int64_t ow = 0; ow < w.out[1]; ow++) {
      if (at) {
        const uint32_t place = (uint32_t)at[ow], y = place / (uint32_t)width, x = place - y * (uint32_t)width;
        const int32_t tap = (int32_t)((int64_t)y - y0) / (int32_t)w.dilation[0];
        if ((uint32_t)tap < (uint32_t)w.kernel[0]) sums[tap * width + x] += g_row[ow];
      } else {
        const int64_t x0 = ow * w.stride[1] - w.padding[1];
        int64_t i0, i1;
        taps_inside(x0, width, w.kernel[1], 1, &i0, &i1);
        const T q = g_row[ow] / count;
        for (int64_t i = i0; i < i1; i++) sums[x0 + i] += q;
      }
    }
  }

  static void image_range(void *ctx, int64_t begin, int64_t end, int64_t worker) {
    const Backward &b = *static_cast<Backward *>(ctx);
    const PoolWindows &w = b.w;
    const int64_t area = w.size[0] * w.size[1], windows = w.out[0] * w.out[1], width = w.size[1];
    const bool apart = b.places && w.apart();
    T *sums = apart ? nullptr : static_cast<T *>(b.runtime->scratch(worker, (int64_t)sizeof(T) * width * w.kernel[0]));
    for (int64_t n = begin; n < end; n++) {
      T *out = b.out + n * area;
      memset(out, 0, sizeof(T) * (size_t)area);
      const T *g = b.g + n * windows;
      const int64_t *at = b.places ? b.places + n * windows : nullptr;
      if (apart) {
        for (int64_t k = 0; k < windows; k++)
          if ((uint64_t)at[k] < (uint64_t)area) out[at[k]] += g[k];
        continue;
      }
      for (int64_t oh = 0; oh < w.out[0]; oh++) {
        const int64_t y0 = oh * w.stride[0] - w.padding[0];
        int64_t j0, j1;
        taps_inside(y0, w.size[0], w.kernel[0], w.dilation[0], &j0, &j1);
        if (at && w.dilation[0] == 1) {
          b.row_of_neighbours(oh, g + oh * w.out[1], at + oh * w.out[1], sums, out);
          j1 = std::min(j1, b.shared_taps(oh));
        } else {
          b.row(oh, g + oh * w.out[1], at ? at + oh * w.out[1] : nullptr, sums);
        }
        for (int64_t j = j0; j < j1; j++) {
          const T *from = at ? sums + j * width : sums;
          T *to = out + (y0 + j * w.dilation[0]) * width;
          for (int64_t x = 0; x < width; x++) to[x] += from[x];
        }
      }
    }
  }
};

template <typename T>
void run_extremes(const PoolWindows &w, const char *in, char *values, int64_t *places) {
  Extremes<T> job = {w, reinterpret_cast<const T *>(in), reinterpret_cast<T *>(values), places};
  const int64_t rows = w.images * w.out[0];
  Loop::parallel(rows * w.out[1] * w.kernel[0] * w.kernel[1], rows, w.out[1] * w.kernel[0] * w.kernel[1], Extremes<T>::rows, &job);
}

template <typename T>
void run_backward(const PoolWindows &w, WeftTensor *g, const int64_t *places, WeftTensor *out) {
  const T count = (T)(w.kernel[0] * w.kernel[1]);
  Backward<T> job = {w, reinterpret_cast<const T *>(weft_data(g)), places, count, reinterpret_cast<T *>(weft_data(out)), kernel_runtime()};
  Loop::parallel(out->numel, w.images, w.size[0] * w.size[1], Backward<T>::image_range, &job);
}

bool read_two(PyObject *pair, int64_t *out) {
  return PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2 && exact_int(PyTuple_GET_ITEM(pair, 0), &out[0]) && exact_int(PyTuple_GET_ITEM(pair, 1), &out[1]);
}

// pool_backward(g, places or None, sizes of the input, (kernel, stride, padding, dilation)) -> gradient; NotImplemented: not for these
PyObject *pool_backward(PyObject *, PyObject *args) {
  PyObject *g_object, *places_object, *sizes_object, *windows;
  if (!PyArg_ParseTuple(args, "OOO!O!:pool_backward", &g_object, &places_object, &PyTuple_Type, &sizes_object, &PyTuple_Type, &windows)) return nullptr;
  WeftTensor *g = plain(g_object), *places = places_object == Py_None ? nullptr : plain(places_object);
  int64_t sizes[WEFT_MAX_NDIM];
  const int ndim = parse_ints(sizes_object, sizes, "sizes");
  if (ndim < 0) return nullptr;
  PoolWindows w = {};
  int64_t *fields[4] = {w.kernel, w.stride, w.padding, w.dilation};
  if (!g || ndim < 2 || WEFT_NDIM(g) != ndim || !(g->word & WEFT_WORD_CONTIGUOUS) || PyTuple_GET_SIZE(windows) != 5) Py_RETURN_NOTIMPLEMENTED;
  if (places_object != Py_None && (!places || WEFT_DTYPE(places) != WEFT_INT64 || !(places->word & WEFT_WORD_CONTIGUOUS) || places->numel != g->numel)) Py_RETURN_NOTIMPLEMENTED;
  int64_t n = 0;
  if (!exact_int(PyTuple_GET_ITEM(windows, 0), &n) || (n != 1 && n != 2)) Py_RETURN_NOTIMPLEMENTED;
  for (int i = 0; i < 4; i++)
    if (!read_two(PyTuple_GET_ITEM(windows, i + 1), fields[i])) Py_RETURN_NOTIMPLEMENTED;
  w.images = 1;
  for (int i = 0; i < ndim - n; i++) {
    if (sizes[i] != g->sizes[i]) Py_RETURN_NOTIMPLEMENTED;
    w.images *= sizes[i];
  }
  w.size[0] = n == 2 ? sizes[ndim - 2] : 1, w.out[0] = n == 2 ? g->sizes[ndim - 2] : 1;
  w.size[1] = sizes[ndim - 1], w.out[1] = g->sizes[ndim - 1];
  if (w.size[0] * w.size[1] > INT32_MAX) Py_RETURN_NOTIMPLEMENTED;  // places are divided in 32 bits
  Ref out(empty((uint32_t)WEFT_DTYPE(g), ndim, sizes, nullptr));
  if (!out) return nullptr;
  if (WEFT_DTYPE(g) == WEFT_FLOAT32) run_backward<float>(w, g, places ? reinterpret_cast<int64_t *>(weft_data(places)) : nullptr, as_tensor(out.get()));
  else if (WEFT_DTYPE(g) == WEFT_FLOAT64) run_backward<double>(w, g, places ? reinterpret_cast<int64_t *>(weft_data(places)) : nullptr, as_tensor(out.get()));
  else Py_RETURN_NOTIMPLEMENTED;
  return out.release();
}

}  // namespace

void pool_extremes(const PoolWindows &w, int dtype, const char *in, char *values, int64_t *places) {
  if (dtype == WEFT_FLOAT32) run_extremes<float>(w, in, values, places);
  else run_extremes<double>(w, in, values, places);
}

PyMethodDef pool_functions[] = {{"pool_backward", guarded<pool_backward>, METH_VARARGS, "pool_backward(g, places, sizes, windows): the gradient of a pooling's input"},
                                {nullptr, nullptr, 0, nullptr}};

}  // namespace weft

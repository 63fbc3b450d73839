// convolution.cpp: convolutions, and their derivative by the weights: those that are not done by shifted_convolution.cpp as matrix
// products whose elements are read from the image as the product asks for them, so that no matrix of windows is made.
#include <algorithm>
#include <memory>
#include <vector>

#include "convolution.h"
#include "matmul.h"
#include "native_kernel.h"

namespace weft {
namespace {

struct Windows : ConvolutionSizes {
  const char *data;                          // [images, groups * channels, *size], row-major
  bool folded;                               // columns of the product run over the images too

  // The positions [first, first + count) of one row of results, of a tap, from one row of the image.
  template <class T> void copy_row(const T *row, int64_t tap, int64_t first, int64_t count, T *to) const {
    const int64_t s = stride[2], h = hole[2], start = first * s + tap * dilation[2] - before[2];
    if (h > 1) {
      for (int64_t i = 0, at = start; i < count; i++, at += s) to[i] = at >= 0 && at < size[2] * h && at % h == 0 ? row[at / h] : T();
      return;
    }
    int64_t i = 0, lead = 0, end = count;
    if (start < 0) lead = std::min((-start + s - 1) / s, count);
    if (start + (count - 1) * s >= size[2]) end = std::max(lead, std::min((size[2] - start + s - 1) / s, count));
    for (; i < lead; i++) to[i] = T();
    const T *from = row + start;
    if (s == 1) {
      typedef T Block __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
      constexpr int64_t kBlock = 32 / sizeof(T);
      for (; i + kBlock <= end; i += kBlock) *reinterpret_cast<Block *>(to + i) = *reinterpret_cast<const Block *>(from + i);
    }
    for (; i < end; i++) to[i] = from[i * s];
    for (; i < count; i++) to[i] = T();
  }

  // Where the image's index along dim d is, for a position and a tap; -1: outside, or between elements.
  int64_t place(int d, int64_t position, int64_t tap) const {
    const int64_t at = position * stride[d] + tap * dilation[d] - before[d];
    if (at < 0 || at >= size[d] * hole[d]) return -1;
    return hole[d] == 1 ? at : at % hole[d] ? -1 : at / hole[d];
  }

  // `count` positions from the flat one `first` on, of one channel and tap.
  template <class T> void copy_places(int64_t image, int64_t channel, int64_t tap, int64_t first, int64_t count, T *to) const {
    const int64_t t2 = tap % kernel[2], t1 = tap / kernel[2] % kernel[1], t0 = tap / kernel[2] / kernel[1];
    while (count > 0) {
      int64_t p2 = first % result[2], rest = first / result[2];
      const int64_t run = std::min(count, result[2] - p2);
      const int64_t y0 = place(0, rest / result[1], t0), y1 = place(1, rest % result[1], t1);
      const T *plane = reinterpret_cast<const T *>(data) + (image * groups * channels + channel) * pixels;
      if (y0 < 0 || y1 < 0) std::fill(to, to + run, T());
      else copy_row(plane + (y0 * size[1] + y1) * size[2], t2, p2, run, to);
      first += run, count -= run, to += run;
    }
  }

  // As above; columns of a folded product go from image to image.
  template <class T> void copy_columns(int64_t image, int64_t channel, int64_t tap, int64_t first, int64_t count, T *to) const {
    while (count > 0) {
      const int64_t run = folded ? std::min(count, places - first % places) : count;
      copy_places(folded ? first / places : image, channel, tap, folded ? first % places : first, run, to);
      first += run, count -= run, to += run;
    }
  }
};

struct Product {
  Windows w;
  const char *bias;       // groups * made elements, or NULL
  char *out;              // forward: [images, groups * made, *result]
  const char *grad;       // derivative by the weights: as `out`
};

// A run of columns of the matrix of windows that are neighbours in one row of results.
struct Run {
  int64_t image, position[3], count;
};

// The runs of the columns [first, first + length), at most kRuns; how many columns they are.
constexpr int kRuns = 64;
int64_t find_runs(const Windows &w, int64_t image, int64_t first, int64_t length, Run *runs, int *n) {
  int64_t done = 0;
  for (*n = 0; done < length && *n < kRuns; (*n)++) {
    Run &r = runs[*n];
    r.image = w.folded ? (first + done) / w.places : image;
    const int64_t place = w.folded ? (first + done) % w.places : first + done, rest = place / w.result[2];
    r.position[0] = rest / w.result[1], r.position[1] = rest % w.result[1], r.position[2] = place % w.result[2];
    r.count = std::min(length - done, w.result[2] - r.position[2]);
    done += r.count;
  }
  return done;
}

// Elements [(channel, tap), place] of the matrix of windows, row by row.
template <class T> void load_windows(const void *env, long batch, long row, long col, long lines, long length, void *to, long ld) {
  const Windows &w = static_cast<const Product *>(env)->w;
  const int64_t image = w.folded ? 0 : batch / w.groups, group = w.folded ? batch : batch % w.groups;
  Run runs[kRuns];
  int n;
  for (long done = 0; done < length;) {
    const long columns = find_runs(w, image, col + done, length - done, runs, &n);
    int64_t channel = row / w.taps, tap = row % w.taps;
    int64_t t2 = tap % w.kernel[2], t1 = tap / w.kernel[2] % w.kernel[1], t0 = tap / w.kernel[2] / w.kernel[1];
    T *line = static_cast<T *>(to) + done;
    for (long i = 0; i < lines; i++, line += ld) {
      T *at = line;
      for (int k = 0; k < n; at += runs[k++].count) {
        const Run &r = runs[k];
        const int64_t y0 = w.place(0, r.position[0], t0), y1 = w.place(1, r.position[1], t1);
        const T *plane = reinterpret_cast<const T *>(w.data) + (r.image * w.groups * w.channels + group * w.channels + channel) * w.pixels;
        if (y0 < 0 || y1 < 0) std::fill(at, at + r.count, T());
        else w.copy_row(plane + (y0 * w.size[1] + y1) * w.size[2], t2, r.position[2], r.count, at);
      }
      if (++t2 < w.kernel[2]) continue;
      t2 = 0;
      if (++t1 < w.kernel[1]) continue;
      t1 = 0;
      if (++t0 < w.kernel[0]) continue;
      t0 = 0, channel++;
    }
    done += columns;
  }
}

// The same matrix transposed, [(image, place), (channel, tap)], along its rows.
template <class T> void load_windows_by_place(const void *env, long batch, long row, long col, long lines, long length, void *to, long ld) {
  const Windows &w = static_cast<const Product *>(env)->w;
  T *line = static_cast<T *>(to);
  for (long i = 0; i < lines; i++, line += ld)
    w.copy_columns(0, batch * w.channels + (col + i) / w.taps, (col + i) % w.taps, row, length, line);
}

// The gradient of the results as [made, (image, place)].
template <class T> void load_gradient(const void *env, long batch, long row, long col, long lines, long length, void *to, long ld) {
  const Product &p = *static_cast<const Product *>(env);
  const Windows &w = p.w;
  T *line = static_cast<T *>(to);
  for (long i = 0; i < lines; i++, line += ld) {
    T *at = line;
    for (int64_t first = col, count = length; count > 0;) {
      const int64_t image = first / w.places, place = first % w.places, run = std::min<int64_t>(count, w.places - place);
      const T *from = reinterpret_cast<const T *>(p.grad) + ((image * w.groups + batch) * p.w.made + row + i) * w.places + place;
      std::copy(from, from + run, at);
      first += run, count -= run, at += run;
    }
  }
}

template <class T> void store_results(const void *env, long batch, long row, long rows, long col, long cols, const void *sums, long ld) {
  const Product &p = *static_cast<const Product *>(env);
  const Windows &w = p.w;
  const int64_t group = w.folded ? batch : batch % w.groups;
  for (long i = 0; i < rows; i++) {
    const T *from = static_cast<const T *>(sums) + i * ld;
    const int64_t channel = group * p.w.made + row + i;
    const T more = p.bias ? reinterpret_cast<const T *>(p.bias)[channel] : T();
    for (int64_t first = col, count = cols; count > 0;) {
      const int64_t image = w.folded ? first / w.places : batch / w.groups, place = w.folded ? first % w.places : first;
      const int64_t run = std::min<int64_t>(count, w.places - place);
      T *to = reinterpret_cast<T *>(p.out) + (image * w.groups * p.w.made + channel) * w.places + place;
      if (p.bias)
        for (int64_t j = 0; j < run; j++) to[j] = from[j] + more;
      else
        std::copy(from, from + run, to);
      first += run, count -= run, from += run;
    }
  }
}

template <class T> void run_product(const WeftGemm &g, const WeftKernelRuntime *runtime) {
  if constexpr (sizeof(T) == 8) gemm_table()->run_float64(&g, runtime);
  else gemm_table()->run_float32(&g, runtime);
}

// Of one tap that meets every element: a product with the image itself.
bool is_plain(const ConvolutionSizes &c) {
  bool plain_one = c.taps == 1;
  for (int d = 0; d < 3; d++) plain_one = plain_one && c.stride[d] == 1 && c.hole[d] == 1 && c.before[d] == 0 && c.result[d] == c.size[d];
  return plain_one;
}

// Whether elements lie apart, or there are few of them, and every position is asked for: most windows would be of zeros.
bool is_transposed(const ConvolutionSizes &c) {
  const bool apart = c.hole[0] * c.hole[1] * c.hole[2] > 1;
  return c.stride[0] * c.stride[1] * c.stride[2] == 1 && (apart || 4 * c.pixels <= c.places);
}

// A transposed convolution by what each element gives to the positions it meets: columns [(made, tap), (image, pixel)] are a product
// without zeros, and are added up where they belong, tap after tap.
template <class T> struct Spread {
  const Product &p;
  const T *columns;       // [groups, made * taps, images * pixels]
  T *out;                 // of the first of the images
  int64_t images;

  // The elements [low, high) of a dim that a tap sends to positions within the results, the first of all to `start`.
  struct Reach {
    int64_t start, low, high;
  };
  std::vector<Reach> reached[3];  // by tap of the dim

  void find_reaches() {
    const Windows &w = p.w;
    for (int d = 0; d < 3; d++)
      for (int64_t tap = 0; tap < w.kernel[d]; tap++) {
        const int64_t start = w.before[d] - tap * w.dilation[d], hole = w.hole[d];
        const int64_t low = start < 0 ? std::min(w.size[d], (-start + hole - 1) / hole) : 0;
        const int64_t high = start < w.result[d] ? std::min(w.size[d], (w.result[d] - 1 - start) / hole + 1) : low;
        reached[d].push_back({start, low, std::max(low, high)});
      }
  }

  // What one result of an image is given: `from` are the columns of its first tap, `next` elements before those of the next.
  void add_taps(const T *from, int64_t next, T *to) const {
    const Windows &w = p.w;
    const int64_t apart = w.hole[2];
    for (const Reach &a : reached[0])
      for (const Reach &b : reached[1])
        for (const Reach &c : reached[2]) {
          for (int64_t i = a.low; i < a.high; i++)
            for (int64_t j = b.low; j < b.high; j++) {
              const T *row = from + (i * w.size[1] + j) * w.size[2];
              T *first = to + ((a.start + i * w.hole[0]) * w.result[1] + b.start + j * w.hole[1]) * w.result[2] + c.start;
              for (int64_t k = c.low; k < c.high; k++) first[k * apart] += row[k];
            }
          from += next;
        }
  }

  static void run(void *context, int64_t begin, int64_t end, int64_t) {
    const Spread &s = *static_cast<Spread *>(context);
    const Windows &w = s.p.w;
    const int64_t results = w.groups * s.p.w.made;
    for (int64_t at = begin; at < end; at++) {
      const int64_t channel = at / s.images, image = at % s.images;
      T *to = s.out + (image * results + channel) * w.places;
      std::fill(to, to + w.places, s.p.bias ? reinterpret_cast<const T *>(s.p.bias)[channel] : T());
      s.add_taps(s.columns + (channel * w.taps * s.images + image) * w.pixels, s.images * w.pixels, to);
    }
  }
};

template <class T> void transposed(Product &p, const T *weight, const WeftKernelRuntime *runtime) {
  const Windows &w = p.w;
  constexpr int64_t kColumns = int64_t(1) << 20;  // elements of columns at a time
  const int64_t rows = w.made * w.taps, some = std::max<int64_t>(1, std::min(w.images, kColumns / std::max<int64_t>(1, w.groups * rows * w.pixels)));
  std::unique_ptr<T[]> by_tap(new T[(size_t)(w.groups * rows * w.channels)]), columns(new T[(size_t)(w.groups * rows * some * w.pixels)]);
  for (int64_t made = 0; made < w.groups * w.made; made++)
    for (int64_t channel = 0; channel < w.channels; channel++)
      for (int64_t tap = 0; tap < w.taps; tap++) by_tap[(size_t)((made * w.taps + tap) * w.channels + channel)] = *weight++;
  for (int64_t first = 0; first < w.images; first += some) {
    const int64_t n = std::min(some, w.images - first);
    Product images = p;  // the images as load_gradient reads results
    images.w.made = w.channels, images.w.places = w.pixels, images.grad = w.data + first * w.groups * w.channels * w.pixels * (int64_t)sizeof(T);
    WeftGemm g = {};
    WeftGemmOutput o = {};
    g.m = rows, g.n = n * w.pixels, g.k = w.channels, g.batch_ndim = 1, g.batch_sizes[0] = w.groups;
    g.a.data = by_tap.get(), g.a.row_stride = w.channels, g.a.col_stride = 1, g.a.batch_strides[0] = rows * w.channels;
    g.a.dtype = g.b.dtype = sizeof(T) == 8 ? WEFT_FLOAT64 : WEFT_FLOAT32;
    g.b.load = load_gradient<T>, g.load_env = &images;
    o.gemm = &g, o.alpha = 1;
    o.out.data = columns.get(), o.out.dtype = g.a.dtype, o.out.row_stride = g.n, o.out.col_stride = 1, o.out.batch_strides[0] = rows * g.n;
    g.store = sizeof(T) == 8 ? gemm_table()->store_float64 : gemm_table()->store_float32;
    g.store_env = &o;
    run_product<T>(g, runtime);
    Spread<T> spread = {p, columns.get(), reinterpret_cast<T *>(p.out) + first * w.groups * w.made * w.places, n, {}};
    spread.find_reaches();
    runtime->parallel_for(n * w.groups * w.made, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, w.taps * w.pixels + w.places)), Spread<T>::run, &spread);
  }
}

template <class T> void forward(Product &p, const T *weight, const WeftKernelRuntime *runtime) {
  Windows &w = p.w;
  const bool plain_one = is_plain(w);
  const bool few = w.hole[0] * w.hole[1] * w.hole[2] == 1 && 4 * w.pixels <= w.places && is_transposed(w);
  if (!plain_one && !few && shifted_convolution(w, reinterpret_cast<const T *>(w.data), weight, reinterpret_cast<const T *>(p.bias), reinterpret_cast<T *>(p.out), runtime)) return;
  if (is_transposed(w)) return transposed(p, weight, runtime);
  constexpr int64_t kFew = 64;  // results of an image that leave much of a tile empty
  w.folded = w.places < kFew;
  const int64_t k = w.channels * w.taps;
  WeftGemm g = {};
  WeftGemmOutput o = {};
  g.m = p.w.made, g.n = w.folded ? w.images * w.places : w.places, g.k = k;
  g.batch_ndim = w.folded ? 1 : 2;
  g.batch_sizes[0] = w.folded ? w.groups : w.images, g.batch_sizes[1] = w.groups;
  g.a.data = weight, g.a.row_stride = k, g.a.col_stride = 1;
  g.a.dtype = sizeof(T) == 8 ? WEFT_FLOAT64 : WEFT_FLOAT32;
  g.a.batch_strides[w.folded ? 0 : 1] = p.w.made * k;
  g.b.dtype = g.a.dtype;
  if (plain_one && !w.folded) {
    g.b.data = w.data, g.b.row_stride = w.pixels, g.b.col_stride = 1;
    g.b.batch_strides[0] = w.groups * w.channels * w.pixels, g.b.batch_strides[1] = w.channels * w.pixels;
  } else {
    g.b.load = load_windows<T>, g.load_env = &p;
  }
  g.store = store_results<T>, g.store_env = &p;
  if (!w.folded && !p.bias) {  // straight to the results
    o.gemm = &g, o.alpha = 1;
    o.out.data = p.out, o.out.dtype = g.a.dtype, o.out.row_stride = w.places, o.out.col_stride = 1;
    o.out.batch_strides[0] = w.groups * p.w.made * w.places, o.out.batch_strides[1] = p.w.made * w.places;
    g.store = sizeof(T) == 8 ? gemm_table()->store_float64 : gemm_table()->store_float32;
    g.store_env = &o;
  }
  run_product<T>(g, runtime);
}

template <class T> void by_weight(Product &p, T *out, const WeftKernelRuntime *runtime);

// Of a transposed convolution: the derivative of a strided one, whose image is the gradient of the results, and whose results the image.
template <class T> void by_weight_transposed(const Product &p, T *out, const WeftKernelRuntime *runtime) {
  Product other = p;
  const Windows &w = p.w;
  Windows &v = other.w;
  for (int d = 0; d < 3; d++) {
    v.size[d] = w.result[d], v.result[d] = w.size[d], v.stride[d] = w.hole[d], v.hole[d] = 1;
    v.before[d] = (w.kernel[d] - 1) * w.dilation[d] - w.before[d];
  }
  v.channels = w.made, v.made = w.channels, v.places = w.pixels, v.pixels = w.places;
  v.data = p.grad, other.grad = w.data;
  std::unique_ptr<T[]> turned(new T[(size_t)(w.groups * w.made * w.channels * w.taps)]);
  by_weight(other, turned.get(), runtime);
  for (int64_t group = 0; group < w.groups; group++)
    for (int64_t made = 0; made < w.made; made++)
      for (int64_t channel = 0; channel < w.channels; channel++) {
        const T *from = turned.get() + ((group * w.channels + channel) * w.made + made + 1) * w.taps;
        for (int64_t tap = 0; tap < w.taps; tap++) *out++ = *--from;
      }
}

template <class T> void by_weight(Product &p, T *out, const WeftKernelRuntime *runtime) {
  Windows &w = p.w;
  if (is_transposed(w)) return by_weight_transposed(p, out, runtime);
  if (is_plain(w)) {  // an image is one row
    for (int d = 0; d < 2; d++) w.size[d] = w.result[d] = 1;
    w.size[2] = w.result[2] = w.pixels;
  }
  if (shifted_convolution_weight(w, reinterpret_cast<const T *>(p.grad), reinterpret_cast<const T *>(w.data), out, runtime)) return;
  w.folded = true;
  WeftGemm g = {};
  WeftGemmOutput o = {};
  g.m = p.w.made, g.n = w.channels * w.taps, g.k = w.images * w.places;
  g.batch_ndim = 1, g.batch_sizes[0] = w.groups;
  g.a.load = load_gradient<T>, g.b.load = load_windows_by_place<T>, g.b.along_rows = 1, g.load_env = &p;
  g.a.dtype = g.b.dtype = sizeof(T) == 8 ? WEFT_FLOAT64 : WEFT_FLOAT32;
  o.gemm = &g, o.alpha = 1;
  o.out.data = out, o.out.dtype = g.a.dtype, o.out.row_stride = g.n, o.out.col_stride = 1, o.out.batch_strides[0] = p.w.made * g.n;
  g.store = sizeof(T) == 8 ? gemm_table()->store_float64 : gemm_table()->store_float32;
  g.store_env = &o;
  run_product<T>(g, runtime);
}

// A plain tensor, row-major, which `kept` then holds. NULL, with an exception set or not, for anything else.
WeftTensor *operand(PyObject *object, int dtype, int ndim, Ref *kept) {
  WeftTensor *t = plain(object);
  if (!t || WEFT_DTYPE(t) != dtype || WEFT_NDIM(t) != ndim) return nullptr;
  *kept = row_major(t);
  return *kept ? as_tensor(kept->get()) : nullptr;
}

// Numbers of one spatial parameter, into the last places of `to`.
bool read_numbers(PyObject *list, int n, int64_t low, int64_t *to) {
  constexpr int64_t kLimit = int64_t(1) << 40;  // products with sizes stay within 64 bits
  int64_t values[WEFT_MAX_NDIM];
  if (exact_ints(list, values) != n) return false;
  for (int d = 0; d < n; d++) {
    if (values[d] < low || values[d] > kLimit) return false;
    to[3 - n + d] = values[d];
  }
  return true;
}

// Sizes of image [N, C, *S], weights [O, C / groups, *K] and results [N, O, *P]; false unless they fit each other.
bool describe(Windows *w, const WeftTensor *x, const WeftTensor *weight, const WeftTensor *out, PyObject *const *numbers, int64_t groups) {
  const int n = WEFT_NDIM(x) - 2;
  if (n < 1 || n > 3 || groups < 1 || weight->sizes[0] % groups || x->sizes[1] != weight->sizes[1] * groups) return false;
  if (out->sizes[0] != x->sizes[0] || out->sizes[1] != weight->sizes[0]) return false;
  for (int d = 0; d < 3; d++)
    w->size[d] = w->kernel[d] = w->result[d] = w->stride[d] = w->dilation[d] = w->hole[d] = 1, w->before[d] = 0;
  if (!read_numbers(numbers[0], n, 1, w->stride) || !read_numbers(numbers[1], n, -(int64_t(1) << 40), w->before) ||
      !read_numbers(numbers[2], n, 1, w->dilation) || !read_numbers(numbers[3], n, 1, w->hole))
    return false;
  w->taps = w->places = w->pixels = 1;
  for (int d = 3 - n; d < 3; d++) {
    w->size[d] = x->sizes[2 + d - 3 + n], w->kernel[d] = weight->sizes[2 + d - 3 + n], w->result[d] = out->sizes[2 + d - 3 + n];
    const int64_t pairs[3][2] = {{w->result[d], w->stride[d]}, {w->kernel[d], w->dilation[d]}, {w->size[d], w->hole[d]}};
    int64_t reach;  // sums of three of them, every place that is asked for, stay within 64 bits
    for (auto &pair : pairs)
      if (__builtin_mul_overflow(pair[0], pair[1], &reach) || reach > int64_t(1) << 60) return false;
  }
  for (int d = 0; d < 3; d++) w->taps *= w->kernel[d], w->places *= w->result[d], w->pixels *= w->size[d];
  w->images = x->sizes[0], w->groups = groups, w->channels = weight->sizes[1];
  w->data = weft_data(x);
  w->made = weight->sizes[0] / groups;
  return true;
}

// (out, input, weight, bias, size, stride, before, dilation, holes, groups)
PyObject *convolution_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 10 ? dense(args[0]) : nullptr;
  int64_t groups;
  if (!out || !exact_int(args[9], &groups)) return not_for_these();
  const int dtype = WEFT_DTYPE(out), ndim = WEFT_NDIM(out);
  Ref kept[3];
  WeftTensor *x = operand(args[1], dtype, ndim, &kept[0]), *weight = x ? operand(args[2], dtype, ndim, &kept[1]) : nullptr;
  WeftTensor *bias = weight && args[3] != Py_None ? operand(args[3], dtype, 1, &kept[2]) : nullptr;
  Product p = {};
  if ((dtype != WEFT_FLOAT32 && dtype != WEFT_FLOAT64) || !weight || (args[3] != Py_None && (!bias || bias->sizes[0] != weight->sizes[0])) ||
      !describe(&p.w, x, weight, out, args + 5, groups))
    return PyErr_Occurred() ? nullptr : not_for_these();
  p.out = weft_data(out), p.bias = bias ? weft_data(bias) : nullptr;
  const WeftKernelRuntime *runtime = kernel_runtime();
  Released released(out->numel * p.w.taps * p.w.channels >= 65536);
  if (dtype == WEFT_FLOAT64) forward<double>(p, reinterpret_cast<const double *>(weft_data(weight)), runtime);
  else forward<float>(p, reinterpret_cast<const float *>(weft_data(weight)), runtime);
  return written();
}

// (out, grad, input, kernel, stride, before, dilation, holes, groups)
PyObject *convolution_weight_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 9 ? dense(args[0]) : nullptr;
  int64_t groups;
  if (!out || !exact_int(args[8], &groups)) return not_for_these();
  const int dtype = WEFT_DTYPE(out), ndim = WEFT_NDIM(out);
  Ref kept[2];
  WeftTensor *grad = operand(args[1], dtype, ndim, &kept[0]), *x = grad ? operand(args[2], dtype, ndim, &kept[1]) : nullptr;
  Product p = {};
  if ((dtype != WEFT_FLOAT32 && dtype != WEFT_FLOAT64) || !x || !describe(&p.w, x, out, grad, args + 4, groups))
    return PyErr_Occurred() ? nullptr : not_for_these();
  p.grad = weft_data(grad);
  const WeftKernelRuntime *runtime = kernel_runtime();
  Released released(grad->numel * p.w.taps * p.w.channels >= 65536);
  if (dtype == WEFT_FLOAT64) by_weight<double>(p, reinterpret_cast<double *>(weft_data(out)), runtime);
  else by_weight<float>(p, reinterpret_cast<float *>(weft_data(out)), runtime);
  return written();
}

}  // namespace

const NativeKernel convolution_kernels[] = {{"convolution", WEFT_KERNEL(convolution_kernel)},
                                            {"convolution_weight", WEFT_KERNEL(convolution_weight_kernel)},
                                            {nullptr, nullptr}};

}  // namespace weft

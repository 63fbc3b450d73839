// fft_kernels.cpp: discrete Fourier transforms along dims of tensors, many at a time, by the passes of fourier.h.
//
// A backward transform is a forward one with the parts swapped; real numbers of even size are transformed two as one complex one.
#include <math.h>
#include <string.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "fourier.h"
#include "native_kernel.h"

namespace weft {
namespace {

constexpr int64_t kLanes = kFourierLanes, kAway = 16384;

// The radices of a size; empty of 1; false: it is no product of small primes.
bool radices_of(int64_t n, std::vector<int> *radices) {
  for (int r : {8, 4, 2, 3, 5})
    for (; n % r == 0; n /= r) radices->push_back(r);
  for (int r = 7; r <= kMostPrime && n > 1; r += 2)
    for (; n % r == 0; n /= r) radices->push_back(r);
  return n == 1;
}

template <class T> struct Plan : FourierPlan<T> {
  std::vector<int> all_radices;
  std::vector<T> table;

  // False: there are no passes for the size.
  bool make(int64_t size) {
    if (size < 1 || !radices_of(size, &all_radices)) return false;
    const int64_t first = size % (8 * kFourierLanes) ? 0 : size / 8 * 7;
    table.resize((size_t)(2 * (size + first)));
    T *cosine = table.data(), *sine = cosine + size, *first_cosine = sine + size, *first_sine = first_cosine + first;
    for (int64_t t = 0; t < size; t++) {
      const double angle = -6.283185307179586476925 * (double)t / (double)size;
      cosine[t] = (T)cos(angle), sine[t] = (T)sin(angle);
    }
    for (int64_t k = 1, i = 0; i < first; k++)
      for (int64_t p = 0; p < size / 8; p++, i++) first_cosine[i] = cosine[p * k], first_sine[i] = sine[p * k];
    static_cast<FourierPlan<T> &>(*this) = {size, (int)all_radices.size(), all_radices.data(), cosine, sine, first ? first_cosine : nullptr, first ? first_sine : nullptr};
    return true;
  }
};

// The plans of a thread's latest sizes.
template <class T> std::shared_ptr<Plan<T>> plan_of(int64_t n) {
  static thread_local std::shared_ptr<Plan<T>> kept[4];
  static thread_local unsigned next;
  for (const auto &plan : kept)
    if (plan && plan->n == n) return plan;
  auto made = std::make_shared<Plan<T>>();
  if (!made->make(n)) return nullptr;
  if (n <= 1 << 16) kept[next++ % 4] = made;
  return made;
}

enum Kind { COMPLEX, FROM_REAL, TO_REAL };

// Transforms along one dim of [outer, n, inner] numbers; out is row-major, in has blocks of [n, inner] `in_row` numbers apart.
template <class T> struct Transform {
  Kind kind;
  bool forward;
  const T *in;
  T *out;
  int64_t n, inner, count;  // of real numbers n is their count; count = outer * inner
  const Plan<T> *plan;      // of n, or of n / 2 where real numbers are taken two as one
  const Plan<T> *whole;     // of n: then its twiddles join the halves
  T scale;                  // what results are multiplied by
  int64_t in_row;

  int64_t out_length() const { return kind == FROM_REAL ? n / 2 + 1 : n; }
  int64_t out_row() const { return out_length() * inner; }

  // Where transform i begins, in numbers, of blocks `row` apart.
  int64_t start(int64_t i, int64_t row) const { return i / inner * row + i % inner; }

  // f(t, l, i) for every element t < n of every transform: i is where that lies, in numbers. Some elements of a transform at a time, as
  // lines of the planes hold an element of every transform, lines of memory some of one.
  template <class F> void each(int64_t first, int64_t lanes, int64_t row, int64_t to, F f) const {
    constexpr int64_t kSome = 16;
    int64_t at[kLanes];
    for (int64_t l = 0; l < lanes; l++) at[l] = start(first + l, row);
    if (inner >= kLanes) {
      for (int64_t t = 0; t < to; t++)
        for (int64_t l = 0; l < lanes; l++) f(t, l, at[l] + t * inner);
      return;
    }
    for (int64_t some = 0; some < to; some += kSome)
      for (int64_t l = 0; l < lanes; l++)
        for (int64_t t = some, end = std::min(to, some + kSome); t < end; t++) f(t, l, at[l] + t * inner);
  }

  // Whether the numbers of a transform follow each other, in as many transforms as a vector has lanes.
  bool by_lines(int64_t lanes) const { return inner == 1 && lanes == kLanes; }

  // Whether they lie side by side.
  bool by_columns(int64_t first, int64_t lanes) const { return kind == COMPLEX && lanes == kLanes && first % inner + kLanes <= inner; }

  void load(int64_t first, int64_t lanes, FourierPlanes<T> to, FourierPlanes<T> spare) const {
    if (!forward) std::swap(to.re, to.im);
    T *re = to.re, *im = to.im;
    const T *x = in;
    if (by_columns(first, lanes)) return fourier_of<T>().planes_of_columns(x + 2 * start(first, in_row), 2 * inner, n, to);
    if (by_lines(lanes) && (kind == COMPLEX || (kind == FROM_REAL && whole))) {
      const int64_t row = kind == COMPLEX ? 2 * in_row : in_row;
      return fourier_of<T>().planes_of_lines(x + first * row, row, plan->n, to);
    }
    if (by_lines(lanes) && kind == TO_REAL && whole) {
      fourier_of<T>().planes_of_lines(x + 2 * first * in_row, 2 * in_row, n / 2 + 1, spare);
      return fourier_of<T>().join_planes(*whole, n / 2, spare, to);
    }
    if (kind == COMPLEX) {
      each(first, lanes, in_row, n, [=](int64_t t, int64_t l, int64_t i) { re[t * lanes + l] = x[2 * i], im[t * lanes + l] = x[2 * i + 1]; });
    } else if (kind == FROM_REAL && whole) {
      T *both[] = {re, im};
      each(first, lanes, in_row, n, [=](int64_t t, int64_t l, int64_t i) { both[t & 1][(t >> 1) * lanes + l] = x[i]; });
    } else if (kind == FROM_REAL) {
      each(first, lanes, in_row, n, [=](int64_t t, int64_t l, int64_t i) { re[t * lanes + l] = x[i], im[t * lanes + l] = 0; });
    } else {
      for (int64_t l = 0; l < lanes; l++) load_half(start(first + l, in_row), l, lanes, to);
    }
  }

  // Half of a spectrum with conjugate symmetry (`to` is swapped already: backward).
  void load_half(int64_t at, int64_t l, int64_t lanes, FourierPlanes<T> to) const {
    const auto part = [&](int64_t k, int which) {
      return which && (k == 0 || 2 * k == n) ? (T)0 : in[2 * (at + k * inner) + which];  // those are real
    };
    if (!whole) {
      for (int64_t k = 0; k < n; k++) {
        const bool mirrored = k > n / 2;
        to.re[k * lanes + l] = part(mirrored ? n - k : k, 0);
        to.im[k * lanes + l] = mirrored ? -part(n - k, 1) : part(k, 1);
      }
      return;
    }
    const int64_t h = n / 2;
    for (int64_t k = 0; k < h; k++) {  // E + i w^-k O, of E = X[k] + X[h-k]*, O = X[k] - X[h-k]*
      const T ar = part(k, 0), ai = part(k, 1), br = part(h - k, 0), bi = -part(h - k, 1);
      const T c = whole->cosine[k], d = -whole->sine[k], dr = ar - br, di = ai - bi;
      to.re[k * lanes + l] = ar + br - (dr * d + di * c);
      to.im[k * lanes + l] = ai + bi + (dr * c - di * d);
    }
  }

  void store(int64_t first, int64_t lanes, FourierPlanes<T> from, FourierPlanes<T> spare) const {
    if (!forward) std::swap(from.re, from.im);
    const T *re = from.re, *im = from.im;
    T *y = out;
    if (by_columns(first, lanes)) return fourier_of<T>().columns_of_planes(from, n, y + 2 * start(first, out_row()), 2 * inner);
    if (by_lines(lanes) && (kind == COMPLEX || (kind == TO_REAL && whole))) {
      const int64_t row = kind == TO_REAL ? n : 2 * n;
      return fourier_of<T>().lines_of_planes(from, row / 2, y + first * row, row);
    }
    if (by_lines(lanes) && kind == FROM_REAL && whole) {
      fourier_of<T>().halve_planes(*whole, n / 2, from, spare);
      return fourier_of<T>().lines_of_planes(spare, out_length(), y + 2 * first * out_length(), 2 * out_length());
    }
    if (kind == TO_REAL && whole) {
      const T *both[] = {re, im};
      each(first, lanes, out_row(), n, [=](int64_t t, int64_t l, int64_t i) { y[i] = both[t & 1][(t >> 1) * lanes + l]; });
    } else if (kind == TO_REAL) {
      each(first, lanes, out_row(), n, [=](int64_t t, int64_t l, int64_t i) { y[i] = re[t * lanes + l]; });
    } else if (kind == FROM_REAL && whole) {
      store_half(first, lanes, from);
    } else {
      each(first, lanes, out_row(), out_length(), [=](int64_t t, int64_t l, int64_t i) { y[2 * i] = re[t * lanes + l], y[2 * i + 1] = im[t * lanes + l]; });
    }
  }

  // X[k] = E + w^k O of the spectra of the even and of the odd numbers: of Z, E = (Z[k] + Z[h-k]*) / 2, O = (Z[k] - Z[h-k]*) / 2i.
  void store_half(int64_t first, int64_t lanes, FourierPlanes<T> from) const {
    const int64_t h = n / 2;
    const T *re = from.re, *im = from.im, *cosine = whole->cosine, *sine = whole->sine;
    T *y = out;
    each(first, lanes, out_row(), h + 1, [=](int64_t k, int64_t l, int64_t i) {
      const int64_t a = (k == h ? 0 : k) * lanes + l, b = (k == 0 ? 0 : h - k) * lanes + l;
      const T er = (re[a] + re[b]) / 2, ei = (im[a] - im[b]) / 2, pr = (im[a] + im[b]) / 2, pi = (re[b] - re[a]) / 2, c = cosine[k], d = sine[k];
      y[2 * i] = er + pr * c - pi * d;
      y[2 * i + 1] = k == 0 || k == h ? (T)0 : ei + pr * d + pi * c;
    });
  }

  void multiply(T *line, int64_t length) const {
    char *args[3] = {reinterpret_cast<char *>(line), const_cast<char *>(reinterpret_cast<const char *>(&scale)), args[0]};
    const intptr_t steps[3] = {(intptr_t)sizeof(T), 0, (intptr_t)sizeof(T)}, count = (intptr_t)length;
    weft_kernels.pointwise[WEFT_MUL][sizeof(T) == 4 ? WEFT_FLOAT32 : WEFT_FLOAT64](args, &count, steps, nullptr);
  }

  // Transform i, which lies along memory.
  void alone(int64_t i, FourierPlanes<T> x, FourierPlanes<T> y) const {
    const Fourier<T> &f = fourier_of<T>();
    if (kind == COMPLEX) {
      f.whole(*plan, !forward, in + 2 * i * in_row, out + 2 * i * n, x, y);
    } else if (kind == FROM_REAL) {
      FourierPlanes<T> z = f.whole(*plan, false, in + i * in_row, nullptr, x, y);
      f.halve(*whole, n / 2, z, out + i * 2 * out_length());
    } else {
      f.join(*whole, n / 2, in + i * 2 * in_row, x);
      f.whole(*plan, true, nullptr, out + i * n, x, y);
    }
    if (scale != 1) multiply(out + i * (kind == TO_REAL ? n : 2 * out_length()), kind == TO_REAL ? n : 2 * out_length());
  }

  static void batches(void *context, int64_t begin, int64_t end, int64_t) {
    const Transform &f = *static_cast<const Transform *>(context);
    constexpr int64_t kApart = 80;  // lines of memory between planes, so that their elements do not fall on the same places of the cache
    const bool alone = f.each_alone();
    const int64_t most = f.plan->n * (alone ? 1 : std::min(kLanes, f.count));
    const std::unique_ptr<T[]> memory(new T[(size_t)(4 * (most + kApart + 16))]);
    T *at = memory.get();
    at += (64 - (uintptr_t)at % 64) % 64 / sizeof(T);
    for (int64_t i = begin; i < end; i++) {
      const int64_t first = i * kLanes, lanes = std::min(kLanes, f.count - first), plane = (most + 15) / 16 * 16 + kApart;
      const FourierPlanes<T> x{at, at + plane}, y{at + 2 * plane, at + 3 * plane};
      if (alone) {
        for (int64_t k = first; k < first + lanes; k++) f.alone(k, x, y), poll_signals();
        continue;
      }
      f.load(first, lanes, x, y);
      const bool in_y = fourier_of<T>().passes(*f.plan, lanes, x, y);
      const FourierPlanes<T> made = in_y ? y : x;
      if (f.scale != 1) f.multiply(made.re, f.plan->n * lanes), f.multiply(made.im, f.plan->n * lanes);
      f.store(first, lanes, made, in_y ? x : y);
      poll_signals();
    }
  }
  bool each_alone() const { return inner == 1 && (kind == COMPLEX || whole) && fourier_of<T>().fits(*plan); }
};

template <class T> bool transform(Kind kind, bool forward, double scale, const char *in, char *out, int64_t n, int64_t inner, int64_t outer, int64_t in_row) {
  const bool halved = kind != COMPLEX && n % 2 == 0;
  const auto plan = plan_of<T>(halved ? n / 2 : n), whole = plan_of<T>(halved ? n : 1);
  if (!plan || !whole) return false;
  Transform<T> f{kind, forward, reinterpret_cast<const T *>(in), reinterpret_cast<T *>(out), n, inner, outer * inner, plan.get(), halved ? whole.get() : nullptr, (T)scale, in_row};
  const int64_t count = (f.count + kLanes - 1) / kLanes;
  if (n * f.count >= 2 * kAway && count > 1) kernel_runtime()->parallel_for(count, std::max<int64_t>(1, kAway / (n * kLanes)), Transform<T>::batches, &f);
  else Transform<T>::batches(&f, 0, count, 0);
  return true;
}

bool can_transform(int64_t n) {
  std::vector<int> radices;
  return n >= 1 && fourier.single.passes && radices_of(n, &radices);
}

// The dims from the outermost in memory on; false: there are gaps, or dims share elements.
bool in_order(const WeftTensor *t, int *order) {
  const int n = WEFT_NDIM(t);
  for (int d = 0; d < n; d++) order[d] = d;
  if (t->word & WEFT_WORD_CONTIGUOUS) return true;
  std::stable_sort(order, order + n, [&](int a, int b) { return t->strides[a] != t->strides[b] ? t->strides[a] > t->strides[b] : t->sizes[a] > t->sizes[b]; });
  int64_t step = 1;
  for (int k = n - 1; k >= 0; step *= t->sizes[order[k--]])
    if (t->sizes[order[k]] != 1 && t->strides[order[k]] != step) return false;
  return true;
}
Ref permuted(WeftTensor *t, const int *order) {
  int64_t sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM];
  for (int k = 0; k < WEFT_NDIM(t); k++) sizes[k] = t->sizes[order[k]], strides[k] = t->strides[order[k]];
  return Ref(alias(t, WEFT_NDIM(t), sizes, strides, t->offset));
}
// Whether the dims from d on are row-major, and the others one dim, of steps of `row`.
bool by_blocks(const WeftTensor *t, int d, int64_t *row) {
  int64_t next = 1;
  for (int k = WEFT_NDIM(t) - 1; k >= d; next *= t->sizes[k--])
    if (t->sizes[k] != 1 && t->strides[k] != next) return false;
  *row = next;
  bool first = true;
  for (int k = d - 1; k >= 0; k--) {
    if (t->sizes[k] == 1) continue;
    if (first) *row = next = t->strides[k];
    else if (t->strides[k] != next) return false;
    next *= t->sizes[k], first = false;
  }
  return true;
}

// (out, x, dims, forward, scale), (out, x, dims, scale) or (out, x, dims, last, scale)
template <Kind kind> PyObject *fft_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs >= 3 ? plain(args[0]) : nullptr, *given = out ? plain(args[1]) : nullptr;
  if (!given || nargs != (kind == FROM_REAL ? 4 : 5) || !PyFloat_CheckExact(args[nargs - 1]) || !PyList_Check(args[2]) || !PyList_GET_SIZE(args[2]) || WEFT_NDIM(given) != WEFT_NDIM(out)) return not_for_these();
  int order[WEFT_MAX_NDIM], place[WEFT_MAX_NDIM];
  Ref out_in_order, given_in_order;
  if (!in_order(out, order)) return not_for_these();
  for (int k = 0; k < WEFT_NDIM(out); k++) place[order[k]] = k;
  if (!(out->word & WEFT_WORD_CONTIGUOUS)) {
    out_in_order = permuted(out, order), given_in_order = permuted(given, order);
    if (!out_in_order || !given_in_order) return nullptr;
    out = as_tensor(out_in_order.get()), given = as_tensor(given_in_order.get());
  }
  WeftTensor *wide = kind == TO_REAL ? given : out;  // the complex one
  if (WEFT_DTYPE(wide) != WEFT_COMPLEX64 && WEFT_DTYPE(wide) != WEFT_COMPLEX128) return not_for_these();
  if (kind == COMPLEX ? WEFT_DTYPE(given) != WEFT_DTYPE(out)
                      : WEFT_DTYPE(kind == TO_REAL ? out : given) != (WEFT_DTYPE(wide) == WEFT_COMPLEX64 ? WEFT_FLOAT32 : WEFT_FLOAT64))
    return not_for_these();
  bool forward = kind == FROM_REAL;
  if (kind == COMPLEX && !exact_bool(args[3], &forward)) return not_for_these();
  std::vector<int> dims;
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(args[2]); k++) {
    int64_t d;
    if (!exact_int(PyList_GET_ITEM(args[2], k), &d) || d < 0 || d >= WEFT_NDIM(out)) return not_for_these();
    d = place[d];
    dims.push_back((int)d);
    const WeftTensor *whole = kind == TO_REAL && k + 1 == PyList_GET_SIZE(args[2]) ? out : given;
    if (!can_transform(whole->sizes[d])) return not_for_these();
  }
  const int last = dims.back();
  if (kind == TO_REAL && given->sizes[last] != out->sizes[last] / 2 + 1) return not_for_these();
  if (!out->numel) return written();
  int64_t in_row;  // of the first transform, which reads what is given
  const int first_dim = kind == FROM_REAL ? last : dims[0];
  const bool where_it_is = by_blocks(given, first_dim, &in_row);
  Ref x = where_it_is ? Ref(Py_NewRef(as_object(given))) : row_major(given);
  if (!x) return PyErr_Occurred() ? nullptr : not_for_these();
  Ref between;  // what transforms of the other dims give, before the last becomes real
  if (kind == TO_REAL && dims.size() > 1) between = Ref(empty(WEFT_DTYPE(given), WEFT_NDIM(given), given->sizes, nullptr));
  if (kind == TO_REAL && dims.size() > 1 && !between) return nullptr;
  const char *const given_data = weft_data(as_tensor(x.get())), *from = given_data;
  const bool single = WEFT_DTYPE(wide) == WEFT_COMPLEX64;
  const double multiplied = PyFloat_AS_DOUBLE(args[nargs - 1]);
  size_t left = dims.size();  // the last transform multiplies
  const auto along = [&](Kind of, WeftTensor *shape, int d, int64_t n, char *to) {
    const double scale = --left ? 1 : multiplied;
    int64_t inner = 1, outer = 1;
    for (int k = 0; k < WEFT_NDIM(shape); k++) (k < d ? outer : inner) *= k == d ? 1 : shape->sizes[k];
    const int64_t row = where_it_is && from == given_data ? in_row : (of == TO_REAL ? n / 2 + 1 : n) * inner;
    const bool made = single ? transform<float>(of, forward, scale, from, to, n, inner, outer, row) : transform<double>(of, forward, scale, from, to, n, inner, outer, row);
    from = to;
    return made;
  };
  Released released(wide->numel >= kAway);
  bool made = kind != FROM_REAL || along(FROM_REAL, given, last, given->sizes[last], weft_data(out));
  char *to = between ? weft_data(as_tensor(between.get())) : weft_data(out);
  for (size_t k = 0; k < dims.size() - (kind != COMPLEX); k++) made = made && along(COMPLEX, wide, dims[k], wide->sizes[dims[k]], to);
  if (kind == TO_REAL) made = made && along(TO_REAL, given, last, out->sizes[last], weft_data(out));
  if (!made) throw std::bad_alloc();
  return written();
}

}  // namespace

const NativeKernel fft_kernels[] = {{"fft_c2c", WEFT_KERNEL(fft_kernel<COMPLEX>)},
                                    {"fft_r2c", WEFT_KERNEL(fft_kernel<FROM_REAL>)},
                                    {"fft_c2r", WEFT_KERNEL(fft_kernel<TO_REAL>)},
                                    {nullptr, nullptr}};

}  // namespace weft

// fft_kernels.cpp: discrete Fourier transforms, many at a time.
//
// Stockham's passes (Van Loan, "Computational frameworks for the fast Fourier transform", 1992, 1.7) over planes of real and imaginary parts,
// in which element t of transform l of a batch is number t * lanes + l: the innermost loop of every pass is as long as the batch is wide,
// or as the passes before make it, and is one of vectors. Sizes are products of primes up to kMostPrime. A backward transform is a
// forward one with the parts swapped; real numbers of even size are transformed two as one complex one.
#include <math.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "native_kernel.h"

namespace weft {
namespace {

constexpr int kMostPrime = 31;
constexpr int64_t kLanes = 16, kAway = 16384;

template <class T> struct Plan {
  int64_t n = 0;
  std::vector<int> radices;
  std::vector<T> cosine, sine;  // of -2 pi t / n

  explicit Plan(int64_t size) : n(size) {
    int64_t rest = size;
    for (int r : {8, 4, 2, 3, 5}) while (rest % r == 0) radices.push_back(r), rest /= r;
    for (int r = 7; r <= kMostPrime && rest > 1; r += 2) while (rest % r == 0) radices.push_back(r), rest /= r;
    if (rest > 1) n = 0;
  }
  void fill() {
    cosine.resize((size_t)n), sine.resize((size_t)n);
    for (int64_t t = 0; t < n; t++) {
      const double angle = -6.283185307179586476925 * (double)t / (double)n;
      cosine[(size_t)t] = (T)cos(angle), sine[(size_t)t] = (T)sin(angle);
    }
  }
};

// The plans of a thread's latest sizes.
template <class T> std::shared_ptr<Plan<T>> plan_of(int64_t n) {
  static thread_local std::shared_ptr<Plan<T>> kept[4];
  static thread_local unsigned next;
  for (const auto &plan : kept)
    if (plan && plan->n == n) return plan;
  auto made = std::make_shared<Plan<T>>(n);
  if (!made->n) return nullptr;
  made->fill();
  if (n <= 1 << 16) kept[next++ % 4] = made;
  return made;
}

template <class T> struct Planes {
  T *re, *im;
};

#define WEFT_INSIDE inline __attribute__((always_inline))

// One pass: of every m-th element a transform of r, times the twiddles; `run` numbers lie side by side.
template <class T, int r> WEFT_INSIDE void pass(const Plan<T> &plan, int64_t m, int64_t s, int64_t lanes, Planes<T> x, Planes<T> y) {
  const int64_t run = s * lanes;
  for (int64_t p = 0; p < m; p++) {
    const T *xr = x.re + p * run, *xi = x.im + p * run;
    T *yr = y.re + p * r * run, *yi = y.im + p * r * run;
    const int64_t far = m * run;
    T c[r], d[r];
    for (int k = 1; k < r; k++) c[k] = plan.cosine[(size_t)(p * k * s)], d[k] = plan.sine[(size_t)(p * k * s)];
#define WEFT_PUT(k, real, imaginary)                  \
  {                                                   \
    const T e = real, f = imaginary;                  \
    yr[i + k * run] = e * c[k] - f * d[k];            \
    yi[i + k * run] = e * d[k] + f * c[k];            \
  }
    if constexpr (r == 2) {
#pragma GCC ivdep
      for (int64_t i = 0; i < run; i++) {
        const T ar = xr[i], ai = xi[i], br = xr[i + far], bi = xi[i + far];
        yr[i] = ar + br, yi[i] = ai + bi;
        WEFT_PUT(1, ar - br, ai - bi)
      }
    } else if constexpr (r == 3) {
      const T h = (T)0.866025403784438646764;
#pragma GCC ivdep
      for (int64_t i = 0; i < run; i++) {
        const T ar = xr[i], ai = xi[i];
        const T sr = xr[i + far] + xr[i + 2 * far], si = xi[i + far] + xi[i + 2 * far];
        const T dr = (xr[i + far] - xr[i + 2 * far]) * h, di = (xi[i + far] - xi[i + 2 * far]) * h;
        const T mr = ar - sr * (T)0.5, mi = ai - si * (T)0.5;
        yr[i] = ar + sr, yi[i] = ai + si;
        WEFT_PUT(1, mr + di, mi - dr)
        WEFT_PUT(2, mr - di, mi + dr)
      }
    } else if constexpr (r == 4) {
#pragma GCC ivdep
      for (int64_t i = 0; i < run; i++) {
        const T pr = xr[i] + xr[i + 2 * far], pi = xi[i] + xi[i + 2 * far], qr = xr[i] - xr[i + 2 * far], qi = xi[i] - xi[i + 2 * far];
        const T ur = xr[i + far] + xr[i + 3 * far], ui = xi[i + far] + xi[i + 3 * far];
        const T vr = xr[i + far] - xr[i + 3 * far], vi = xi[i + far] - xi[i + 3 * far];
        yr[i] = pr + ur, yi[i] = pi + ui;
        WEFT_PUT(1, qr + vi, qi - vr)
        WEFT_PUT(2, pr - ur, pi - ui)
        WEFT_PUT(3, qr - vi, qi + vr)
      }
    } else if constexpr (r == 8) {
      const T h = (T)0.707106781186547524401;
#pragma GCC ivdep
      for (int64_t i = 0; i < run; i++) {
        T er[4], ei[4], fr[4], fi[4];  // transforms of the even and of the odd ones
#define WEFT_FOUR(to_r, to_i, j)                                                                                                        \
  {                                                                                                                                     \
    const T pr = xr[i + (j) * far] + xr[i + (j + 4) * far], pi = xi[i + (j) * far] + xi[i + (j + 4) * far];                             \
    const T qr = xr[i + (j) * far] - xr[i + (j + 4) * far], qi = xi[i + (j) * far] - xi[i + (j + 4) * far];                             \
    const T ur = xr[i + (j + 2) * far] + xr[i + (j + 6) * far], ui = xi[i + (j + 2) * far] + xi[i + (j + 6) * far];                     \
    const T vr = xr[i + (j + 2) * far] - xr[i + (j + 6) * far], vi = xi[i + (j + 2) * far] - xi[i + (j + 6) * far];                     \
    to_r[0] = pr + ur, to_i[0] = pi + ui, to_r[1] = qr + vi, to_i[1] = qi - vr, to_r[2] = pr - ur, to_i[2] = pi - ui, to_r[3] = qr - vi, to_i[3] = qi + vr; \
  }
        WEFT_FOUR(er, ei, 0)
        WEFT_FOUR(fr, fi, 1)
#undef WEFT_FOUR
        const T ar = (fr[1] + fi[1]) * h, ai = (fi[1] - fr[1]) * h, br = fi[2], bi = -fr[2], cr = (fi[3] - fr[3]) * h, ci = -(fr[3] + fi[3]) * h;
        yr[i] = er[0] + fr[0], yi[i] = ei[0] + fi[0];
        WEFT_PUT(1, er[1] + ar, ei[1] + ai)
        WEFT_PUT(2, er[2] + br, ei[2] + bi)
        WEFT_PUT(3, er[3] + cr, ei[3] + ci)
        WEFT_PUT(4, er[0] - fr[0], ei[0] - fi[0])
        WEFT_PUT(5, er[1] - ar, ei[1] - ai)
        WEFT_PUT(6, er[2] - br, ei[2] - bi)
        WEFT_PUT(7, er[3] - cr, ei[3] - ci)
      }
    } else {
      const T c1 = (T)0.309016994374947424102, c2 = (T)-0.809016994374947424102, s1 = (T)0.951056516295153572116, s2 = (T)0.587785252292473129169;
#pragma GCC ivdep
      for (int64_t i = 0; i < run; i++) {
        const T ar = xr[i], ai = xi[i];
        const T pr = xr[i + far] + xr[i + 4 * far], pi = xi[i + far] + xi[i + 4 * far], qr = xr[i + far] - xr[i + 4 * far], qi = xi[i + far] - xi[i + 4 * far];
        const T ur = xr[i + 2 * far] + xr[i + 3 * far], ui = xi[i + 2 * far] + xi[i + 3 * far];
        const T vr = xr[i + 2 * far] - xr[i + 3 * far], vi = xi[i + 2 * far] - xi[i + 3 * far];
        yr[i] = ar + pr + ur, yi[i] = ai + pi + ui;
        const T er = ar + c1 * pr + c2 * ur, ei = ai + c1 * pi + c2 * ui, fr = s1 * qr + s2 * vr, fi = s1 * qi + s2 * vi;
        const T gr = ar + c2 * pr + c1 * ur, gi = ai + c2 * pi + c1 * ui, hr = s2 * qr - s1 * vr, hi = s2 * qi - s1 * vi;
        WEFT_PUT(1, er + fi, ei - fr)
        WEFT_PUT(2, gr + hi, gi - hr)
        WEFT_PUT(3, gr - hi, gi + hr)
        WEFT_PUT(4, er - fi, ei + fr)
      }
    }
#undef WEFT_PUT
  }
}

// The same of any radix, by its sums.
template <class T> WEFT_INSIDE void long_pass(const Plan<T> &plan, int64_t r, int64_t m, int64_t s, int64_t lanes, Planes<T> x, Planes<T> y) {
  const int64_t run = s * lanes, unit = plan.n / r;
  for (int64_t p = 0; p < m; p++) {
    for (int64_t k = 0; k < r; k++) {
      T *yr = y.re + (p * r + k) * run, *yi = y.im + (p * r + k) * run;
      std::fill(yr, yr + run, (T)0), std::fill(yi, yi + run, (T)0);
      for (int64_t j = 0; j < r; j++) {
        const T *xr = x.re + (p + j * m) * run, *xi = x.im + (p + j * m) * run;
        const size_t at = (size_t)((j * k % r * unit + p * k * s) % plan.n);
        const T c = plan.cosine[at], d = plan.sine[at];
#pragma GCC ivdep
        for (int64_t i = 0; i < run; i++) yr[i] += xr[i] * c - xi[i] * d, yi[i] += xr[i] * d + xi[i] * c;
      }
    }
  }
}

template <class T> WEFT_INSIDE bool all_passes(const Plan<T> &plan, int64_t lanes, Planes<T> x, Planes<T> y) {
  int64_t n = plan.n, s = 1;
  bool swapped = false;
  for (int r : plan.radices) {
    const int64_t m = n / r;
    switch (r) {
      case 2: pass<T, 2>(plan, m, s, lanes, x, y); break;
      case 3: pass<T, 3>(plan, m, s, lanes, x, y); break;
      case 4: pass<T, 4>(plan, m, s, lanes, x, y); break;
      case 5: pass<T, 5>(plan, m, s, lanes, x, y); break;
      case 8: pass<T, 8>(plan, m, s, lanes, x, y); break;
      default: long_pass<T>(plan, r, m, s, lanes, x, y); break;
    }
    std::swap(x, y), swapped = !swapped, n = m, s *= r;
  }
  return swapped;
}

#define WEFT_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4"), optimize("O3")))
WEFT_CLONES bool passes(const Plan<float> &plan, int64_t lanes, Planes<float> x, Planes<float> y) { return all_passes(plan, lanes, x, y); }
WEFT_CLONES bool passes(const Plan<double> &plan, int64_t lanes, Planes<double> x, Planes<double> y) { return all_passes(plan, lanes, x, y); }

// ------------------------------------------------------------------------------- lines of memory and planes of 16 transforms
typedef float Line __attribute__((vector_size(64)));
typedef float LineAnywhere __attribute__((vector_size(64), aligned(4), may_alias));

// Sixteen lines as columns: D x D blocks off the diagonal change places, of D from 1 to 8.
template <int D> WEFT_INSIDE void exchange(Line *v) {
  typedef int Places __attribute__((vector_size(64)));
  Places low = {}, high = {};
#pragma GCC unroll 16
  for (int l = 0; l < 16; l++) low[l] = l & D ? 16 + l - D : l, high[l] = l & D ? 16 + l : l + D;
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++)
    if (!(i & D)) {
      const Line x = v[i], y = v[i + D];
      v[i] = __builtin_shuffle(x, y, low), v[i + D] = __builtin_shuffle(x, y, high);
    }
}
WEFT_INSIDE void transpose(Line *v) { exchange<1>(v), exchange<2>(v), exchange<4>(v), exchange<8>(v); }

// `count` complex numbers of each of 16 lines, `row` floats apart, as planes.
WEFT_CLONES void planes_of_lines(const float *x, int64_t row, int64_t count, float *re, float *im) {
  int64_t t = 0;
  for (; t + 8 <= count; t += 8) {
    Line v[16];
#pragma GCC unroll 16
    for (int l = 0; l < 16; l++) v[l] = *reinterpret_cast<const LineAnywhere *>(x + l * row + 2 * t);
    transpose(v);
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) *reinterpret_cast<LineAnywhere *>(re + (t + j) * 16) = v[2 * j], *reinterpret_cast<LineAnywhere *>(im + (t + j) * 16) = v[2 * j + 1];
  }
  for (; t < count; t++)
    for (int l = 0; l < 16; l++) re[t * 16 + l] = x[l * row + 2 * t], im[t * 16 + l] = x[l * row + 2 * t + 1];
}
WEFT_CLONES void lines_of_planes(const float *re, const float *im, int64_t count, float *y, int64_t row) {
  int64_t t = 0;
  for (; t + 8 <= count; t += 8) {
    Line v[16];
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) v[2 * j] = *reinterpret_cast<const LineAnywhere *>(re + (t + j) * 16), v[2 * j + 1] = *reinterpret_cast<const LineAnywhere *>(im + (t + j) * 16);
    transpose(v);
#pragma GCC unroll 16
    for (int l = 0; l < 16; l++) *reinterpret_cast<LineAnywhere *>(y + l * row + 2 * t) = v[l];
  }
  for (; t < count; t++)
    for (int l = 0; l < 16; l++) y[l * row + 2 * t] = re[t * 16 + l], y[l * row + 2 * t + 1] = im[t * 16 + l];
}

// Of the spectrum of pairs that of twice as many real numbers: see store_half.
WEFT_CLONES void half_spectra(const float *re, const float *im, int64_t h, const float *cosine, const float *sine, float *out_re, float *out_im) {
  for (int64_t k = 0; k <= h; k++) {
    const int64_t a = (k == h ? 0 : k) * 16, b = (k == 0 ? 0 : h - k) * 16;
    const float c = cosine[k], d = sine[k], some = k == 0 || k == h ? 0.0f : 1.0f;
#pragma GCC ivdep
    for (int64_t l = 0; l < 16; l++) {
      const float er = (re[a + l] + re[b + l]) / 2, ei = (im[a + l] - im[b + l]) / 2, pr = (im[a + l] + im[b + l]) / 2, pi = (re[b + l] - re[a + l]) / 2;
      out_re[k * 16 + l] = er + pr * c - pi * d;
      out_im[k * 16 + l] = some != 0 ? ei + pr * d + pi * c : 0.0f;
    }
  }
}

enum Kind { COMPLEX, FROM_REAL, TO_REAL };

// Transforms along one dim of row-major memory: [outer, n, inner] numbers.
template <class T> struct Transform {
  Kind kind;
  bool forward;
  const T *in;
  T *out;
  int64_t n, inner, count;  // of real numbers n is their count; count = outer * inner
  const Plan<T> *plan;      // of n, or of n / 2 where real numbers are taken two as one
  const Plan<T> *whole;     // of n: then its twiddles join the halves

  int64_t in_length() const { return kind == TO_REAL ? n / 2 + 1 : n; }
  int64_t out_length() const { return kind == FROM_REAL ? n / 2 + 1 : n; }

  // Where transform i begins, in numbers of `length` to a row.
  int64_t start(int64_t i, int64_t length) const { return i / inner * length * inner + i % inner; }

  // f(t, l, i) for every element t < n of every transform: i is where that lies, in numbers. Some elements of a transform at a time, as
  // lines of the planes hold an element of every transform, lines of memory some of one.
  template <class F> WEFT_INSIDE void each(int64_t first, int64_t lanes, int64_t length, int64_t to, F f) const {
    constexpr int64_t kSome = 16;
    int64_t at[kLanes];
    for (int64_t l = 0; l < lanes; l++) at[l] = start(first + l, length);
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

  void load(int64_t first, int64_t lanes, Planes<T> to) const {
    if (!forward) std::swap(to.re, to.im);
    T *re = to.re, *im = to.im;
    const T *x = in;
    if constexpr (std::is_same<T, float>::value)
      if (by_lines(lanes) && (kind == COMPLEX || (kind == FROM_REAL && whole))) {
        const int64_t row = kind == COMPLEX ? 2 * n : n;
        return planes_of_lines(x + first * row, row, plan->n, re, im);
      }
    if (kind == COMPLEX) {
      each(first, lanes, n, n, [=](int64_t t, int64_t l, int64_t i) { re[t * lanes + l] = x[2 * i], im[t * lanes + l] = x[2 * i + 1]; });
    } else if (kind == FROM_REAL && whole) {
      T *both[] = {re, im};
      each(first, lanes, n, n, [=](int64_t t, int64_t l, int64_t i) { both[t & 1][(t >> 1) * lanes + l] = x[i]; });
    } else if (kind == FROM_REAL) {
      each(first, lanes, n, n, [=](int64_t t, int64_t l, int64_t i) { re[t * lanes + l] = x[i], im[t * lanes + l] = 0; });
    } else {
      for (int64_t l = 0; l < lanes; l++) load_half(start(first + l, in_length()), l, lanes, to);
    }
  }

  // Half of a spectrum with conjugate symmetry (`to` is swapped already: backward).
  void load_half(int64_t at, int64_t l, int64_t lanes, Planes<T> to) const {
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
      const T c = whole->cosine[(size_t)k], d = -whole->sine[(size_t)k], dr = ar - br, di = ai - bi;
      to.re[k * lanes + l] = ar + br - (dr * d + di * c);
      to.im[k * lanes + l] = ai + bi + (dr * c - di * d);
    }
  }

  // `spare`: planes to write.
  void store(int64_t first, int64_t lanes, Planes<T> from, Planes<T> spare) const {
    if (!forward) std::swap(from.re, from.im);
    const T *re = from.re, *im = from.im;
    T *y = out;
    if constexpr (std::is_same<T, float>::value)
      if (by_lines(lanes) && (kind == COMPLEX || whole)) {
        if (kind == FROM_REAL) half_spectra(re, im, n / 2, whole->cosine.data(), whole->sine.data(), spare.re, spare.im), re = spare.re, im = spare.im;
        const int64_t row = kind == TO_REAL ? n : 2 * out_length();
        return lines_of_planes(re, im, row / 2, y + first * row, row);
      }
    if (kind == TO_REAL && whole) {
      const T *both[] = {re, im};
      each(first, lanes, n, n, [=](int64_t t, int64_t l, int64_t i) { y[i] = both[t & 1][(t >> 1) * lanes + l]; });
    } else if (kind == TO_REAL) {
      each(first, lanes, n, n, [=](int64_t t, int64_t l, int64_t i) { y[i] = re[t * lanes + l]; });
    } else if (kind == FROM_REAL && whole) {
      store_half(first, lanes, from);
    } else {
      each(first, lanes, out_length(), out_length(), [=](int64_t t, int64_t l, int64_t i) { y[2 * i] = re[t * lanes + l], y[2 * i + 1] = im[t * lanes + l]; });
    }
  }

  // X[k] = E + w^k O of the spectra of the even and of the odd numbers: of Z, E = (Z[k] + Z[h-k]*) / 2, O = (Z[k] - Z[h-k]*) / 2i.
  void store_half(int64_t first, int64_t lanes, Planes<T> from) const {
    const int64_t h = n / 2;
    const T *re = from.re, *im = from.im, *cosine = whole->cosine.data(), *sine = whole->sine.data();
    T *y = out;
    each(first, lanes, h + 1, h + 1, [=](int64_t k, int64_t l, int64_t i) {
      const int64_t a = (k == h ? 0 : k) * lanes + l, b = (k == 0 ? 0 : h - k) * lanes + l;
      const T er = (re[a] + re[b]) / 2, ei = (im[a] - im[b]) / 2, pr = (im[a] + im[b]) / 2, pi = (re[b] - re[a]) / 2, c = cosine[k], d = sine[k];
      y[2 * i] = er + pr * c - pi * d;
      y[2 * i + 1] = k == 0 || k == h ? (T)0 : ei + pr * d + pi * c;
    });
  }

  static void batches(void *context, int64_t begin, int64_t end, int64_t) {
    const Transform &f = *static_cast<const Transform *>(context);
    const int64_t size = f.plan->n;
    std::vector<T> memory((size_t)(4 * (size + 1) * std::min(kLanes, f.count)));
    for (int64_t i = begin; i < end; i++) {
      const int64_t first = i * kLanes, lanes = std::min(kLanes, f.count - first), plane = (size + 1) * lanes;
      const Planes<T> x{memory.data(), memory.data() + plane}, y{memory.data() + 2 * plane, memory.data() + 3 * plane};
      f.load(first, lanes, x);
      const bool swapped = passes(*f.plan, lanes, x, y);
      f.store(first, lanes, swapped ? y : x, swapped ? x : y);
      poll_signals();
    }
  }
};

template <class T> bool transform(Kind kind, bool forward, const char *in, char *out, int64_t n, int64_t inner, int64_t outer) {
  const bool halved = kind != COMPLEX && n % 2 == 0;
  const auto plan = plan_of<T>(halved ? n / 2 : n), whole = plan_of<T>(halved ? n : 1);
  if (!plan || !whole) return false;
  Transform<T> f{kind, forward, reinterpret_cast<const T *>(in), reinterpret_cast<T *>(out), n, inner, outer * inner, plan.get(), halved ? whole.get() : nullptr};
  const int64_t count = (f.count + kLanes - 1) / kLanes;
  if (n * f.count >= 2 * kAway && count > 1) kernel_runtime()->parallel_for(count, std::max<int64_t>(1, kAway / (n * kLanes)), Transform<T>::batches, &f);
  else Transform<T>::batches(&f, 0, count, 0);
  return true;
}

bool can_transform(int64_t n) { return n >= 1 && Plan<float>(n).n && (n % 2 || n < 2 || Plan<float>(n / 2).n); }

// (out, x, dims, forward), (out, x, dims) or (out, x, dims, last)
template <Kind kind> PyObject *fft_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs >= 3 ? dense(args[0]) : nullptr, *given = out ? plain(args[1]) : nullptr;
  if (!given || !PyList_Check(args[2]) || !PyList_GET_SIZE(args[2]) || WEFT_NDIM(given) != WEFT_NDIM(out)) return not_for_these();
  WeftTensor *wide = kind == TO_REAL ? given : out;  // the complex one
  if (WEFT_DTYPE(wide) != WEFT_COMPLEX64 && WEFT_DTYPE(wide) != WEFT_COMPLEX128) return not_for_these();
  if (kind == COMPLEX ? WEFT_DTYPE(given) != WEFT_DTYPE(out)
                      : WEFT_DTYPE(kind == TO_REAL ? out : given) != (WEFT_DTYPE(wide) == WEFT_COMPLEX64 ? WEFT_FLOAT32 : WEFT_FLOAT64))
    return not_for_these();
  bool forward = kind == FROM_REAL;
  if (kind == COMPLEX && (nargs != 4 || !exact_bool(args[3], &forward))) return not_for_these();
  std::vector<int> dims;
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(args[2]); k++) {
    int64_t d;
    if (!exact_int(PyList_GET_ITEM(args[2], k), &d) || d < 0 || d >= WEFT_NDIM(out)) return not_for_these();
    dims.push_back((int)d);
    const WeftTensor *whole = kind == TO_REAL && k + 1 == PyList_GET_SIZE(args[2]) ? out : given;
    if (!can_transform(whole->sizes[d])) return not_for_these();
  }
  const int last = dims.back();
  if (kind == TO_REAL && given->sizes[last] != out->sizes[last] / 2 + 1) return not_for_these();
  if (!out->numel) return written();
  Ref x = row_major(given);
  if (!x) return PyErr_Occurred() ? nullptr : not_for_these();
  Ref between;  // what transforms of the other dims give, before the last becomes real
  if (kind == TO_REAL && dims.size() > 1) between = Ref(empty(WEFT_DTYPE(given), WEFT_NDIM(given), given->sizes, nullptr));
  if (kind == TO_REAL && dims.size() > 1 && !between) return nullptr;
  const char *from = weft_data(as_tensor(x.get()));
  const bool single = WEFT_DTYPE(wide) == WEFT_COMPLEX64;
  const auto along = [&](Kind of, WeftTensor *shape, int d, int64_t n, char *to) {
    int64_t inner = 1, outer = 1;
    for (int k = 0; k < WEFT_NDIM(shape); k++) (k < d ? outer : inner) *= k == d ? 1 : shape->sizes[k];
    const bool made = single ? transform<float>(of, forward, from, to, n, inner, outer) : transform<double>(of, forward, from, to, n, inner, outer);
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

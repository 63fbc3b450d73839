// fourier.cpp: the passes of fourier.h, by vectors.
//
// Where one transform is long enough, it runs alone, in the nearest cache: its first pass is of 8, has neighbouring elements in its lanes
// and puts them in order by shuffles; those after it have runs of eight and more elements of the same factors. Short ones, and those that
// do not lie along memory, run side by side.
#include "fourier.h"
#include "vectors.h"

using namespace weft;

namespace {

#define INSIDE inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

template <class T> constexpr int kWide = kBytes / sizeof(T);
template <class V> constexpr int lanes_of = sizeof(V) / sizeof(V{}[0]);

template <class V> INSIDE V get(const void *p) {
  V v;
  memcpy(&v, p, sizeof v);
  return v;
}
template <class V> INSIDE void put(void *p, V v) { memcpy(p, &v, sizeof v); }
template <class V, class T> INSIDE V all(T x) { return x - V{}; }

// Lanes of two vectors in turn, the first half of them or the second; the even or the odd ones of two; the last first.
template <bool second, class V, int... K> INSIDE V zipped(vm_order<K...>, V a, V b) {
  constexpr int n = sizeof...(K);
  return __builtin_shufflevector(a, b, ((second ? n / 2 : 0) + K / 2 + K % 2 * n)...);
}
template <bool second, class V> INSIDE V zip(V a, V b) { return zipped<second>(vm_order_in<V>{}, a, b); }
template <bool odd, class V, int... K> INSIDE V halved(vm_order<K...>, V a, V b) { return __builtin_shufflevector(a, b, (2 * K + odd)...); }
template <bool odd, class V> INSIDE V every_other(V a, V b) { return halved<odd>(vm_order_in<V>{}, a, b); }
template <class V, int... K> INSIDE V backwards(vm_order<K...>, V a) { return __builtin_shufflevector(a, a, ((int)sizeof...(K) - 1 - K)...); }
template <class V> INSIDE V reversed(V a) { return backwards(vm_order_in<V>{}, a); }

template <class V> struct Complex {
  V re, im;
};
template <class V> INSIDE Complex<V> operator+(Complex<V> a, Complex<V> b) { return {a.re + b.re, a.im + b.im}; }
template <class V> INSIDE Complex<V> operator-(Complex<V> a, Complex<V> b) { return {a.re - b.re, a.im - b.im}; }
template <class V> INSIDE Complex<V> times(Complex<V> a, V c, V d) { return {vm_fma(a.re, c, -(a.im * d)), vm_fma(a.re, d, a.im * c)}; }
template <class V> INSIDE Complex<V> down(Complex<V> a) { return {a.im, -a.re}; }  // times -i

// The transform of r numbers, in place.
template <int r, class V> INSIDE void butterfly(Complex<V> *x) {
  typedef decltype(V{}[0] + 0) T;
  typedef Complex<V> C;
  if constexpr (r == 2) {
    const C a = x[0], b = x[1];
    x[0] = a + b, x[1] = a - b;
  } else if constexpr (r == 3) {
    const V h = V{} + (T)0.866025403784438646764, half = V{} - (T)0.5;
    const C a = x[0], s = x[1] + x[2], d = x[1] - x[2];
    const C m = {vm_fma(s.re, half, a.re), vm_fma(s.im, half, a.im)}, e = {d.im * h, -(d.re * h)};
    x[0] = a + s, x[1] = m + e, x[2] = m - e;
  } else if constexpr (r == 4) {
    const C p = x[0] + x[2], q = x[0] - x[2], u = x[1] + x[3], v = down(x[1] - x[3]);
    x[0] = p + u, x[1] = q + v, x[2] = p - u, x[3] = q - v;
  } else if constexpr (r == 8) {
    const V h = V{} + (T)0.707106781186547524401;
    C e[4] = {x[0], x[2], x[4], x[6]}, f[4] = {x[1], x[3], x[5], x[7]};
    butterfly<4>(e), butterfly<4>(f);
    const C g[4] = {f[0], {(f[1].re + f[1].im) * h, (f[1].im - f[1].re) * h}, down(f[2]), {(f[3].im - f[3].re) * h, -((f[3].re + f[3].im) * h)}};
    UNROLL for (int k = 0; k < 4; k++) x[k] = e[k] + g[k], x[k + 4] = e[k] - g[k];
  } else {
    const V c1 = V{} + (T)0.309016994374947424102, c2 = V{} - (T)0.809016994374947424102, s1 = V{} + (T)0.951056516295153572116, s2 = V{} + (T)0.587785252292473129169;
    const C a = x[0], p = x[1] + x[4], q = down(x[1] - x[4]), u = x[2] + x[3], v = down(x[2] - x[3]);
    const auto mixed = [](C z, C p, C u, V c, V d) { return C{vm_fma(u.re, d, vm_fma(p.re, c, z.re)), vm_fma(u.im, d, vm_fma(p.im, c, z.im))}; };
    const C e = mixed(a, p, u, c1, c2), g = mixed(a, p, u, c2, c1);
    const C f = {vm_fma(v.re, s2, q.re * s1), vm_fma(v.im, s2, q.im * s1)}, k = {vm_fma(q.re, s2, -(v.re * s1)), vm_fma(q.im, s2, -(v.im * s1))};
    x[0] = a + p + u, x[1] = e + f, x[2] = g + k, x[3] = g - k, x[4] = e - f;
  }
}

// Where a pass reads and writes: planes, or complex numbers in memory, whose parts may be swapped.
template <class T> struct OnPlanes {
  T *re, *im;
  template <class V> INSIDE Complex<V> load(int64_t i) const { return {get<V>(re + i), get<V>(im + i)}; }
  template <class V> INSIDE void store(int64_t i, Complex<V> x) const { put(re + i, x.re), put(im + i, x.im); }
};
template <class T> struct InMemory {
  T *at;
  bool swapped;
  template <class V> INSIDE Complex<V> load(int64_t i) const {
    const V a = get<V>(at + 2 * i), b = get<V>(at + 2 * i + lanes_of<V>), re = every_other<false>(a, b), im = every_other<true>(a, b);
    return swapped ? Complex<V>{im, re} : Complex<V>{re, im};
  }
  template <class V> INSIDE void store(int64_t i, Complex<V> x) const {
    const V a = swapped ? x.im : x.re, b = swapped ? x.re : x.im;
    put(at + 2 * i, zip<false>(a, b)), put(at + 2 * i + lanes_of<V>, zip<true>(a, b));
  }
};

// One pass: of every m-th element a transform of r, times the factors, which for the first of them are 1; `run` numbers, of which those
// from `begin` to `end` are meant, lie side by side.
template <int r, bool factors, class V, class T, class From, class To>
INSIDE void row(const FourierPlan<T> &plan, int64_t p, int64_t m, int64_t s, int64_t run, int64_t begin, int64_t end, From from, To to) {
  V c[r], d[r];
  if (factors) UNROLL for (int k = 1; k < r; k++) c[k] = all<V>(plan.cosine[p * k * s]), d[k] = all<V>(plan.sine[p * k * s]);
  for (int64_t i = begin; i < end; i += lanes_of<V>) {
    Complex<V> x[r];
    UNROLL for (int j = 0; j < r; j++) x[j] = from.template load<V>((p + j * m) * run + i);
    butterfly<r>(x);
    to.store(p * r * run + i, x[0]);
    UNROLL for (int k = 1; k < r; k++) to.store((p * r + k) * run + i, factors ? times(x[k], c[k], d[k]) : x[k]);
  }
}
template <int r, class V, class T, class From, class To>
INSIDE void rows(const FourierPlan<T> &plan, int64_t m, int64_t s, int64_t run, int64_t begin, int64_t end, From from, To to) {
  row<r, false, V>(plan, 0, m, s, run, begin, end, from, to);
  for (int64_t p = 1; p < m; p++) row<r, true, V>(plan, p, m, s, run, begin, end, from, to);
}
template <class T> struct Alone {
  typedef T V __attribute__((vector_size(sizeof(T))));
};
template <int r, class T, class From> void pass(const FourierPlan<T> &plan, int64_t m, int64_t s, int64_t lanes, From from, InMemory<T> to) {
  const int64_t run = s * lanes;  // a multiple of kWide<T>
  rows<r, Vec<T, kWide<T>>>(plan, m, s, run, 0, run, from, to);
}
template <int r, class T> void pass(const FourierPlan<T> &plan, int64_t m, int64_t s, int64_t lanes, OnPlanes<T> from, OnPlanes<T> to) {
  constexpr int64_t some = kWide<T> / 2;
  const int64_t run = s * lanes, wide = run / kWide<T> * kWide<T>, half = run / some * some;
  if (wide) rows<r, Vec<T, kWide<T>>>(plan, m, s, run, 0, wide, from, to);
  if (half > wide) rows<r, Vec<T, some>>(plan, m, s, run, wide, half, from, to);
  if (run > half) rows<r, typename Alone<T>::V>(plan, m, s, run, half, run, from, to);
}

// The same of any radix, by its sums.
template <class T> void long_pass(const FourierPlan<T> &plan, int64_t r, int64_t m, int64_t s, int64_t lanes, OnPlanes<T> x, OnPlanes<T> y) {
  const int64_t run = s * lanes, unit = plan.n / r;
  for (int64_t p = 0; p < m; p++) {
    for (int64_t k = 0; k < r; k++) {
      T *yr = y.re + (p * r + k) * run, *yi = y.im + (p * r + k) * run;
      for (int64_t i = 0; i < run; i++) yr[i] = yi[i] = 0;
      for (int64_t j = 0; j < r; j++) {
        const T *xr = x.re + (p + j * m) * run, *xi = x.im + (p + j * m) * run;
        const int64_t at = (j * k % r * unit + p * k * s) % plan.n;
        const T c = plan.cosine[at], d = plan.sine[at];
#pragma GCC ivdep
        for (int64_t i = 0; i < run; i++) yr[i] += xr[i] * c - xi[i] * d, yi[i] += xr[i] * d + xi[i] * c;
      }
    }
  }
}

// By radix; false: there is none of it.
template <class T, class To> bool pass_of(const FourierPlan<T> &plan, int r, int64_t m, int64_t s, int64_t lanes, OnPlanes<T> from, To to) {
  switch (r) {
    case 2: pass<2>(plan, m, s, lanes, from, to); return true;
    case 3: pass<3>(plan, m, s, lanes, from, to); return true;
    case 4: pass<4>(plan, m, s, lanes, from, to); return true;
    case 5: pass<5>(plan, m, s, lanes, from, to); return true;
    case 8: pass<8>(plan, m, s, lanes, from, to); return true;
    default: return false;
  }
}

// The passes from number `first` on, after which s elements lie side by side, but for the last `left`.
template <class T> bool some_passes(const FourierPlan<T> &plan, int first, int left, int64_t *n, int64_t *s, int64_t lanes, OnPlanes<T> x, OnPlanes<T> y) {
  bool swapped = false;
  for (int k = first; k < plan.count - left; k++) {
    const int r = plan.radices[k];
    const OnPlanes<T> from = swapped ? y : x, to = swapped ? x : y;
    const int64_t m = *n / r;
    if (!pass_of(plan, r, m, *s, lanes, from, to)) long_pass<T>(plan, r, m, *s, lanes, from, to);
    swapped = !swapped, *n = m, *s *= r;
  }
  return swapped;
}

template <class T> bool passes(const FourierPlan<T> &plan, int64_t lanes, FourierPlanes<T> x, FourierPlanes<T> y) {
  int64_t n = plan.n, s = 1;
  return some_passes<T>(plan, 0, 0, &n, &s, lanes, {x.re, x.im}, {y.re, y.im});
}

template <class T> bool fits(const FourierPlan<T> &plan) { return plan.first_cosine && plan.n % (8 * kFourierLanes) == 0; }

// The first pass of one transform: lanes are neighbours p, so factors are many, and results lie eight by eight.
template <class T, class From> void first_pass(const FourierPlan<T> &plan, From from, OnPlanes<T> to) {
  typedef Vec<T, kWide<T>> V;
  const int64_t m = plan.n / 8;
  for (int64_t p = 0; p < m; p += lanes_of<V>) {
    Complex<V> x[8];
    UNROLL for (int j = 0; j < 8; j++) x[j] = from.template load<V>(p + j * m);
    butterfly<8>(x);
    UNROLL for (int k = 1; k < 8; k++) x[k] = times(x[k], get<V>(plan.first_cosine + (k - 1) * m + p), get<V>(plan.first_sine + (k - 1) * m + p));
    UNROLL for (int turn = 0; turn < 3; turn++) {  // numbers k, p of the eight registers: their first bit becomes the last
      Complex<V> y[8];
      UNROLL for (int i = 0; i < 4; i++) {
        y[2 * i] = {zip<false>(x[i].re, x[i + 4].re), zip<false>(x[i].im, x[i + 4].im)};
        y[2 * i + 1] = {zip<true>(x[i].re, x[i + 4].re), zip<true>(x[i].im, x[i + 4].im)};
      }
      UNROLL for (int i = 0; i < 8; i++) x[i] = y[i];
    }
    UNROLL for (int k = 0; k < 8; k++) to.store(8 * p + k * lanes_of<V>, x[k]);
  }
}

template <class T> FourierPlanes<T> whole(const FourierPlan<T> &plan, bool swapped, const T *in, T *out, FourierPlanes<T> x, FourierPlanes<T> y) {
  const OnPlanes<T> a = {x.re, x.im}, b = {y.re, y.im};
  if (in) first_pass(plan, InMemory<const T>{in, swapped}, b);
  else first_pass(plan, a, b);
  int64_t n = plan.n / 8, s = 8;
  const bool last = some_passes<T>(plan, 1, out ? 1 : 0, &n, &s, 1, b, a);
  OnPlanes<T> made = last ? a : b;
  if (out && !pass_of(plan, (int)n, 1, s, 1, made, InMemory<T>{out, swapped})) {
    const OnPlanes<T> other = last ? b : a;
    long_pass<T>(plan, n, 1, s, 1, made, other), made = other;
    for (int64_t i = 0; i < plan.n; i += kWide<T>) InMemory<T>{out, swapped}.store(i, made.template load<Vec<T, kWide<T>>>(i));
  }
  return {made.re, made.im};
}

// X[k] = E + w^k O and X[h-k] = (E - w^k O)* of the spectra of the even and of the odd numbers: of Z, E = (Z[k] + Z[h-k]*) / 2,
// O = (Z[k] - Z[h-k]*) / 2i.
template <class V, class T> INSIDE void joined(Complex<V> a, Complex<V> b, const T *cosine, const T *sine, Complex<V> *x, Complex<V> *y) {
  const V half = V{} + (T)0.5, er = (a.re + b.re) * half, ei = (a.im - b.im) * half, pr = (a.im + b.im) * half, pi = (b.re - a.re) * half;
  const V c = get<V>(cosine), d = get<V>(sine);
  *x = {vm_fma(-pi, d, vm_fma(pr, c, er)), vm_fma(pi, c, vm_fma(pr, d, ei))};
  *y = {vm_fma(pi, d, vm_fma(-pr, c, er)), vm_fma(pi, c, vm_fma(pr, d, -ei))};
}
template <class T> void halve(const FourierPlan<T> &whole, int64_t h, FourierPlanes<T> z, T *out) {
  typedef Vec<T, kWide<T>> V;
  typedef typename Alone<T>::V One;
  constexpr int L = kWide<T>;
  const InMemory<T> to = {out, false};
  z.re[h] = z.re[0], z.im[h] = z.im[0];  // (planes go on)
  int64_t k = 0;
  for (; k + L <= (h + 1) / 2; k += L) {
    const int64_t b = h - k - L + 1;
    Complex<V> x, y;
    joined(Complex<V>{get<V>(z.re + k), get<V>(z.im + k)}, Complex<V>{reversed(get<V>(z.re + b)), reversed(get<V>(z.im + b))}, whole.cosine + k, whole.sine + k, &x, &y);
    to.store(k, x);
    to.store(b, Complex<V>{reversed(y.re), reversed(y.im)});
  }
  for (; k <= h / 2; k++) {
    Complex<One> x, y;
    joined(Complex<One>{get<One>(z.re + k), get<One>(z.im + k)}, Complex<One>{get<One>(z.re + h - k), get<One>(z.im + h - k)}, whole.cosine + k, whole.sine + k, &x, &y);
    out[2 * k] = x.re[0], out[2 * k + 1] = x.im[0];
    if (k < h - k) out[2 * (h - k)] = y.re[0], out[2 * (h - k) + 1] = y.im[0];
  }
  out[1] = out[2 * h + 1] = 0;
}

// E + i w^-k O, of E = X[k] + X[h-k]*, O = X[k] - X[h-k]*, for k and for h-k; the imaginary parts of X[0] and X[h] are not read.
template <class V, class T> INSIDE void parted(Complex<V> a, Complex<V> b, const T *cosine, const T *sine, Complex<V> *x, Complex<V> *y) {
  const V c = get<V>(cosine), d = get<V>(sine), er = a.re + b.re, ei = a.im - b.im, dr = a.re - b.re, di = a.im + b.im;
  *x = {vm_fma(dr, d, vm_fma(-di, c, er)), vm_fma(di, d, vm_fma(dr, c, ei))};
  *y = {vm_fma(-dr, d, vm_fma(di, c, er)), vm_fma(di, d, vm_fma(dr, c, -ei))};
}
template <class T> void join(const FourierPlan<T> &whole, int64_t h, const T *in, FourierPlanes<T> z) {
  typedef Vec<T, kWide<T>> V;
  typedef typename Alone<T>::V One;
  constexpr int L = kWide<T>;
  const InMemory<const T> from = {in, false};
  const auto both = [&](int64_t k) {
    const One zero = {}, ai = k ? get<One>(in + 2 * k + 1) : zero, bi = k ? get<One>(in + 2 * (h - k) + 1) : zero;
    Complex<One> x, y;
    parted(Complex<One>{get<One>(in + 2 * k), ai}, Complex<One>{get<One>(in + 2 * (h - k)), bi}, whole.cosine + k, whole.sine + k, &x, &y);
    z.im[k] = x.re[0], z.re[k] = x.im[0];
    if (k && k < h - k) z.im[h - k] = y.re[0], z.re[h - k] = y.im[0];
  };
  both(0);
  int64_t k = 1;
  for (; k + L <= (h + 1) / 2; k += L) {
    const int64_t at = h - k - L + 1;
    const Complex<V> a = from.template load<V>(k), b = from.template load<V>(at);
    Complex<V> x, y;
    parted(a, Complex<V>{reversed(b.re), reversed(b.im)}, whole.cosine + k, whole.sine + k, &x, &y);
    put(z.im + k, x.re), put(z.re + k, x.im);
    put(z.im + at, reversed(y.re)), put(z.re + at, reversed(y.im));
  }
  for (; k <= h / 2; k++) both(k);
}

// Sixteen lines as columns: blocks off the diagonal change places, of D x D lanes, D from 1 on.
typedef Vec<float, kFourierLanes> Line;
template <int D, int... K> INSIDE void exchange_in(vm_order<K...>, Line *v) {
  UNROLL for (int i = 0; i < 16; i++)
    if (!(i & D)) {
      const Line x = v[i], y = v[i + D];
      v[i] = __builtin_shufflevector(x, y, (K & D ? 16 + K - D : K)...), v[i + D] = __builtin_shufflevector(x, y, (K & D ? 16 + K : K + D)...);
    }
}
template <int D> INSIDE void exchange(Line *v) { exchange_in<D>(vm_order_in<Line>{}, v); }
INSIDE void transpose(Line *v) { exchange<1>(v), exchange<2>(v), exchange<4>(v), exchange<8>(v); }

// The first n numbers of a line; nothing else is read or written.
constexpr int64_t kPart = F32::kLanes;
INSIDE Line some_of(const float *p, int64_t n) {
  Line v = {};
  F32::V parts[16 / kPart] = {};
  for (int64_t k = 0; k * kPart < n; k++) parts[k] = n - k * kPart < kPart ? load_part<F32>(p + k * kPart, n - k * kPart) : F32::load(p + k * kPart);
  __builtin_memcpy(&v, parts, sizeof v);
  return v;
}
INSIDE void put_some(float *p, Line v, int64_t n) {
  F32::V parts[16 / kPart];
  __builtin_memcpy(parts, &v, sizeof v);
  for (int64_t k = 0; k * kPart < n; k++) {
    if (n - k * kPart < kPart) store_part<F32>(p + k * kPart, parts[k], n - k * kPart);
    else F32::store(p + k * kPart, parts[k]);
  }
}

template <class T> void planes_of_lines(const T *x, int64_t row, int64_t count, FourierPlanes<T> to) {
  int64_t t = 0;
  if constexpr (sizeof(T) == 4)
    for (; t + 8 <= count; t += 8) {
      Line v[16];
      UNROLL for (int l = 0; l < 16; l++) v[l] = get<Line>(x + l * row + 2 * t);
      transpose(v);
      UNROLL for (int j = 0; j < 8; j++) put(to.re + (t + j) * 16, v[2 * j]), put(to.im + (t + j) * 16, v[2 * j + 1]);
    }
  if constexpr (sizeof(T) == 4)
    if (t < count) {
      Line v[16];
      const int64_t rest = count - t;
      UNROLL for (int l = 0; l < 16; l++) v[l] = some_of(x + l * row + 2 * t, 2 * rest);
      transpose(v);
      for (int64_t j = 0; j < rest; j++) put(to.re + (t + j) * 16, v[2 * j]), put(to.im + (t + j) * 16, v[2 * j + 1]);
      return;
    }
  for (; t < count; t++)
    for (int l = 0; l < 16; l++) to.re[t * 16 + l] = x[l * row + 2 * t], to.im[t * 16 + l] = x[l * row + 2 * t + 1];
}
template <class T> void lines_of_planes(FourierPlanes<T> from, int64_t count, T *y, int64_t row) {
  int64_t t = 0;
  if constexpr (sizeof(T) == 4)
    for (; t + 8 <= count; t += 8) {
      Line v[16];
      UNROLL for (int j = 0; j < 8; j++) v[2 * j] = get<Line>(from.re + (t + j) * 16), v[2 * j + 1] = get<Line>(from.im + (t + j) * 16);
      transpose(v);
      UNROLL for (int l = 0; l < 16; l++) put(y + l * row + 2 * t, v[l]);
    }
  if constexpr (sizeof(T) == 4)
    if (t < count) {
      Line v[16] = {};
      const int64_t rest = count - t;
      for (int64_t j = 0; j < rest; j++) v[2 * j] = get<Line>(from.re + (t + j) * 16), v[2 * j + 1] = get<Line>(from.im + (t + j) * 16);
      transpose(v);
      UNROLL for (int l = 0; l < 16; l++) put_some(y + l * row + 2 * t, v[l], 2 * rest);
      return;
    }
  for (; t < count; t++)
    for (int l = 0; l < 16; l++) y[l * row + 2 * t] = from.re[t * 16 + l], y[l * row + 2 * t + 1] = from.im[t * 16 + l];
}

template <class T> void planes_of_columns(const T *x, int64_t row, int64_t count, FourierPlanes<T> to) {
  for (int64_t t = 0; t < count; t++)
    UNROLL for (int l = 0; l < kFourierLanes; l += kWide<T>)
      OnPlanes<T>{to.re, to.im}.store(t * kFourierLanes + l, InMemory<const T>{x + t * row, false}.template load<Vec<T, kWide<T>>>(l));
}
template <class T> void columns_of_planes(FourierPlanes<T> from, int64_t count, T *y, int64_t row) {
  for (int64_t t = 0; t < count; t++)
    UNROLL for (int l = 0; l < kFourierLanes; l += kWide<T>)
      InMemory<T>{y + t * row, false}.store(l, OnPlanes<T>{from.re, from.im}.template load<Vec<T, kWide<T>>>(t * kFourierLanes + l));
}

// X[k] = E + w^k O of the spectra of the even and of the odd numbers: of Z, E = (Z[k] + Z[h-k]*) / 2, O = (Z[k] - Z[h-k]*) / 2i.
template <class T> void halve_planes(const FourierPlan<T> &whole, int64_t h, FourierPlanes<T> z, FourierPlanes<T> half) {
  typedef Vec<T, kWide<T>> V;
  for (int64_t k = 0; k <= h; k++) {
    const int64_t a = (k == h ? 0 : k) * kFourierLanes, b = (k == 0 ? 0 : h - k) * kFourierLanes;
    const V c = whole.cosine[k] - V{}, d = whole.sine[k] - V{};
    const bool real = k == 0 || k == h;
    UNROLL for (int l = 0; l < kFourierLanes; l += kWide<T>) {
      const V ar = get<V>(z.re + a + l), ai = get<V>(z.im + a + l), br = get<V>(z.re + b + l), bi = get<V>(z.im + b + l);
      const V er = (ar + br) / 2, ei = (ai - bi) / 2, pr = (ai + bi) / 2, pi = (br - ar) / 2;
      put(half.re + k * kFourierLanes + l, er + pr * c - pi * d);
      put(half.im + k * kFourierLanes + l, real ? V{} : ei + pr * d + pi * c);
    }
  }
}

// E + i w^-k O, of E = X[k] + X[h-k]*, O = X[k] - X[h-k]*; the imaginary parts of X[0] and X[h] are not read.
template <class T> void join_planes(const FourierPlan<T> &whole, int64_t h, FourierPlanes<T> half, FourierPlanes<T> z) {
  typedef Vec<T, kWide<T>> V;
  for (int64_t k = 0; k < h; k++) {
    const int64_t a = k * kFourierLanes, b = (h - k) * kFourierLanes;
    const V c = whole.cosine[k] - V{}, d = V{} - whole.sine[k];
    UNROLL for (int l = 0; l < kFourierLanes; l += kWide<T>) {
      const V ar = get<V>(half.re + a + l), ai = k ? get<V>(half.im + a + l) : V{}, br = get<V>(half.re + b + l), bi = k ? -get<V>(half.im + b + l) : V{};
      const V dr = ar - br, di = ai - bi;
      put(z.re + a + l, ar + br - (dr * d + di * c));
      put(z.im + a + l, ai + bi + (dr * c - di * d));
    }
  }
}

template <class T> void fill(Fourier<T> *f) {
  *f = {passes<T>, fits<T>, whole<T>, halve<T>, join<T>, halve_planes<T>, join_planes<T>, planes_of_lines<T>, lines_of_planes<T>, planes_of_columns<T>, columns_of_planes<T>};
}

}  // namespace

namespace weft {
void WEFT_FILL(fourier)(FourierTable *table) { fill(&table->single), fill(&table->wide); }
}  // namespace weft

// vector.h: what generated kernels use beside vecmath.h: lanes in memory and in registers. Header-free; pasted.
//
// A vector has L lanes of one computed type; a bool is an int lane, 0 or -1. Half types exist in memory only. The last
// argument of loads and stores says which lanes exist: w_all, or w_some with one bit a lane; the others read as 0.
#ifndef WEFT_KERNEL_RUNTIME
#define WEFT_KERNEL_RUNTIME
typedef struct WeftErrorRecord { long check, value, bound; } WeftErrorRecord;
typedef struct WeftKernelRuntime {
  void (*parallel_for)(long n, long grain, void (*body)(void *ctx, long begin, long end, long worker), void *ctx);
  void *(*scratch)(long worker, long bytes);
  long num_threads;
  WeftErrorRecord *error;
  const struct WeftGemmTable *gemm;
} WeftKernelRuntime;
#endif
typedef long w_i64;
struct w_b8 { unsigned char x; };     // bool
struct w_bf16 { unsigned short x; };
struct w_f16 { unsigned short x; };
struct w_moved_bf16 { unsigned short x; };  // where a bfloat16 goes that nothing was computed of: there is nothing to round
struct w_frame {
  void *const *buffers;
  const long *symbols;
  const WeftKernelRuntime *runtime;
  void *shared;  // memory of the whole nest: partial results
  long failed;   // 1 + index of the check that failed
  const short *args;  // in a kernel of several nests: which buffers this one's are
};
// A nest of a kernel that has several, all independent: its function, its buffers, and where its units end.
struct w_part {
  void (*run)(void *, long, long, long);
  const short *args;
  long end;
};
struct w_parts { w_frame *frame; const w_part *parts; };
static inline void w_run_parts(void *ctx, long begin, long end, long worker) {
  const w_parts *all = (const w_parts *)ctx;
  const w_part *p = all->parts;
  long start = 0;
  for (; begin < end; start = p->end, p++) {
    if (begin >= p->end) continue;
    w_frame own = *all->frame;
    own.args = p->args;
    p->run(&own, begin - start, (end < p->end ? end : p->end) - start, worker);
    begin = p->end;
  }
}
static void w_fail(w_frame *f, long check, long value, long bound) {
  if (__atomic_exchange_n(&f->failed, check + 1, __ATOMIC_RELAXED) == 0 && f->runtime->error)
    *f->runtime->error = WeftErrorRecord{check, value, bound};
}

template <class V> using w_bools = w_vec<int, w_lanes<V>>;
// A vector as the first lanes of a wider one, and back.
template <class W, class V> W_INLINE W w_widened(V v) {
  if constexpr (sizeof(W) == sizeof(V)) return v;
  else {
    typedef w_vec<w_elem<V>, 2 * w_lanes<V>> H;
    struct P { V low, high; };
    return w_widened<W>(__builtin_bit_cast(H, P{v, v}));
  }
}
template <class V, class W> W_INLINE V w_narrowed(W w) {
  V v;
  __builtin_memcpy(&v, &w, sizeof v);
  return v;
}
// (Conversions of whole registers to narrower elements take one port of the processor twice: by way of its bits a mask is three
// times as fast.)
template <class M> W_INLINE w_bools<M> w_mask(M m) {
#if defined(__AVX512DQ__) && defined(__AVX512VL__)
  if constexpr (sizeof(M) == 64 && w_lanes<M> == 8)
    return (w_bools<M>)__builtin_ia32_cvtmask2d256((unsigned char)__builtin_ia32_cvtq2mask512((w_vec<long long, 8>)m));
#endif
  return w_cast<int>(m);
}
// Eight numbers that become one or two bytes each do so at once: by steps of two they take four times as long (int64 to int8).
template <class T, class V> W_INLINE w_vec<T, w_lanes<V>> w_cut(V v) {
#if defined(__AVX512BW__) && defined(__AVX512VL__) && !defined(__clang__)
  constexpr int from = sizeof(w_elem<V>), to = sizeof(T), L = w_lanes<V>;
  typedef long long i64;
  if constexpr (w_integral<w_elem<V>> && w_integral<T> && L == 8 && from >= 4 && to == 2) {
    if constexpr (from == 8) return (w_vec<T, L>)__builtin_ia32_pmovqw512_mask((w_vec<i64, L>)v, w_vec<short, L>{}, -1);
    else return (w_vec<T, L>)__builtin_ia32_pmovdw256_mask((w_vec<int, L>)v, w_vec<short, L>{}, -1);
  }
  if constexpr (w_integral<w_elem<V>> && w_integral<T> && L == 8 && from >= 4 && to == 1) {
    w_vec<char, 16> bytes;
    if constexpr (from == 8) bytes = __builtin_ia32_pmovqb512_mask((w_vec<i64, L>)v, w_vec<char, 16>{}, -1);
    else bytes = __builtin_ia32_pmovdb256_mask((w_vec<int, L>)v, w_vec<char, 16>{}, -1);
    return __builtin_bit_cast(w_vec<T, L>, ((w_vec<i64, 2>)bytes)[0]);
  }
#endif
  if constexpr (!w_integral<w_elem<V>> && w_integral<T> && sizeof(T) <= 2) {
    constexpr bool narrow = (T)-1 < 0 || sizeof(T) == 2;
    if constexpr (narrow) return w_cut<T>(w_cast<int>(v));
    else return w_cut<T>(w_cast<long>(v));
  } else return w_convert<T>(v);
}
template <class M, class V> W_INLINE V w_select(M m, V a, V b) { return (vm_mask<V>)w_cast<w_elem<vm_mask<V>>>(m) ? a : b; }
// What is the same in all lanes, in one.
template <class V> W_INLINE auto w_one(V v) { return w_vec<w_elem<V>, 1>{v[0]}; }
// A value that is computed, in all lanes, before one asks which lanes are wanted: the compiler would else have loads wait
// for a mask that takes long.
template <class V> W_INLINE V w_held(V v) {
#ifdef __AVX__
  if constexpr (sizeof(V) == 32) asm("" : "+v"(v));
#endif
#ifdef __AVX512F__
  if constexpr (sizeof(V) == 64) asm("" : "+v"(v));  // else it is two registers, and no operand of an asm
#endif
  return v;
}
template <class T, class M> W_INLINE w_vec<T, w_lanes<M>> w_from_mask(M m) {
#if defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
  if constexpr (sizeof(T) == 1 && sizeof(M) == 32 && w_lanes<M> == 8)
    return w_narrowed<w_vec<T, 8>>((w_vec<T, 16>)__builtin_ia32_cvtmask2b128((unsigned char)__builtin_ia32_cvtd2mask256((w_vec<int, 8>)m)) & 1);
#endif
  return w_cast<T>(m & 1);
}
template <class T, int... K> struct w_pack { static constexpr w_vec<T, sizeof...(K)> iota = {(T)K...}; };
template <class T, int L, int... K> W_INLINE w_vec<T, L> w_iota_(w_pack<T, K...>) { return w_vec<T, L>{(T)K...}; }
#ifdef __clang__
template <class T, T... K> using w_pack_of = w_pack<T, (int)K...>;
template <class T, int L> W_INLINE w_vec<T, L> w_iota() { return w_iota_<T, L>(__make_integer_seq<w_pack_of, T, L>{}); }
#else
template <class T, int L> W_INLINE w_vec<T, L> w_iota() { return w_iota_<T, L>(w_pack<T, __integer_pack(L)...>{}); }
#endif
// A distance in 32 bits: itself where it is small, else something large of its sign, which a few steps do not change.
W_INLINE int w_near(long d) { return d > 1 << 30 ? 1 << 30 : d < -(1 << 30) ? -(1 << 30) : (int)d; }

// ---------------------------------------------------------------------------------------------------- which lanes
struct w_all {};
struct w_some { unsigned m; };
W_INLINE w_some w_tail(long n) { return w_some{(1u << n) - 1}; }
template <class M> W_INLINE unsigned w_bits(M m) {  // one bit a lane
#ifdef __AVX512DQ__
  if constexpr (sizeof(M) == 64) return (unsigned short)__builtin_ia32_cvtd2mask512((w_vec<int, 16>)m);
#endif
#ifdef __AVX512VL__
  if constexpr (sizeof(M) == 32) return (unsigned char)__builtin_ia32_cvtd2mask256((w_vec<int, 8>)m);
#elif defined(__AVX__)
  if constexpr (sizeof(M) == 32) return __builtin_ia32_movmskps256((w_vec<float, 8>)m);
#endif
  unsigned r = 0;
  for (int k = 0; k < w_lanes<M>; k++) r |= (m[k] & 1u) << k;
  return r;
}
template <class M> W_INLINE M w_lane_mask(unsigned bits) {
  return M{} - (M)(((w_splat<M>(bits) >> w_iota<int, w_lanes<M>>()) & 1) != 0 ? M{} + 1 : M{});
}
template <class M> W_INLINE w_some w_only(w_all, M m) { return w_some{w_bits(m)}; }
template <class M> W_INLINE w_some w_only(w_some n, M m) { return w_some{n.m & w_bits(m)}; }
// The same of L lanes as bits: constants where all exist, which a question of registers is not to the compiler.
template <int L> W_INLINE constexpr unsigned w_wanted(w_all) { return (unsigned)((1ul << L) - 1); }
template <int L> W_INLINE constexpr unsigned w_wanted(w_some n) { return n.m; }
template <class V> W_INLINE V w_keep(w_all, V v, V) { return v; }
template <class V> W_INLINE V w_keep(w_some n, V v, V other) { return w_select(w_lane_mask<w_bools<V>>(n.m), v, other); }
template <int L> W_INLINE bool w_full(w_all) { return true; }
template <int L> W_INLINE bool w_full(w_some n) { return n.m == (unsigned)((1ul << L) - 1); }

// ---------------------------------------------------------------------------------------------------- memory types
template <class T> struct w_mem {
  typedef T raw;
  template <class R> W_INLINE R up(R r) { return r; }
  template <class V> W_INLINE V down(V v) { return v; }
};
template <> struct w_mem<w_b8> {
  typedef unsigned char raw;
  template <class R> W_INLINE w_bools<R> up(R r) { return w_mask(w_cast<int>(r) != 0); }
  template <class M> W_INLINE w_vec<unsigned char, w_lanes<M>> down(M m) {
#ifdef __AVX512BW__  // of a comparison's own lanes bytes are made at once: by way of masks processors of AMD take half as long again
    if constexpr (sizeof(M) == 64 && w_lanes<M> == 8) return w_cut<unsigned char>(m & 1);
#endif
    if constexpr (sizeof(w_elem<M>) < sizeof(int)) return w_cut<unsigned char>(m & 1);
    if constexpr (sizeof(w_elem<M>) != sizeof(int)) return down(w_mask(m));
#if defined(__AVX512VL__) && defined(__BMI2__)
    if constexpr (sizeof(M) == 32) {  // eight bits, a byte each: fewer instructions than from lanes of 32 bits
      const unsigned long bytes = __builtin_ia32_pdep_di(w_bits(m), 0x0101010101010101ul);
      w_vec<unsigned char, w_lanes<M>> v;
      __builtin_memcpy(&v, &bytes, sizeof v);
      return v;
    }
#endif
    return w_from_mask<unsigned char>(m);
  }
};
template <> struct w_mem<w_bf16> {
  typedef unsigned short raw;
  template <class R> W_INLINE w_vec<float, w_lanes<R>> up(R r) {
    typedef w_vec<unsigned, w_lanes<R>> I;
    return (w_vec<float, w_lanes<R>>)((I)w_cast<unsigned>(r) << 16);
  }
  template <class V> W_INLINE w_vec<unsigned short, w_lanes<V>> down(V v) {  // to nearest, ties to even
    typedef w_vec<unsigned, w_lanes<V>> I;
    const I b = (I)v, r = (b + 0x7fff + ((b >> 16) & 1)) >> 16;
    return w_cut<unsigned short>((I)(v != v ? (b >> 16) | 0x40 : r));
  }
};
template <> struct w_mem<w_moved_bf16> {
  typedef unsigned short raw;
  template <class R> W_INLINE w_vec<float, w_lanes<R>> up(R r) { return w_mem<w_bf16>::up(r); }
  template <class V> W_INLINE w_vec<unsigned short, w_lanes<V>> down(V v) {
    typedef w_vec<unsigned, w_lanes<V>> I;
    return w_cut<unsigned short>((I)v >> 16);
  }
};
template <> struct w_mem<w_f16> {
  typedef unsigned short raw;
  template <class R> W_INLINE w_vec<float, w_lanes<R>> up(R r) {
#ifndef __clang__
#ifdef __AVX512F__
    if constexpr (w_lanes<R> == 16) return __builtin_ia32_vcvtph2ps512_mask((w_vec<short, 16>)r, f32x16{}, -1, 4);
#endif
#ifdef __F16C__
    if constexpr (w_lanes<R> == 8) return __builtin_ia32_vcvtph2ps256((w_vec<short, 8>)r);
#endif
#endif
    typedef w_vec<unsigned, w_lanes<R>> I;
    typedef w_vec<float, w_lanes<R>> V;
    const I h = __builtin_convertvector(r, I), shifted = (h & 0x7fff) << 13;
    const I scaled = (I)((V)shifted * 0x1p112f);  // exact, denormals included
    return (V)(((h & 0x7c00) == 0x7c00 ? shifted | 0x7f800000 : scaled) | ((h & 0x8000) << 16));
  }
  template <class V> W_INLINE w_vec<unsigned short, w_lanes<V>> down(V v) {  // to nearest, ties to even
    typedef w_vec<unsigned, w_lanes<V>> I;
#ifndef __clang__
#ifdef __AVX512F__
    if constexpr (w_lanes<V> == 16)
      return (w_vec<unsigned short, 16>)__builtin_ia32_vcvtps2ph512_mask((f32x16)v, 0, w_vec<short, 16>{}, -1);
#endif
#ifdef __F16C__
    if constexpr (w_lanes<V> == 8) return (w_vec<unsigned short, 8>)__builtin_ia32_vcvtps2ph256((f32x8)v, 0);
#endif
#endif
    const I b = (I)v, sign = (b >> 16) & 0x8000, u = b & 0x7fffffff;
    const I normal = (u + 0xc8000fff + ((u >> 13) & 1)) >> 13;
    const I denormal = (I)((V)u + 0.5f) - 0x3f000000;
    const I special = u > 0x7f800000 ? I{} + 0x7e00 : I{} + 0x7c00;
    const I r = u >= 0x47800000 ? special : u < 0x38800000 ? denormal : normal;
    return __builtin_convertvector(r | sign, w_vec<unsigned short, w_lanes<V>>);
  }
};
template <class T> using w_raw = typename w_mem<T>::raw;
template <class T, class V> W_INLINE V w_round(V v) { return w_mem<T>::up(w_mem<T>::down(v)); }

// ---------------------------------------------------------------------------------------------------- loads, stores
template <class R, int L> W_INLINE w_vec<R, L> w_read(const void *p, w_all) { return *(const typename w_types<R, L>::U *)p; }
template <class R, int L> W_INLINE w_vec<R, L> w_read(const void *p, w_some n) {
  typedef w_vec<R, L> V;
#ifdef __AVX512VL__
  if constexpr (sizeof(R) == 4 && L == 16) return (V)__builtin_ia32_loadups512_mask((const float *)p, f32x16{}, n.m);
  if constexpr (sizeof(R) == 4 && L == 8) return (V)__builtin_ia32_loadups256_mask((const float *)p, f32x8{}, n.m);
  if constexpr (sizeof(R) == 8 && L == 8) return (V)__builtin_ia32_loadupd512_mask((const double *)p, f64x8{}, n.m);
  if constexpr (sizeof(R) == 8 && L == 4) return (V)__builtin_ia32_loadupd256_mask((const double *)p, f64x4{}, n.m);
#endif
#if defined(__AVX512VL__) && defined(__AVX512BW__)
  if constexpr (sizeof(R) == 2 && L == 16) return (V)__builtin_ia32_loaddquhi256_mask((const short *)p, w_vec<short, 16>{}, n.m);
  if constexpr (sizeof(R) == 2 && L == 8) return (V)__builtin_ia32_loaddquhi128_mask((const short *)p, w_vec<short, 8>{}, n.m);
  if constexpr (sizeof(R) == 1 && L == 16) return (V)__builtin_ia32_loaddquqi128_mask((const char *)p, w_vec<char, 16>{}, n.m);
#endif
  V v{};
  for (int k = 0; k < L; k++)
    if (n.m >> k & 1) v[k] = ((const R *)p)[k];
  return v;
}
template <class V> W_INLINE void w_write(void *p, V v, w_all) { *(typename w_types<w_elem<V>, w_lanes<V>>::U *)p = v; }
template <class V> W_INLINE void w_write(void *p, V v, w_some n) {
  constexpr int L = w_lanes<V>;
  typedef w_elem<V> R;
#ifdef __AVX512VL__
  if constexpr (sizeof(R) == 4 && L == 16) return __builtin_ia32_storeups512_mask((float *)p, (f32x16)v, n.m);
  if constexpr (sizeof(R) == 4 && L == 8) return __builtin_ia32_storeups256_mask((float *)p, (f32x8)v, n.m);
  if constexpr (sizeof(R) == 8 && L == 8) return __builtin_ia32_storeupd512_mask((double *)p, (f64x8)v, n.m);
  if constexpr (sizeof(R) == 8 && L == 4) return __builtin_ia32_storeupd256_mask((double *)p, (f64x4)v, n.m);
#endif
#if defined(__AVX512VL__) && defined(__AVX512BW__)
  if constexpr (sizeof(R) == 2 && L == 16) return __builtin_ia32_storedquhi256_mask((short *)p, (w_vec<short, 16>)v, n.m);
  if constexpr (sizeof(R) == 2 && L == 8) return __builtin_ia32_storedquhi128_mask((short *)p, (w_vec<short, 8>)v, n.m);
  if constexpr (sizeof(R) == 1 && L == 16) return __builtin_ia32_storedquqi128_mask((char *)p, (w_vec<char, 16>)v, n.m);
#endif
  for (int k = 0; k < L; k++)
    if (n.m >> k & 1) ((R *)p)[k] = v[k];
}
template <int L, class T, class N> W_INLINE auto w_load(const T *p, N n) { return w_mem<T>::up(w_read<w_raw<T>, L>(p, n)); }
template <int L, class T> W_INLINE auto w_load1(const T *p) {  // one element in every lane
  return w_mem<T>::up(w_splat<w_vec<w_raw<T>, L>>(*(const w_raw<T> *)p));
}
template <int L, class T, class N> W_INLINE auto w_gather(const T *p, long stride, N n) {
  w_vec<w_raw<T>, L> v{};
  if (w_full<L>(n))
    for (int k = 0; k < L; k++) v[k] = ((const w_raw<T> *)p)[k * stride];
  else
    for (int k = 0; k < L; k++)
      if (w_wanted<L>(n) >> k & 1) v[k] = ((const w_raw<T> *)p)[k * stride];
  return w_mem<T>::up(v);
}
// Lane k of a vector, for each of the lanes a number below L.
template <class V, class I> W_INLINE V w_lanes_at(V v, I k) {
  typedef __typeof__(v == v) M;
#ifdef __clang__
  V out{};
  for (int i = 0; i < w_lanes<V>; i++) out[i] = v[k[i]];
  return out;
#else
  return __builtin_shuffle(v, __builtin_convertvector(k, M));
#endif
}
// The elements j, j + 1, ... where each of `p` stands P times in turn; those lie `step` apart.
template <int L, int P, class T, class N> W_INLINE auto w_once(const T *p, long step, long j, N n) {
  const long first = (unsigned long)j / P, at = j - first * P;
  const int lanes = 32 - __builtin_clz(w_wanted<L>(n)), count = (int)(at + lanes - 1) / P + 1;
  const auto places = (w_iota<int, L>() + (int)at) * ((1 << 20) / P + 1) >> 20;  // divided by P: they are few
  if (step == 1) return w_lanes_at(w_load<L>(p + first, w_tail(count)), places);
  w_vec<w_raw<T>, L> v{};
  for (int k = 0; k < count; k++) v[k] = ((const w_raw<T> *)p)[(first + k) * step];
  return w_lanes_at(w_mem<T>::up(v), places);
}
// Elements one before the other: those of a vector, turned round.
template <class V, class T, int... K> W_INLINE V w_turned(V v, w_pack<T, K...>) {
  return __builtin_shufflevector(v, v, (w_lanes<V> - 1 - K)...);
}
template <int L, class T, class N> W_INLINE auto w_load_back(const T *p, N n) {
#if !defined(__clang__)
  if (w_full<L>(n)) return w_mem<T>::up(w_turned(w_read<w_raw<T>, L>(p - (L - 1), w_all{}), w_pack<int, __integer_pack(L)...>{}));
#endif
  return w_gather<L>(p, -1, n);
}
// Every S-th element, S = 2 … 4: whole vectors, of which the elements are picked. Nothing beyond the last is read.
template <class V, class T, int... K> W_INLINE V w_even(V a, V b, w_pack<T, K...>) {
  return __builtin_shufflevector(a, b, (2 * K)...);
}
template <class V, class T, int... K> W_INLINE V w_third(V a, V b, V c, w_pack<T, K...>) {
  constexpr int L = w_lanes<V>;
  const V x = __builtin_shufflevector(a, b, (3 * K < 2 * L ? 3 * K : 0)...);
  return __builtin_shufflevector(x, c, (3 * K < 2 * L ? K : 3 * K - L)...);
}
template <int S, class V, class T, int... K> W_INLINE V w_lanes_from(V v, w_pack<T, K...>) {
  return __builtin_shufflevector(v, v, (K + S < w_lanes<V> ? K + S : K)...);
}
template <int S, class T, int L, class P> W_INLINE w_vec<w_raw<T>, L> w_picked(const T *p, P lanes) {
  typedef w_raw<T> R;
  const auto whole = [&](int k) { return w_read<R, L>(p + k * L, w_all{}); };
#ifdef __AVX512VL__
  const auto last = w_read<R, L>(p + (S - 1) * L, w_tail(L - S + 1));
#else
  const auto last = w_lanes_from<S - 1>(w_read<R, L>(p + (S - 1) * (L - 1), w_all{}), lanes);
#endif
  if constexpr (S == 2) return w_even(whole(0), last, lanes);
  else if constexpr (S == 3) return w_third(whole(0), whole(1), last, lanes);
  else return w_even(w_even(whole(0), whole(1), lanes), w_even(whole(2), last, lanes), lanes);
}
template <int L, int S, class T, class N> W_INLINE auto w_every_nth(const T *p, N n) {
#if defined(__AVX2__) && !defined(__clang__)
  if constexpr (sizeof(w_raw<T>) >= 4)
    if (w_full<L>(n)) return w_mem<T>::up(w_picked<S, T, L>(p, w_pack<int, __integer_pack(L)...>{}));
#endif
  return w_gather<L>(p, S, n);
}
template <int L, class T, class I, class N> W_INLINE auto w_gather_at(const T *p, I index, N n) {
  w_vec<w_raw<T>, L> v{};
  const unsigned m = w_wanted<L>(n);
  I at = index;
  __asm__("" : "+m"(at));  // in memory: lanes are read there faster than they are taken from a register
  const w_elem<I> *const lanes = (const w_elem<I> *)&at;
  for (int k = 0; k < L; k++)
    if (m >> k & 1) v[k] = ((const w_raw<T> *)p)[lanes[k]];
  return w_mem<T>::up(v);
}
template <class T, class V, class N> W_INLINE void w_store(T *p, V v, N n) { w_write(p, w_mem<T>::down(v), n); }
// Past the caches, for results too large to be found there again. w_fence() follows before others may read.
template <class T, class V> W_INLINE void w_stream(T *p, V v, w_some n) { w_store(p, v, n); }
template <class T, class V> W_INLINE void w_stream(T *p, V v, w_all n) {
  const auto r = w_mem<T>::down(v);
#ifdef __AVX512F__
  if constexpr (sizeof(r) == 64) {
    if (((unsigned long)p & 63) == 0) return __builtin_ia32_movntps512((float *)p, (f32x16)r);
  }
#endif
#ifdef __AVX__
  if constexpr (sizeof(r) == 32) {
    if (((unsigned long)p & 31) == 0) return __builtin_ia32_movntps256((float *)p, (f32x8)r);
  }
#endif
  w_write(p, r, n);
}
W_INLINE void w_fence() {
#ifdef __SSE__
  __builtin_ia32_sfence();
#endif
}
// n elements of one or two bytes.
template <class T> W_INLINE void w_fill(T *to, int number, long n) {
  static_assert(sizeof(T) <= 2, "a number of a byte or two");
  typedef short V __attribute__((vector_size(64), aligned(1), may_alias));
  const V v = V{} + (short)(sizeof(T) == 1 ? (number & 255) * 257 : number);
  char *const p = (char *)to;
  const long bytes = n * (long)sizeof(T);
  long i = 0;
  for (; i + 64 <= bytes; i += 64) *(V *)(p + i) = v;
  if (i < bytes) __builtin_memcpy(p + i, &v, (unsigned long)(bytes - i));
}
// n elements of memory as they are; none if n is negative. (memmove: the loader takes the oldest memcpy for a library that
// was not linked with libc, and glibc's oldest is the slow one.)
template <class T> W_INLINE void w_copy(T *to, const T *from, long n) {
  if (n > 0) __builtin_memmove(to, from, (unsigned long)n * sizeof(T));
}
template <class T, class V> W_INLINE void w_store1(T *p, V v) { *(w_raw<T> *)p = w_mem<T>::down(v)[0]; }
template <class T, class V, class N> W_INLINE void w_scatter(T *p, long stride, V v, N n) {
  const auto r = w_mem<T>::down(v);
  const unsigned m = w_wanted<w_lanes<V>>(n);
  for (int k = 0; k < w_lanes<V>; k++)
    if (m >> k & 1) ((w_raw<T> *)p)[k * stride] = r[k];
}
template <class T, class V, class I, class N> W_INLINE void w_scatter_at(T *p, I index, V v, N n) {
  const auto r = w_mem<T>::down(v);
  const unsigned m = w_wanted<w_lanes<V>>(n);
  for (int k = 0; k < w_lanes<V>; k++)
    if (m >> k & 1) ((w_raw<T> *)p)[index[k]] = r[k];
}
// Lanes in order, one after the other: equal indices add up.
template <class T, class V, class I, class N> W_INLINE void w_accumulate_at(T *p, I index, V v, N n) {
  const unsigned m = w_wanted<w_lanes<V>>(n);
  for (int k = 0; k < w_lanes<V>; k++)
    if (m >> k & 1) w_store1(p + index[k], w_load1<w_lanes<V>>(p + index[k]) + w_splat<V>(v[k]));
}

// Swaps the blocks of H lanes off the diagonal, for H = L / 2 … 1: rows become columns.
template <int H, bool upper, class V, class T, int... K> W_INLINE V w_exchange_(V a, V b, w_pack<T, K...>) {
  constexpr int L = w_lanes<V>;
  if constexpr (upper) return __builtin_shufflevector(a, b, (K & H ? L + (K ^ H) : K)...);
  else return __builtin_shufflevector(a, b, (K & H ? L + K : K + H)...);
}
template <int H, bool upper, class V> W_INLINE V w_exchange(V a, V b) {
#ifdef __clang__
  return w_exchange_<H, upper>(a, b, __make_integer_seq<w_pack_of, int, w_lanes<V>>{});
#else
  return w_exchange_<H, upper>(a, b, w_pack<int, __integer_pack(w_lanes<V>)...>{});
#endif
}

// Asks for a piece of a row far from the one before: the processor does not guess what lies on other pages.
template <int ROWS, class T> W_INLINE void w_prefetch_row(const T *p, long stride, long k) {
  for (unsigned i = 0; i < ROWS; i += 64 / sizeof(T)) __builtin_prefetch(p + k * stride + i, 0, 2);
  __builtin_prefetch(p + k * stride + ROWS - 1, 0, 2);  // one line more where the row begins within one
}

// ---------------------------------------------------------------------------------------------------- reductions
struct w_sum {
  static constexpr bool doubling = true;  // running sums are taken of sums of neighbours; running products could overflow by that
  template <class V> W_INLINE V of(V a, V b) { return a + b; }
};
struct w_prod {
  static constexpr bool doubling = false;
  template <class V> W_INLINE V of(V a, V b) { return a * b; }
};
struct w_any { template <class V> W_INLINE V of(V a, V b) { return a | b; } };
struct w_every { template <class V> W_INLINE V of(V a, V b) { return a & b; } };
// NaN if either is; of equal values the first.
struct w_max {
  template <class V> W_INLINE V of(V a, V b) { return (b > a) | (b != b) ? b : a; }
#if defined(__AVX__) && !defined(__clang__)
  W_INLINE f32x8 of(f32x8 a, f32x8 b) { return __builtin_ia32_blendvps256(__builtin_ia32_maxps256(b, a), b, __builtin_ia32_cmpps256(b, b, 3)); }
  W_INLINE f64x4 of(f64x4 a, f64x4 b) { return __builtin_ia32_blendvpd256(__builtin_ia32_maxpd256(b, a), b, __builtin_ia32_cmppd256(b, b, 3)); }
#endif
#ifdef __AVX512F__
  W_INLINE f32x16 of(f32x16 a, f32x16 b) { return __builtin_ia32_maxps512_mask(b, a, b, __builtin_ia32_cmpps512_mask(b, b, 7, -1, 4), 4); }
  W_INLINE f64x8 of(f64x8 a, f64x8 b) { return __builtin_ia32_maxpd512_mask(b, a, b, __builtin_ia32_cmppd512_mask(b, b, 7, -1, 4), 4); }
#endif
};
struct w_min {
  template <class V> W_INLINE V of(V a, V b) { return (b < a) | (b != b) ? b : a; }
#if defined(__AVX__) && !defined(__clang__)
  W_INLINE f32x8 of(f32x8 a, f32x8 b) { return __builtin_ia32_blendvps256(__builtin_ia32_minps256(b, a), b, __builtin_ia32_cmpps256(b, b, 3)); }
  W_INLINE f64x4 of(f64x4 a, f64x4 b) { return __builtin_ia32_blendvpd256(__builtin_ia32_minpd256(b, a), b, __builtin_ia32_cmppd256(b, b, 3)); }
#endif
#ifdef __AVX512F__
  W_INLINE f32x16 of(f32x16 a, f32x16 b) { return __builtin_ia32_minps512_mask(b, a, b, __builtin_ia32_cmpps512_mask(b, b, 7, -1, 4), 4); }
  W_INLINE f64x8 of(f64x8 a, f64x8 b) { return __builtin_ia32_minpd512_mask(b, a, b, __builtin_ia32_cmppd512_mask(b, b, 7, -1, 4), 4); }
#endif
};
template <int H, class V, class T, int... K> W_INLINE V w_swap_(V v, w_pack<T, K...>) {
  return __builtin_shufflevector(v, v, (K ^ H)...);
}
template <int H, class V> W_INLINE V w_swap(V v) {  // lane k gets lane k ^ H
#ifdef __clang__
  return w_swap_<H>(v, __make_integer_seq<w_pack_of, int, w_lanes<V>>{});
#else
  return w_swap_<H>(v, w_pack<int, __integer_pack(w_lanes<V>)...>{});
#endif
}
// The fixed tree over lanes; every lane of the result is the same value.
template <class Op, int H, class V> W_INLINE V w_tree(V v) {
  if constexpr (H == 0) return w_splat<V>(v[0]);
  else return w_tree<Op, H / 2>(Op::of(v, w_swap<H>(v)));
}
// A[0..count) are the virtual lanes in groups: pairs half the array apart combine first.
template <class Op, int N, class V> W_INLINE V w_joined(V *a) {
  for (int h = N / 2; h > 0; h /= 2)
    for (int k = 0; k < h; k++) a[k] = Op::of(a[k], a[k + h]);
  return a[0];
}
template <class Op, int N, class V> W_INLINE V w_groups(V *a) { return w_tree<Op, w_lanes<V> / 2>(w_joined<Op, N>(a)); }
// The same tree over the lanes of as many rows as there are lanes: lane k of the result is that of row k.
template <class Op, class V, int H = w_lanes<V> / 2> W_INLINE V w_turned_tree(V *rows) {
  if constexpr (H == 0) return rows[0];
  else {
    _Pragma("GCC unroll 8") for (int k = 0; k < H; k++)
      rows[k] = Op::of(w_exchange<H, true>(rows[k], rows[k + H]), w_exchange<H, false>(rows[k], rows[k + H]));
    return w_turned_tree<Op, V, H / 2>(rows);
  }
}
template <class Op, int N, class V> W_INLINE V w_combine(V *a) { return w_groups<Op, N>(a); }
// NaN is looked for once in all lanes: a step of the tree, on which the next loop waits, is then one instruction.
template <class Number, int N, class V> W_INLINE V w_extreme(V *a) {
  auto nan = a[0] != a[0];
  for (int k = 1; k < N; k++) nan |= a[k] != a[k];
  const bool any = w_bits(w_mask(nan));
  const V number = w_groups<Number, N>(a);
  return __builtin_expect(any, 0) ? w_splat<V>(__builtin_nan("")) : number;
}
struct w_max_number { template <class V> W_INLINE V of(V a, V b) { return b > a ? b : a; } };
struct w_min_number { template <class V> W_INLINE V of(V a, V b) { return b < a ? b : a; } };
// The first extreme, or the first NaN: `x` at `at` replaces `v` at `i` where it comes first.
template <bool largest, class V, class I> W_INLINE void w_arg(V &v, I &i, V x, I at) {
  const auto better = (largest ? x > v : x < v) | ((x != x) & (v == v));
  const auto tie = (x == v) | ((x != x) & (v != v));
  const auto m = w_mask(better) | (w_mask(tie) & w_mask(at < i));
  v = w_select(m, x, v);
  i = w_select(m, at, i);
}
template <bool largest, int H, class V, class I> W_INLINE void w_arg_tree(V &v, I &i) {
  if constexpr (H > 0) {
    w_arg<largest>(v, i, w_swap<H>(v), w_swap<H>(i));
    w_arg_tree<largest, H / 2>(v, i);
  } else {
    v = w_splat<V>(v[0]);
    i = w_splat<I>(i[0]);
  }
}
template <bool largest, int N, class V, class I> W_INLINE I w_arg_combine(V *v, I *i) {
  for (int k = 1; k < N; k++) w_arg<largest>(v[0], i[0], v[k], i[k]);
  w_arg_tree<largest, w_lanes<V> / 2>(v[0], i[0]);
  return i[0];
}
template <int H, class V, class T, int... K> W_INLINE V w_later_(V v, w_pack<T, K...>) {
  return __builtin_shufflevector(V{}, v, (K < H ? K : w_lanes<V> + K - H)...);
}
template <int H, class V> W_INLINE V w_prefix(V v) {  // lane k becomes the sum of lanes 0 to k
  if constexpr (H >= w_lanes<V>) return v;
#ifdef __clang__
  else return w_prefix<2 * H>(v + w_later_<H>(v, __make_integer_seq<w_pack_of, int, w_lanes<V>>{}));
#else
  else return w_prefix<2 * H>(v + w_later_<H>(v, w_pack<int, __integer_pack(w_lanes<V>)...>{}));
#endif
}
// Running values: lane k becomes carry op x[0] op … op x[k] and carry the last of them; products one after the other.
template <class Op, class T, class V, class N> W_INLINE V w_scan(T &carry, V x, N n) {
  if constexpr (Op::doubling) {
    const V own = w_prefix<1>(w_keep(n, x, V{})), y = own + w_splat<V>(carry);
    carry = own[w_lanes<V> - 1] + carry;  // as in the last lane of y, for which the next lanes would have to wait
    return y;
  }
  const unsigned m = w_wanted<w_lanes<V>>(n);
  for (int k = 0; k < w_lanes<V>; k++)
    if (m >> k & 1) x[k] = carry = Op::of(w_splat<V>(carry), w_splat<V>(x[k]))[0];
  return x;
}

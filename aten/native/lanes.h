// lanes.h: vectors of lanes and casts between them, for eager loops and generated kernels alike. Header-free; pasted into kernels.
#define W_INLINE static inline __attribute__((always_inline))
template <class T, int L> struct w_types {
  typedef T V __attribute__((vector_size(L * sizeof(T))));
  typedef T U __attribute__((vector_size(L * sizeof(T)), aligned(sizeof(T)), may_alias));
};
template <class T, int L> using w_vec = typename w_types<T, L>::V;
template <class V> using w_elem = __typeof__((*(V *)0)[0]);
template <class V> constexpr int w_lanes = sizeof(V) / sizeof(w_elem<V>);
template <class V, class X> W_INLINE V w_splat(X x) { return (w_elem<V>)x - V{}; }
// Integers get wider and narrower by one step of two at a time, and small ones are int before they are floats: what is further
// apart the compiler takes lane by lane (16 bytes: 50 instructions instead of 8).
template <int bytes> struct w_signed { typedef long T; };
template <> struct w_signed<1> { typedef signed char T; };
template <> struct w_signed<2> { typedef short T; };
template <> struct w_signed<4> { typedef int T; };
template <int bytes> struct w_unsigned { typedef unsigned long T; };
template <> struct w_unsigned<2> { typedef unsigned short T; };
template <> struct w_unsigned<4> { typedef unsigned T; };
template <class T> constexpr bool w_integral = (T)0.5 == (T)0;
// GCC 12 takes a float that becomes an integer and a float again, lane by lane, for one that is truncated: -0.5 would become -0, and 1e30
// stay as it is. It does not know what an integer that went through here was made of.
template <class V> W_INLINE V w_made(V v) {
  if constexpr (sizeof(V) == 16) __asm__("" : "+x"(v));
#ifdef __AVX__
  else if constexpr (sizeof(V) == 32) __asm__("" : "+x"(v));
#endif
#ifdef __AVX512F__
  else if constexpr (sizeof(V) == 64) __asm__("" : "+v"(v));
#endif
  else __asm__("" : "+m"(v));
  return v;
}
template <class T, class V> W_INLINE w_vec<T, w_lanes<V>> w_cast(V v) {
  typedef w_elem<V> E;
  constexpr int from = sizeof(E), to = sizeof(T);
#if defined(__AVX2__) && !defined(__clang__)  // eight bytes are no register of their own: the compiler takes them apart
  if constexpr (sizeof(V) == 8 && from == 1 && to >= 4) {
    const w_vec<long long, 2> low = {__builtin_bit_cast(long long, v), 0};
    if constexpr ((E)-1 < 0) return w_cast<T>((w_vec<int, 8>)__builtin_ia32_pmovsxbd256((w_vec<char, 16>)low));
    else return w_cast<T>((w_vec<int, 8>)__builtin_ia32_pmovzxbd256((w_vec<char, 16>)low));
  }
#endif
#if defined(__AVX512BW__) && defined(__AVX512DQ__) && !defined(__clang__)  // else by halves of registers
  constexpr int L = w_lanes<V>;
  constexpr bool negative = (E)-1 < 0;
  typedef long long i64;
  if constexpr (w_integral<E> && w_integral<T> && L == 16 && to == 4) {
    if constexpr (from == 1 && negative) return (w_vec<T, L>)__builtin_ia32_pmovsxbd512_mask((w_vec<char, L>)v, w_vec<int, L>{}, -1);
    if constexpr (from == 1 && !negative) return (w_vec<T, L>)__builtin_ia32_pmovzxbd512_mask((w_vec<char, L>)v, w_vec<int, L>{}, -1);
    if constexpr (from == 2 && negative) return (w_vec<T, L>)__builtin_ia32_pmovsxwd512_mask((w_vec<short, L>)v, w_vec<int, L>{}, -1);
    if constexpr (from == 2 && !negative) return (w_vec<T, L>)__builtin_ia32_pmovzxwd512_mask((w_vec<short, L>)v, w_vec<int, L>{}, -1);
  }
  if constexpr (w_integral<E> && w_integral<T> && L == 16 && from == 4) {
    if constexpr (to == 1) return (w_vec<T, L>)__builtin_ia32_pmovdb512_mask((w_vec<int, L>)v, w_vec<char, L>{}, -1);
    if constexpr (to == 2) return (w_vec<T, L>)__builtin_ia32_pmovdw512_mask((w_vec<int, L>)v, w_vec<short, L>{}, -1);
  }
  if constexpr (w_integral<E> && w_integral<T> && L == 8 && from == 2 && to == 4 && negative) return (w_vec<T, L>)__builtin_ia32_pmovsxwd256((w_vec<short, L>)v);
  if constexpr (w_integral<E> && w_integral<T> && L == 8 && from == 2 && to == 4 && !negative) return (w_vec<T, L>)__builtin_ia32_pmovzxwd256((w_vec<short, L>)v);
  if constexpr (w_integral<E> && w_integral<T> && L == 8 && from == 8 && to == 4) return (w_vec<T, L>)__builtin_ia32_pmovqd512_mask((w_vec<i64, L>)v, w_vec<int, L>{}, -1);
  if constexpr (!w_integral<E> && !w_integral<T> && L == 8 && from == 4 && to == 8) return (w_vec<T, L>)__builtin_ia32_cvtps2pd512_mask(v, w_vec<double, L>{}, -1, 4);
  if constexpr (!w_integral<E> && w_integral<T> && L == 8 && from == 4 && to == 8 && (T)-1 < 0) return (w_vec<T, L>)__builtin_ia32_cvttps2qq512_mask(v, w_vec<i64, L>{}, -1, 4);
#endif
  if constexpr (w_integral<E> && w_integral<T> && to > 2 * from) {
    if constexpr ((E)-1 < 0) return w_cast<T>(w_cast<typename w_signed<2 * from>::T>(v));
    else return w_cast<T>(w_cast<typename w_unsigned<2 * from>::T>(v));
  } else if constexpr (w_integral<E> && w_integral<T> && from > 2 * to) {
    return w_cast<T>(w_cast<typename w_signed<from / 2>::T>(v));
  } else if constexpr (w_integral<E> && !w_integral<T> && from < 4) {
    return w_cast<T>(w_cast<int>(v));
  } else if constexpr (!w_integral<E> && w_integral<T>) {
    return w_made(__builtin_convertvector(v, w_vec<T, w_lanes<V>>));
  } else {
    return __builtin_convertvector(v, w_vec<T, w_lanes<V>>);
  }
}
// A float becomes an integer through int32 (int8, int16, uint16, int32) or int64: what does not fit that is its minimum, what does not
// fit T is cut; the upper half of uint64 goes through int64 too.
template <class T, class V> W_INLINE w_vec<T, w_lanes<V>> w_convert(V v) {
  typedef w_elem<V> E;
  constexpr bool narrow = (sizeof(T) <= 4 && (T)-1 < 0) || sizeof(T) == 2;
  if constexpr (w_integral<E> || !w_integral<T>) return w_cast<T>(v);
  else if constexpr (narrow) return w_cast<T>(w_cast<int>(v));
  else if constexpr (sizeof(T) == 8 && (T)-1 > 0) {
    const V half = w_splat<V>(9223372036854775808.0);
    const auto upper = v >= half;
    const auto low = w_cast<long>(upper ? v - half : v);
    typedef __typeof__(low) I;
    return (w_vec<T, w_lanes<V>>)(low ^ (w_cast<long>(upper) & w_splat<I>((long)(1ul << 63))));
  } else return w_cast<T>(w_cast<long>(v));
}

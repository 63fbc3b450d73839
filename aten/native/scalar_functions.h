// scalar_functions.h: what texts of the scalar vocabulary (aten/scalar/table.py) call beside vecmath.h. Header-free; pasted into
// kernels after lanes.h.
template <class V> W_INLINE V w_abs(V x) { return x < 0 ? -x : x; }
template <class V> W_INLINE V w_sign(V x) { return __builtin_convertvector((x < 0) - (x > 0), V); }
template <class V> W_INLINE V w_imax(V a, V b) { return b > a ? b : a; }
template <class V> W_INLINE V w_imin(V a, V b) { return b < a ? b : a; }
// Of -0 and 0 the second, as eager: everywhere alike.
template <class V> W_INLINE V w_fmax(V a, V b) { return (b != b) | (a > b) ? a : b; }
template <class V> W_INLINE V w_fmin(V a, V b) { return (b != b) | (a < b) ? a : b; }
template <class V, class F> W_INLINE V w_each(V a, V b, F f) {
  V r;
  for (int k = 0; k < w_lanes<V>; k++) r[k] = f(a[k], b[k]);
  return r;
}
// Integer division is total: by zero gives 0 (a check has stopped the kernel before it matters), MIN / -1 wraps. Vectors are divided
// as floats, where those hold all of their numbers: a quotient is then further from the next integer than its rounding.
enum w_division { w_trunc_of, w_fmod_of, w_floor_of, w_remainder_of };
template <w_division which, class T> W_INLINE T w_divide_one(T x, T y) {
  if (y == 0) return 0;
  if (y == (T)-1 && (T)-1 < 0) return which == w_trunc_of || which == w_floor_of ? (T)-x : 0;
  const T r = x % y;
  if constexpr (which == w_trunc_of) return x / y;
  if constexpr (which == w_fmod_of) return r;
  const bool apart = r != 0 && (x < 0) != (y < 0);
  return which == w_floor_of ? (T)(x / y - apart) : apart ? (T)(r + y) : r;
}
template <int size> struct w_holds { typedef float type; };
template <> struct w_holds<4> { typedef double type; };
template <> struct w_holds<8> { typedef double type; };
template <class V> W_INLINE constexpr bool w_divides_as_floats() {
  typedef w_elem<V> T;
#ifdef __AVX512DQ__
  if (sizeof(T) == 8) return w_lanes<V> > 1 && (T)-1 < 0;
#endif
  return w_lanes<V> > 1 && sizeof(T) < 8;
}
template <w_division which, class V> W_INLINE V w_divide(V a, V b) {
  typedef w_elem<V> T;
  if constexpr (!w_divides_as_floats<V>()) return w_each(a, b, w_divide_one<which, T>);
  else {
    if constexpr (sizeof(T) == 8) {  // numbers that a double may not hold
      const V far = ((a >> 52) ^ (a >> 63)) | ((b >> 52) ^ (b >> 63));
      T any = 0;
      for (int k = 0; k < w_lanes<V>; k++) any |= far[k];
      if (__builtin_expect(any != 0, 0)) return w_each(a, b, w_divide_one<which, T>);
    }
    typedef w_vec<typename w_holds<sizeof(T)>::type, w_lanes<V>> F;
    const V by = b == 0 ? V{} + (T)1 : b;
    V q = __builtin_convertvector(__builtin_convertvector(a, F) / __builtin_convertvector(by, F), V);
    if constexpr ((T)-1 < 0) q = by == (T)-1 ? -a : q;
    const V r = a - q * by;
    V out = which == w_trunc_of || which == w_floor_of ? q : r;
    if constexpr ((T)-1 < 0 && (which == w_floor_of || which == w_remainder_of)) {
      const V apart = (V)((r != 0) & ((r ^ by) < 0));
      out = which == w_floor_of ? q + apart : r + (apart & by);
    }
    return b == 0 ? V{} : out;
  }
}
template <class V> W_INLINE V w_truncdiv(V a, V b) { return w_divide<w_trunc_of>(a, b); }
template <class V> W_INLINE V w_floordiv(V a, V b) {
  typedef w_elem<V> T;
  if constexpr ((T)0.5 == (T)0) {
    return w_divide<w_floor_of>(a, b);
  } else {  // Python's, as PyTorch's floor_divide: from fmod, so that a - b * q is exact where it can be
    const V m = vm_fmod(a, b);
    V q = (a - m) / b;
    q = (m != 0) & ((m < 0) != (b < 0)) ? q - 1 : q;
    V f = vm_floor(q);
    f = q - f > (T)0.5 ? f + 1 : f;
    f = q == 0 ? vm_copysign(V{}, a / b) : f;
    return b == 0 ? a / b : f;
  }
}
template <class V> W_INLINE V w_fmod(V a, V b) { return w_divide<w_fmod_of>(a, b); }
template <class V> W_INLINE V w_remainder(V a, V b) {
  typedef w_elem<V> T;
  if constexpr ((T)0.5 == (T)0) {
    return w_divide<w_remainder_of>(a, b);
  } else {
    const V r = vm_fmod(a, b);
    return (r != 0) & ((r < 0) != (b < 0)) ? r + b : r;
  }
}
// Integer division by one number for many: by a product with 2^(bits + shift) / d, rounded up, which is exact for every
// dividend of `bits` bits (Granlund and Montgomery 1994). A negative x is divided as ~x: floor(x / d) = ~floor(~x / d).
// 2^(63 + power) / d rounded down, for 2^power >= d > 2^(power - 1): by hand where d is no literal, since no library is linked.
W_INLINE unsigned long w_power_over(int power, unsigned long d) {
  if (__builtin_constant_p(d)) return (unsigned long)(((unsigned __int128)1 << (63 + power)) / d);
  unsigned long rest = 1ul << power >> 1, quotient = 0;
  for (int k = 0; k < 64; k++) {
    const bool over = rest >> 63 || 2 * rest >= d;
    rest = 2 * rest - (over ? d : 0);
    quotient = 2 * quotient + over;
  }
  return quotient;
}
template <class V> struct w_divisor { w_elem<V> d, size; bool fast; unsigned long factor; int shift; };
template <class V> W_INLINE w_divisor<V> w_divisor_of(V divisor) {
  typedef w_elem<V> T;
  constexpr bool has_sign = (T)-1 < (T)0;
  constexpr int bits = sizeof(T) == 8 ? 63 : sizeof(T) == 4 ? 31 : 15;
  const T d = divisor[0], size = has_sign && d < 0 ? (T)-(unsigned long)d : d;
  if (!(size > 0) || (!has_sign && sizeof(T) >= 2)) return {d, size, false, 0, 0};
  const int shift = size == 1 ? 0 : 64 - __builtin_clzl((unsigned long)size - 1);  // 2^shift >= size
  const unsigned long n = size;
  return {d, size, true, (bits == 63 ? w_power_over(shift, n) : (1ul << (bits + shift)) / n) + 1, shift};
}
// The low halves of 64-bit lanes multiplied.
template <class U> W_INLINE U w_low_product(U a, U b) {
#ifndef __clang__
#ifdef __AVX512F__
  if constexpr (sizeof(U) == 64)
    return (U)__builtin_ia32_pmuludq512_mask((w_vec<int, 16>)a, (w_vec<int, 16>)b, w_vec<long long, 8>{}, -1);
#endif
#ifdef __AVX2__
  if constexpr (sizeof(U) == 32) return (U)__builtin_ia32_pmuludq256((w_vec<int, 8>)a, (w_vec<int, 8>)b);
#endif
  if constexpr (sizeof(U) > 32) {  // wider than a register
    typedef w_vec<unsigned long, w_lanes<U> / 2> H;
    struct P { H low, high; };
    const P x = __builtin_bit_cast(P, a), y = __builtin_bit_cast(P, b);
    return __builtin_bit_cast(U, P{w_low_product(x.low, y.low), w_low_product(x.high, y.high)});
  }
#endif
  return (a & 0xffffffff) * (b & 0xffffffff);
}
// The upper 64 bits of u * factor.
template <class U> W_INLINE U w_high_product(U u, unsigned long factor) {
  const U low = w_splat<U>(factor & 0xffffffff), high = w_splat<U>(factor >> 32), upper = u >> 32;
  const U t = w_low_product(upper, low) + (w_low_product(u, low) >> 32);
  const U w = w_low_product(u, high) + (t & 0xffffffff);
  return w_low_product(upper, high) + (t >> 32) + (w >> 32);
}
// The upper 16 bits.
template <class V> W_INLINE V w_high_product(V u, unsigned short factor) {
  const V f = w_splat<V>(factor);
#ifndef __clang__
#ifdef __AVX512BW__
  if constexpr (sizeof(V) == 64) return __builtin_ia32_pmulhuw512_mask(u, f, V{}, -1);
#endif
#ifdef __AVX2__
  if constexpr (sizeof(V) == 32) return __builtin_ia32_pmulhuw256(u, f);
#endif
#ifdef __SSE2__
  if constexpr (sizeof(V) == 16) return __builtin_ia32_pmulhuw128(u, f);
#endif
#endif
  return w_cast<short>((w_cast<unsigned>(u) * factor) >> 16);
}
template <class V> W_INLINE V w_floored(V a, const w_divisor<V> &d) {  // by the size of the divisor
  typedef w_elem<V> T;
  if (d.size == 1) return a;
  if constexpr (sizeof(T) == 8) {
    const V sign = a >> 63;
    typedef w_vec<unsigned long, w_lanes<V>> U;
    return (V)(w_high_product((U)(a ^ sign), d.factor) >> (d.shift - 1)) ^ sign;
  } else if constexpr (sizeof(T) == 4) {
    const V sign = a >> 31;
    typedef w_vec<unsigned long, w_lanes<V> / 2> U;
    const U u = (U)(a ^ sign), factor = w_splat<U>(d.factor);
    const U even = w_low_product(u, factor) >> (31 + d.shift), odd = w_low_product(u >> 32, factor) >> (31 + d.shift);
    return (V)(even | (odd << 32)) ^ sign;
  } else if constexpr (sizeof(T) == 2) {
    const V sign = a >> 15;
    return (w_high_product<V>(a ^ sign, (unsigned short)d.factor) >> (d.shift - 1)) ^ sign;
  } else {
    typedef w_vec<short, w_lanes<V>> H;
    return w_cast<T>(w_floored(w_cast<short>(a), w_divisor<H>{d.d, d.size, true, d.factor, d.shift}));
  }
}
template <class V> W_INLINE V w_floordiv(V a, const w_divisor<V> &d) {
  if (__builtin_expect(!d.fast, 0)) return w_floordiv(a, w_splat<V>(d.d));
  const V q = w_floored(a, d);
  if (d.d > 0) return q;
  return a == q * w_splat<V>(d.size) ? -q : -q - 1;  // floor(x / -d) = -ceil(x / d)
}
template <class V> W_INLINE V w_remainder(V a, const w_divisor<V> &d) { return a - w_floordiv(a, d) * w_splat<V>(d.d); }
template <class V> W_INLINE V w_truncdiv(V a, const w_divisor<V> &d) {
  if (__builtin_expect(!d.fast, 0)) return w_truncdiv(a, w_splat<V>(d.d));
  const V f = w_floored(a, d), q = (a < 0) & (a != f * w_splat<V>(d.size)) ? f + 1 : f;
  return d.d > 0 ? q : -q;
}
template <class V> W_INLINE V w_fmod(V a, const w_divisor<V> &d) {
  if (__builtin_expect(!d.fast, 0)) return w_fmod(a, w_splat<V>(d.d));
  const V rest = a - w_floored(a, d) * w_splat<V>(d.size);
  return (a < 0) & (rest != 0) ? rest - w_splat<V>(d.size) : rest; // of the sign of `a`
}
template <class V> W_INLINE V w_ipow(V a, V b) {  // a negative power is 0, but of 1 and -1
  typedef w_elem<V> T;
  return w_each(a, b, [](T x, T n) -> T {
    if (n < 0) return x == 1 ? 1 : x == (T)-1 ? (n % 2 ? -1 : 1) : 0;
    T r = 1;
    for (; n > 0; n /= 2, x *= x)
      if (n % 2) r *= x;
    return r;
  });
}
// Shifts by what is not in [0, width) give what an infinite register would.
template <class V> W_INLINE V w_shl(V a, V b) {
  constexpr int width = 8 * sizeof(w_elem<V>);
  const V inside = (V)((b >= 0) & (b < (w_elem<V>)width));
  return (a << (b & (w_elem<V>)(width - 1))) & inside;
}
template <class V> W_INLINE V w_shr(V a, V b) {
  constexpr int width = 8 * sizeof(w_elem<V>);
  const V inside = (V)((b >= 0) & (b < (w_elem<V>)width));
  const V shifted = a >> ((b & inside) | ((w_elem<V>)(width - 1) & ~inside));
  if constexpr ((w_elem<V>)-1 < 0) return shifted;
  else return shifted & inside;
}
template <class V, class D> W_INLINE V w_vfloordiv(V a, D b) { return w_floordiv(a, b); }  // of indices

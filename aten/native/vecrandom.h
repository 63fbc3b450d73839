// vecrandom.h: random numbers over vectors, in sections as vecmath.h has them.

//@ philox: base
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), what all random numbers are made of.
// Element e of a draw has 32 bits, lane e % 4 of counter first + e / 4, or 64, lanes 2 (e % 2) and the next of counter
// first + e / 2: the vector type says which, of unsigned or of unsigned long. Words lie in the low halves of 64-bit lanes,
// where a product wants them; what is in the high halves does not matter.
template <class V> constexpr int vm_lanes = sizeof(V) / sizeof(V{}[0]);
template <class T, int N> struct vm_vector { typedef T V __attribute__((vector_size(N * sizeof(T)))); };
template <class V, class T> using vm_like = typename vm_vector<T, vm_lanes<V>>::V;
template <int... K> struct vm_order {
  template <class V> WEFT_INLINE V of() { return V{(decltype(V{}[0] + V{}[0]))K...}; }
  template <int flip, class V> WEFT_INLINE V flipped(V x) { return __builtin_shufflevector(x, x, (K ^ flip)...); }
  template <int which, class V> WEFT_INLINE V of_pairs(V x) { return __builtin_shufflevector(x, x, ((K & ~1) | which)...); }
};
#ifdef __clang__
template <class T, T... K> using vm_order_of = vm_order<(int)K...>;
template <class W> using vm_order_in = __make_integer_seq<vm_order_of, int, vm_lanes<W>>;
#else
template <int N> struct vm_orders { typedef vm_order<__integer_pack(N)...> order; };
template <class W> using vm_order_in = typename vm_orders<vm_lanes<W>>::order;
#endif
// x's low halves times m, which has nothing in its high ones.
template <class W> WEFT_INLINE W vm_mul32(W x, W m) { return (x & 0xfffffffful) * m; }
#if defined(__AVX2__) && !defined(__clang__)  // GCC does not see it in the text above
WEFT_INLINE vm_vector<unsigned long, 4>::V vm_mul32(vm_vector<unsigned long, 4>::V x, vm_vector<unsigned long, 4>::V m) {
  typedef vm_vector<int, 8>::V I;
  return (vm_vector<unsigned long, 4>::V)__builtin_ia32_pmuludq256((I)x, (I)m);
}
#endif
#if defined(__AVX512F__) && !defined(__clang__)
WEFT_INLINE vm_vector<unsigned long, 8>::V vm_mul32(vm_vector<unsigned long, 8>::V x, vm_vector<unsigned long, 8>::V m) {
  typedef vm_vector<int, 16>::V I;
  typedef vm_vector<long long, 8>::V Q;
  return (vm_vector<unsigned long, 8>::V)__builtin_ia32_pmuludq512_mask((I)x, (I)m, Q{}, -1);
}
#endif
// All elements of whole counters from `first` on. Words 0 (or 2) of a counter are in the even (or odd) lanes of `x`, words 1
// and 3 in `y`: one product makes a round, and in the end nothing is to be sorted.
template <class U> WEFT_INLINE U vm_philox_block(unsigned long seed, unsigned long first) {
  typedef typename vm_vector<unsigned long, sizeof(U) / 8>::V W;
  typedef typename vm_vector<unsigned, sizeof(U) / 4>::V I;
  typedef vm_order_in<I> order;
  const W lane = vm_order_in<W>::template of<W>(), odd = -(lane & 1), low = W{} + 0xfffffffful;
  const W multiplier = odd ? W{} + 0xCD9E8D57ul : W{} + 0xD2511F53ul, step = odd ? W{} + 0xBB67AE85ul : W{} + 0x9E3779B9ul;
  W key = odd ? W{} + (seed >> 32) : W{} + seed, x = ((lane >> 1) + first) & ~odd, y = x >> 32;
  _Pragma("GCC unroll 10") for (int round = 0; round < 10; round++) {
    const I p = (I)vm_mul32(x, multiplier);
    x = (W)order::template flipped<3>(p) ^ y ^ key;  // the upper half of the other lane's product
    y = (W)order::template flipped<2>(p);            // its lower half
    key += step;
  }
  return (U)(sizeof(U{}[0]) == 4 ? (x & low) | (y << 32) : (x << 32) | (y & low));
}
// (A run whose first lanes nobody asks for may begin before the first element, as that of `pad`: quotients go down.)
// A source of consecutive elements: none, so that they are computed where they are asked for ...
struct vm_direct {};
// Elements that begin within a counter.
template <class U> static __attribute__((noinline, cold)) U vm_philox_shifted(unsigned long seed, unsigned long first, long skip) {
  const U two[2] = {vm_philox_block<U>(seed, first), vm_philox_block<U>(seed, first + sizeof(U) / 16)};
  U r;
  __builtin_memcpy(&r, (const char *)two + skip * sizeof(r[0]), sizeof r);
  return r;
}
template <class U> WEFT_INLINE U vm_philox_run(vm_direct, unsigned long seed, unsigned long first, long element) {
  constexpr int shift = sizeof(U{}[0]) == 8 ? 1 : 2;
  const long skip = element & ((1 << shift) - 1);
  first += (unsigned long)(element >> shift);
  if (__builtin_expect(skip != 0, 0)) return vm_philox_shifted<U>(seed, first, skip);
  return vm_philox_block<U>(seed, first);
}
// ... or those of 32 counters ahead, of one draw. Several chains of rounds side by side take half the time of one after the
// other, and a word that is alone in its lane needs no shuffle.
struct vm_ahead {
  alignas(64) unsigned words[128];
  long start = -(1l << 62);
};
#ifdef __AVX512F__
#define VM_PHILOX_LANES 8
#else
#define VM_PHILOX_LANES 4
#endif
template <int... K> WEFT_INLINE void vm_zip(vm_order<K...>, unsigned *to, typename vm_vector<unsigned long, sizeof...(K)>::V x,
                                            typename vm_vector<unsigned long, sizeof...(K)>::V y) {
  constexpr int n = sizeof...(K);
  const auto low = __builtin_shufflevector(x, y, (K / 2 + K % 2 * n)...), high = __builtin_shufflevector(x, y, (n / 2 + K / 2 + K % 2 * n)...);
  __builtin_memcpy(to, &low, sizeof low);
  __builtin_memcpy(to + 2 * n, &high, sizeof high);
}
template <int bytes> static __attribute__((noinline)) void vm_look_ahead(vm_ahead &a, unsigned long seed, unsigned long first, long element) {
  constexpr int lanes = VM_PHILOX_LANES, chains = 4;
  typedef vm_vector<unsigned long, lanes>::V W;
  const W low = W{} + 0xfffffffful, m0 = W{} + 0xD2511F53ul, m1 = W{} + 0xCD9E8D57ul;
  constexpr int shift = bytes == 8 ? 1 : 2;
  a.start = element >> shift << shift;
  first += (unsigned long)(element >> shift);
  for (int part = 0; part < 32; part += lanes * chains) {
    W c0[chains], c1[chains], c2[chains], c3[chains], k0 = W{} + seed, k1 = W{} + (seed >> 32);
    _Pragma("GCC unroll 4") for (int c = 0; c < chains; c++) {
      c0[c] = vm_order_in<W>::template of<W>() + (first + part + c * lanes);
      c1[c] = c0[c] >> 32;
      c2[c] = c3[c] = W{};
    }
    _Pragma("GCC unroll 10") for (int round = 0; round < 10; round++) {
      _Pragma("GCC unroll 4") for (int c = 0; c < chains; c++) {
        const W p0 = vm_mul32(c0[c], m0), p1 = vm_mul32(c2[c], m1);
        c0[c] = (p1 >> 32) ^ c1[c] ^ k0;
        c2[c] = (p0 >> 32) ^ c3[c] ^ k1;
        c1[c] = p1;
        c3[c] = p0;
      }
      k0 += 0x9E3779B9ul;
      k1 += 0xBB67AE85ul;
    }
    _Pragma("GCC unroll 4") for (int c = 0; c < chains; c++) {
      unsigned *const to = a.words + 4 * (part + c * lanes);
      if (bytes == 4) vm_zip(vm_order_in<W>{}, to, (c0[c] & low) | (c1[c] << 32), (c2[c] & low) | (c3[c] << 32));
      else vm_zip(vm_order_in<W>{}, to, (c0[c] << 32) | (c1[c] & low), (c2[c] << 32) | (c3[c] & low));
    }
  }
}
template <class U> WEFT_INLINE U vm_philox_run(vm_ahead &a, unsigned long seed, unsigned long first, long element) {
  constexpr int bytes = sizeof(U{}[0]);
  static_assert(sizeof(U) <= sizeof a.words / 2, "");
  if (__builtin_expect((unsigned long)(element - a.start) > sizeof a.words / bytes - vm_lanes<U>, 0))
    vm_look_ahead<bytes>(a, seed, first, element);
  U r;
  __builtin_memcpy(&r, (const char *)a.words + (element - a.start) * bytes, sizeof r);
  return r;
}
// The bits of any elements.
template <class U, class E> WEFT_INLINE U vm_philox(unsigned long seed, unsigned long first, E element) {
  typedef vm_like<U, unsigned long> W;
  constexpr bool wide = sizeof(U{}[0]) == 8;
  const W e = __builtin_convertvector(element, W), m0 = W{} + 0xD2511F53ul, m1 = W{} + 0xCD9E8D57ul;
  W c0 = first + (e >> (wide ? 1 : 2)), c1 = c0 >> 32, c2 = {}, c3 = {};
  unsigned long k0 = seed, k1 = seed >> 32;
  for (int round = 0; round < 10; round++) {
    const W p0 = vm_mul32(c0, m0), p1 = vm_mul32(c2, m1);
    c0 = (p1 >> 32) ^ c1 ^ k0;
    c2 = (p0 >> 32) ^ c3 ^ k1;
    c1 = p1;
    c3 = p0;
    k0 += 0x9E3779B9ul;
    k1 += 0xBB67AE85ul;
  }
  const auto second = (e & 1) != 0, upper = (e & 2) != 0;
  if constexpr (wide) return second ? (c2 << 32) | (c3 & 0xfffffffful) : (c0 << 32) | (c1 & 0xfffffffful);
  else return __builtin_convertvector(upper ? (second ? c3 : c2) : (second ? c1 : c0), U);
}

//@ uniform: philox
// [0, 1): the upper 24 bits of 32 for a float, 53 of 64 for a double.
template <int bytes> struct vm_word { typedef unsigned T; };
template <> struct vm_word<8> { typedef unsigned long T; };
template <class V> using vm_bits = vm_like<V, typename vm_word<sizeof(V{}[0])>::T>;
template <class V> WEFT_INLINE V vm_unit(vm_bits<V> b) {
  if constexpr (sizeof(V{}[0]) == 8) return __builtin_convertvector((vm_mask<V>)(b >> 11), V) * 0x1p-53;
  else return __builtin_convertvector((vm_mask<V>)(b >> 8), V) * 0x1p-24f;
}
template <class V, class E> WEFT_INLINE V vm_uniform(unsigned long seed, unsigned long first, E element) {
  return vm_unit<V>(vm_philox<vm_bits<V>>(seed, first, element));
}
template <class V, class S> WEFT_INLINE V vm_uniform_run(S &&source, unsigned long seed, unsigned long first, long element) {
  return vm_unit<V>(vm_philox_run<vm_bits<V>>(source, seed, first, element));
}

//@ normal: uniform log32 sincos32 sqrt
// Box and Muller: elements 2k and 2k + 1 are radius sqrt(-2 log(1 - u)) times cosine and sine of 2 pi v, u and v uniform.
// The numbers are to be the same whatever the width of a vector: doubles take the C library's functions lane by lane. + 0 has no -0.
static inline void vm_normal_pair(double &u, double &v) {
  const double radius = __builtin_sqrt(-2.0 * __builtin_log(1.0 - u)), angle = 6.283185307179586476925 * v;
  __builtin_sincos(angle, &v, &u);
  u = 0.0 + radius * u;
  v = 0.0 + radius * v;
}
template <class V, class E> WEFT_INLINE V vm_normal_of(V u, V v, E element) {
  if constexpr (sizeof(u[0]) == 4) {
    const V radius = vm_sqrt(vm_log32(1.0f - u) * -2.0f);
    return 0.0f + radius * vm_sincos32_reduced(v * 6.283185307179586f, __builtin_convertvector(1 - (element & 1), vm_mask<V>));
  } else {
    for (int k = 0; k < vm_lanes<V>; k++) {
      double a = u[k], b = v[k];
      vm_normal_pair(a, b);
      u[k] = element[k] & 1 ? b : a;
    }
    return u;
  }
}
template <class V> WEFT_INLINE V vm_normal_pairs(V x) {
  typedef vm_order_in<V> order;
  if constexpr (sizeof(x[0]) == 4) {
    return vm_normal_of(order::template of_pairs<0>(x), order::template of_pairs<1>(x), order::template of<vm_mask<V>>());
  } else {
    double r[vm_lanes<V>];
    __builtin_memcpy(r, &x, sizeof x);
    for (int k = 0; k < vm_lanes<V>; k += 2) vm_normal_pair(r[k], r[k + 1]);
    __builtin_memcpy(&x, r, sizeof x);
    return x;
  }
}
template <class V, class E> WEFT_INLINE V vm_normal(unsigned long seed, unsigned long first, E element) {
  return vm_normal_of(vm_uniform<V>(seed, first, element & ~1), vm_uniform<V>(seed, first, element | 1), element);
}
template <class V, class S> WEFT_INLINE V vm_normal_run(S &&source, unsigned long seed, unsigned long first, long element) {
  if (__builtin_expect(element & 1, 0)) return vm_normal<V>(seed, first, vm_order_in<V>::template of<vm_like<V, unsigned long>>() + element);
  return vm_normal_pairs(vm_uniform_run<V>(source, seed, first, element));
}

//@ random_below: philox
// Integers of [0, range), range at most 2^32: the upper half of the product with 32 bits. V: of long.
template <class V, class E> WEFT_INLINE V vm_random_below(unsigned long seed, unsigned long first, unsigned long range, E element) {
  typedef vm_like<V, unsigned> U;
  return (V)(__builtin_convertvector(vm_philox<U>(seed, first, element), vm_like<V, unsigned long>) * range >> 32);
}
template <class V, class S>
WEFT_INLINE V vm_random_below_run(S &&source, unsigned long seed, unsigned long first, unsigned long range, long element) {
  typedef vm_like<V, unsigned> U;
  return (V)(__builtin_convertvector(vm_philox_run<U>(source, seed, first, element), vm_like<V, unsigned long>) * range >> 32);
}

// transpose.h: rows that become columns, L at a time. Header-free; pasted behind vector.h.
template <int H, class V> W_INLINE void w_transpose_lanes(V *v) {
  if constexpr (H > 0) {
    _Pragma("GCC unroll 16") for (int k = 0; k < w_lanes<V>; k++)
      if (!(k & H)) {
        const V a = v[k], b = v[k + H];
        v[k] = w_exchange<H, true>(a, b);
        v[k + H] = w_exchange<H, false>(a, b);
      }
    w_transpose_lanes<H / 2>(v);
  }
}
// to[i * step + j] = p[j * stride + i] for i < rows, j < columns. Lines that lie powers of two apart drive each other out of the
// cache: each is best done with before the next.
template <int L, class T> W_INLINE void w_transpose_block(T *to, long step, const T *p, long stride, long rows, long columns) {
  typedef w_raw<T> R;
  w_vec<R, L> v[L];
  if (rows >= L && columns >= L) {
    _Pragma("GCC unroll 16") for (int k = 0; k < L; k++) v[k] = w_read<R, L>(p + k * stride, w_all{});
    w_transpose_lanes<L / 2>(v);
    _Pragma("GCC unroll 16") for (int k = 0; k < L; k++) w_write((R *)to + k * step, v[k], w_all{});
  } else {
    const w_some height = w_tail(rows < L ? rows : L), width = w_tail(columns < L ? columns : L);
    for (int k = 0; k < L; k++) v[k] = k < columns ? w_read<R, L>(p + k * stride, height) : w_vec<R, L>{};
    w_transpose_lanes<L / 2>(v);
    for (int k = 0; k < L && k < rows; k++) w_write((R *)to + k * step, v[k], width);
  }
}
template <int L, class T> static void w_transposed(T *to, long step, const T *p, long stride, long rows, long columns) {
  const auto far_apart = [](long n) { return n * (long)sizeof(T) % 2048 == 0; };
  if (far_apart(stride) && !far_apart(step)) {
    for (long j = 0; j < columns; j += L)
      for (long i = 0; i < rows; i += L) w_transpose_block<L>(to + i * step + j, step, p + j * stride + i, stride, rows - i, columns - j);
  } else {
    for (long i = 0; i < rows; i += L)
      for (long j = 0; j < columns; j += L) w_transpose_block<L>(to + i * step + j, step, p + j * stride + i, stride, rows - i, columns - j);
  }
}
// tile[i][j] = p[j * stride + i] for i < rows, j < columns: rows are contiguous in p, columns in the tile. `even`: L divides both.
template <int L, int TILE, bool even = false, class T> static void w_transpose(T *tile, const T *p, long stride, long rows, long columns) {
  typedef w_raw<T> R;
  for (long j = 0; j < columns; j += L)
    for (long i = 0; i < rows; i += L) {
      w_vec<R, L> v[L];
      if (even || (i + L <= rows && j + L <= columns)) {
        _Pragma("GCC unroll 16") for (int k = 0; k < L; k++) v[k] = w_read<R, L>(p + (j + k) * stride + i, w_all{});
      } else {
        const w_some n = i + L <= rows ? w_some{(unsigned)((1ul << L) - 1)} : w_tail(rows - i);
        for (int k = 0; k < L; k++) v[k] = j + k < columns ? w_read<R, L>(p + (j + k) * stride + i, n) : w_vec<R, L>{};
      }
      w_transpose_lanes<L / 2>(v);
      _Pragma("GCC unroll 16") for (int k = 0; k < L; k++) w_write((R *)tile + (i + k) * TILE + j, v[k], w_all{});
    }
}
// The other way round: p[k * stride + i] = tile[i][k] for i < columns, k < rows.
template <int L, class T> static void w_turn_back(T *p, long stride, const T *tile, long columns, long rows) {
  typedef w_raw<T> R;
  for (long i = 0; i < columns; i += L) {
    w_vec<R, L> v[L];
    _Pragma("GCC unroll 16") for (int k = 0; k < L; k++) v[k] = i + k < columns ? w_read<R, L>(tile + (i + k) * L, w_all{}) : w_vec<R, L>{};
    w_transpose_lanes<L / 2>(v);
    R *to = (R *)p + i;
    if (i + L <= columns && rows == L) {
      _Pragma("GCC unroll 16") for (int k = 0; k < L; k++) w_write(to + k * stride, v[k], w_all{});
    } else {
      const w_some n = i + L <= columns ? w_some{(unsigned)((1ul << L) - 1)} : w_tail(columns - i);
      for (int k = 0; k < rows; k++) w_write(to + k * stride, v[k], n);
    }
  }
}
// to[i * C + j] = p[j * stride + i] for i < rows, j < C: a few columns side by side, of which every register has some of all.
template <int C, int PART, class V, class T, int... K> W_INLINE V w_side_by_side(const V *v, w_pack<T, K...>) {
  constexpr int L = w_lanes<V>, first = PART * L;  // element K is of row (first + K) / C, column (first + K) % C
  const V x = __builtin_shufflevector(v[0], v[1], ((first + K) % C < 2 ? (first + K) / C + (first + K) % C * L : 0)...);
  if constexpr (C == 2) return x;
  else {
    const V y = __builtin_shufflevector(v[2], v[C - 1], ((first + K) % C < 2 ? 0 : (first + K) / C + ((first + K) % C - 2) * L)...);
    return __builtin_shufflevector(x, y, ((first + K) % C < 2 ? K : L + K)...);
  }
}
template <int C, int PART, class R, class V, class P> W_INLINE void w_write_parts(R *to, const V *v, P lanes) {
  if constexpr (PART < C) {
    w_write(to + PART * w_lanes<V>, w_side_by_side<C, PART>(v, lanes), w_all{});
    w_write_parts<C, PART + 1>(to, v, lanes);
  }
}
// to[i * C + j] = part j[i] for the lanes i of n.
template <int C, class T, class N, class V, class... Vs> W_INLINE void w_store_parts(T *to, N n, V first, Vs... others) {
  typedef w_raw<T> R;
  constexpr int L = w_lanes<V>;
  const w_vec<R, L> v[C] = {w_mem<T>::down(first), w_mem<T>::down(others)...};
  if (w_full<L>(n)) {
#ifdef __clang__
    return w_write_parts<C, 0>((R *)to, v, __make_integer_seq<w_pack_of, int, L>{});
#else
    return w_write_parts<C, 0>((R *)to, v, w_pack<int, __integer_pack(L)...>{});
#endif
  }
  for (int i = 0; i < L; i++)
    for (int j = 0; j < C && (w_wanted<L>(n) >> i & 1); j++) ((R *)to)[i * C + j] = v[j][i];
}
template <int C, int L, class T> static void w_interleaved(T *to, const T *p, long stride, long rows) {
  typedef w_raw<T> R;
  long i = 0;
  for (; i + L <= rows; i += L) {
    w_vec<R, L> v[C];
    _Pragma("GCC unroll 4") for (int j = 0; j < C; j++) v[j] = w_read<R, L>(p + j * stride + i, w_all{});
#ifdef __clang__
    w_write_parts<C, 0>((R *)to + i * C, v, __make_integer_seq<w_pack_of, int, L>{});
#else
    w_write_parts<C, 0>((R *)to + i * C, v, w_pack<int, __integer_pack(L)...>{});
#endif
  }
  for (; i < rows; i++)
    for (int j = 0; j < C; j++) ((R *)to)[i * C + j] = ((const R *)p)[j * stride + i];
}

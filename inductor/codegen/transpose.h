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
// tile[i][j] = p[j * stride + i] for i < rows, j < columns: rows are contiguous in p, columns in the tile.
template <int L, int TILE, class T> static void w_transpose(T *tile, const T *p, long stride, long rows, long columns) {
  typedef w_raw<T> R;
  for (long j = 0; j < columns; j += L)
    for (long i = 0; i < rows; i += L) {
      w_vec<R, L> v[L];
      if (i + L <= rows && j + L <= columns) {
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

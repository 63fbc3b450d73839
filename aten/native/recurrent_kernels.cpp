// recurrent_kernels.cpp: all steps of one layer of an LSTM, a GRU or an RNN in one direction, and derivatives by backward steps. The
// definition is aten/ops/recurrent_layer.py, which says what the tensors are.
#include <string.h>

#include <algorithm>
#include <vector>

#include "matmul.h"
#include "native_kernel.h"

namespace weft {

namespace {

enum RecurrentKind { LSTM, GRU, RNN_TANH, RNN_RELU };

template <class T> struct Layer {
  RecurrentKind kind;
  bool reverse;
  int64_t steps, n, h, gates;  // gates: rows of h in the weight
  const T *parts, *h0, *c0, *weight, *bias;
  const T *grad, *grad_cells;  // of derivatives
  T *states, *cells, *kept;
  T *to_parts, *to_products, *to_h0, *to_c0;
  std::vector<T> turned;
  const T *by_columns;
  int64_t row_step, column_step;

  static constexpr int kType = sizeof(T) == 4 ? WEFT_FLOAT32 : WEFT_FLOAT64;

  int64_t time(int64_t step) const { return reverse ? steps - 1 - step : step; }
  const T *state_before(int64_t step) const { return step ? states + time(step - 1) * n * h : h0; }
  const T *cells_before(int64_t step) const { return step ? cells + time(step - 1) * n * h : c0; }

  // out [n, columns] (+)= a [n, k] @ b, rows of out `ld` numbers apart
  void product(int64_t columns, int64_t k, const T *a, const T *b, int64_t b_row, int64_t b_column, T *out, bool add, const T *more) const {
    WeftGemm g = {};
    g.m = n, g.n = columns, g.k = k;
    g.a = {a, kType, k, 1, {}, nullptr, 0}, g.b = {b, kType, b_row, b_column, {}, nullptr, 0};
    WeftGemmOutput o = {&g, {out, kType, columns, 1, {}, nullptr, 0}, more, 1.0, add ? 1.0 : 0.0};
    g.store_env = &o;
    g.store = sizeof(T) == 4 ? gemm_table()->store_float32 : gemm_table()->store_float64;
    (sizeof(T) == 4 ? gemm_table()->run_float32 : gemm_table()->run_float64)(&g, kernel_runtime());
  }
  void apply(WeftPointwise code, int64_t count, const T *from, T *to) const {
    char *args[2] = {reinterpret_cast<char *>(const_cast<T *>(from)), reinterpret_cast<char *>(to)};
    const intptr_t size = count, item[2] = {sizeof(T), sizeof(T)};
    weft_kernels.pointwise[code][kType](args, &size, item, nullptr);
  }

  // ------------------------------------------------------------------------------------------------------ forward
  void forward() {
    std::vector<T> room((size_t)(n * std::max(h, kind == GRU ? gates * h : 0)));
    turn();
    for (int64_t s = 0; s < steps; s++) {
      const int64_t t = time(s);
      if (kind == LSTM) lstm(s, t, room.data());
      else if (kind == GRU) gru(s, t, room.data());
      else rnn(s, t);
      poll_signals();
    }
  }
  // The weight by columns, which products of several rows would put in that order in each step.
  void turn() {
    by_columns = n == 1 ? weight : nullptr, column_step = n == 1 ? h : 1, row_step = n == 1 ? 1 : gates * h;
    if (n == 1) return;
    turned.resize((size_t)(gates * h * h));
    weft_kernels.transpose[sizeof(T) == 4 ? 2 : 3](reinterpret_cast<const char *>(weight), h * (int64_t)sizeof(T), reinterpret_cast<char *>(turned.data()), gates * h * (int64_t)sizeof(T), h, gates * h);
    by_columns = turned.data();
  }
  void from_state(int64_t s, T *out, bool add) const { product(gates * h, h, state_before(s), by_columns, row_step, column_step, out, add, bias); }
  void lstm(int64_t s, int64_t t, T *tanh_of_cells) const {
    T *gate = kept + t * n * 4 * h, *c = cells + t * n * h, *out = states + t * n * h;
    const T *before = cells_before(s);
    memcpy(gate, parts + t * n * 4 * h, sizeof(T) * (size_t)(n * 4 * h));
    from_state(s, gate, true);
    for (int64_t r = 0; r < n; r++) {
      T *row = gate + r * 4 * h;
      apply(WEFT_SIGMOID, 2 * h, row, row), apply(WEFT_TANH, h, row + 2 * h, row + 2 * h), apply(WEFT_SIGMOID, h, row + 3 * h, row + 3 * h);
      const T *b = before + r * h, *i = row, *f = row + h, *g = row + 2 * h;
      T *to = c + r * h;
#pragma GCC ivdep
      for (int64_t j = 0; j < h; j++) to[j] = f[j] * b[j] + i[j] * g[j];
    }
    apply(WEFT_TANH, n * h, c, tanh_of_cells);
    for (int64_t r = 0; r < n; r++) {
      const T *o = gate + r * 4 * h + 3 * h, *x = tanh_of_cells + r * h;
      T *to = out + r * h;
#pragma GCC ivdep
      for (int64_t j = 0; j < h; j++) to[j] = o[j] * x[j];
    }
  }
  void gru(int64_t s, int64_t t, T *products) const {
    const T *before = state_before(s);
    from_state(s, products, false);
    for (int64_t r = 0; r < n; r++) {
      const T *x = parts + (t * n + r) * 3 * h, *p = products + r * 3 * h, *b = before + r * h;
      T *k = kept + (t * n + r) * 4 * h, *out = states + (t * n + r) * h;
#pragma GCC ivdep
      for (int64_t j = 0; j < 2 * h; j++) k[j] = x[j] + p[j];
      apply(WEFT_SIGMOID, 2 * h, k, k);
#pragma GCC ivdep
      for (int64_t j = 0; j < h; j++) k[3 * h + j] = p[2 * h + j], k[2 * h + j] = x[2 * h + j] + k[j] * p[2 * h + j];
      apply(WEFT_TANH, h, k + 2 * h, k + 2 * h);
#pragma GCC ivdep
      for (int64_t j = 0; j < h; j++) out[j] = k[2 * h + j] + k[h + j] * (b[j] - k[2 * h + j]);
    }
  }
  void rnn(int64_t s, int64_t t) const {
    T *out = states + t * n * h;
    memcpy(out, parts + t * n * h, sizeof(T) * (size_t)(n * h));
    from_state(s, out, true);
    apply(kind == RNN_TANH ? WEFT_TANH : WEFT_RELU, n * h, out, out);
  }

  // ----------------------------------------------------------------------------------------------------- backward
  // d: the derivative of the state, which at the end of a step is that of the state before; of the cells: dc.
  void backward() const {
    std::vector<T> of_state((size_t)(n * h), T(0)), of_cells(of_state), room(of_state);
    T *d = of_state.data(), *dc = of_cells.data();
    for (int64_t s = steps - 1; s >= 0; s--) {
      const int64_t t = time(s), at = t * n * h;
#pragma GCC ivdep
      for (int64_t j = 0; j < n * h; j++) d[j] += grad[at + j];
      const T *products = to_parts + at * gates;
      if (kind == LSTM) lstm_back(s, t, d, dc, room.data());
      else if (kind == GRU) gru_back(s, t, d), products = to_products + at * gates;
      else rnn_back(t, d);
      product(h, gates * h, products, weight, h, 1, d, kind == GRU, nullptr);
      poll_signals();
    }
    memcpy(to_h0, d, sizeof(T) * (size_t)(n * h));
    if (kind == LSTM) memcpy(to_c0, dc, sizeof(T) * (size_t)(n * h));
  }
  void lstm_back(int64_t s, int64_t t, const T *d, T *dc, T *tanh_of_cells) const {
    apply(WEFT_TANH, n * h, cells + t * n * h, tanh_of_cells);
    for (int64_t r = 0; r < n; r++) {
      const T *i = kept + (t * n + r) * 4 * h, *f = i + h, *g = f + h, *o = g + h, *x = tanh_of_cells + r * h, *b = cells_before(s) + r * h, *dh = d + r * h;
      T *to = to_parts + (t * n + r) * 4 * h, *c = dc + r * h;
      const T *more = grad_cells ? grad_cells + (t * n + r) * h : nullptr;
      for (int64_t j = 0; more && j < h; j++) c[j] += more[j];
#pragma GCC ivdep
      for (int64_t j = 0; j < h; j++) {
        const T one = 1, of = c[j] + dh[j] * o[j] * (one - x[j] * x[j]);
        to[j] = of * g[j] * (i[j] * (one - i[j]));
        to[h + j] = of * b[j] * (f[j] * (one - f[j]));
        to[2 * h + j] = of * i[j] * (one - g[j] * g[j]);
        to[3 * h + j] = dh[j] * x[j] * (o[j] * (one - o[j]));
        c[j] = of * f[j];
      }
    }
  }
  void gru_back(int64_t s, int64_t t, T *d) const {
    for (int64_t r = 0; r < n; r++) {
      const T *k = kept + (t * n + r) * 4 * h, *b = state_before(s) + r * h;
      T *to = to_parts + (t * n + r) * 3 * h, *product = to_products + (t * n + r) * 3 * h, *dh = d + r * h;
#pragma GCC ivdep
      for (int64_t j = 0; j < h; j++) {
        const T one = 1, reset = k[j], z = k[h + j], x = k[2 * h + j];
        const T of = dh[j] * (one - z) * (one - x * x), of_reset = of * k[3 * h + j] * (reset * (one - reset)), of_z = dh[j] * (b[j] - x) * (z * (one - z));
        to[j] = product[j] = of_reset, to[h + j] = product[h + j] = of_z, to[2 * h + j] = of, product[2 * h + j] = of * reset;
        dh[j] *= z;
      }
    }
  }
  void rnn_back(int64_t t, const T *d) const {
    const T *out = states + t * n * h;
    T *to = to_parts + t * n * h;
#pragma GCC ivdep
    for (int64_t j = 0; j < n * h; j++) to[j] = kind == RNN_TANH ? d[j] * (1 - out[j] * out[j]) : out[j] <= 0 ? T(0) : d[j];  // (of NaN it is let through)
  }
};

bool kind_of(PyObject *name, RecurrentKind *kind) {
  const char *names[] = {"lstm", "gru", "rnn_tanh", "rnn_relu"};
  for (int i = 0; i < 4 && PyUnicode_Check(name); i++)
    if (!PyUnicode_CompareWithASCIIString(name, names[i])) return *kind = (RecurrentKind)i, true;
  return false;
}

struct Given {
  Ref kept[10];
  int count = 0, dtype;
  bool missing = false;

  // The data of a tensor of these sizes; NULL of None, which `may` stand there.
  char *read(PyObject *p, std::initializer_list<int64_t> sizes, bool may = false) {
    if (may && p == Py_None) return nullptr;
    WeftTensor *t = plain(p);
    bool fits = t && WEFT_DTYPE(t) == dtype && WEFT_NDIM(t) == (int)sizes.size();
    int d = 0;
    for (int64_t size : sizes) fits = fits && t->sizes[d++] == size;
    if (fits) kept[count] = row_major(t);
    missing |= !fits || !kept[count];
    return missing ? nullptr : weft_data(as_tensor(kept[count++].get()));
  }
};

// (outs, [grad, grad_cells,] parts, h0, c0, weight, bias, [states, cells, kept,] kind, reverse)
template <bool back> PyObject *recurrent_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  constexpr int outs = 3 + back;
  RecurrentKind kind;
  bool reverse;
  if (nargs != 8 + 5 * back || !PyTuple_Check(args[0]) || PyTuple_GET_SIZE(args[0]) != outs || !kind_of(args[nargs - 2], &kind) || !exact_bool(args[nargs - 1], &reverse)) return not_for_these();
  PyObject *const *in = args + 1 + 2 * back;
  WeftTensor *out[outs], *parts = plain(in[0]), *h0 = plain(in[1]);
  for (int i = 0; i < outs; i++)
    if (!(out[i] = dense(PyTuple_GET_ITEM(args[0], i)))) return not_for_these();
  const int dtype = parts ? WEFT_DTYPE(parts) : -1;
  if (!h0 || (dtype != WEFT_FLOAT32 && dtype != WEFT_FLOAT64) || WEFT_NDIM(parts) != 3 || WEFT_NDIM(h0) != 2 || !weft_kernels.pointwise[WEFT_SIGMOID][dtype]) return not_for_these();
  const int64_t steps = parts->sizes[0], n = parts->sizes[1], h = h0->sizes[1], gates = kind == LSTM ? 4 : kind == GRU ? 3 : 1;
  if (!steps || !n || !h) return not_for_these();
  Given given;
  given.dtype = dtype;
  const auto run = [&](auto zero) {
    typedef decltype(zero) T;
    Layer<T> l = {};
    l.kind = kind, l.reverse = reverse, l.steps = steps, l.n = n, l.h = h, l.gates = gates;
    const auto read = [&](PyObject *p, std::initializer_list<int64_t> sizes, bool may = false) { return reinterpret_cast<T *>(given.read(p, sizes, may)); };
    const auto made = [&](int i, int64_t numel) {
      given.missing |= out[i]->numel != numel;
      return reinterpret_cast<T *>(weft_data(out[i]));
    };
    l.parts = read(in[0], {steps, n, gates * h}), l.h0 = read(in[1], {n, h}), l.weight = read(in[3], {gates * h, h}), l.bias = read(in[4], {gates * h}, true);
    l.c0 = kind == LSTM ? read(in[2], {n, h}) : nullptr;
    const int64_t all = steps * n * h, of_cells = kind == LSTM ? all : 0, of_kept = kind == LSTM || kind == GRU ? 4 * all : 0;
    if (back) {
      l.grad = read(args[1], {steps, n, h}), l.grad_cells = kind == LSTM ? read(args[2], {steps, n, h}, true) : nullptr;
      l.states = read(in[5], {steps, n, h}), l.cells = kind == LSTM ? read(in[6], {steps, n, h}) : nullptr;
      l.kept = of_kept ? read(in[7], {steps, n, 4 * h}) : nullptr;
      l.to_parts = made(0, gates * all), l.to_products = made(1, kind == GRU ? gates * all : 0), l.to_h0 = made(2, n * h), l.to_c0 = made(3, kind == LSTM ? n * h : 0);
    } else {
      l.states = made(0, all), l.cells = made(1, of_cells), l.kept = made(2, of_kept);
    }
    if (given.missing) return;
    Released released(all * h >= 1 << 15);
    back ? l.backward() : l.forward();
  };
  if (dtype == WEFT_FLOAT32) run(0.0f);
  else run(0.0);
  return !given.missing ? written() : PyErr_Occurred() ? nullptr : not_for_these();
}

}  // namespace

const NativeKernel recurrent_kernels[] = {{"recurrent_layer", WEFT_KERNEL(recurrent_kernel<false>)}, {"recurrent_layer_backward", WEFT_KERNEL(recurrent_kernel<true>)}, {nullptr, nullptr}};

}  // namespace weft

// loss_kernels.cpp: the sum of the losses of classes, and how many there are; margins between classes that are labels and others.
#include <algorithm>
#include <vector>

#include "native_kernel.h"

namespace weft {

namespace {

template <class T> bool class_sums(WeftTensor *x, WeftTensor *target, int64_t ignored, char *total, char *count) {
  const int n = WEFT_NDIM(x), dim = n > 1 ? 1 : 0;
  const int64_t classes = x->sizes[dim], step = x->strides[dim];
  const int64_t *t = reinterpret_cast<const int64_t *>(weft_data(target));
  double sum = 0;
  int64_t kept = 0;
  for (int64_t i = 0; i < target->numel; i++) {
    const int64_t which = t[i];
    if (which == ignored) continue;
    if (which < 0 || which >= classes) return false;
    int64_t at = which * step, rest = i;
    for (int d = n - 1; d >= 0; d--) {
      if (d == dim) continue;
      at += rest % x->sizes[d] * x->strides[d];
      rest /= x->sizes[d];
    }
    sum -= (double)reinterpret_cast<const T *>(weft_data(x))[at];
    kept++;
  }
  *reinterpret_cast<T *>(total) = (T)sum;
  *reinterpret_cast<T *>(count) = (T)kept;
  return true;
}

// ((total, count), input, target, ignore_index)
PyObject *class_loss_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  int64_t ignored;
  const bool two = nargs == 4 && PyTuple_Check(args[0]) && PyTuple_GET_SIZE(args[0]) == 2;
  WeftTensor *total = two ? dense(PyTuple_GET_ITEM(args[0], 0)) : nullptr, *count = total ? dense(PyTuple_GET_ITEM(args[0], 1)) : nullptr;
  WeftTensor *x = count ? plain(args[1]) : nullptr, *target = x ? dense(args[2]) : nullptr;
  if (!target || !exact_int(args[3], &ignored) || !WEFT_NDIM(x) || WEFT_DTYPE(target) != WEFT_INT64) return not_for_these();
  const int dtype = WEFT_DTYPE(x), n = WEFT_NDIM(x);
  if (WEFT_DTYPE(total) != dtype || WEFT_DTYPE(count) != dtype || WEFT_NDIM(target) != (n > 1 ? n - 1 : 0)) return not_for_these();
  for (int d = 0; d < WEFT_NDIM(target); d++)
    if (target->sizes[d] != x->sizes[d ? d + 1 : 0]) return not_for_these();
  if (total->numel != 1 || count->numel != 1) return not_for_these();
  const bool fine = dtype == WEFT_FLOAT32   ? class_sums<float>(x, target, ignored, weft_data(total), weft_data(count))
                    : dtype == WEFT_FLOAT64 ? class_sums<double>(x, target, ignored, weft_data(total), weft_data(count))
                                            : false;
  return fine ? written() : not_for_these();
}

// Of each row of n scores: labels are the classes before the first negative number; a margin is 1 - a label's score + that of a
// class that is none, and counts where it is positive.
template <class T> struct Margins {
  int64_t n;
  const T *x, *grad;  // grad: of derivatives
  const int64_t *target;
  T *out;

  // The places of classes that are no labels, and their scores; returns how many labels there are.
  int64_t part(int64_t row, std::vector<char> &chosen, std::vector<T> &scores, std::vector<int64_t> &places) const {
    const int64_t *t = target + row * n;
    std::fill(chosen.begin(), chosen.end(), 0);
    int64_t labels = 0;
    for (; labels < n && t[labels] >= 0; labels++) chosen[(size_t)t[labels]] = 1;
    scores.clear(), places.clear();
    for (int64_t j = 0; j < n; j++)
      if (!chosen[(size_t)j]) scores.push_back(x[row * n + j]), places.push_back(j);
    return labels;
  }

  static T added(T base, const T *scores, int64_t count) {
    T lanes[16] = {}, sum = 0;
    int64_t j = 0;
    for (; j + 16 <= count; j += 16)
      for (int l = 0; l < 16; l++) {
        const T z = base + scores[j + l];
        lanes[l] += z > 0 ? z : T(0);
      }
    for (; j < count; j++) lanes[j % 16] += base + scores[j] > 0 ? base + scores[j] : T(0);
    for (int l = 0; l < 16; l++) sum += lanes[l];
    return sum;
  }

  static void forward(void *context, int64_t begin, int64_t end, int64_t) {
    const Margins &m = *static_cast<Margins *>(context);
    std::vector<char> chosen((size_t)m.n);
    std::vector<T> scores;
    std::vector<int64_t> places;
    for (int64_t row = begin; row < end; row++) {
      const int64_t labels = m.part(row, chosen, scores, places);
      double sum = 0;
      for (int64_t i = 0; i < labels; i++)
        sum += added(1 - m.x[row * m.n + m.target[row * m.n + i]], scores.data(), (int64_t)scores.size());
      m.out[row] = (T)(sum / m.n);
    }
  }

  // Each slope is a multiple of one number: margins are counted.
  static void backward(void *context, int64_t begin, int64_t end, int64_t) {
    const Margins &m = *static_cast<Margins *>(context);
    std::vector<char> chosen((size_t)m.n);
    std::vector<T> scores;
    std::vector<int64_t> places;
    std::vector<int32_t> counts, of_labels((size_t)m.n);
    for (int64_t row = begin; row < end; row++) {
      const int64_t labels = m.part(row, chosen, scores, places), others = (int64_t)scores.size();
      counts.assign((size_t)others, 0);
      std::fill(of_labels.begin(), of_labels.end(), 0);
      for (int64_t i = 0; i < labels; i++) {
        const int64_t label = m.target[row * m.n + i];
        const T base = 1 - m.x[row * m.n + label], *s = scores.data();
        int32_t *to = counts.data(), all = 0;
        for (int64_t j = 0; j < others; j++) {
          const int32_t positive = base + s[j] > 0;
          to[j] += positive, all += positive;
        }
        of_labels[(size_t)label] -= all;
      }
      const T each = m.grad[row] / m.n;
      for (int64_t j = 0; j < others; j++) of_labels[(size_t)places[(size_t)j]] = counts[(size_t)j];
      for (int64_t j = 0; j < m.n; j++) m.out[row * m.n + j] = of_labels[(size_t)j] ? each * of_labels[(size_t)j] : T(0);
    }
  }
};

template <class T> void run_margins(WeftTensor *out, WeftTensor *grad, WeftTensor *x, WeftTensor *target, int64_t work) {
  const auto data = [](WeftTensor *t) { return t ? reinterpret_cast<T *>(weft_data(t)) : nullptr; };
  Margins<T> m = {x->sizes[1], data(x), data(grad), reinterpret_cast<const int64_t *>(weft_data(target)), data(out)};
  Loop::parallel(work, x->sizes[0], work / x->sizes[0], grad ? Margins<T>::backward : Margins<T>::forward, &m);
}

// How many pairs there are at most; -1: a target is no class.
int64_t pairs_of(const int64_t *target, int64_t rows, int64_t n) {
  int64_t pairs = rows * n;
  for (int64_t row = 0; row < rows; row++)
    for (int64_t i = 0; i < n && target[row * n + i] >= 0; i++, pairs += n)
      if (target[row * n + i] >= n) return -1;
  return pairs;
}

// (out, input, target), of derivatives (out, grad, input, target)
template <bool back> PyObject *margins_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 3 + back ? dense(args[0]) : nullptr;
  if (!out || (WEFT_DTYPE(out) != WEFT_FLOAT32 && WEFT_DTYPE(out) != WEFT_FLOAT64)) return not_for_these();
  Ref kept[3];
  for (int i = 0; i < 2 + back; i++) {
    WeftTensor *given = plain(args[1 + i]);
    if (!given || WEFT_DTYPE(given) != (i == 1 + back ? WEFT_INT64 : WEFT_DTYPE(out))) return not_for_these();
    kept[i] = row_major(given);
    if (!kept[i]) return PyErr_Occurred() ? nullptr : not_for_these();
  }
  WeftTensor *grad = back ? as_tensor(kept[0].get()) : nullptr;
  WeftTensor *x = as_tensor(kept[back].get()), *target = as_tensor(kept[1 + back].get());
  if (WEFT_NDIM(x) != 2 || WEFT_NDIM(target) != 2 || target->sizes[0] != x->sizes[0] || target->sizes[1] != x->sizes[1]) return not_for_these();
  const int64_t rows = x->sizes[0], n = x->sizes[1];
  if (!rows || !n || n >= 1 << 15 || out->numel != (back ? x->numel : rows) || (grad && grad->numel != rows)) return not_for_these();
  const int64_t pairs = pairs_of(reinterpret_cast<const int64_t *>(weft_data(target)), rows, n);
  if (pairs < 0) return not_for_these();
  if (WEFT_DTYPE(out) == WEFT_FLOAT32) run_margins<float>(out, grad, x, target, pairs);
  else run_margins<double>(out, grad, x, target, pairs);
  return written();
}

}  // namespace

const NativeKernel loss_kernels[] = {{"class_loss", WEFT_KERNEL(class_loss_kernel)},
                                     {"label_margins", WEFT_KERNEL(margins_kernel<false>)},
                                     {"label_margins_backward", WEFT_KERNEL(margins_kernel<true>)},
                                     {nullptr, nullptr}};

}  // namespace weft

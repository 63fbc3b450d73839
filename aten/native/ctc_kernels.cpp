// ctc_kernels.cpp: minus the log of the summed probability of the alignments of labels with frames (Graves et al. 2006), and its
// derivative by forward and backward sums. The definition is aten/ops/ctc.py.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "native_kernel.h"

namespace weft {

namespace {

template <class T> constexpr T kNever = -std::numeric_limits<T>::infinity();

// log(exp(a) + exp(b) + exp(c))
template <class T> inline T log_sum(T a, T b, T c) {
  const T most = std::max(a, std::max(b, c));
  if (most == kNever<T>) return most;
  return most + std::log(std::exp(a - most) + std::exp(b - most) + std::exp(c - most));
}

template <class T> struct Alignments {
  const T *logs;         // [frames, samples, classes]
  const int64_t *labels; // [samples, width]: blanks around each label
  const int64_t *frames, *lengths;
  const T *grad; // of the losses
  T *out;        // the losses, or the gradient of logs
  int64_t most, samples, classes, width;
  bool forgive; // what is impossible has loss and gradient 0

  T log_of(int64_t t, int64_t n, int64_t s) const { return logs[(t * samples + n) * classes + labels[n * width + s]]; }

  // Whether a path may go from the label before the blank before straight to this one.
  bool skips(int64_t n, int64_t s) const {
    const int64_t *l = labels + n * width;
    return s >= 2 && (s & 1) && l[s] != l[s - 2];
  }

  // alpha[t, s]: the log of the summed probability of the beginnings of paths that are at s in frame t. Returns the loss.
  T forward(int64_t n, std::vector<T> &alpha) const {
    const int64_t steps = frames[n], states = 2 * lengths[n] + 1;
    if (!steps) return lengths[n] ? -kNever<T> : T(0);
    alpha.assign((size_t)(steps * states), kNever<T>);
    for (int64_t s = 0; s < std::min<int64_t>(states, 2); s++) alpha[(size_t)s] = log_of(0, n, s);
    for (int64_t t = 1; t < steps; t++) {
      const T *before = alpha.data() + (t - 1) * states;
      T *now = alpha.data() + t * states;
      // (A path is no further than two states a frame, and gets to the end with two a frame from here.)
      const int64_t from = std::max<int64_t>(0, states - 2 * (steps - t)), to = std::min(states, 2 * t + 2);
      for (int64_t s = from; s < to; s++)
        now[s] = log_sum(before[s], s ? before[s - 1] : kNever<T>, skips(n, s) ? before[s - 2] : kNever<T>) + log_of(t, n, s);
    }
    const T *last = alpha.data() + (steps - 1) * states;
    return -log_sum(last[states - 1], states > 1 ? last[states - 2] : kNever<T>, kNever<T>);
  }

  static void losses(void *context, int64_t begin, int64_t end, int64_t) {
    const Alignments &a = *static_cast<Alignments *>(context);
    std::vector<T> alpha;
    for (int64_t n = begin; n < end; n++) {
      const T loss = a.forward(n, alpha);
      a.out[n] = a.forgive && loss == -kNever<T> ? T(0) : loss;
    }
  }

  static void gradients(void *context, int64_t begin, int64_t end, int64_t) {
    const Alignments &a = *static_cast<Alignments *>(context);
    std::vector<T> alpha, beta, next, by_class((size_t)a.classes);
    for (int64_t n = begin; n < end; n++) {
      const int64_t steps = a.frames[n], states = 2 * a.lengths[n] + 1;
      const T loss = a.forward(n, alpha), g = a.grad[n];
      const bool impossible = loss == -kNever<T>;
      beta.assign((size_t)states, kNever<T>), next = beta;
      for (int64_t t = a.most - 1; t >= 0; t--) {
        T *out = a.out + (t * a.samples + n) * a.classes;
        if (t >= steps || impossible) {
          std::fill(out, out + a.classes, t >= steps || a.forgive ? T(0) : std::numeric_limits<T>::quiet_NaN());
          continue;
        }
        for (int64_t s = 0; s < states; s++) { // of the ends of paths from here on, this frame included
          const T stay = t == steps - 1 ? (s >= states - 2 ? T(0) : kNever<T>)
                                        : log_sum(next[(size_t)s], s + 1 < states ? next[(size_t)s + 1] : kNever<T>,
                                                  s + 2 < states && a.skips(n, s + 2) ? next[(size_t)s + 2] : kNever<T>);
          beta[(size_t)s] = stay + a.log_of(t, n, s);
        }
        std::fill(by_class.begin(), by_class.end(), kNever<T>);
        const int64_t *labels = a.labels + n * a.width;
        for (int64_t s = 0; s < states; s++) {
          T &sum = by_class[(size_t)labels[s]];
          sum = log_sum(sum, alpha[(size_t)(t * states + s)] + beta[(size_t)s], kNever<T>);
        }
        const T *log = a.logs + (t * a.samples + n) * a.classes;
        for (int64_t c = 0; c < a.classes; c++) {
          const T sum = by_class[(size_t)c];
          out[c] = g * (std::exp(log[c]) - (sum == kNever<T> ? T(0) : std::exp(sum + loss - log[c])));
        }
        beta.swap(next);
      }
    }
  }
};

template <class T> bool aligned(WeftTensor *out, WeftTensor *const *in, WeftTensor *grad, bool forgive) {
  WeftTensor *logs = in[0], *labels = in[1], *frames = in[2], *lengths = in[3];
  Alignments<T> a = {};
  a.most = logs->sizes[0], a.samples = logs->sizes[1], a.classes = logs->sizes[2], a.width = labels->sizes[1];
  a.logs = reinterpret_cast<const T *>(weft_data(logs)), a.labels = reinterpret_cast<const int64_t *>(weft_data(labels));
  a.frames = reinterpret_cast<const int64_t *>(weft_data(frames)), a.lengths = reinterpret_cast<const int64_t *>(weft_data(lengths));
  a.grad = grad ? reinterpret_cast<const T *>(weft_data(grad)) : nullptr, a.out = reinterpret_cast<T *>(weft_data(out)), a.forgive = forgive;
  for (int64_t n = 0; n < a.samples; n++)
    if (a.frames[n] < 0 || a.frames[n] > a.most || a.lengths[n] < 0 || 2 * a.lengths[n] + 1 > a.width) return false;
  for (int64_t n = 0; n < a.samples; n++) // (what lies behind a sample's labels is not looked at)
    for (int64_t s = 0; s < 2 * a.lengths[n] + 1; s++)
      if (a.labels[n * a.width + s] < 0 || a.labels[n * a.width + s] >= a.classes) return false;
  const int64_t each = a.most * a.width * (grad ? 100 : 40);
  Loop::parallel(a.samples * each, a.samples, each, grad ? Alignments<T>::gradients : Alignments<T>::losses, &a);
  return true;
}

// (out, logs, labels, frames, lengths, zero_infinity); of the derivative (out, grad, logs, labels, frames, lengths, zero_infinity)
template <bool back> PyObject *ctc_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  bool forgive;
  WeftTensor *out = nargs == 6 + back ? dense(args[0]) : nullptr;
  if (!out || !exact_bool(args[nargs - 1], &forgive)) return not_for_these();
  Ref kept[5];
  WeftTensor *in[5]; // the last: grad
  for (int i = 0; i < 4 + back; i++) {
    WeftTensor *given = plain(args[i < 4 ? 1 + back + i : 1]);
    if (!given) return not_for_these();
    kept[i] = row_major(given);
    if (!kept[i]) return PyErr_Occurred() ? nullptr : not_for_these();
    in[i] = as_tensor(kept[i].get());
  }
  const int dtype = WEFT_DTYPE(in[0]);
  if ((dtype != WEFT_FLOAT32 && dtype != WEFT_FLOAT64) || WEFT_DTYPE(out) != dtype || WEFT_NDIM(in[0]) != 3 || WEFT_NDIM(in[1]) != 2) return not_for_these();
  const int64_t samples = in[0]->sizes[1];
  if (in[1]->sizes[0] != samples || in[1]->sizes[1] % 2 == 0 || out->numel != (back ? in[0]->numel : samples)) return not_for_these();
  for (int i = 1; i < 4; i++)
    if (WEFT_DTYPE(in[i]) != WEFT_INT64 || (i > 1 && in[i]->numel != samples)) return not_for_these();
  if (back && (WEFT_DTYPE(in[4]) != dtype || in[4]->numel != samples)) return not_for_these();
  const bool done = dtype == WEFT_FLOAT32 ? aligned<float>(out, in, back ? in[4] : nullptr, forgive) : aligned<double>(out, in, back ? in[4] : nullptr, forgive);
  return done ? written() : not_for_these();
}

}  // namespace

const NativeKernel ctc_kernels[] = {{"ctc_alignments", WEFT_KERNEL(ctc_kernel<false>)}, {"ctc_alignments_backward", WEFT_KERNEL(ctc_kernel<true>)}, {nullptr, nullptr}};

}  // namespace weft

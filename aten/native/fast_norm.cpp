// fast_norm.cpp: batch_norm and group_norm of contiguous tensors without gradients: statistics of each group and one pass that
// applies them, while the group is in cache. With gradients the ops take their composite.
#include "statistics.h"

#include <algorithm>
#include <math.h>
#include <vector>

#include "half.h"
#include "reduce.h"
#include "released.h"

namespace weft {

namespace {

constexpr int64_t kShortest = 16;  // items of a channel, at least, for vectors to be worth it

// A factor for each channel (or none): whether it is a contiguous tensor of the dtype and number, without history to come.
bool is_factor(const WeftTensor *t, int dtype, int64_t n) {
  return !t || (WEFT_DTYPE(t) == dtype && t->numel == n && (t->word & WEFT_WORD_CONTIGUOUS) && !records(t));
}

double channel(const WeftTensor *t, int64_t i, double otherwise) {
  if (!t) return otherwise;
  const char *p = weft_data(t);
  switch (WEFT_DTYPE(t)) {
    case WEFT_FLOAT64: return reinterpret_cast<const double *>(p)[i];
    case WEFT_FLOAT32: return reinterpret_cast<const float *>(p)[i];
    case WEFT_FLOAT16: return float16_to_float(reinterpret_cast<const uint16_t *>(p)[i]);
    default: return bfloat16_to_float(reinterpret_cast<const uint16_t *>(p)[i]);
  }
}

struct NormJob {
  WeftMoments moments;
  WeftAffine affine;
  const char *x;
  char *y;
  int64_t samples, channels, groups, plane, item;  // plane: items of one channel of one sample; groups: of channels, of group_norm
  const WeftTensor *weight, *bias, *mean, *var;    // mean and var: given ones
  double eps;
  double *means, *squares;                         // found ones, a channel, of batch_norm while training
  bool wide;                                       // sums are float64

  // A number of the type of sums, at `to`.
  void put(void *to, double v) const {
    if (wide) *static_cast<double *>(to) = v;
    else *static_cast<float *>(to) = (float)v;
  }
  double get(const void *from) const { return wide ? *static_cast<const double *>(from) : *static_cast<const float *>(from); }

  void apply(int64_t sample, int64_t c, double center, double variance) const {
    double a, b, s;
    const int64_t at = (sample * channels + c) * plane * item;
    const double root = wide ? ::sqrt(variance + eps) : ::sqrtf((float)variance + (float)eps);
    put(&a, center);
    put(&b, channel(weight, c, 1) / root);
    put(&s, channel(bias, c, 0));
    affine(plane, x + at, &a, &b, &s, y + at);
  }
  void found(int64_t runs, int64_t n, const char *in, int64_t stride, double *center, double *total) const {
    double a, b;
    moments(runs, n, in, stride, &a, &b);
    *center = get(&a);
    *total = get(&b);
  }

  static void given(void *ctx, int64_t begin, int64_t end, int64_t) {  // over samples and channels
    const NormJob *j = static_cast<NormJob *>(ctx);
    for (int64_t i = begin; i < end; i++) {
      const int64_t c = i % j->channels;
      j->apply(i / j->channels, c, channel(j->mean, c, 0), channel(j->var, c, 0));
    }
  }
  static void train(void *ctx, int64_t begin, int64_t end, int64_t) {  // over channels
    const NormJob *j = static_cast<NormJob *>(ctx);
    const int64_t bytes = j->plane * j->item;
    for (int64_t c = begin; c < end; c++) {
      j->found(j->samples, j->plane, j->x + c * bytes, j->channels * bytes, j->means + c, j->squares + c);
      for (int64_t s = 0; s < j->samples; s++) j->apply(s, c, j->means[c], j->squares[c] / ((double)j->samples * (double)j->plane));
    }
  }
  static void group(void *ctx, int64_t begin, int64_t end, int64_t) {  // over samples and groups
    const NormJob *j = static_cast<NormJob *>(ctx);
    const int64_t each = j->channels / j->groups, n = each * j->plane;
    for (int64_t i = begin; i < end; i++) {
      double center, total;
      j->found(1, n, j->x + i * n * j->item, 0, &center, &total);
      for (int64_t c = 0; c < each; c++) j->apply(i / j->groups, i % j->groups * each + c, center, total / (double)n);
    }
  }
  void run(int64_t count, int64_t work, void (*body)(void *, int64_t, int64_t, int64_t)) {
    const WeftKernelRuntime *runtime = kernel_runtime();
    Released released(count * work >= 65536);
    runtime->parallel_for(count, std::max<int64_t>(1, kGrain / work), body, this);
  }
};

// Fills the part that both ops share; false: not for us.
bool start(const WeftTensor *t, const WeftTensor *weight, const WeftTensor *bias, NormJob *job) {
  if (WEFT_NDIM(t) < 2 || !t->numel || !(t->word & WEFT_WORD_CONTIGUOUS) || records(t)) return false;
  const int dtype = WEFT_DTYPE(t);
  job->moments = weft_statistics.moments[dtype];
  job->affine = weft_statistics.affine[dtype];
  job->samples = t->sizes[0];
  job->channels = t->sizes[1];
  job->plane = t->numel / (job->samples * job->channels);
  if (!job->moments || job->plane < kShortest) return false;
  if (!is_factor(weight, dtype, job->channels) || !is_factor(bias, dtype, job->channels)) return false;
  job->weight = weight;
  job->bias = bias;
  job->item = weft_itemsize(dtype);
  job->wide = dtype == WEFT_FLOAT64;
  job->x = weft_data(t);
  return true;
}

// running = running * (1 - momentum) + value * momentum
template <class T>
void follow(WeftTensor *running, const double *value, double scale, double momentum) {
  T *p = reinterpret_cast<T *>(weft_data(running));
  for (int64_t i = 0; i < running->numel; i++) p[i] = p[i] * (T)(1 - momentum) + (T)(value[i] * scale) * (T)momentum;
  weft_bump_version(running);
}

}  // namespace

// batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5)
PyObject *fast_batch_norm(Call &call) {
  WeftTensor *x = call.tensor(0), *mean = call.tensor(1), *var = call.tensor(2);
  const bool training = call.truth(5);
  const double momentum = call[6].real, eps = call[7].real;
  NormJob job = {};
  if (!start(x, call.tensor(3), call.tensor(4), &job)) return UNHANDLED;
  const int64_t channels = job.channels, n = job.samples * job.plane;
  if (!is_factor(mean, WEFT_DTYPE(x), channels) || !is_factor(var, WEFT_DTYPE(x), channels)) return UNHANDLED;
  if (!mean != !var || (training ? n < 2 || (mean && sum_dtype(WEFT_DTYPE(x)) != WEFT_DTYPE(x)) : !mean)) return UNHANDLED;
  if (training && mean && (WEFT_REQUIRES_GRAD(mean) || WEFT_REQUIRES_GRAD(var) || check_inplace(mean) || check_inplace(var)))
    return PyErr_Occurred() ? nullptr : UNHANDLED;
  Ref out(empty(x->word, WEFT_NDIM(x), x->sizes, nullptr));
  if (!out) return nullptr;
  job.y = weft_data(as_tensor(out.get()));
  job.eps = eps;
  job.mean = mean;
  job.var = var;
  if (!training) {
    job.run(job.samples * channels, job.plane, NormJob::given);
    return out.release();
  }
  std::vector<double> found((size_t)(2 * channels));
  job.means = found.data();
  job.squares = job.means + channels;
  job.run(channels, n, NormJob::train);
  if (mean) {
    const double freedom = (double)n - 1;
    if (job.wide) {
      follow<double>(mean, job.means, 1, momentum);
      follow<double>(var, job.squares, 1 / freedom, momentum);
    } else {
      follow<float>(mean, job.means, 1, momentum);
      follow<float>(var, job.squares, 1 / freedom, momentum);
    }
  }
  return out.release();
}

// group_norm(input, num_groups, weight=None, bias=None, eps=1e-5)
PyObject *fast_group_norm(Call &call) {
  WeftTensor *x = call.tensor(0);
  NormJob job = {};
  job.groups = call[1].integer;
  if (!start(x, call.tensor(2), call.tensor(3), &job)) return UNHANDLED;
  if (job.groups < 1 || job.channels % job.groups) return UNHANDLED;
  Ref out(empty(x->word, WEFT_NDIM(x), x->sizes, nullptr));
  if (!out) return nullptr;
  job.y = weft_data(as_tensor(out.get()));
  job.eps = call[4].real;
  job.run(job.samples * job.groups, x->numel / (job.samples * job.groups), NormJob::group);
  return out.release();
}

}  // namespace weft

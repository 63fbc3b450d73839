// fast_norm.cpp: batch_norm and group_norm of contiguous tensors without gradients: statistics of each group and one pass that
// applies them, while the group is in cache. With gradients the ops take their composite.
#include "clones.h"
#include "statistics.h"

#include <algorithm>
#include <math.h>
#include <vector>

#include "column_norm.h"
#include "half.h"
#include "native_kernel.h"
#include "reduce.h"
#include "strips.h"

namespace weft {

namespace {

constexpr int64_t kShortest = 16;  // items of a channel of a sample, at least, for which loops over one are worth their calls
constexpr int64_t kRow = 64;       // items, about, of a row of several channels

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

// Mean and sum of squared deviations of a channel of all samples. Runs of few items are put side by side first.
template <class T> void channel_moments(WeftMoments moments, const T *x, int64_t samples, int64_t channels, int64_t plane, int64_t c, void *mean, void *squares) {
  const int64_t step = channels * plane;
  x += c * plane;
  if (plane >= kShortest) return moments(samples, plane, reinterpret_cast<const char *>(x), step * (int64_t)sizeof(T), mean, squares);
  std::vector<T> side((size_t)(samples * plane));
  T *to = side.data();
  for (int64_t s = 0; s < samples; s++, x += step)
    for (int64_t i = 0; i < plane; i++) *to++ = x[i];
  moments(1, samples * plane, reinterpret_cast<const char *>(side.data()), 0, mean, squares);
}

// Mean and sum of squared deviations of a group of few items, where a call of the loops would take longer than they do.
constexpr int64_t kFew = 16;
template <class T> inline void few_moments(int64_t n, const T *x, double *mean, double *squares) {
  double sum = 0, total = 0;
  for (int64_t i = 0; i < n; i++) sum += (double)x[i];
  const double middle = sum / (double)n;
  for (int64_t i = 0; i < n; i++) total += ((double)x[i] - middle) * ((double)x[i] - middle);
  *mean = middle, *squares = total;
}

#define WEFT_AFFINE_ROWS(T)                                                                                                              \
  WEFT_CLONES void affine_rows(int64_t rows, int64_t width, const T *x, const T *center, const T *scale, const T *shift, T *y) {        \
    for (int64_t r = 0; r < rows; r++, x += width, y += width)                                                                           \
      for (int64_t k = 0; k < width; k++) y[k] = (x[k] - center[k]) * scale[k] + shift[k];                                               \
  }
WEFT_AFFINE_ROWS(float)
WEFT_AFFINE_ROWS(double)

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

  bool is_short() const { return plane < kShortest; }
  double root(double variance) const { return wide ? ::sqrt(variance + eps) : ::sqrtf((float)variance + (float)eps); }

  void apply(int64_t sample, int64_t c, double center, double variance) const {
    double a, b, s;
    const int64_t at = (sample * channels + c) * plane * item;
    put(&a, center);
    put(&b, channel(weight, c, 1) / root(variance));
    put(&s, channel(bias, c, 0));
    affine(plane, x + at, &a, &b, &s, y + at);
  }
  void found(int64_t runs, int64_t n, const char *in, int64_t stride, double *center, double *total) const {
    double a, b;
    moments(runs, n, in, stride, &a, &b);
    *center = get(&a);
    *total = get(&b);
  }

  // A group of short channels.
  template <class T> void apply_group(int64_t i, double center, double variance) const {
    const int64_t each = channels / groups, first = i % groups * each;
    const T *from = reinterpret_cast<const T *>(x) + i * each * plane, middle = (T)center;
    T *to = reinterpret_cast<T *>(y) + i * each * plane;
    const double by = 1 / root(variance);
    for (int64_t c = first; c < first + each; c++) {
      const T scale = weight ? (T)(reinterpret_cast<const T *>(weft_data(weight))[c] * by) : (T)by;
      const T shift = bias ? reinterpret_cast<const T *>(weft_data(bias))[c] : T();
      for (int64_t k = 0; k < plane; k++) *to++ = (*from++ - middle) * scale + shift;
    }
  }

  template <class T> void short_group(int64_t i, int64_t n) const {
    double center, total;
    if (n <= kFew) few_moments(n, reinterpret_cast<const T *>(x) + i * n, &center, &total);
    else found(1, n, x + i * n * item, 0, &center, &total);
    if (means) means[i] = center, squares[i] = total;
    apply_group<T>(i, center, total / (double)n);
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
      if (j->is_short()) {  // the statistics alone: samples are gone through row by row
        double a, b;
        if (j->wide) channel_moments(j->moments, reinterpret_cast<const double *>(j->x), j->samples, j->channels, j->plane, c, &a, &b);
        else channel_moments(j->moments, reinterpret_cast<const float *>(j->x), j->samples, j->channels, j->plane, c, &a, &b);
        j->means[c] = j->get(&a), j->squares[c] = j->get(&b);
        continue;
      }
      j->found(j->samples, j->plane, j->x + c * bytes, j->channels * bytes, j->means + c, j->squares + c);
      for (int64_t s = 0; s < j->samples; s++) j->apply(s, c, j->means[c], j->squares[c] / ((double)j->samples * (double)j->plane));
    }
  }
  static void group(void *ctx, int64_t begin, int64_t end, int64_t) {  // over samples and groups
    const NormJob *j = static_cast<NormJob *>(ctx);
    const int64_t each = j->channels / j->groups, n = each * j->plane;
    for (int64_t i = begin; i < end; i++) {
      if (j->is_short()) {
        if (j->wide) j->short_group<double>(i, n);
        else j->short_group<float>(i, n);
        continue;
      }
      double center, total;
      j->found(1, n, j->x + i * n * j->item, 0, &center, &total);
      if (j->means) j->means[i] = center, j->squares[i] = total;
      for (int64_t c = 0; c < each; c++) j->apply(i / j->groups, i % j->groups * each + c, center, total / (double)n);
    }
  }
  void run(int64_t count, int64_t work, void (*body)(void *, int64_t, int64_t, int64_t)) {
    const WeftKernelRuntime *runtime = kernel_runtime();
    Released released(count * work >= 65536);
    runtime->parallel_for(count, std::max<int64_t>(1, kGrain / work), body, this);
  }
};

// Channels of few items: those of a sample are a row, whose factors stand side by side; a short row stands there several times.
template <class T> struct ShortChannels {
  std::vector<T> center, scale, shift;

  template <class Mean, class Variance> ShortChannels(const NormJob &j, Mean mean, Variance variance) {
    const int64_t row = j.channels * j.plane, times = std::max<int64_t>(1, kRow / row);
    for (std::vector<T> *v : {&center, &scale, &shift}) v->reserve((size_t)(row * times));
    for (int64_t c = 0; c < j.channels; c++) {
      center.insert(center.end(), (size_t)j.plane, (T)mean(c));
      scale.insert(scale.end(), (size_t)j.plane, (T)(channel(j.weight, c, 1) / j.root(variance(c))));
      shift.insert(shift.end(), (size_t)j.plane, (T)channel(j.bias, c, 0));
    }
    for (std::vector<T> *v : {&center, &scale, &shift})
      for (int64_t i = 0; i < row * (times - 1); i++) v->push_back((*v)[(size_t)i]);
  }
  void apply(const NormJob &j) const {
    const int64_t n = j.samples * j.channels * j.plane, width = (int64_t)center.size(), rows = n / width;
    const T *x = reinterpret_cast<const T *>(j.x);
    T *y = reinterpret_cast<T *>(j.y);
    share(rows, width, [&](int64_t begin, int64_t end) {
      affine_rows(end - begin, width, x + begin * width, center.data(), scale.data(), shift.data(), y + begin * width);
    });
    affine_rows(1, n - rows * width, x + rows * width, center.data(), scale.data(), shift.data(), y + rows * width);
  }
};

// The normalised elements of short channels, from what `mean(channel)` and `variance(channel)` give.
template <class Mean, class Variance> void apply_short(const NormJob &j, Mean mean, Variance variance) {
  if (j.wide) ShortChannels<double>(j, mean, variance).apply(j);
  else ShortChannels<float>(j, mean, variance).apply(j);
}

// In training: statistics and elements.
void train_channels(NormJob *j) {
  const int64_t n = j->samples * j->plane;
  j->run(j->channels, n, NormJob::train);
  if (j->is_short()) apply_short(*j, [&](int64_t c) { return j->means[c]; }, [&](int64_t c) { return j->squares[c] / (double)n; });
}

// Fills the part that both ops share; false: not for us.
bool start(const WeftTensor *t, const WeftTensor *weight, const WeftTensor *bias, NormJob *job) {
  if (WEFT_NDIM(t) < 2 || !t->numel || !(t->word & WEFT_WORD_CONTIGUOUS) || records(t)) return false;
  const int dtype = WEFT_DTYPE(t);
  job->moments = weft_statistics.moments[dtype];
  job->affine = weft_statistics.affine[dtype];
  job->samples = t->sizes[0];
  job->channels = t->sizes[1];
  job->plane = t->numel / (job->samples * job->channels);
  if (!job->moments || (job->is_short() && job->plane != 1 && sum_dtype(dtype) != dtype)) return false;
  if (!is_factor(weight, dtype, job->channels) || !is_factor(bias, dtype, job->channels)) return false;
  job->weight = weight;
  job->bias = bias;
  job->item = weft_itemsize(dtype);
  job->wide = dtype == WEFT_FLOAT64;
  job->x = weft_data(t);
  return true;
}

const char *data_of(const WeftTensor *t) { return t ? weft_data(t) : nullptr; }

ColumnNorm columns_of(const WeftTensor *x, const WeftTensor *weight, const WeftTensor *bias, double eps) {
  return {WEFT_DTYPE(x), x->sizes[0], x->sizes[1], weft_data(x), data_of(weight), data_of(bias), eps};
}

// running = running * (1 - momentum) + value * momentum, each product and the sum rounded; halves in float32
template <class T, class Wide>
void follow_as(WeftTensor *running, const double *value, double scale, double momentum) {
  T *p = reinterpret_cast<T *>(weft_data(running));
  const Wide keep = (Wide)(1 - momentum), take = (Wide)momentum;
  for (int64_t i = 0; i < running->numel; i++) {
    const T old((Wide)p[i] * keep), seen((Wide)(value[i] * scale)), added((Wide)seen * take);
    p[i] = T((Wide)old + (Wide)added);
  }
  weft_bump_version(running);
}
void follow(WeftTensor *running, const double *value, double scale, double momentum) {
  switch (WEFT_DTYPE(running)) {
    case WEFT_FLOAT64: return follow_as<double, double>(running, value, scale, momentum);
    case WEFT_FLOAT32: return follow_as<float, float>(running, value, scale, momentum);
    case WEFT_FLOAT16: return follow_as<Half, float>(running, value, scale, momentum);
    default: return follow_as<BFloat16, float>(running, value, scale, momentum);
  }
}

PyObject *recorded_batch_norm(Call &call);

}  // namespace

// batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5)
PyObject *fast_batch_norm(Call &call) {
  WeftTensor *x = call.tensor(0), *mean = call.tensor(1), *var = call.tensor(2);
  const bool training = call.truth(5);
  const double momentum = call[6].real, eps = call[7].real;
  if (training && call.recording()) return recorded_batch_norm(call);
  NormJob job = {};
  if (!start(x, call.tensor(3), call.tensor(4), &job)) return UNHANDLED;
  const int64_t channels = job.channels, n = job.samples * job.plane;
  if (!is_factor(mean, WEFT_DTYPE(x), channels) || !is_factor(var, WEFT_DTYPE(x), channels)) return UNHANDLED;
  if (!mean != !var || (training ? n < 2 : !mean)) return UNHANDLED;
  if (training && mean && (WEFT_REQUIRES_GRAD(mean) || WEFT_REQUIRES_GRAD(var) || check_inplace(mean) || check_inplace(var)))
    return PyErr_Occurred() ? nullptr : UNHANDLED;
  const ColumnNorm by_column = columns_of(x, job.weight, job.bias, eps);
  const bool columns = job.plane == 1;
  if (columns && !by_column.takes()) return UNHANDLED;
  Ref out(empty(x->word, WEFT_NDIM(x), x->sizes, nullptr));
  if (!out) return nullptr;
  job.y = weft_data(as_tensor(out.get()));
  job.eps = eps;
  job.mean = mean;
  job.var = var;
  if (!training && columns) {
    by_column.evaluate(job.y, weft_data(mean), weft_data(var));
    return out.release();
  }
  if (!training) {
    if (job.is_short()) apply_short(job, [&](int64_t c) { return channel(mean, c, 0); }, [&](int64_t c) { return channel(var, c, 0); });
    else job.run(job.samples * channels, job.plane, NormJob::given);
    return out.release();
  }
  std::vector<double> found((size_t)(2 * channels));
  job.means = found.data();
  job.squares = job.means + channels;
  if (columns) by_column.train(job.y, job.means, job.squares);
  else train_channels(&job);
  if (mean) {
    follow(mean, job.means, 1, momentum);
    follow(var, job.squares, 1 / ((double)n - 1), momentum);
  }
  return out.release();
}

// group_norm(input, num_groups, weight=None, bias=None, eps=1e-5)
PyObject *fast_group_norm(Call &call) {
  WeftTensor *x = call.tensor(0);
  NormJob job = {};
  job.groups = call[1].integer;
  if (!start(x, call.tensor(2), call.tensor(3), &job)) return UNHANDLED;
  if (job.groups < 1 || job.channels % job.groups || (job.is_short() && sum_dtype(WEFT_DTYPE(x)) != WEFT_DTYPE(x))) return UNHANDLED;
  if (job.samples * job.channels / job.groups * job.plane == 1) return UNHANDLED;  // an error
  Ref out(empty(x->word, WEFT_NDIM(x), x->sizes, nullptr));
  if (!out) return nullptr;
  job.y = weft_data(as_tensor(out.get()));
  job.eps = call[4].real;
  job.run(job.samples * job.groups, x->numel / (job.samples * job.groups), NormJob::group);
  return out.release();
}

namespace {

// ------------------------------------------------------------------------------------ with gradients: the op channel_norm
// The sums over a row of g and of g times x less its mean; what a row's gradient is made of.
#define WEFT_ROWS(T)                                                                                     \
  WEFT_CLONES void row_sums(int64_t n, const T *g, const T *x, T mean, double *plain_sum, double *product) { \
    constexpr int kLanes = 64 / sizeof(T) * 2;                                                           \
    T a[kLanes] = {}, b[kLanes] = {};                                                                    \
    int64_t i = 0;                                                                                       \
    for (; i + kLanes <= n; i += kLanes)                                                                 \
      for (int k = 0; k < kLanes; k++) a[k] += g[i + k], b[k] += g[i + k] * (x[i + k] - mean);           \
    double s = 0, p = 0;                                                                                 \
    for (int k = 0; k < kLanes; k++) s += a[k], p += b[k];                                               \
    for (; i < n; i++) s += g[i], p += g[i] * (x[i] - mean);                                             \
    *plain_sum = s, *product = p;                                                                        \
  }                                                                                                      \
  WEFT_CLONES void row_gradient(int64_t n, const T *g, const T *x, T mean, T of_g, T of_x, T constant, T *out) { \
    for (int64_t i = 0; i < n; i++) out[i] = of_g * g[i] + (of_x * (x[i] - mean) + constant);            \
  }
WEFT_ROWS(float)
WEFT_ROWS(double)

// The same of few items, without a call.
template <class T> inline void sums_of_row(int64_t n, const T *g, const T *x, T mean, double *plain_sum, double *product) {
  if (n >= kShortest) return row_sums(n, g, x, mean, plain_sum, product);
  double s = 0, p = 0;
  for (int64_t i = 0; i < n; i++) s += g[i], p += g[i] * (x[i] - mean);
  *plain_sum = s, *product = p;
}
template <class T> inline void gradient_of_row(int64_t n, const T *g, const T *x, T mean, T of_g, T of_x, T constant, T *out) {
  if (n >= kShortest) return row_gradient(n, g, x, mean, of_g, of_x, constant, out);
  for (int64_t i = 0; i < n; i++) out[i] = of_g * g[i] + (of_x * (x[i] - mean) + constant);
}

template <class T> struct NormBackward {
  WeftMoments moments;
  const T *x, *g, *weight;
  T *gx, *gw, *gb;
  double *row_sums_of;                                // of every row: sum of g, of g times the normalised element
  int64_t samples, channels, groups, plane;
  bool over_samples;
  double eps;

  // The rows [sample, channel] of a group, in order.
  template <class Row> void rows(int64_t group, Row row) const {
    if (over_samples) {
      for (int64_t s = 0; s < samples; s++) row(s * channels + group, group);
    } else {
      const int64_t each = channels / groups, first = group % groups * each;
      for (int64_t c = first; c < first + each; c++) row(group / groups * channels + c, c);
    }
  }
  static void few(int64_t n, const T *x, T *mean, T *squares) {
    double center, total;
    few_moments(n, x, &center, &total);
    *mean = (T)center, *squares = (T)total;
  }
  static void run(void *context, int64_t begin, int64_t end, int64_t) {
    const NormBackward &j = *static_cast<NormBackward *>(context);
    const int64_t each = j.channels / j.groups, many = j.over_samples ? j.samples : each, n = many * j.plane;
    for (int64_t group = begin; group < end; group++) {
      T mean, squares;
      const int64_t first = j.over_samples ? group : group * each;
      const char *start = reinterpret_cast<const char *>(j.x + first * j.plane);
      if (j.over_samples) channel_moments(j.moments, j.x, j.samples, j.channels, j.plane, group, &mean, &squares);
      else if (n <= kFew) few(n, j.x + first * j.plane, &mean, &squares);
      else j.moments(1, n, start, 0, &mean, &squares);
      const double scale = 1 / std::sqrt((double)squares / (double)n + j.eps);
      double plain_sum = 0, product = 0;
      j.rows(group, [&](int64_t r, int64_t c) {
        double *sums = j.row_sums_of + 2 * r;
        sums_of_row(j.plane, j.g + r * j.plane, j.x + r * j.plane, mean, &sums[0], &sums[1]);
        sums[1] *= scale;
        const double w = j.weight ? (double)j.weight[c] : 1;
        plain_sum += w * sums[0], product += w * sums[1];
      });
      plain_sum /= (double)n, product /= (double)n;
      j.rows(group, [&](int64_t r, int64_t c) {
        const double w = j.weight ? (double)j.weight[c] : 1;
        gradient_of_row(j.plane, j.g + r * j.plane, j.x + r * j.plane, mean, (T)(w * scale), (T)(-scale * scale * product), (T)(-scale * plain_sum), j.gx + r * j.plane);
      });
    }
  }
};

// A tensor of the channels' factors; false where there is neither one nor None.
bool factors(PyObject *arg, int dtype, int64_t n, WeftTensor **out) {
  *out = arg == Py_None ? nullptr : dense(arg);
  return arg == Py_None || (*out && WEFT_DTYPE(*out) == dtype && (*out)->numel == n);
}

struct ChannelNorm {
  WeftTensor *x, *weight, *bias;
  int64_t samples, channels, groups, plane;
  bool over_samples;
  double eps;

  // (input, weight, bias, groups, over_samples, eps)
  bool read(PyObject *const *args) {
    x = dense(args[0]);
    if (!x || WEFT_NDIM(x) < 2 || !x->numel || (WEFT_DTYPE(x) != WEFT_FLOAT32 && WEFT_DTYPE(x) != WEFT_FLOAT64)) return false;
    samples = x->sizes[0], channels = x->sizes[1], plane = x->numel / (samples * channels);
    if (!factors(args[1], WEFT_DTYPE(x), channels, &weight) || !factors(args[2], WEFT_DTYPE(x), channels, &bias)) return false;
    if (!exact_int(args[3], &groups) || !exact_bool(args[4], &over_samples) || !PyFloat_CheckExact(args[5])) return false;
    eps = PyFloat_AS_DOUBLE(args[5]);
    if (groups < 1 || channels % groups || !weft_statistics.moments[WEFT_DTYPE(x)] || (over_samples && groups != channels)) return false;
    return !by_column() || columns().takes();
  }
  bool by_column() const { return plane == 1 && over_samples; }
  ColumnNorm columns() const { return columns_of(x, weight, bias, eps); }
};

// ((out, mean, var), input, weight, bias, groups, over_samples, eps)
PyObject *channel_norm_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  ChannelNorm c;
  if (nargs != 7 || !PyTuple_Check(args[0]) || PyTuple_GET_SIZE(args[0]) != 3) return not_for_these();
  WeftTensor *out = dense(PyTuple_GET_ITEM(args[0], 0)), *mean = dense(PyTuple_GET_ITEM(args[0], 1)), *var = dense(PyTuple_GET_ITEM(args[0], 2));
  if (!out || !mean || !var || !c.read(args + 1)) return not_for_these();
  const int dtype = WEFT_DTYPE(c.x);
  const int64_t count = c.over_samples ? c.channels : c.samples * c.groups, n = c.x->numel / count;
  if (WEFT_DTYPE(out) != dtype || WEFT_DTYPE(mean) != dtype || WEFT_DTYPE(var) != dtype || out->numel != c.x->numel || mean->numel != count || var->numel != count) return not_for_these();
  NormJob job = {weft_statistics.moments[dtype], weft_statistics.affine[dtype], weft_data(c.x), weft_data(out), c.samples, c.channels, c.groups,
                 c.plane, weft_itemsize(dtype), c.weight, c.bias, nullptr, nullptr, c.eps, nullptr, nullptr, dtype == WEFT_FLOAT64};
  std::vector<double> found((size_t)(2 * count));
  job.means = found.data(), job.squares = job.means + count;
  if (c.by_column()) c.columns().train(job.y, job.means, job.squares);
  else if (c.over_samples) train_channels(&job);
  else job.run(count, n, NormJob::group);
  const int64_t item = weft_itemsize(dtype);
  for (int64_t i = 0; i < count; i++) job.put(weft_data(mean) + i * item, job.means[i]), job.put(weft_data(var) + i * item, job.squares[i] / (double)n);
  return written();
}

template <class T> PyObject *backward(const ChannelNorm &c, WeftTensor *g, WeftTensor *const *out) {
  const int64_t rows = c.samples * c.channels, count = c.over_samples ? c.channels : c.samples * c.groups;
  std::vector<double> sums((size_t)(2 * rows));
  auto data = [](WeftTensor *t) { return t ? reinterpret_cast<T *>(weft_data(t)) : nullptr; };
  NormBackward<T> job = {weft_statistics.moments[WEFT_DTYPE(c.x)], data(c.x), data(g), data(c.weight), data(out[0]), data(out[1]), data(out[2]),
                         sums.data(), c.samples, c.channels, c.groups, c.plane, c.over_samples, c.eps};
  Loop::parallel(c.x->numel, count, c.x->numel / count, NormBackward<T>::run, &job);
  for (int64_t i = 0; i < c.channels; i++) {
    double plain_sum = 0, product = 0;
    for (int64_t s = 0; s < c.samples; s++) plain_sum += sums[(size_t)(2 * (s * c.channels + i))], product += sums[(size_t)(2 * (s * c.channels + i) + 1)];
    job.gb[i] = (T)plain_sum, job.gw[i] = (T)product;
  }
  return written();
}

// ((gradient of input, of weight, of bias), grad, input, weight, groups, over_samples, eps)
PyObject *channel_norm_backward_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  ChannelNorm c;
  if (nargs != 7 || !PyTuple_Check(args[0]) || PyTuple_GET_SIZE(args[0]) != 3) return not_for_these();
  PyObject *form[6] = {args[2], args[3], Py_None, args[4], args[5], args[6]};
  WeftTensor *out[3], *g = plain(args[1]);
  for (int i = 0; i < 3; i++) out[i] = dense(PyTuple_GET_ITEM(args[0], i));
  if (!out[0] || !out[1] || !out[2] || !g || !c.read(form)) return not_for_these();
  Ref kept(row_major(g));
  if (!kept) return PyErr_Occurred() ? nullptr : not_for_these();
  g = as_tensor(kept.get());
  const int dtype = WEFT_DTYPE(c.x);
  for (WeftTensor *t : {out[0], out[1], out[2], g})
    if (WEFT_DTYPE(t) != dtype) return not_for_these();
  if (g->numel != c.x->numel || out[0]->numel != c.x->numel || out[1]->numel != c.channels || out[2]->numel != c.channels) return not_for_these();
  if (c.by_column()) {
    c.columns().backward(weft_data(g), weft_data(out[0]), weft_data(out[1]), weft_data(out[2]));
    return written();
  }
  return dtype == WEFT_FLOAT32 ? backward<float>(c, g, out) : backward<double>(c, g, out);
}

// In training, with history: channel_norm is recorded, whose statistics the running ones follow.
PyObject *recorded_batch_norm(Call &call) {
  WeftTensor *x = call.tensor(0), *running[2] = {call.tensor(1), call.tensor(2)};
  const int dtype = WEFT_DTYPE(x);
  if (WEFT_NDIM(x) < 2 || !x->numel || (dtype != WEFT_FLOAT32 && dtype != WEFT_FLOAT64) || !core_ops[CORE_CHANNEL_NORM]) return UNHANDLED;
  const int64_t channels = x->sizes[1], n = x->numel / channels;
  if (!(x->word & WEFT_WORD_CONTIGUOUS) || n < 2 || !running[0] != !running[1] || running[0] == running[1]) return UNHANDLED;
  for (WeftTensor *t : {call.tensor(3), call.tensor(4)})
    if (t && (WEFT_DTYPE(t) != dtype || t->numel != channels)) return UNHANDLED;
  for (WeftTensor *t : running)
    if (running[0] && (!is_factor(t, dtype, channels) || WEFT_REQUIRES_GRAD(t) || t->storage == x->storage)) return UNHANDLED;
  for (WeftTensor *t : running)
    if (running[0] && check_inplace(t) < 0) return nullptr;
  Ref groups(PyLong_FromLongLong(channels));
  PyObject *args[7] = {nullptr, call[0].object, call[3].object, call[4].object, groups.get(), Py_True, call[7].object};
  Ref made(groups ? PyObject_Vectorcall(as_object(core_ops[CORE_CHANNEL_NORM]), args + 1, 6 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr) : nullptr);
  Ref results(made ? PySequence_Tuple(made.get()) : nullptr);
  if (!results) return nullptr;
  for (int k = 0; running[0] && k < 2; k++) {
    const WeftTensor *found = as_tensor(PyTuple_GET_ITEM(results.get(), k + 1));
    std::vector<double> values((size_t)channels);
    const double scale = k ? (double)n / ((double)n - 1) : 1;  // (the product is rounded to the dtype of both)
    for (int64_t i = 0; i < channels; i++) {
      const double value = channel(found, i, 0);
      values[(size_t)i] = dtype == WEFT_FLOAT32 ? (double)((float)value * (float)scale) : value * scale;
    }
    follow(running[k], values.data(), 1, call[6].real);
  }
  return Py_NewRef(PyTuple_GET_ITEM(results.get(), 0));
}

}  // namespace

// channel_norm(input, weight, bias, groups, over_samples, eps)
PyObject *fast_channel_norm(Call &call) {
  WeftTensor *x = call.tensor(0);
  PyObject *args[7];
  for (int i = 0; i < 6; i++) args[i + 1] = call[i].object;
  ChannelNorm c;
  if (!c.read(args + 1)) return UNHANDLED;
  const int64_t statistics[2] = {c.over_samples ? c.channels : c.samples, c.groups};
  Ref outs(PyTuple_New(3));
  for (int i = 0; outs && i < 3; i++) {
    PyObject *out = i ? empty(x->word, c.over_samples ? 1 : 2, statistics, nullptr) : empty(x->word, WEFT_NDIM(x), x->sizes, nullptr);
    if (!out) return nullptr;
    PyTuple_SET_ITEM(outs.get(), i, out);
  }
  if (!outs) return nullptr;
  args[0] = outs.get();
  Ref done(channel_norm_kernel(nullptr, args, 7));
  if (!done) return nullptr;
  if (done.get() == Py_NotImplemented) return UNHANDLED;
  PyObject *const *results = &PyTuple_GET_ITEM(outs.get(), 0);
  return call.record(results, 3) ? named_results(call.op, results, 3) : nullptr;
}

const NativeKernel norm_kernels[] = {{"channel_norm", WEFT_KERNEL(channel_norm_kernel)},
                                     {"channel_norm_backward", WEFT_KERNEL(channel_norm_backward_kernel)},
                                     {nullptr, nullptr}};

}  // namespace weft

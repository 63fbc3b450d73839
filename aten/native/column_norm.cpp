// column_norm.cpp: see column_norm.h. Columns are taken a block at a time, which stays in cache from one pass to the next.
#include "column_norm.h"

#include <algorithm>
#include <cmath>

#include "clones.h"
#include "native_kernel.h"
#include "released.h"
#include "statistics.h"

namespace weft {
namespace {

constexpr int64_t kColumns = 64;  // of a block
constexpr int64_t kRows = 64;     // whose sums are of the dtype; theirs are float64

#define WEFT_COLUMNS(T)                                                                                                              \
  WEFT_CLONES void affine(int64_t rows, int64_t width, int64_t stride, const T *x, const T *center, const T *scale, const T *shift, T *y) { \
    for (int64_t r = 0; r < rows; r++, x += stride, y += stride)                                                                     \
      for (int64_t k = 0; k < width; k++) y[k] = (x[k] - center[k]) * scale[k] + shift[k];                                           \
  }                                                                                                                                  \
  WEFT_CLONES void sums(int64_t rows, int64_t width, int64_t stride, const T *g, const T *x, const T *center, T *plain, T *product) { \
    for (int64_t r = 0; r < rows; r++, x += stride, g += stride)                                                                     \
      for (int64_t k = 0; k < width; k++) plain[k] += g[k], product[k] += g[k] * (x[k] - center[k]);                                 \
  }                                                                                                                                  \
  WEFT_CLONES void gradient(int64_t rows, int64_t width, int64_t stride, const T *g, const T *x, const T *center, const T *of_g,     \
                             const T *of_x, const T *constant, T *out) {                                                             \
    for (int64_t r = 0; r < rows; r++, x += stride, g += stride, out += stride)                                                      \
      for (int64_t k = 0; k < width; k++) out[k] = of_g[k] * g[k] + (of_x[k] * (x[k] - center[k]) + constant[k]);                    \
  }
WEFT_COLUMNS(float)
WEFT_COLUMNS(double)

template <class T> const T *column(const char *data, int64_t first) { return data ? reinterpret_cast<const T *>(data) + first : nullptr; }

template <class T> struct Job {
  const ColumnNorm &norm;
  char *y = nullptr, *gx = nullptr, *gw = nullptr, *gb = nullptr;
  const char *mean = nullptr, *variance = nullptr, *g = nullptr;
  double *means = nullptr, *squares = nullptr;

  void apply(int64_t first, int64_t width, const T *center, const T *variances) const {
    T scale[kColumns], shift[kColumns];
    const T *weight = column<T>(norm.weight, first), *bias = column<T>(norm.bias, first);
    for (int64_t k = 0; k < width; k++) {
      scale[k] = (T)((weight ? (double)weight[k] : 1.0) / std::sqrt(variances[k] + (T)norm.eps));
      shift[k] = bias ? bias[k] : T();
    }
    affine(norm.samples, width, norm.channels, column<T>(norm.x, first), center, scale, shift, reinterpret_cast<T *>(y) + first);
  }

  void moments(int64_t first, int64_t width, T *center, T *total) const {
    const int64_t item = sizeof(T);
    weft_statistics.moments_columns[norm.dtype](norm.samples, width, norm.x + first * item, norm.channels * item, center, total);
  }

  static void train(void *context, int64_t begin, int64_t end, int64_t) {
    const Job &j = *static_cast<Job *>(context);
    T center[kColumns], total[kColumns], variances[kColumns];
    for (int64_t block = begin; block < end; block++) {
      const int64_t first = block * kColumns, width = std::min(kColumns, j.norm.channels - first);
      j.moments(first, width, center, total);
      for (int64_t k = 0; k < width; k++) {
        j.means[first + k] = center[k], j.squares[first + k] = total[k];
        variances[k] = (T)((double)total[k] / (double)j.norm.samples);
      }
      j.apply(first, width, center, variances);
    }
  }

  static void evaluate(void *context, int64_t begin, int64_t end, int64_t) {
    const Job &j = *static_cast<Job *>(context);
    for (int64_t block = begin; block < end; block++) {
      const int64_t first = block * kColumns, width = std::min(kColumns, j.norm.channels - first);
      j.apply(first, width, column<T>(j.mean, first), column<T>(j.variance, first));
    }
  }

  static void backward(void *context, int64_t begin, int64_t end, int64_t) {
    const Job &j = *static_cast<Job *>(context);
    const ColumnNorm &norm = j.norm;
    const double n = (double)norm.samples;
    T center[kColumns], total[kColumns], of_g[kColumns], of_x[kColumns], constant[kColumns];
    for (int64_t block = begin; block < end; block++) {
      const int64_t first = block * kColumns, width = std::min(kColumns, norm.channels - first);
      const T *g = column<T>(j.g, first), *x = column<T>(norm.x, first), *weight = column<T>(norm.weight, first);
      double plain[kColumns] = {}, product[kColumns] = {};
      j.moments(first, width, center, total);
      for (int64_t row = 0; row < norm.samples; row += kRows) {
        T some[kColumns] = {}, more[kColumns] = {};
        sums(std::min(kRows, norm.samples - row), width, norm.channels, g + row * norm.channels, x + row * norm.channels, center, some, more);
        for (int64_t k = 0; k < width; k++) plain[k] += some[k], product[k] += more[k];
      }
      for (int64_t k = 0; k < width; k++) {
        const double scale = 1 / std::sqrt((double)total[k] / n + norm.eps), w = weight ? (double)weight[k] : 1;
        of_g[k] = (T)(w * scale), of_x[k] = (T)(-w * scale * scale * scale * product[k] / n), constant[k] = (T)(-w * scale * plain[k] / n);
        reinterpret_cast<T *>(j.gw)[first + k] = (T)(product[k] * scale), reinterpret_cast<T *>(j.gb)[first + k] = (T)plain[k];
      }
      gradient(norm.samples, width, norm.channels, g, x, center, of_g, of_x, constant, reinterpret_cast<T *>(j.gx) + first);
    }
  }

  void run(void (*body)(void *, int64_t, int64_t, int64_t)) {
    const WeftKernelRuntime *runtime = kernel_runtime();
    Released released(norm.samples * norm.channels >= 65536);
    runtime->parallel_for((norm.channels + kColumns - 1) / kColumns, std::max<int64_t>(1, 16384 / (norm.samples * kColumns)), body, this);
  }
};

template <class Fill> void with_job(const ColumnNorm &norm, Fill fill) {
  if (norm.dtype == WEFT_FLOAT32) {
    Job<float> job = {norm};
    fill(job);
  } else {
    Job<double> job = {norm};
    fill(job);
  }
}

}  // namespace

bool ColumnNorm::takes() const { return (dtype == WEFT_FLOAT32 || dtype == WEFT_FLOAT64) && weft_statistics.moments_columns[dtype]; }

void ColumnNorm::train(char *y, double *means, double *squares) const {
  with_job(*this, [&](auto &job) { job.y = y, job.means = means, job.squares = squares, job.run(job.train); });
}

void ColumnNorm::evaluate(char *y, const char *mean, const char *variance) const {
  with_job(*this, [&](auto &job) { job.y = y, job.mean = mean, job.variance = variance, job.run(job.evaluate); });
}

void ColumnNorm::backward(const char *g, char *gx, char *gw, char *gb) const {
  with_job(*this, [&](auto &job) { job.g = g, job.gx = gx, job.gw = gw, job.gb = gb, job.run(job.backward); });
}

}  // namespace weft

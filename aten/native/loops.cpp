// loops.cpp: see loops.h. Dimensions are put in the order of the result's memory, adjacent ones that step alike become one,
// and the innermost is handed to the loop.
#include "loops.h"

#include <algorithm>

#include "by_dtype.h"
#include "released.h"

namespace weft {

constexpr int64_t kGrain = 16384;     // elements worth a thread
constexpr int64_t kRelease = 65536;   // elements worth giving up the GIL
constexpr int64_t kTiled = 1024;      // elements worth tiles

void Loop::add(const WeftTensor *t) {
  Operand &o = operands_[n_++];
  int item = weft_itemsize(WEFT_DTYPE(t)), extra = ndim_ - WEFT_NDIM(t);
  o.data = t->storage->data ? weft_data(t) : nullptr;
  o.item = item;
  for (int i = 0; i < ndim_; i++)
    o.steps[i] = i < extra || (t->sizes[i - extra] == 1 && sizes_[i] != 1) ? 0 : t->strides[i - extra] * item;
}

void Loop::collapse() {
  int order[WEFT_MAX_NDIM], n = 0;
  for (int i = 0; i < ndim_; i++)
    if (sizes_[i] != 1) order[n++] = i;
  const Operand &out = operands_[n_ - 1];
  std::stable_sort(order, order + n, [&](int a, int b) { return out.steps[a] > out.steps[b]; });
  Operand packed[kMaxOperands];
  int64_t extents[WEFT_MAX_NDIM];
  int m = 0;
  for (int k = 0; k < n; k++) {
    int dim = order[k];
    bool joins = m > 0;
    for (int p = 0; joins && p < n_; p++) joins = packed[p].steps[m - 1] == operands_[p].steps[dim] * sizes_[dim];
    if (joins) {
      extents[m - 1] *= sizes_[dim];
    } else {
      extents[m++] = sizes_[dim];
    }
    for (int p = 0; p < n_; p++) packed[p].steps[m - 1] = operands_[p].steps[dim];
  }
  if (m == 0) {
    extents[0] = 1;
    for (int p = 0; p < n_; p++) packed[p].steps[0] = 0;
    m = 1;
  }
  for (int p = 0; p < n_; p++) std::copy(packed[p].steps, packed[p].steps + m, operands_[p].steps);
  std::copy(extents, extents + m, extents_);
  ndim_ = m;
}

// The part [begin, end) of the outer iterations, or of the inner ones when there is a single outer iteration.
struct LoopJob {
  const Loop *loop;
  WeftLoop body;
  void *data;
  int64_t copied;  // bytes of a row where rows are copied by registers

  static void inner(void *ctx, int64_t begin, int64_t end, int64_t) {
    LoopJob *job = static_cast<LoopJob *>(ctx);
    const Loop &l = *job->loop;
    char *args[kMaxOperands];
    intptr_t steps[kMaxOperands], n = end - begin;
    for (int p = 0; p < l.n_; p++) {
      steps[p] = l.operands_[p].steps[l.ndim_ - 1];
      args[p] = l.operands_[p].data + begin * steps[p];
    }
    job->body(args, &n, steps, job->data);
  }

  // Of N operands, which is known here so that what goes on from row to row stays in registers.
  template <int N> static void outer(void *ctx, int64_t begin, int64_t end, int64_t) {
    LoopJob *job = static_cast<LoopJob *>(ctx);
    const Loop &l = *job->loop;
    const int last = l.ndim_ - 1;
    const WeftLoop body = job->body;
    int64_t at[WEFT_MAX_NDIM], rest = begin;
    char *args[N];
    intptr_t steps[N], down[N], n = l.extents_[last];
    for (int d = last - 1; d >= 0; d--) {
      at[d] = rest % l.extents_[d];
      rest /= l.extents_[d];
    }
    for (int p = 0; p < N; p++) {
      steps[p] = l.operands_[p].steps[last], down[p] = l.operands_[p].steps[last - 1];
      args[p] = l.operands_[p].data;
      for (int d = 0; d < last; d++) args[p] += at[d] * l.operands_[p].steps[d];
    }
    for (int64_t i = begin; i < end;) {
      const int64_t rows = std::min(end - i, l.extents_[last - 1] - at[last - 1]);
      if (N == 2 && job->copied) {
        weft_kernels.copy_rows(args[0], down[0], args[N - 1], down[N - 1], rows, job->copied);
        for (int p = 0; p < N; p++) args[p] += rows * down[p];
      } else {
        for (int64_t row = 0; row < rows; row++) {
          char *now[N];
          for (int p = 0; p < N; p++) now[p] = args[p], args[p] += down[p];
          body(now, &n, steps, job->data);
        }
      }
      i += rows, at[last - 1] += rows;
      for (int d = last - 1; d >= 0 && at[d] == l.extents_[d]; d--) {
        at[d] = 0;
        for (int p = 0; p < N; p++) args[p] += (d ? l.operands_[p].steps[d - 1] : 0) - l.extents_[d] * l.operands_[p].steps[d];
        if (d) at[d - 1]++;
      }
    }
  }
};

// Rows too short to be worth a call of the loop each, of a result whose rows follow each other: what the operands show is laid out for
// many rows at a time, so that they are one row.
struct RowsJob {
  static constexpr int64_t kShort = 32, kBytes = 8192;  // elements of a row; of what is laid out of an operand

  const Loop *loop;
  WeftLoop body;
  void *data;

  enum Kind { AS_IT_IS, REPEATED, LAID_OUT };
  static Kind kind_of(const Loop &l, const Operand &o) {
    const int last = l.ndim_ - 1;
    const int64_t along = o.steps[last], down = o.steps[last - 1], n = l.extents_[last];
    if ((along == 0 && down == 0) || (along == o.item && down == n * o.item)) return AS_IT_IS;
    return down == 0 ? REPEATED : LAID_OUT;
  }
  static bool pays(const Loop &l) {
    const int last = l.ndim_ - 1;
    if (l.ndim_ < 2 || l.extents_[last] > kShort || l.extents_[last - 1] < 4) return false;
    const Operand &out = l.operands_[l.n_ - 1];
    if (out.steps[last] != out.item || out.steps[last - 1] != l.extents_[last] * out.item) return false;
    bool some = false;
    for (int p = 0; p < l.n_; p++) {
      const Kind kind = kind_of(l, l.operands_[p]);
      if (kind != AS_IT_IS && !(l.operands_[p].item && l.operands_[p].item <= 16 && !(l.operands_[p].item & (l.operands_[p].item - 1)))) return false;
      some = some || kind != AS_IT_IS;
    }
    return some;
  }

  template <class T> static void lay_out(const Loop &l, const Operand &o, const char *from, int64_t rows, char *to) {
    const int last = l.ndim_ - 1;
    const int64_t n = l.extents_[last], along = o.steps[last], down = o.steps[last - 1];
    T *out = reinterpret_cast<T *>(to);
    for (int64_t r = 0; r < rows; r++, from += down, out += n) {
      const T *row = reinterpret_cast<const T *>(from);
      if (along == 0) {
        const T value = *row;
        for (int64_t i = 0; i < n; i++) out[i] = value;
      } else if (along == (int64_t)sizeof(T)) {
        for (int64_t i = 0; i < n; i++) out[i] = row[i];
      } else {
        for (int64_t i = 0; i < n; i++) out[i] = *reinterpret_cast<const T *>(from + i * along);
      }
    }
  }

  static void run(void *ctx, int64_t begin, int64_t end, int64_t) {
    RowsJob *job = static_cast<RowsJob *>(ctx);
    const Loop &l = *job->loop;
    const int last = l.ndim_ - 1;
    const int64_t n = l.extents_[last], height = l.extents_[last - 1];
    alignas(64) char memory[kMaxOperands][kBytes];
    const char *shown[kMaxOperands] = {};  // of repeated rows, what is laid out, and how often
    int64_t times[kMaxOperands] = {}, most = kBytes / n;
    for (int p = 0; p < l.n_; p++) most = std::min(most, kBytes / (n * std::max<int64_t>(1, l.operands_[p].item)));
    for (int64_t i = begin; i < end;) {
      const int64_t row = i % height, rows = std::min({end - i, height - row, most});
      char *args[kMaxOperands];
      intptr_t steps[kMaxOperands], count = rows * n;
      for (int p = 0; p < l.n_; p++) {
        const Operand &o = l.operands_[p];
        const Kind kind = kind_of(l, o);
        char *at = o.data + row * o.steps[last - 1];
        int64_t rest = i / height;
        for (int d = last - 2; d >= 0; d--) at += rest % l.extents_[d] * o.steps[d], rest /= l.extents_[d];
        args[p] = kind == AS_IT_IS ? at : memory[p];
        steps[p] = kind == AS_IT_IS ? o.steps[last] : o.item;
        if (kind == AS_IT_IS || (kind == REPEATED && shown[p] == at && times[p] >= rows)) continue;
        by_size<bool>((int)o.item, false, [&](auto type) { return lay_out<typename decltype(type)::type>(l, o, at, rows, memory[p]), true; });
        shown[p] = at, times[p] = rows;
      }
      job->body(args, &count, steps, job->data);
      i += rows;
    }
  }
};

// A copy of short runs of adjacent items is a copy of larger items.
void Loop::widen_items(WeftLoop *body) {
  Operand &in = operands_[0], &out = operands_[1];
  int64_t item = in.item, last = ndim_ - 1;
  if (n_ != 2 || ndim_ < 2 || item == 0 || item != out.item || *body != weft_kernels.copy[__builtin_ctzll((unsigned long long)item)]) return;
  int64_t bytes = extents_[last] * item;
  if (in.steps[last] != item || out.steps[last] != item || bytes > 16 || (bytes & (bytes - 1))) return;
  in.item = out.item = bytes;
  *body = weft_kernels.copy[__builtin_ctzll((unsigned long long)bytes)];
  ndim_--;
}

// The bytes of a row of adjacent items that are copied; 0 where the loop does something else or rows are long enough for the C library.
int64_t Loop::copied_bytes(WeftLoop body) const {
  const Operand &in = operands_[0], &out = operands_[1];
  const int64_t item = in.item, last = ndim_ - 1, bytes = extents_[last] * item;
  if (n_ != 2 || item == 0 || item != out.item || in.steps[last] != item || out.steps[last] != item || bytes < 4 || bytes > WEFT_LONGEST_COPY) return 0;
  if (body != weft_kernels.copy[__builtin_ctzll((unsigned long long)item)] || !weft_kernels.copy_rows) return 0;
  const char *low[2], *high[2];
  for (int p = 0; p < 2; p++) {
    low[p] = high[p] = operands_[p].data;
    for (int d = 0; d < ndim_; d++) (operands_[p].steps[d] < 0 ? low[p] : high[p]) += operands_[p].steps[d] * (extents_[d] - 1);
    high[p] += item;
  }
  return high[0] <= low[1] || high[1] <= low[0] ? bytes : 0;
}

void Loop::parallel(int64_t total, int64_t n, int64_t each, void (*part)(void *, int64_t, int64_t, int64_t), void *job) {
  if (total < 2 * kGrain) {
    part(job, 0, n, 0);
    return;
  }
  const WeftKernelRuntime *runtime = kernel_runtime();
  Released released(total >= kRelease);
  runtime->parallel_for(n, std::max<int64_t>(1, kGrain / each), part, job);
}

void Loop::run(WeftLoop body, void *data) {
  int64_t total = 1;
  for (int i = 0; i < ndim_; i++) total *= sizes_[i];
  if (total == 0) return;
  collapse();
  if (total >= kTiled) {
    widen_items(&body);
    if (run_tiles(body, data, total)) return;
  }
  LoopJob job = {this, body, data, 0};
  int64_t outer = 1, inner = extents_[ndim_ - 1];
  for (int i = 0; i < ndim_ - 1; i++) outer *= extents_[i];
  RowsJob rows = {this, body, data};
  if (outer > 1) job.copied = copied_bytes(body);
  if (outer == 1) parallel(total, inner, 1, LoopJob::inner, &job);
  else if (!job.copied && RowsJob::pays(*this)) parallel(total, outer, inner, RowsJob::run, &rows);
  else {
    static constexpr decltype(&LoopJob::inner) by_operands[kMaxOperands] = {LoopJob::outer<1>, LoopJob::outer<2>, LoopJob::outer<3>, LoopJob::outer<4>};
    parallel(total, outer, inner, by_operands[n_ - 1], &job);
  }
}

}  // namespace weft

// search_kernels.cpp: kernels of search and of counting: searchsorted, bincount, unique elements.
#include <string.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "by_dtype.h"
#include "native_kernel.h"

namespace weft {

namespace {

struct SearchJob {
  const char *rows, *x;
  char *out;
  int64_t n, each;  // of a row; values that are looked for in it
  bool right, narrow;

  // The first element of the row that does not stand before each of N values, NaN behind all numbers: no branch on what is found, and
  // the values' reads of memory do not wait for each other.
  template <class T, int N, bool kRight> void find(const T *row, const T *x, int64_t i) const {
    const T *low[N];
    T value[N];
    const auto further = [&](int k, const T *at) { return kRight ? *at <= value[k] : *at < value[k]; };
#pragma GCC unroll 8
    for (int k = 0; k < N; k++) low[k] = row, value[k] = x[k];
    int64_t left = n;
    for (; left > 1; left -= left / 2) {
      const int64_t half = left / 2;
#pragma GCC unroll 8
      for (int k = 0; k < N; k++) low[k] += half & -(int64_t)further(k, low[k] + half - 1);
    }
#pragma GCC unroll 8
    for (int k = 0; k < N; k++) {
      int64_t at = low[k] - row + (left && further(k, low[k]));
      if (value[k] != value[k]) at = kRight ? n : std::partition_point(row, row + n, [](T v) { return v == v; }) - row;
      if (narrow) reinterpret_cast<int32_t *>(out)[i + k] = (int32_t)at;
      else reinterpret_cast<int64_t *>(out)[i + k] = at;
    }
  }

  template <class T, bool kRight> void search(int64_t begin, int64_t end) const {
    constexpr int kTogether = 8;  // (their places stay in registers)
    for (int64_t i = begin; i < end;) {
      const T *row = reinterpret_cast<const T *>(rows) + i / each * n, *values = reinterpret_cast<const T *>(x);
      const int64_t stop = std::min(end, (i / each + 1) * each);
      for (; i + kTogether <= stop; i += kTogether) find<T, kTogether, kRight>(row, values + i, i);
      for (; i < stop; i++) find<T, 1, kRight>(row, values + i, i);
    }
  }

  template <class T> static void run(void *context, int64_t begin, int64_t end, int64_t) {
    const SearchJob &job = *static_cast<SearchJob *>(context);
    if (job.right) job.search<T, true>(begin, end);
    else job.search<T, false>(begin, end);
  }
};

// (out, rows, x, out_int32, right)
PyObject *searchsorted_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  bool narrow, right;
  WeftTensor *out = nargs == 5 ? dense(args[0]) : nullptr, *rows = out ? plain(args[1]) : nullptr, *x = rows ? plain(args[2]) : nullptr;
  if (!x || !exact_bool(args[3], &narrow) || !exact_bool(args[4], &right) || WEFT_DTYPE(x) != WEFT_DTYPE(rows) || !WEFT_NDIM(rows)) return not_for_these();
  if (WEFT_DTYPE(out) != (narrow ? WEFT_INT32 : WEFT_INT64) || out->numel != x->numel) return not_for_these();
  const int64_t n = rows->sizes[WEFT_NDIM(rows) - 1];
  if (!x->numel) return written();
  if (WEFT_NDIM(rows) > 1 && (!n || !x->numel || rows->numel / n != x->numel / std::max<int64_t>(1, x->sizes[WEFT_NDIM(x) - 1]))) return not_for_these();
  Ref kept[2] = {row_major(rows), row_major(x)};
  if (!kept[0] || !kept[1]) return PyErr_Occurred() ? nullptr : not_for_these();
  SearchJob job = {weft_data(as_tensor(kept[0].get())), weft_data(as_tensor(kept[1].get())), weft_data(out), n,
                   WEFT_NDIM(rows) > 1 ? x->sizes[WEFT_NDIM(x) - 1] : x->numel, right, narrow};
  void (*body)(void *, int64_t, int64_t, int64_t);
  switch (WEFT_DTYPE(x)) {
    case WEFT_FLOAT32: body = SearchJob::run<float>; break;
    case WEFT_FLOAT64: body = SearchJob::run<double>; break;
    case WEFT_INT64: body = SearchJob::run<int64_t>; break;
    case WEFT_INT32: body = SearchJob::run<int32_t>; break;
    default: return not_for_these();
  }
  Loop::parallel(x->numel, x->numel, 1, body, &job);
  return written();
}

// (x, weights, minlength) -> counts
PyObject *bincount_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  int64_t least;
  WeftTensor *x = nargs == 3 ? dense(args[0]) : nullptr;
  if (!x || args[1] != Py_None || !exact_int(args[2], &least) || least < 0 || WEFT_NDIM(x) != 1 || WEFT_DTYPE(x) != WEFT_INT64) return not_for_these();
  const int64_t *at = reinterpret_cast<const int64_t *>(weft_data(x)), n = x->numel;
  int64_t high = least - 1;
  for (int64_t i = 0; i < n; i++) {
    if (at[i] < 0) return not_for_these();
    high = std::max(high, at[i]);
  }
  const int64_t size = high + 1;
  Ref out(empty(WEFT_INT64, 1, &size, nullptr));
  if (!out) return nullptr;
  int64_t *counts = reinterpret_cast<int64_t *>(weft_data(as_tensor(out.get())));
  if (size) memset(counts, 0, (size_t)size * sizeof(int64_t));
  for (int64_t i = 0; i < n; i++)
    if (const int64_t place = at[i]; (uint64_t)place < (uint64_t)size) counts[place]++;  // another thread may have written it since
  return out.release();
}

// The counts of the elements of [low, high] in equal intervals, the last of which has its end; others are in none.
template <class T> bool count_intervals(const WeftTensor *x, WeftTensor *out, double least, double greatest) {
  const T *from = reinterpret_cast<const T *>(weft_data(x));
  T low = (T)least, high = (T)greatest;
  if (low == high && x->numel) {
    low = high = from[0];
    for (int64_t i = 0; i < x->numel; i++) {
      if (!(from[i] - from[i] == 0)) return false;
      low = std::min(low, from[i]), high = std::max(high, from[i]);
    }
  }
  if (low == high) low -= 1, high += 1;
  if (!(high - low > 0 && high - low <= std::numeric_limits<T>::max())) return false;
  const int64_t bins = out->numel;
  std::vector<int64_t> counts((size_t)bins + 1);  // the last: of what is in none
  const T width = high - low, number = (T)bins;
  for (int64_t i = 0; i < x->numel; i++) {
    const bool inside = from[i] >= low && from[i] <= high;
    const int64_t at = inside ? (int64_t)((from[i] - low) * number / width) : bins;
    counts[(size_t)(inside ? std::min(std::max<int64_t>(at, 0), bins - 1) : bins)]++;
  }
  std::copy(counts.begin(), counts.end() - 1, reinterpret_cast<T *>(weft_data(out)));
  return true;
}

// (out, x, bins, min, max)
PyObject *histc_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 5 ? dense(args[0]) : nullptr, *x = out ? dense(args[1]) : nullptr;
  if (!x || WEFT_DTYPE(x) != WEFT_DTYPE(out) || !is_number(args[3]) || !is_number(args[4])) return not_for_these();
  const double low = PyFloat_AsDouble(args[3]), high = PyFloat_AsDouble(args[4]);
  if (PyErr_Occurred()) return nullptr;
  const bool counted = WEFT_DTYPE(x) == WEFT_FLOAT32 ? count_intervals<float>(x, out, low, high) : WEFT_DTYPE(x) == WEFT_FLOAT64 && count_intervals<double>(x, out, low, high);
  return counted ? written() : not_for_these();
}

// ------------------------------------------------------------------------------------------------- unique elements
// Runs of equal elements of `values`, n of them: how many, and at `firsts` where each begins.
template <class T> int64_t find_runs(const char *values, int64_t n, int64_t *firsts) {
  const T *x = reinterpret_cast<const T *>(values);
  int64_t runs = 0;
  for (int64_t i = 0; i < n; i++) {
    firsts[runs] = i;
    runs += i == 0 || x[i] != x[i - 1];
  }
  return runs;
}

int64_t runs_of(int dtype, const char *values, int64_t n, int64_t *firsts) {
  return by_dtype<int64_t>(dtype, -1, [&](auto type) { return find_runs<typename decltype(type)::type>(values, n, firsts); });
}

// The first element of each run, at `to`, which has room for n; how many there are. No branch: which elements differ nobody foresees.
template <class T> int64_t firsts_alone(const char *values, int64_t n, char *to) {
  const T *x = reinterpret_cast<const T *>(values);
  T *out = reinterpret_cast<T *>(to);
  if (n) out[0] = x[0];
  int64_t runs = n > 0;
  for (int64_t i = 1; i < n; i++) {
    out[runs] = x[i];  // (written over if it is none)
    runs += x[i] != x[i - 1];
  }
  return runs;
}

PyObject *ints(int64_t n) { return empty(WEFT_INT64, 1, &n, nullptr); }
int64_t *data_of(const Ref &t) { return reinterpret_cast<int64_t *>(weft_data(as_tensor(t.get()))); }

// (first element of each run, the run of each element, how long each is): `order` says where the elements of `values` stood, NULL:
// there. What is not asked for has no elements.
PyObject *runs(WeftTensor *values, WeftTensor *like, const int64_t *order, bool inverse, bool counts) {
  const int64_t n = values->numel, item = weft_itemsize(WEFT_DTYPE(values));
  Ref firsts(ints(n + 1));
  if (!firsts) return nullptr;
  int64_t *first = data_of(firsts);
  const int64_t found = runs_of(WEFT_DTYPE(values), weft_data(values), n, first);
  if (found < 0) return not_for_these();
  first[found] = n;
  const int64_t none = 0;
  Ref unique(empty((uint32_t)WEFT_DTYPE(values), 1, &found, nullptr));
  Ref places(inverse ? empty(WEFT_INT64, WEFT_NDIM(like), like->sizes, nullptr) : empty(WEFT_INT64, 1, &none, nullptr));
  Ref lengths(ints(counts ? found : 0));
  if (!unique || !places || !lengths) return nullptr;
  for (int64_t r = 0; r < found; r++) {
    memcpy(weft_data(as_tensor(unique.get())) + r * item, weft_data(values) + first[r] * item, (size_t)item);
    if (counts) data_of(lengths)[r] = first[r + 1] - first[r];
    if (inverse)
      for (int64_t i = first[r]; i < first[r + 1]; i++) data_of(places)[order ? order[i] : i] = r;
  }
  return Py_BuildValue("(OOO)", unique.get(), places.get(), lengths.get());
}

// The first element of each run, and two results that nobody asked for.
PyObject *firsts_of_runs(WeftTensor *values) {
  const int64_t n = values->numel, none = 0;
  Ref all(empty((uint32_t)WEFT_DTYPE(values), 1, &n, nullptr)), places(empty(WEFT_INT64, 1, &none, nullptr)), lengths(ints(0));
  if (!all || !places || !lengths) return nullptr;
  const int64_t found = by_dtype<int64_t>(WEFT_DTYPE(values), -1, [&](auto type) {
    return firsts_alone<typename decltype(type)::type>(weft_data(values), n, weft_data(as_tensor(all.get())));
  });
  if (found < 0) return not_for_these();
  Ref unique(alias(as_tensor(all.get()), 1, &found, &kUnit, 0));
  if (unique && 2 * found < n) unique.reset(contiguous_copy(as_tensor(unique.get())));  // of few, not the memory of many
  return unique ? Py_BuildValue("(OOO)", unique.get(), places.get(), lengths.get()) : nullptr;
}

// (x, dim, inverse, counts) -> (different elements in order, where each went, how often it occurs)
PyObject *unique_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  bool inverse, counts;
  WeftTensor *x = nargs == 4 ? dense(args[0]) : nullptr;
  if (!x || args[1] != Py_None || !exact_bool(args[2], &inverse) || !exact_bool(args[3], &counts) || !x->numel) return not_for_these();
  Ref values(empty((uint32_t)WEFT_DTYPE(x), 1, &x->numel, nullptr)), order(ints(x->numel)), flat(alias(x, 1, &x->numel, &kUnit, x->offset));
  if (!values || !order || !flat) return nullptr;
  if (!sort_rows(as_tensor(flat.get()), as_tensor(values.get()), as_tensor(order.get()))) return PyErr_Occurred() ? nullptr : not_for_these();
  return inverse || counts ? runs(as_tensor(values.get()), x, data_of(order), inverse, counts) : firsts_of_runs(as_tensor(values.get()));
}

// (x, inverse, counts): of elements that follow each other
PyObject *unique_runs_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  bool inverse, counts;
  WeftTensor *x = nargs == 3 ? dense(args[0]) : nullptr;
  if (!x || !exact_bool(args[1], &inverse) || !exact_bool(args[2], &counts)) return not_for_these();
  return inverse || counts ? runs(x, x, nullptr, inverse, counts) : firsts_of_runs(x);
}

// The results of a kernel that were asked for: one, or a tuple; UNHANDLED where it is not for these.
PyObject *asked(Ref found, bool inverse, bool counts) {
  if (!found || found.get() == Py_NotImplemented) return found ? UNHANDLED : nullptr;
  PyObject *const *all = reinterpret_cast<PyTupleObject *>(found.get())->ob_item;
  if (!inverse && !counts) return Py_NewRef(all[0]);
  return inverse && counts ? found.release() : PyTuple_Pack(2, all[0], all[inverse ? 1 : 2]);
}

PyObject *truth(bool yes) { return yes ? Py_True : Py_False; }

}  // namespace

// bincount(input, weights=None, minlength=0)
PyObject *fast_bincount(Call &call) {
  Ref least(PyLong_FromLongLong(call[2].integer));
  if (!least) return nullptr;
  PyObject *const args[] = {call[0].object, call[1].object, least.get()};
  Ref found(bincount_kernel(nullptr, args, 3));
  return found.get() == Py_NotImplemented ? UNHANDLED : found.release();
}

// repeat_interleave(counts): 0 as often as the first count says, 1 as often as the second
PyObject *fast_repeat_interleave(Call &call) {
  WeftTensor *counts = call.tensor(0);
  if (!call.usual(1) || WEFT_NDIM(counts) != 1 || WEFT_DTYPE(counts) != WEFT_INT64 || !(counts->word & WEFT_WORD_CONTIGUOUS)) return UNHANDLED;
  const int64_t n = counts->numel, *times = reinterpret_cast<const int64_t *>(weft_data(counts));
  int64_t total = 0;
  for (int64_t i = 0; i < n; i++)
    if (times[i] < 0 || __builtin_add_overflow(total, times[i], &total)) return UNHANDLED;
  Ref out(ints(total));
  if (!out) return nullptr;
  int64_t *to = data_of(out), *const end = to + total;
  for (int64_t i = 0; i < n; i++) {
    const int64_t some = std::min<int64_t>(times[i], end - to);  // another thread may write the counts
    if (some > 0) to = std::fill_n(to, some, i);
  }
  std::fill(to, end, int64_t(0));
  return out.release();
}

// unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None) of all elements, without history
PyObject *fast_unique(Call &call) {
  WeftTensor *x = call.tensor(0);
  if (records(x) || !call[4].none()) return UNHANDLED;
  const bool inverse = call.truth(2), counts = call.truth(3);
  PyObject *const args[] = {as_object(x), Py_None, truth(inverse), truth(counts)};
  return asked(Ref(unique_kernel(nullptr, args, 4)), inverse, counts);
}

// unique_consecutive(input, return_inverse=False, return_counts=False, dim=None)
PyObject *fast_unique_consecutive(Call &call) {
  WeftTensor *x = call.tensor(0);
  if (records(x) || !call[3].none()) return UNHANDLED;
  const bool inverse = call.truth(1), counts = call.truth(2);
  PyObject *const args[] = {as_object(x), truth(inverse), truth(counts)};
  return asked(Ref(unique_runs_kernel(nullptr, args, 3)), inverse, counts);
}

const NativeKernel search_kernels[] = {{"searchsorted", WEFT_KERNEL(searchsorted_kernel)},
                                       {"bincount", WEFT_KERNEL(bincount_kernel)},
                                       {"histc", WEFT_KERNEL(histc_kernel)},
                                       {"unique_dim", WEFT_KERNEL(unique_kernel)},
                                       {"unique_runs", WEFT_KERNEL(unique_runs_kernel)},
                                       {nullptr, nullptr}};

}  // namespace weft

// bag_kernels.cpp: bags of rows of a table: their sums, means and maxima, and derivatives. The definition is aten/ops/embedding_bag.py.
#include <string.h>

#include <algorithm>
#include <vector>

#include "embedding.h"
#include "native_kernel.h"

namespace weft {

namespace {

template <class T> const Bags<T> &bags_of();
template <> const Bags<float> &bags_of<float>() { return embedding_table.single; }
template <> const Bags<double> &bags_of<double>() { return embedding_table.wide; }

// Which rows of a table of `rows` are in which bags: `at`, cut at `starts`, or each `length` long. Row `padding` is in none.
struct Cut {
  Ref kept[2];
  std::vector<int64_t> wide;  // of indices of 32 bits
  const int64_t *at, *starts;
  int64_t count, bags, length, rows, padding;

  int64_t begin(int64_t bag) const { return starts ? (bag < bags ? starts[bag] : count) : bag * length; }

  bool read(PyObject *indices_given, PyObject *starts_given, int64_t table_rows, PyObject *padding_given) {
    WeftTensor *indices = plain(indices_given), *cuts = starts_given == Py_None ? nullptr : plain(starts_given);
    if (!indices || (starts_given != Py_None && !cuts) || !exact_int(padding_given, &padding)) return false;
    if (WEFT_NDIM(indices) != (cuts ? 1 : 2) || (cuts && (WEFT_DTYPE(cuts) != WEFT_INT64 || WEFT_NDIM(cuts) != 1))) return false;
    if (WEFT_DTYPE(indices) != WEFT_INT64 && WEFT_DTYPE(indices) != WEFT_INT32) return false;
    kept[0] = row_major(indices), kept[1] = cuts ? row_major(cuts) : Ref();
    if (!kept[0] || (cuts && !kept[1])) return false;
    count = indices->numel, rows = table_rows;
    bags = cuts ? cuts->sizes[0] : indices->sizes[0], length = cuts ? 0 : indices->sizes[1];
    starts = cuts ? reinterpret_cast<int64_t *>(weft_data(as_tensor(kept[1].get()))) : nullptr;
    // A copy of what another thread may write: places were looked at.
    wide.resize((size_t)count);
    const char *from = weft_data(as_tensor(kept[0].get()));
    if (WEFT_DTYPE(indices) == WEFT_INT32) std::copy_n(reinterpret_cast<const int32_t *>(from), count, wide.begin());
    else std::copy_n(reinterpret_cast<const int64_t *>(from), count, wide.begin());
    at = wide.data();
    for (int64_t i = 0; i < count; i++)
      if ((uint64_t)at[i] >= (uint64_t)rows) return false;
    if (!cuts) return true;
    cut_ends.assign(starts, starts + bags);
    starts = cut_ends.data();
    for (int64_t b = 0; b < bags; b++)
      if (starts[b] < (b ? starts[b - 1] : 0) || starts[b] > count || (!b && starts[0])) return false;
    return bags || !count;
  }

  // The rows of a bag without padding, and the scales that belong to them.
  template <class T> int64_t of(int64_t bag, const T *scales, std::vector<int64_t> &places, std::vector<T> &scaled) const {
    places.clear(), scaled.clear();
    for (int64_t i = begin(bag), end = begin(bag + 1); i < end; i++) {
      if (at[i] == padding) continue;
      places.push_back(at[i]);
      if (scales) scaled.push_back(scales[i]);
    }
    return (int64_t)places.size();
  }

 private:
  std::vector<int64_t> cut_ends;
};

template <class T> struct BagJob {
  const Cut &cut;
  int64_t width;
  const T *table, *scales, *grad;
  T *out;
  int64_t *from;
  bool mean;

  static void sums(void *context, int64_t begin, int64_t end, int64_t) {
    const BagJob &job = *static_cast<BagJob *>(context);
    std::vector<int64_t> places;
    std::vector<T> scaled;
    for (int64_t bag = begin; bag < end; bag++) {
      T *to = job.out + bag * job.width;
      int64_t first = job.cut.begin(bag), n = job.cut.begin(bag + 1) - first;
      const bool all = job.cut.padding < 0;
      if (!all) n = job.cut.of(bag, job.scales, places, scaled);
      const T *scales = !job.scales ? nullptr : all ? job.scales + first : scaled.data();
      bags_of<T>().sum(n, job.width, job.table, all ? job.cut.at + first : places.data(), scales, to);
      if (job.mean && n > 1)
        for (int64_t l = 0; l < job.width; l++) to[l] /= (T)n;
    }
  }
  static void maxima(void *context, int64_t begin, int64_t end, int64_t) {
    const BagJob &job = *static_cast<BagJob *>(context);
    std::vector<int64_t> places;
    std::vector<T> none;
    for (int64_t bag = begin; bag < end; bag++) {
      const int64_t n = job.cut.of(bag, (const T *)nullptr, places, none);
      T *to = job.out + bag * job.width;
      if (n) bags_of<T>().most(n, job.width, job.table, places.data(), to, job.from + bag * job.width);
      else std::fill(to, to + job.width, T(0)), std::fill_n(job.from + bag * job.width, job.width, -1);
    }
  }
  // Columns of the gradient of the table, as other bags may have the same rows.
  static void scatter(void *context, int64_t begin, int64_t end, int64_t) {
    const BagJob &job = *static_cast<BagJob *>(context);
    std::vector<int64_t> places;
    std::vector<T> scaled;
    for (int64_t bag = 0; bag < job.cut.bags; bag++) {
      const int64_t n = job.cut.of(bag, job.scales, places, scaled);
      const T *g = job.grad + bag * job.width + begin;
      std::vector<T> share;
      if (job.mean && n > 1) {
        share.assign(g, g + (end - begin));
        for (T &x : share) x /= (T)n;
        g = share.data();
      }
      for (int64_t i = 0; i < n; i++) {
        if (i + 8 < n) __builtin_prefetch(job.out + places[(size_t)i + 8] * job.width + begin, 1);
        bags_of<T>().add(end - begin, job.scales ? scaled[(size_t)i] : T(1), g, job.out + places[(size_t)i] * job.width + begin);
      }
    }
  }
  static void dots(void *context, int64_t begin, int64_t end, int64_t) {
    const BagJob &job = *static_cast<BagJob *>(context);
    for (int64_t bag = begin; bag < end; bag++)
      for (int64_t i = job.cut.begin(bag), last = job.cut.begin(bag + 1); i < last; i++)
        job.out[i] = job.cut.at[i] == job.cut.padding ? T(0) : bags_of<T>().dot(job.width, job.grad + bag * job.width, job.table + job.cut.at[i] * job.width);
  }
};

// f(zero of the type of `dtype`); false: no such loops
template <class F> bool by_float(int dtype, F f) {
  if (!embedding_table.single.sum || (dtype != WEFT_FLOAT32 && dtype != WEFT_FLOAT64)) return false;
  if (dtype == WEFT_FLOAT32) f(0.0f);
  else f(0.0);
  return true;
}
PyObject *unread() { return PyErr_Occurred() ? nullptr : not_for_these(); }
template <class T> T *data_of(const Ref &t) { return t ? reinterpret_cast<T *>(weft_data(as_tensor(t.get()))) : nullptr; }

// A matrix of that dtype, row-major; empty: none
Ref matrix(PyObject *p, int dtype) {
  WeftTensor *t = plain(p);
  return t && WEFT_NDIM(t) == 2 && WEFT_DTYPE(t) == dtype ? row_major(t) : Ref();
}
// The scale of each index, or none. False: they are no such tensor.
bool read_scales(PyObject *p, int dtype, const Cut &cut, Ref *scales) {
  if (p == Py_None) return true;
  WeftTensor *t = plain(p);
  if (!t || WEFT_DTYPE(t) != dtype || t->numel != cut.count) return false;
  *scales = row_major(t);
  return (bool)*scales;
}

// (out, weight, indices, starts, scales, mean, padding)
PyObject *sums_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  bool mean;
  Cut cut;
  WeftTensor *out = nargs == 7 ? dense(args[0]) : nullptr;
  if (!out || WEFT_NDIM(out) != 2 || !exact_bool(args[5], &mean)) return not_for_these();
  const int dtype = WEFT_DTYPE(out);
  Ref table = matrix(args[1], dtype), scales;
  if (!table || !cut.read(args[2], args[3], as_tensor(table.get())->sizes[0], args[6]) || !read_scales(args[4], dtype, cut, &scales)) return unread();
  const int64_t width = as_tensor(table.get())->sizes[1];
  if (out->sizes[0] != cut.bags || out->sizes[1] != width) return not_for_these();
  return by_float(dtype, [&](auto zero) {
    typedef decltype(zero) T;
    BagJob<T> job = {cut, width, data_of<T>(table), data_of<T>(scales), nullptr, reinterpret_cast<T *>(weft_data(out)), nullptr, mean};
    const int64_t all = (cut.count + cut.bags) * width;
    Loop::parallel(all, cut.bags, cut.bags ? all / cut.bags : 1, BagJob<T>::sums, &job);
  }) ? written() : not_for_these();
}

// ((out, places), weight, indices, starts, padding)
PyObject *maxima_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  Cut cut;
  const bool two = nargs == 5 && PyTuple_Check(args[0]) && PyTuple_GET_SIZE(args[0]) == 2;
  WeftTensor *out = two ? dense(PyTuple_GET_ITEM(args[0], 0)) : nullptr, *from = out ? dense(PyTuple_GET_ITEM(args[0], 1)) : nullptr;
  if (!from || WEFT_NDIM(out) != 2 || WEFT_DTYPE(from) != WEFT_INT64 || from->numel != out->numel) return not_for_these();
  Ref table = matrix(args[1], WEFT_DTYPE(out));
  if (!table || !cut.read(args[2], args[3], as_tensor(table.get())->sizes[0], args[4])) return unread();
  const int64_t width = as_tensor(table.get())->sizes[1];
  if (out->sizes[0] != cut.bags || out->sizes[1] != width) return not_for_these();
  return by_float(WEFT_DTYPE(out), [&](auto zero) {
    typedef decltype(zero) T;
    BagJob<T> job = {cut, width, data_of<T>(table), nullptr, nullptr, reinterpret_cast<T *>(weft_data(out)), reinterpret_cast<int64_t *>(weft_data(from)), false};
    const int64_t all = (cut.count + cut.bags) * width;
    Loop::parallel(all, cut.bags, cut.bags ? all / cut.bags : 1, BagJob<T>::maxima, &job);
  }) ? written() : not_for_these();
}

// (out, grad, indices, starts, scales, mean, padding, rows of the table)
PyObject *sums_backward_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  bool mean;
  int64_t rows;
  Cut cut;
  WeftTensor *out = nargs == 8 ? dense(args[0]) : nullptr;
  if (!out || WEFT_NDIM(out) != 2 || !exact_bool(args[5], &mean) || !exact_int(args[7], &rows) || out->sizes[0] != rows) return not_for_these();
  const int dtype = WEFT_DTYPE(out);
  Ref grad = matrix(args[1], dtype), scales;
  if (!grad || !cut.read(args[2], args[3], rows, args[6]) || !read_scales(args[4], dtype, cut, &scales)) return unread();
  const int64_t width = out->sizes[1];
  if (as_tensor(grad.get())->sizes[0] != cut.bags || as_tensor(grad.get())->sizes[1] != width) return not_for_these();
  return by_float(dtype, [&](auto zero) {
    typedef decltype(zero) T;
    std::fill_n(reinterpret_cast<T *>(weft_data(out)), out->numel, T(0));
    BagJob<T> job = {cut, width, nullptr, data_of<T>(scales), data_of<T>(grad), reinterpret_cast<T *>(weft_data(out)), nullptr, mean};
    Loop::parallel(cut.count * width, width, std::max<int64_t>(cut.count, 1), BagJob<T>::scatter, &job);
  }) ? written() : not_for_these();
}

// (out, grad, weight, indices, starts, padding)
PyObject *dots_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  Cut cut;
  WeftTensor *out = nargs == 6 ? dense(args[0]) : nullptr;
  if (!out) return not_for_these();
  Ref grad = matrix(args[1], WEFT_DTYPE(out)), table = matrix(args[2], WEFT_DTYPE(out));
  if (!grad || !table || !cut.read(args[3], args[4], as_tensor(table.get())->sizes[0], args[5])) return unread();
  const int64_t width = as_tensor(table.get())->sizes[1];
  if (out->numel != cut.count || as_tensor(grad.get())->sizes[0] != cut.bags || as_tensor(grad.get())->sizes[1] != width) return not_for_these();
  return by_float(WEFT_DTYPE(out), [&](auto zero) {
    typedef decltype(zero) T;
    BagJob<T> job = {cut, width, data_of<T>(table), nullptr, data_of<T>(grad), reinterpret_cast<T *>(weft_data(out)), nullptr, false};
    const int64_t all = (cut.count + cut.bags) * width;
    Loop::parallel(all, cut.bags, cut.bags ? all / cut.bags : 1, BagJob<T>::dots, &job);
  }) ? written() : not_for_these();
}

}  // namespace

const NativeKernel bag_kernels[] = {{"embedding_sums", WEFT_KERNEL(sums_kernel)},
                                    {"embedding_maxima", WEFT_KERNEL(maxima_kernel)},
                                    {"embedding_sums_backward", WEFT_KERNEL(sums_backward_kernel)},
                                    {"embedding_dots", WEFT_KERNEL(dots_kernel)},
                                    {nullptr, nullptr}};

}  // namespace weft

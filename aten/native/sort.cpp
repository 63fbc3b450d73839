// sort.cpp: the first k of the elements of rows in order, and where they stood.
//
// An element becomes an unsigned key whose order is that of the elements: NaN is the largest, -0 equals 0. Keys of 32
// bits go with their position into one number, so that equal elements stay in their order by themselves. A few of many
// elements are kept in a heap; whole rows are sorted by counting their digits, least significant first.
#include <algorithm>
#include <atomic>
#include <memory>
#include <new>

#include "by_dtype.h"
#include "native_kernel.h"
#include "places.h"
#include "reduce.h"

namespace weft {
namespace {

typedef int64_t i64;

struct Pair { // a key of 64 bits and its position
  uint64_t key, position;
  bool operator<(const Pair &o) const { return key != o.key ? key < o.key : position < o.position; }
};

inline uint64_t key_of(const Pair &p) { return p.key; }
inline uint64_t key_of(uint64_t packed) { return packed >> 32; }
inline i64 position_of(const Pair &p) { return (i64)p.position; }
inline i64 position_of(uint64_t packed) { return (i64)(uint32_t)packed; }
inline void pack(uint64_t key, i64 position, Pair *to) { *to = {key, (uint64_t)position}; }
inline void pack(uint64_t key, i64 position, uint64_t *to) { *to = key << 32 | (uint64_t)position; }

inline uint32_t ordered(float x) {
  if (x != x) return 0xffffffff;
  uint32_t bits = float_to_bits(x == 0 ? 0.0f : x);
  return bits ^ (bits >> 31 ? 0xffffffff : 0x80000000);
}
inline uint64_t ordered(double x) {
  if (x != x) return ~(uint64_t)0;
  double y = x == 0 ? 0.0 : x;
  uint64_t bits;
  memcpy(&bits, &y, 8);
  return bits ^ (bits >> 63 ? ~(uint64_t)0 : (uint64_t)1 << 63);
}
inline uint32_t ordered(int32_t x) { return (uint32_t)x ^ 0x80000000; }
inline uint32_t ordered(int16_t x) { return ordered((int32_t)x); }
inline uint32_t ordered(int8_t x) { return ordered((int32_t)x); }
inline uint64_t ordered(i64 x) { return (uint64_t)x ^ (uint64_t)1 << 63; }
inline uint32_t ordered(uint32_t x) { return x; }
inline uint32_t ordered(uint16_t x) { return x; }
inline uint32_t ordered(uint8_t x) { return x; }
inline uint64_t ordered(uint64_t x) { return x; }
inline uint32_t ordered(Half x) { return ordered((float)x); }
inline uint32_t ordered(BFloat16 x) { return ordered((float)x); }

struct Job {
  const char *x;
  char *values;
  i64 *positions;
  i64 n, k;
  bool descending;
  const WeftKernelRuntime *runtime;
  std::atomic<bool> no_memory;
};

constexpr i64 kDigits = 256, kShort = 128; // shorter rows are not worth counting
constexpr i64 kHeapShare = 16;             // a heap takes up to this part of a row
constexpr i64 kKeptBytes = 1 << 20;        // more than this is given back, and may be lacking

template <class Item, class T> inline void item_at(const T *row, i64 i, uint64_t flip, Item *to) {
  auto key = ordered(row[i]);
  pack((uint64_t)(decltype(key))(key ^ flip), i, to);
}

// The k smallest of n items in order, in items[0, k).
template <class Item, class T> void select_few(const T *row, i64 n, i64 k, uint64_t flip, Item *items) {
  for (i64 i = 0; i < k; i++) item_at(row, i, flip, items + i);
  std::make_heap(items, items + k);
  for (i64 i = k; i < n; i++) {
    Item x;
    item_at(row, i, flip, &x);
    if (!(x < items[0])) continue;
    std::pop_heap(items, items + k);
    items[k - 1] = x;
    std::push_heap(items, items + k);
  }
  std::sort_heap(items, items + k);
}

// The items of a row in order: in `items` or in `spare`, whichever is returned.
template <class Item, class T> Item *sort_all(const T *row, i64 n, uint64_t flip, Item *items, Item *spare) {
  constexpr int digits = sizeof(ordered(T{})) < 8 ? 4 : 8;
  for (i64 i = 0; i < n; i++) item_at(row, i, flip, items + i);
  if (n < kShort) {
    std::sort(items, items + n);
    return items;
  }
  i64 counts[digits][kDigits] = {};
  for (i64 i = 0; i < n; i++)
    for (int d = 0; d < digits; d++) counts[d][key_of(items[i]) >> 8 * d & 255]++;
  for (int d = 0; d < digits; d++) {
    i64 *count = counts[d], total = 0;
    if (count[key_of(items[0]) >> 8 * d & 255] == n) continue; // all the same
    for (i64 v = 0; v < kDigits; v++) {
      i64 c = count[v];
      count[v] = total;
      total += c;
    }
    for (i64 i = 0; i < n; i++) spare[count[key_of(items[i]) >> 8 * d & 255]++] = items[i];
    std::swap(items, spare);
  }
  return items;
}

template <class T> void order_rows(void *context, i64 begin, i64 end, i64 worker) {
  typedef decltype(ordered(T{})) Key;
  typedef std::conditional_t<sizeof(Key) == 8, Pair, uint64_t> Item;
  Job &job = *(Job *)context;
  const i64 n = job.n, k = job.k;
  const bool few = k * kHeapShare <= n;
  const i64 bytes = (few ? k : 2 * n) * (i64)sizeof(Item);
  std::unique_ptr<char[]> large(bytes > kKeptBytes ? new (std::nothrow) char[bytes] : nullptr);
  if (bytes > kKeptBytes && !large) {
    job.no_memory = true;
    return;
  }
  Item *items = (Item *)(large ? large.get() : job.runtime->scratch(worker, bytes));
  const uint64_t flip = job.descending ? ~(uint64_t)0 : 0;
  for (i64 r = begin; r < end; r++) {
    const T *row = (const T *)job.x + r * n;
    const Item *sorted = items;
    if (few) select_few(row, n, k, flip, items);
    else sorted = sort_all(row, n, flip, items, items + n);
    T *values = (T *)job.values + r * k;
    i64 *positions = job.positions + r * k;
    for (i64 i = 0; i < k; i++) {
      positions[i] = position_of(sorted[i]);
      values[i] = row[positions[i]];
    }
  }
}

typedef void (*Body)(void *, i64, i64, i64);
Body body_of(int dtype) {
  return by_real(dtype, (Body)nullptr, [](auto type) -> Body {
    typedef typename decltype(type)::type T;
    return order_rows<typename std::conditional<std::is_same<T, bool>::value, uint8_t, T>::type>;
  });
}

// The first k of every row of `x` along its last dim, in order; all row-major. False with an exception set.
bool order(WeftTensor *x, WeftTensor *values, WeftTensor *indices, bool descending) {
  const i64 n = x->sizes[WEFT_NDIM(x) - 1], k = values->sizes[WEFT_NDIM(values) - 1], rows = n ? x->numel / n : 0;
  if (!rows || !k) return true;
  const Ref held(alias(x, WEFT_NDIM(x), x->sizes, x->strides, x->offset));  // the memory, whatever becomes of x meanwhile
  if (!held) return false;
  Job job = {weft_data(x), weft_data(values), (i64 *)weft_data(indices), n, k, descending, kernel_runtime(), {false}};
  {
    Released released(x->numel >= 4096);
    job.runtime->parallel_for(rows, std::max<i64>(1, 4096 / n), body_of(WEFT_DTYPE(x)), &job);
  }
  if (job.no_memory) PyErr_NoMemory();
  return !job.no_memory;
}

// A tensor with `dim` put last.
Ref with_last(WeftTensor *t, int dim) {
  i64 sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM];
  const int n = WEFT_NDIM(t);
  for (int d = 0, k = 0; d < n; d++)
    if (d != dim) sizes[k] = t->sizes[d], strides[k++] = t->strides[d];
  sizes[n - 1] = t->sizes[dim], strides[n - 1] = t->strides[dim];
  return Ref(alias(t, n, sizes, strides, t->offset));
}

// The rows of a tensor along a dim, row-major.
Ref rows_along(WeftTensor *t, int dim) {
  if (dim == WEFT_NDIM(t) - 1) return row_major(t);
  Ref shown(with_last(t, dim));
  return shown ? row_major(as_tensor(shown.get())) : Ref();
}

// Arguments ((values, indices), x, …): two results of the dtypes that they should have, and a dim of x.
struct Ordered {
  WeftTensor *values, *indices, *x;
  int dim;

  bool read(PyObject *const *args, PyObject *dim_object) {
    i64 given;
    if (!PyTuple_Check(args[0]) || PyTuple_GET_SIZE(args[0]) != 2) return false;
    values = dense(PyTuple_GET_ITEM(args[0], 0)), indices = dense(PyTuple_GET_ITEM(args[0], 1)), x = plain(args[1]);
    if (!values || !indices || !x || !WEFT_NDIM(x) || !exact_int(dim_object, &given) || given < 0 || given >= WEFT_NDIM(x)) return false;
    dim = (int)given;
    return WEFT_DTYPE(values) == WEFT_DTYPE(x) && WEFT_DTYPE(indices) == WEFT_INT64 && body_of(WEFT_DTYPE(x)) && x->sizes[dim] <= 0xffffffff;
  }
};

// Whether the results are as large as x, along its dim at most: another thread may have given x other memory since they were made.
bool fit(const Ordered &o) {
  if (WEFT_NDIM(o.values) != WEFT_NDIM(o.x) || WEFT_NDIM(o.indices) != WEFT_NDIM(o.x)) return false;
  for (int d = 0; d < WEFT_NDIM(o.x); d++) {
    const i64 n = o.values->sizes[d], size = o.x->sizes[d];
    if (n != o.indices->sizes[d] || (d == o.dim ? n > size : n != size)) return false;
  }
  return true;
}

PyObject *ordered_along(const Ordered &o, bool descending) {
  if (!fit(o)) return not_for_these();
  Ref rows(rows_along(o.x, o.dim));
  if (!rows) return PyErr_Occurred() ? nullptr : not_for_these();
  WeftTensor *x = as_tensor(rows.get());
  if (o.dim == WEFT_NDIM(o.x) - 1) return order(x, o.values, o.indices, descending) ? written() : nullptr;
  Ref to[2] = {with_last(o.values, o.dim), with_last(o.indices, o.dim)}, made[2];
  for (int i = 0; i < 2; i++) {
    if (!to[i]) return nullptr;
    WeftTensor *t = as_tensor(to[i].get());
    made[i].reset(empty((uint32_t)WEFT_DTYPE(t), WEFT_NDIM(t), t->sizes, nullptr));
    if (!made[i]) return nullptr;
  }
  if (!order(x, as_tensor(made[0].get()), as_tensor(made[1].get()), descending)) return nullptr;
  for (int i = 0; i < 2; i++)
    if (!copy_into(as_tensor(to[i].get()), as_tensor(made[i].get()))) return not_for_these();
  return written();
}

// sort: (out, x, dim, descending, stable); topk: (out, x, k, dim, largest, sorted)
PyObject *sort_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  Ordered o;
  bool descending;
  return nargs == 5 && o.read(args, args[2]) && exact_bool(args[3], &descending) ? ordered_along(o, descending) : not_for_these();
}
PyObject *topk_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  Ordered o;
  bool largest;
  return nargs == 6 && o.read(args, args[3]) && exact_bool(args[4], &largest) ? ordered_along(o, largest) : not_for_these();
}

// One element of every row, by its place among the elements in order.
enum PickKind { PICK_KTH, PICK_MEDIAN, PICK_NANMEDIAN, PICK_MODE };

struct PickJob {
  const char *x;
  char *values;
  i64 *positions;
  i64 n, k;
  const WeftKernelRuntime *runtime;
};

// The element of a row that has `wanted` before it, of equal ones the earlier before the later, by keys alone: half the memory of pairs.
template <class T> i64 pick_by_keys(const T *row, i64 n, i64 wanted, T *keys) {
  std::copy(row, row + n, keys);
  std::nth_element(keys, keys + wanted, keys + n);
  const T value = keys[wanted];
  for (i64 i = 0; i < n; i++) wanted -= row[i] < value;
  i64 at = 0;
  for (;; at++)
    if (row[at] == value && wanted-- == 0) return at;
}

// A row with NaN in the order that PyTorch counts its runs in: what the library's sort leaves where no comparison with NaN holds, so
// that it depends on where the NaNs stand. One more on each side keeps the sort in the row. In items[1, n].
template <class Item> Item *sort_beside_nan(Item *items, i64 n, uint64_t nan) {
  pack(nan, 0, items);
  pack(nan, 0, items + n + 1);
  std::sort(items + 1, items + n + 1, [nan](const Item &a, const Item &b) { return key_of(a) < key_of(b) && key_of(b) != nan; });
  return items + 1;
}

template <PickKind kind, class T> void pick_rows(void *context, i64 begin, i64 end, i64 worker) {
  typedef decltype(ordered(T{})) Key;
  typedef std::conditional_t<sizeof(Key) == 8, Pair, uint64_t> Item;
  constexpr bool floats = !std::is_integral<T>::value;
  const PickJob &job = *(PickJob *)context;
  const i64 n = job.n;
  Item *items = (Item *)job.runtime->scratch(worker, (2 * n + 2) * (i64)sizeof(Item));
  const uint64_t nan = (uint64_t)(Key)~(Key)0;
  for (i64 r = begin; r < end; r++) {
    const T *row = (const T *)job.x + r * n;
    i64 at;
    if (kind == PICK_MODE) {
      const Item *sorted = sort_all(row, n, 0, items, items + n);
      if (floats && key_of(sorted[n - 1]) == nan) {
        for (i64 i = 0; i < n; i++) item_at(row, i, 0, items + 1 + i);
        sorted = sort_beside_nan(items, n, nan);
      }
      i64 best = 0, from = 0;
      at = 0;
      for (i64 i = 1; i < n; i++) {
        if (key_of(sorted[i]) != key_of(sorted[i - 1]) || (floats && key_of(sorted[i]) == nan)) from = i;
        if (i - from > best) best = i - from, at = i;
      }
      at = position_of(sorted[at]);
    } else if constexpr (!floats && sizeof(T) == 8) {
      at = pick_by_keys(row, n, kind == PICK_KTH ? job.k : (n - 1) / 2, (T *)items);
    } else {
      i64 numbers = 0, wanted = job.k;
      for (i64 i = 0; i < n; i++) {
        item_at(row, i, 0, items + i);
        numbers += !floats || key_of(items[i]) != nan;
      }
      if (kind == PICK_MEDIAN) wanted = numbers < n ? numbers : (n - 1) / 2;
      else if (kind == PICK_NANMEDIAN) wanted = std::max<i64>(numbers - 1, 0) / 2;
      std::nth_element(items, items + wanted, items + n);
      at = position_of(items[wanted]);
    }
    ((T *)job.values)[r] = row[at];
    job.positions[r] = at;
  }
}

template <PickKind kind> Body pick_body(int dtype) {
  return by_real(dtype, (Body)nullptr, [](auto type) -> Body {
    typedef typename decltype(type)::type T;
    if constexpr (std::is_same<T, bool>::value) return nullptr;
    else return pick_rows<kind, T>;
  });
}

// (out, x, dim, keepdim); of kthvalue (out, x, k, dim, keepdim). The results count the rows, whatever shape they have.
template <PickKind kind> PyObject *pick(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  const int first = kind == PICK_KTH ? 3 : 2;
  Ordered o;
  i64 k = 1;
  if (nargs != first + 2 || !o.read(args, args[first]) || (kind == PICK_KTH && !exact_int(args[2], &k))) return not_for_these();
  const i64 n = o.x->sizes[o.dim];
  auto body = pick_body<kind>(WEFT_DTYPE(o.x));
  if (!body || !o.x->numel || k < 1 || k > n || o.values->numel != o.x->numel / n || o.indices->numel != o.values->numel) return not_for_these();
  Ref rows(rows_along(o.x, o.dim));
  if (!rows) return PyErr_Occurred() ? nullptr : not_for_these();
  PickJob job = {weft_data(as_tensor(rows.get())), weft_data(o.values), (i64 *)weft_data(o.indices), n, k - 1, kernel_runtime()};
  Released released(o.x->numel >= 4096);
  job.runtime->parallel_for(o.values->numel, std::max<i64>(1, 4096 / n), body, &job);
  return written();
}

// max_dim, min_dim: (out, x, dim, keepdim)
template <bool least> PyObject *extreme(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  Ordered o;
  if (nargs != 4 || !o.read(args, args[2]) || !o.x->numel || o.values->numel != o.x->numel / o.x->sizes[o.dim] || o.indices->numel != o.values->numel) return not_for_these();
  i64 *at = (i64 *)weft_data(o.indices), sizes[WEFT_MAX_NDIM], strides[WEFT_MAX_NDIM];
  if (!arg_extremes(o.x, o.dim, least, at)) return not_for_these();
  std::copy(o.x->sizes, o.x->sizes + WEFT_NDIM(o.x), sizes);
  sizes[o.dim] = 1;
  contiguous_strides(WEFT_NDIM(o.x), sizes, strides);
  Places places;
  places.ndim = WEFT_NDIM(o.x), places.wraps = false;
  for (int d = 0; d < places.ndim; d++)
    places.sizes[d] = sizes[d], places.near_steps[d] = strides[d], places.far_steps[d] = d == o.dim ? 0 : o.x->strides[d];
  Ref index(alias(o.indices, places.ndim, sizes, strides, o.indices->offset));
  if (!index || !places.add_index(as_tensor(index.get()), o.x->sizes[o.dim], o.x->strides[o.dim])) return index ? not_for_these() : nullptr;
  places.far = weft_data(o.x), places.near = weft_data(o.values);
  return run_places(places, PlaceOp::TAKE, WEFT_DTYPE(o.x)) ? written() : not_for_these();
}

}  // namespace

bool sort_rows(WeftTensor *x, WeftTensor *values, WeftTensor *indices) { return body_of(WEFT_DTYPE(x)) && x->numel <= 0xffffffff && order(x, values, indices, false); }

const NativeKernel order_kernels[] = {{"sort", WEFT_KERNEL(sort_kernel)},
                                      {"topk", WEFT_KERNEL(topk_kernel)},
                                      {"kthvalue", WEFT_KERNEL(pick<PICK_KTH>)},
                                      {"median_dim", WEFT_KERNEL(pick<PICK_MEDIAN>)},
                                      {"nanmedian_dim", WEFT_KERNEL(pick<PICK_NANMEDIAN>)},
                                      {"mode", WEFT_KERNEL(pick<PICK_MODE>)},
                                      {"max_dim", WEFT_KERNEL(extreme<false>)},
                                      {"min_dim", WEFT_KERNEL(extreme<true>)},
                                      {nullptr, nullptr}};

}  // namespace weft

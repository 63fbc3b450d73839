// sort.cpp: the first k of the elements of rows in order, and where they stood.
//
// An element becomes an unsigned key whose order is that of the elements: NaN is the largest, -0 equals 0. Keys of 32
// bits go with their position into one number, so that equal elements stay in their order by themselves. A few of many
// elements are kept in a heap; whole rows are sorted by counting their digits, least significant first.
#include <algorithm>
#include <atomic>
#include <memory>
#include <new>

#include "half.h"
#include "released.h"

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
struct Half { uint16_t bits; };
struct Brain { uint16_t bits; };
inline uint32_t ordered(Half x) { return ordered(float16_to_float(x.bits)); }
inline uint32_t ordered(Brain x) { return ordered(bfloat16_to_float(x.bits)); }

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

void (*body_of(int dtype))(void *, i64, i64, i64) {
  switch (dtype) {
    case WEFT_BOOL: case WEFT_UINT8: return order_rows<uint8_t>;
    case WEFT_INT8: return order_rows<int8_t>;
    case WEFT_INT16: return order_rows<int16_t>;
    case WEFT_INT32: return order_rows<int32_t>;
    case WEFT_INT64: return order_rows<i64>;
    case WEFT_UINT16: return order_rows<uint16_t>;
    case WEFT_UINT32: return order_rows<uint32_t>;
    case WEFT_UINT64: return order_rows<uint64_t>;
    case WEFT_FLOAT16: return order_rows<Half>;
    case WEFT_BFLOAT16: return order_rows<Brain>;
    case WEFT_FLOAT32: return order_rows<float>;
    case WEFT_FLOAT64: return order_rows<double>;
    default: return nullptr;
  }
}

// order_into(values, indices, x, descending): the first elements of every row of x along its last dim, in order, as many
// as values has room for, and their int64 positions. All three contiguous and at least 1-d.
PyObject *order_into(PyObject *, PyObject *args) {
  PyObject *o[3];
  int descending;
  if (!PyArg_ParseTuple(args, "OOOp:order_into", &o[0], &o[1], &o[2], &descending)) return nullptr;
  WeftTensor *t[3];
  for (int i = 0; i < 3; i++) {
    if (!is_tensor(o[i])) return PyErr_Format(PyExc_TypeError, "order_into takes Tensors");
    t[i] = as_tensor(o[i]);
    if (!need_memory(t[i], "sorting")) return nullptr;
    if (WEFT_DEVICE_TYPE(t[i]) != WEFT_CPU) return PyErr_Format(PyExc_ValueError, "order_into takes tensors on the CPU");
    if (!(t[i]->word & WEFT_WORD_CONTIGUOUS) || WEFT_NDIM(t[i]) == 0)
      return PyErr_Format(PyExc_ValueError, "order_into takes contiguous tensors of one dim or more");
  }
  WeftTensor *values = t[0], *indices = t[1], *x = t[2];
  i64 n = x->sizes[WEFT_NDIM(x) - 1], k = values->sizes[WEFT_NDIM(values) - 1];
  auto body = body_of(WEFT_DTYPE(x));
  if (!body) return PyErr_Format(PyExc_NotImplementedError, "\"sort\" not implemented for '%s'", dtype_name(WEFT_DTYPE(x)));
  i64 rows = n ? x->numel / n : 0;
  if (WEFT_DTYPE(values) != WEFT_DTYPE(x) || WEFT_DTYPE(indices) != WEFT_INT64 || k > n || values->numel != rows * k ||
      indices->numel != rows * k || n > 0xffffffff)
    return PyErr_Format(PyExc_ValueError, "order_into: sizes or dtypes do not fit");
  if (rows && k) {
    Job job = {weft_data(x), weft_data(values), (i64 *)weft_data(indices), n, k, (bool)descending, kernel_runtime(), {false}};
    i64 grain = std::max<i64>(1, 4096 / n);
    {
      Released released;
      job.runtime->parallel_for(rows, grain, body, &job);
    }
    if (job.no_memory) return PyErr_NoMemory();
  }
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef sort_functions[] = {
    {"order_into", guarded<order_into>, METH_VARARGS, "order_into(values, indices, x, descending): the first elements of rows in order"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace weft

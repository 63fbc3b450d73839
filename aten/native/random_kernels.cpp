// random_kernels.cpp: random orders, and draws with given probabilities.
#include <math.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "native_kernel.h"
#include "philox.h"

namespace weft {

namespace {

// The order of n keys, ascending, equal ones as they stand. Keys are uniform. A word has the upper 32 bits of a key of 64, and its place:
// words go to as many parts by their highest bits as fit the nearest cache, a part is ordered there by digits of the next bits, least
// first, and the few neighbours that are still in no order are exchanged.
constexpr int kDigit = 11, kPart = 9;  // bits of a digit; of the number of words of a part, where there are parts enough

inline bool stands_before(uint64_t a, uint64_t b, const uint64_t *keys) {
  if (a >> 32 != b >> 32) return a >> 32 < b >> 32;
  const uint64_t x = keys[(uint32_t)a], y = keys[(uint32_t)b];  // (keys are all over memory)
  return x != y ? x < y : (uint32_t)a < (uint32_t)b;
}

// Orders n words whose `known` highest bits are the same; `count`: memory for 2^kDigit numbers.
void order_part(const uint64_t *keys, uint64_t *words, uint64_t *spare, int64_t n, int known, uint32_t *count) {
  int bits = 0;  // of a number of n, and two more, in digits
  while (((n - 1) >> bits) > 0) bits++;
  bits = std::min(bits + 2, 32 - known);
  const int passes = (bits + kDigit - 1) / kDigit, digit = passes ? (bits + passes - 1) / passes : 0;
  uint64_t *const kept = words;
  for (int pass = passes - 1; pass >= 0; pass--) {
    const int low = std::max(32, 64 - known - digit * (pass + 1));  // of the last the lowest bits may be counted twice
    const uint64_t mask = ((uint64_t)1 << digit) - 1;
    std::fill(count, count + mask + 1, 0u);
    for (int64_t i = 0; i < n; i++) count[words[i] >> low & mask]++;
    uint32_t total = 0;
    for (uint64_t k = 0; k <= mask; k++) total += std::exchange(count[k], total);
    for (int64_t i = 0; i < n; i++) spare[count[words[i] >> low & mask]++] = words[i];
    std::swap(words, spare);
  }
  if (words != kept) std::copy(words, words + n, kept);
  for (int64_t i = 1; i < n; i++) {
    const uint64_t word = kept[i];
    if (kept[i - 1] >> 32 < word >> 32) continue;
    int64_t to = i;
    for (; to > 0 && !stands_before(kept[to - 1], word, keys); to--) kept[to] = kept[to - 1];
    kept[to] = word;
  }
}

void order_of(const uint64_t *keys, uint64_t *words, uint64_t *spare, int64_t n) {
  int known = 0;
  while (known < kDigit && n >> (known + kPart) > 0) known++;
  const int low = 64 - std::max(known, 1);
  std::vector<uint32_t> count((size_t)1 << kDigit), starts(((size_t)1 << known) + 1);
  if (known)
    for (int64_t i = 0; i < n; i++) starts[(keys[i] >> low) + 1]++;
  else
    starts[1] = (uint32_t)n;
  for (size_t k = 1; k < starts.size(); k++) starts[k] += starts[k - 1];
  std::vector<uint32_t> next(starts.begin(), starts.end() - 1);
  for (int64_t i = 0; i < n; i++) words[next[known ? keys[i] >> low : 0]++] = (keys[i] >> 32) << 32 | (uint64_t)i;
  for (size_t k = 0; k + 1 < starts.size(); k++) order_part(keys, words + starts[k], spare, starts[k + 1] - starts[k], known, count.data());
  for (int64_t i = 0; i < n; i++) words[i] = (uint32_t)words[i];
}

// (out, n, seed, offset, dtype, device): the order of n numbers that are uniform on [0, 1), of 53 bits
PyObject *randperm_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 6 ? dense(args[0]) : nullptr;
  if (!out || WEFT_DTYPE(out) != WEFT_INT64 || out->numel > UINT32_MAX || !PyLong_CheckExact(args[2]) || !PyLong_CheckExact(args[3])) return not_for_these();
  const uint64_t seed = PyLong_AsUnsignedLongLong(args[2]), offset = PyLong_AsUnsignedLongLong(args[3]);
  if (PyErr_Occurred()) return nullptr;
  const int64_t n = out->numel;
  const int64_t room = 2 * n + 1;
  const Ref memory(empty(WEFT_INT64, 1, &room, nullptr));  // of the allocator, which keeps it for the next call
  if (!memory) return nullptr;
  uint64_t *keys = reinterpret_cast<uint64_t *>(weft_data(as_tensor(memory.get()))), *spare = keys + n, *words = reinterpret_cast<uint64_t *>(weft_data(out));
  Released released(n >= 4096);
  philox_keys(seed, offset, keys, n);
  order_of(keys, words, spare, n);
  return written();
}

// A row of probabilities in float64; false: one is no probability, or there are not `least` above 0.
template <class T> bool probabilities(const T *row, int64_t n, int64_t least, double *to) {
  int64_t some = 0;
  bool good = true;
  for (int64_t i = 0; i < n; i++) {
    to[i] = (double)row[i];
    good &= to[i] >= 0 && to[i] <= std::numeric_limits<double>::max();
    some += to[i] > 0;
  }
  return good && some >= least;
}

// By inverting the sums.
void draw_with_replacement(double *p, int64_t n, const float *uniform, int64_t count, int64_t *out) {
  for (int64_t i = 1; i < n; i++) p[i] += p[i - 1];
  for (int64_t i = 0; i < count; i++) out[i] = std::min<int64_t>(std::upper_bound(p, p + n, (double)uniform[i] * p[n - 1]) - p, n - 1);
}

struct Racer {
  double time;
  int64_t place;
  bool operator<(const Racer &o) const { return time != o.time ? time < o.time : place < o.place; }
};

// The first of a race of exponentials: of many a heap keeps them.
void draw_without_replacement(const double *p, int64_t n, const float *uniform, int64_t count, std::vector<Racer> &first, int64_t *out) {
  first.clear();
  for (int64_t i = 0; i < n; i++) {
    if (!(p[i] > 0)) continue;
    const Racer racer = {-log1p(-(double)uniform[i]) / p[i], i};
    const bool full = (int64_t)first.size() == count;
    if (full && !(racer < first.front())) continue;
    if (full) std::pop_heap(first.begin(), first.end()), first.back() = racer;
    else first.push_back(racer);
    std::push_heap(first.begin(), first.end());
  }
  std::sort_heap(first.begin(), first.end());
  for (int64_t i = 0; i < count; i++) out[i] = first[(size_t)i].place;
}

// (out, probabilities, num_samples, replacement, seed, offset)
PyObject *multinomial_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 6 ? dense(args[0]) : nullptr, *given = out ? plain(args[1]) : nullptr;
  int64_t count;
  bool replacement;
  if (!given || !WEFT_NDIM(given) || !given->numel || WEFT_DTYPE(out) != WEFT_INT64 || !exact_int(args[2], &count) || count < 1 || !exact_bool(args[3], &replacement)) return not_for_these();
  if ((WEFT_DTYPE(given) != WEFT_FLOAT32 && WEFT_DTYPE(given) != WEFT_FLOAT64) || !PyLong_CheckExact(args[4]) || !PyLong_CheckExact(args[5])) return not_for_these();
  const int64_t n = given->sizes[WEFT_NDIM(given) - 1], rows = given->numel / n, draws = replacement ? count : n;
  if (out->numel != rows * count || (!replacement && count > n)) return not_for_these();
  const uint64_t seed = PyLong_AsUnsignedLongLong(args[4]), offset = PyLong_AsUnsignedLongLong(args[5]);
  if (PyErr_Occurred()) return nullptr;
  const Ref kept = row_major(given);
  if (!kept) return PyErr_Occurred() ? nullptr : not_for_these();
  const WeftTensor *p = as_tensor(kept.get());
  const int64_t room = rows * draws;
  const Ref memory(empty(WEFT_FLOAT32, 1, &room, nullptr));
  if (!memory) return nullptr;
  float *uniform = reinterpret_cast<float *>(weft_data(as_tensor(memory.get())));
  int64_t *to = reinterpret_cast<int64_t *>(weft_data(out));
  std::vector<double> row((size_t)n);
  std::vector<Racer> first;
  bool good = true;
  {
    Released released(given->numel >= 4096);
    philox_floats(seed, offset, uniform, room);
    for (int64_t r = 0; good && r < rows; r++, uniform += draws, to += count) {
      const int64_t least = replacement ? 1 : count;
      good = WEFT_DTYPE(p) == WEFT_FLOAT32 ? probabilities(reinterpret_cast<float *>(weft_data(p)) + r * n, n, least, row.data())
                                           : probabilities(reinterpret_cast<double *>(weft_data(p)) + r * n, n, least, row.data());
      if (!good) break;
      if (replacement) draw_with_replacement(row.data(), n, uniform, count, to);
      else draw_without_replacement(row.data(), n, uniform, count, first, to);
      poll_signals();
    }
  }
  return good ? written() : not_for_these();
}

}  // namespace

const NativeKernel random_kernels[] = {{"randperm_philox", WEFT_KERNEL(randperm_kernel)}, {"multinomial_philox", WEFT_KERNEL(multinomial_kernel)}, {nullptr, nullptr}};

}  // namespace weft

// order.cpp: the order of keys that are uniform random bits (random orders).
//
// A word has the upper bits of a key and, in its lowest `places` bits, the key's place: words go to parts by their highest bits, parts to
// parts again until they fit the nearest cache, a part is ordered there by as many of the next bits as it has words and two more, and the
// few neighbours still in no order are exchanged.
#include <string.h>

#include "vectors.h"

namespace {

struct Fresh {  // the words of keys
  const uint64_t *keys;
  uint64_t mask;  // of a place
  uint64_t operator()(int64_t i) const { return (keys[i] & ~mask) | (uint64_t)i; }
};
struct Stored {
  const uint64_t *words;
  uint64_t operator()(int64_t i) const { return words[i]; }
};

struct Order {
  static constexpr int kSplit = 8, kPart = 11;  // bits that tell parts at most; of the number of words of a part
  static constexpr int64_t kLeaf = 2 << kPart;
  static_assert(kLeaf / 2 << kSplit == WEFT_ORDER_ALONE, "more words go to parts twice");
  const uint64_t *keys;
  int places;
  uint16_t count[8 << kPart];
  uint64_t ordered[kLeaf];

  uint64_t place_of(uint64_t word) const { return word & (((uint64_t)1 << places) - 1); }

  bool before(uint64_t a, uint64_t b) const {
    if (a >> places != b >> places) return a < b;
    const uint64_t x = keys[place_of(a)], y = keys[place_of(b)];  // (keys are all over memory)
    return x != y ? x < y : a < b;
  }

  // Counts of values below `end` (a multiple of 8), as where each value begins: a register at a time.
  void begin_counts(int64_t end) {
    typedef uint16_t Eight __attribute__((vector_size(16)));
    const Eight zero = {};
    Eight carry = {};
    for (int64_t i = 0; i < end; i += 8) {
      Eight v;
      memcpy(&v, count + i, sizeof v);
      Eight s = v + __builtin_shufflevector(zero, v, 0, 8, 9, 10, 11, 12, 13, 14);
      s += __builtin_shufflevector(zero, s, 0, 1, 8, 9, 10, 11, 12, 13);
      s += __builtin_shufflevector(zero, s, 0, 1, 2, 3, 8, 9, 10, 11);
      s += carry;
      carry = __builtin_shufflevector(s, s, 7, 7, 7, 7, 7, 7, 7, 7);
      s -= v;
      memcpy(count + i, &s, sizeof s);
    }
  }

  // The places of words whose `known` highest bits are the same; they may go where the words are.
  void order_part(const uint64_t *words, int64_t n, int known, int64_t *out) {
    if (n == 0) return;
    int bits = 3;
    while (n >> (bits - 1) > 0) bits++;
    if (bits > kPart + 3) bits = kPart + 3;
    if (bits > 64 - known - places) bits = 64 - known - places;
    const int low = 64 - known - bits;
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    memset(count, 0, sizeof(count[0]) << (bits < 3 ? 3 : bits));
    for (int64_t i = 0; i < n; i++) count[words[i] >> low & mask]++;
    begin_counts((int64_t)1 << bits);
    for (int64_t i = 0; i < n; i++) ordered[count[words[i] >> low & mask]++] = words[i];
    uint64_t most = ordered[0];
    for (int64_t i = 1; i < n; i++) {  // most neighbours that are in no order, without a branch
      const uint64_t word = ordered[i];
      ordered[i - 1] = word < most ? word : most;
      most = word < most ? most : word;
    }
    ordered[n - 1] = most;
    for (int64_t i = 1; i < n; i++) {
      const uint64_t word = ordered[i];
      if (ordered[i - 1] >> places < word >> places) continue;
      int64_t to = i;
      for (; to > 0 && before(word, ordered[to - 1]); to--) ordered[to] = ordered[to - 1];
      ordered[to] = word;
    }
    for (int64_t i = 0; i < n; i++) out[i] = (int64_t)place_of(ordered[i]);
  }

  // The places of word(i), i < n, which are put in `words` by parts, or in `spare` and `words` in turns. `out` is one of these.
  template <class Word> void order(Word word, uint64_t *words, uint64_t *spare, int64_t n, int known, int64_t *out) {
    int split = 0;
    while (split < kSplit && n >> (split + kPart) > 0) split++;
    const int low = 64 - known - std::max(split, 1);
    const uint64_t mask = ((uint64_t)1 << split) - 1;
    const auto part = [=](uint64_t w) { return w >> low & mask; };
    int64_t starts[(1 << kSplit) + 1] = {}, next[1 << kSplit];
    uint32_t counts[4][1 << kSplit] = {};  // (one that is raised twice in a row waits for itself)
    int64_t counted = 0;
    for (; counted + 4 <= n; counted += 4) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; k++) counts[k][part(word(counted + k))]++;
    }
    for (; counted < n; counted++) counts[0][part(word(counted))]++;
    for (int k = 0; k < 1 << split; k++) starts[k + 1] = starts[k] + counts[0][k] + counts[1][k] + counts[2][k] + counts[3][k];
    memcpy(next, starts, sizeof next);
    for (int64_t i = 0; i < n; i++) {
      const uint64_t w = word(i);
      const int64_t to = next[part(w)]++;
      words[to] = w;
      __builtin_prefetch(words + to + 8, 1);  // each part's next line, from the caches that it does not fit
    }
    for (int k = 0; k < 1 << split; k++) {
      const int64_t begin = starts[k], m = starts[k + 1] - begin;
      const uint64_t *these = words + begin;
      if (m <= kLeaf) order_part(these, m, known + split, out + begin);
      else order(Stored{these}, spare + begin, words + begin, m, known + split, out + begin);
    }
  }
};

void order(const uint64_t *keys, uint64_t *spare, int64_t n, int64_t *out) {
  Order order;
  order.keys = keys;
  order.places = 1;
  while ((n - 1) >> order.places > 0) order.places++;
  order.order(Fresh{keys, ((uint64_t)1 << order.places) - 1}, reinterpret_cast<uint64_t *>(out), spare, n, 0, out);
}

}  // namespace

void WEFT_FILL(order)(WeftKernels *k) { k->order = order; }

// division.cpp: quotients of integers by those of doubles, which are exact for what a double holds: a quotient is further from the next
// integer than its rounding. Vectors with larger numbers go one by one.
#include "division.h"
#include "vectors.h"

using namespace weft;

namespace {

constexpr int kSome = 8;
typedef Vec<int64_t, kSome> Wide;
typedef Vec<double, kSome> Reals;

template <class T> inline Wide widened(const char *p) {
  Vec<T, kSome> v;
  memcpy(&v, p, sizeof v);
  return __builtin_convertvector(v, Wide);
}

template <Division which> inline Wide combined(Wide x, Wide y) {
  const Wide q = __builtin_convertvector(__builtin_convertvector(x, Reals) / __builtin_convertvector(y, Reals), Wide), r = x - q * y;
  if (which == DIVIDE_TRUNC) return q;
  if (which == DIVIDE_FMOD) return r;
  const Wide apart = (r != 0) & ((r ^ y) < 0);
  return which == DIVIDE_FLOOR ? q + apart : r + (apart & y);
}

// Whether there is a number that a double may not hold.
inline bool is_long(Wide x) {
  const Wide far = (x >> 52) ^ (x >> 63);
  int64_t any = 0;
  for (int i = 0; i < kSome; i++) any |= far[i];
  return any;
}

template <Division which, class T> void loop(char **args, const intptr_t *n, const intptr_t *steps, void *) {
  constexpr intptr_t item = sizeof(T);
  char *at[3] = {args[0], args[1], args[2]};
  intptr_t i = 0;
  if (steps[0] == item && steps[2] == item && (steps[1] == item || !steps[1]) && *n >= kSome) {
    const T number = *reinterpret_cast<const T *>(at[1]);
    const Wide one = Wide{} + (int64_t)number;
    const bool many = steps[1], far = !many && item == 8 && is_long(one);
    for (; i + kSome <= *n; i += kSome) {
      const Wide x = widened<T>(at[0]), y = many ? widened<T>(at[1]) : one;
      if (item == 8 && (far || is_long(x) || (many && is_long(y)))) {
        const intptr_t some = kSome;
        division_loop<which, T>(at, &some, steps, nullptr);
      } else {
        const Vec<T, kSome> out = __builtin_convertvector(combined<which>(x, y), Vec<T, kSome>);
        memcpy(at[2], &out, sizeof out);
      }
      for (int k = 0; k < 3; k++) at[k] += kSome * steps[k];
    }
  }
  const intptr_t left = *n - i;
  division_loop<which, T>(at, &left, steps, nullptr);
}

template <Division which> void fill(WeftLoop *loops) {
  loops[WEFT_INT64] = loop<which, int64_t>, loops[WEFT_INT32] = loop<which, int32_t>;
  loops[WEFT_INT16] = loop<which, int16_t>, loops[WEFT_INT8] = loop<which, int8_t>, loops[WEFT_UINT8] = loop<which, uint8_t>;
}

}  // namespace

namespace weft {
void WEFT_FILL(division)(DivisionTable *table) {
  fill<DIVIDE_FLOOR>(table->loops[DIVIDE_FLOOR]), fill<DIVIDE_REMAINDER>(table->loops[DIVIDE_REMAINDER]), fill<DIVIDE_FMOD>(table->loops[DIVIDE_FMOD]);
  fill<DIVIDE_TRUNC>(table->loops[DIVIDE_TRUNC]);
}
}  // namespace weft

// pointwise.h: the loop of an elementwise function of one to four operands over runs of elements, as kernels.h asks for it.
#ifndef WEFT_ISA_POINTWISE_H
#define WEFT_ISA_POINTWISE_H

#include "vectors.h"

namespace {

// How an operand is read where it is not known before the loop: adjacent lanes, one value for all, or lanes apart.
template <class D> struct Any {
  const char *p;
  intptr_t step;
  typename D::V same;
  Any(const char *p, intptr_t step) : p(p), step(step), same(step ? typename D::V{} : splat<D>(p)) {}
  inline typename D::V full(int64_t i) const {
    if (step == sizeof(typename D::Stored)) return D::load(p + i * step);
    return step ? load_strided<D>(p + i * step, step, D::kLanes) : same;
  }
  inline typename D::V part(int64_t i, int64_t n) const {
    if (step == sizeof(typename D::Stored)) return load_part<D>(p + i * step, n);
    return step ? load_strided<D>(p + i * step, step, n) : same;
  }
};

template <class D, class Out, class Op, class... Operand>
inline void run_pointwise(char *out, intptr_t out_step, int64_t n, const Operand &...x) {
  int64_t i = 0;
  if (out_step == Out::kItem)
    for (; i + D::kLanes <= n; i += D::kLanes) Out::full(out + i * Out::kItem, Op::call(x.full(i)...));
  for (; i < n; i += D::kLanes) {
    const int64_t m = n - i < D::kLanes ? n - i : D::kLanes;
    Out::part(out + i * out_step, out_step, Op::call(x.part(i, m)...), m);
  }
}

template <class D, class Out, class Op, int N> void pointwise_loop(char **args, const intptr_t *n, const intptr_t *steps, void *) {
  typedef Contiguous<D> Dense;
  constexpr intptr_t item = sizeof(typename D::Stored);
  const intptr_t *s = steps;
  if (*n <= 0) return;
  if constexpr (N == 1) {
    if (s[0] == item) run_pointwise<D, Out, Op>(args[1], s[1], *n, Dense(args[0], item));
    else run_pointwise<D, Out, Op>(args[1], s[1], *n, Any<D>(args[0], s[0]));
  } else if constexpr (N == 2) {
    if (s[0] == item && s[1] == item) run_pointwise<D, Out, Op>(args[2], s[2], *n, Dense(args[0], item), Dense(args[1], item));
    else if (s[0] == item && s[1] == 0) run_pointwise<D, Out, Op>(args[2], s[2], *n, Dense(args[0], item), Same<D>(args[1], 0));
    else if (s[0] == 0 && s[1] == item) run_pointwise<D, Out, Op>(args[2], s[2], *n, Same<D>(args[0], 0), Dense(args[1], item));
    else run_pointwise<D, Out, Op>(args[2], s[2], *n, Any<D>(args[0], s[0]), Any<D>(args[1], s[1]));
  } else if constexpr (N == 3) {
    if (s[0] == item && s[1] == 0 && s[2] == 0) run_pointwise<D, Out, Op>(args[3], s[3], *n, Dense(args[0], item), Same<D>(args[1], 0), Same<D>(args[2], 0));
    else if (s[0] == item && s[1] == item && s[2] == 0) run_pointwise<D, Out, Op>(args[3], s[3], *n, Dense(args[0], item), Dense(args[1], item), Same<D>(args[2], 0));
    else run_pointwise<D, Out, Op>(args[3], s[3], *n, Any<D>(args[0], s[0]), Any<D>(args[1], s[1]), Any<D>(args[2], s[2]));
  } else {
    const bool numbers = s[0] == item && s[2] == 0 && s[3] == 0;
    if (numbers && s[1] == 0) run_pointwise<D, Out, Op>(args[4], s[4], *n, Dense(args[0], item), Same<D>(args[1], 0), Same<D>(args[2], 0), Same<D>(args[3], 0));
    else if (numbers && s[1] == item) run_pointwise<D, Out, Op>(args[4], s[4], *n, Dense(args[0], item), Dense(args[1], item), Same<D>(args[2], 0), Same<D>(args[3], 0));
    else run_pointwise<D, Out, Op>(args[4], s[4], *n, Any<D>(args[0], s[0]), Any<D>(args[1], s[1]), Any<D>(args[2], s[2]), Any<D>(args[3], s[3]));
  }
}

}  // namespace
#endif

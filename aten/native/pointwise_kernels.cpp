// pointwise_kernels.cpp: kernels of elementwise ops that are no row of the scalar vocabulary by their own name.
#include "native_kernel.h"

namespace weft {

namespace {

// (out, n, x): digamma and trigamma are rows
PyObject *polygamma_kernel(PyObject *, PyObject *const *args, Py_ssize_t nargs) {
  WeftTensor *out = nargs == 3 ? plain(args[0]) : nullptr, *x = out ? plain(args[2]) : nullptr;
  int64_t n;
  if (!x || !exact_int(args[1], &n) || n < 0 || n > 1 || WEFT_DTYPE(x) != WEFT_DTYPE(out)) return not_for_these();
  WeftLoop body = weft_kernels.pointwise[n ? WEFT_TRIGAMMA : WEFT_DIGAMMA][WEFT_DTYPE(x)];
  if (!body) return not_for_these();
  Loop loop(WEFT_NDIM(out), out->sizes);
  loop.add(x);
  loop.add(out);
  loop.run(body, nullptr);
  return written();
}

}  // namespace

const NativeKernel pointwise_kernels[] = {{"polygamma", WEFT_KERNEL(polygamma_kernel)}, {nullptr, nullptr}};

}  // namespace weft

// counts.h: counters of what the driver was asked to do. Relaxed: they order nothing, and cost an addition.
#ifndef WEFT_CUDA_COUNTS_H
#define WEFT_CUDA_COUNTS_H

#include <atomic>

#include "extension.h"

#define WEFT_CUDA_COUNTS(X)                                                                                                    \
  X(launches) X(graph_launches) X(patched_nodes) X(copies_from_host) X(bytes_from_host) X(copies_to_host) X(bytes_to_host) \
  X(copies_within) X(bytes_within)

namespace weft::cuda {

struct Counts {
#define X(name) std::atomic<int64_t> name{0};
  WEFT_CUDA_COUNTS(X)
#undef X
};

extern Counts counts;
inline void count(std::atomic<int64_t> &counter, int64_t n = 1) { counter.fetch_add(n, std::memory_order_relaxed); }

}  // namespace weft::cuda
#endif

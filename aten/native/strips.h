// strips.h: rows of memory, and strips of columns, shared among threads; without the GIL where there is much to do.
#ifndef WEFT_STRIPS_H
#define WEFT_STRIPS_H

#include <algorithm>

#include "reduce.h"
#include "released.h"

namespace weft {

// body(begin, end) over parts of [0, n), each worth `each` elements.
template <class Body>
void share(int64_t n, int64_t each, Body body) {
  const int64_t grain = std::max<int64_t>(1, kGrain / each);
  const bool much = n * each >= 65536;
  if (n <= grain && !much) {
    if (n > 0) body(0, n);
    return;
  }
  Released released(much);
  kernel_runtime()->parallel_for(
      n, grain,
      [](void *context, int64_t begin, int64_t end, int64_t) { (*static_cast<Body *>(context))(begin, end); }, &body);
}

// At each of `outer` positions stand n rows of `width` columns: body(position, first column, columns), at most kStrip of them, whose
// results of the row before are still in the cache.
template <int64_t kStrip = 512, class Body>
void share_strips(int64_t outer, int64_t n, int64_t width, Body body) {
  const int64_t per = (width + kStrip - 1) / kStrip;
  share(outer * per, n * std::min(width, kStrip), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const int64_t first = i % per * kStrip;
      body(i / per, first, std::min(kStrip, width - first));
    }
  });
}

}  // namespace weft
#endif

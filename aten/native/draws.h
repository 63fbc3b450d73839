// draws.h: how a thread's random numbers are handed out by somebody else than its generators: by who captures a CUDA graph whose
// replays shall draw new ones. The capsule `aten._native._DRAWS` is a pointer to a WeftSetDraws.
#ifndef WEFT_DRAWS_H
#define WEFT_DRAWS_H

#include <Python.h>
#include <stdint.h>

// Each is asked under the GIL about a generator (an aten.Generator), whose own seed and next counter `seed` and `offset` hold when it is
// called: 1 says that they have been replaced (by what is reserved; by the state), 0 that the generator's are right, -1 that an exception is set.
typedef struct WeftDraws {
  int (*reserve)(PyObject *generator, uint64_t count, uint64_t *seed, uint64_t *offset);
  int (*get_state)(PyObject *generator, uint64_t *seed, uint64_t *offset);
  int (*set_state)(PyObject *generator, uint64_t seed, uint64_t offset);  // (of the new state) 1: done
  // With or without the GIL: what the host shall draw with, now, for a seed and a counter that were reserved.
  void (*settle)(uint64_t *seed, uint64_t *offset);
} WeftDraws;

typedef void (*WeftSetDraws)(const WeftDraws *);  // of this thread, kept by the caller; NULL: its generators again

#endif

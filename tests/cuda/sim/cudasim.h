// cudasim.h: what a test hands to the simulated CUDA driver, and what it may ask it. The product sees only the driver's API.
#ifndef CUDASIM_H
#define CUDASIM_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define CUDASIM_MAX_PARAMS 128

typedef struct CudasimFunction {
  char name[256];
  int32_t n_params, sizes[CUDASIM_MAX_PARAMS];
  int32_t registers, local_bytes, static_shared, max_threads;
} CudasimFunction;

typedef struct CudasimLaunch {
  uint64_t module;                // what the load hook returned
  const char *name;
  uint32_t grid[3], block[3], shared, cluster, cooperative, pdl;
  int32_t n_params, device;
  const void *const *params;      // copies made at the launch
} CudasimLaunch;

// Describes an image: fills up to `room` functions; returns how many (0: not an image), and a number of its own in *module.
typedef int (*CudasimLoad)(const void *image, size_t bytes, CudasimFunction *out, int room, uint64_t *module);
// Runs a kernel to its end. 0, or the CUresult that the context is left in.
typedef int (*CudasimRun)(const CudasimLaunch *launch);

void cudasim_hooks(CudasimLoad load, CudasimRun run);
// The live allocations of a device as (address, bytes) pairs, in order of address; returns how many there are.
size_t cudasim_live(int device, uint64_t *pairs, size_t room);
int64_t cudasim_delta(void);      // host address of device memory minus its device address
uint64_t cudasim_calls(const char *name);             // how often a driver function was called; NULL: all
uint64_t cudasim_live_bytes(int device);
const char *cudasim_fault(void);  // what went wrong on the device first, or NULL
void cudasim_recover(const char *schedule); // forget what is queued, faults and counts; "lazy", "random:7" ... from now on
void cudasim_finish(void);        // everything that is queued runs
void cudasim_set_memory(uint64_t bytes);  // of a device
void cudasim_fail(const char *name, uint64_t nth, int code); // the nth call of it from now on answers the code
#ifdef __cplusplus
}
#endif
#endif

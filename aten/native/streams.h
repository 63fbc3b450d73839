// streams.h: what the row of a device with streams has beyond WeftDevice. CUDA's row, whoever puts it into the table, is one.
#ifndef WEFT_STREAMS_H
#define WEFT_STREAMS_H

#include "weft.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct WeftStreamedDevice {
  WeftDevice device;  // the row itself; its `allocate` may raise
  // The index that a device without one means in this thread.
  int (*current)(void);
  // A copy that may still be under way on return, in the order of what this thread gives to the device.
  int (*copy_ahead)(void *to, const void *from, int64_t nbytes, enum WeftCopy way, int index);
  // Bytes from one of the devices to another, likewise.
  int (*across)(void *to, int to_index, const void *from, int from_index, int64_t nbytes);
} WeftStreamedDevice;

#ifdef __cplusplus
}
#endif
#endif

// driver.cpp: finds the CUDA driver's library at run time and fills the table of driver.h.
#include "driver.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <string>

namespace weft::cuda {

Driver driver;

namespace {

bool opened;
std::string tried = "\n";  // no path
std::string reason;

bool fill(void *library) {
#define X(field, symbol, args)                                                         \
  driver.field = reinterpret_cast<decltype(driver.field)>(dlsym(library, #symbol));    \
  if (!driver.field) {                                                                 \
    reason = "the driver is too old (525 is needed): it has no " #symbol;              \
    return false;                                                                      \
  }
  WEFT_CUDA_DRIVER(X)
#undef X
#define X(field, symbol, args) driver.field = reinterpret_cast<decltype(driver.field)>(dlsym(library, #symbol));
  WEFT_CUDA_WATCHER(X)
#undef X
  return true;
}

std::string failure(const char *call, CUresult code) {
  const char *text = nullptr;
  driver.cuGetErrorString(code, &text);
  return std::string(call) + " says " + std::to_string(code) + (text ? std::string(": ") + text : "");
}

}  // namespace

bool driver_is_open() { return opened; }

const char *open_driver() {
  if (opened) return nullptr;
  const char *named = getenv("WEFT_LIBCUDA");
  const std::string path = named && *named ? named : "libcuda.so.1";
  if (path == tried) return reason.c_str();
  tried = path;
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *text = dlerror();
    reason = text ? text : "cannot open " + path;
    return reason.c_str();
  }
  if (!fill(library)) return reason.c_str();
  CUresult code = driver.cuInit(0);
  if (code != CUDA_SUCCESS) {
    reason = failure("cuInit", code);
    return reason.c_str();
  }
  opened = true;
  return nullptr;
}

}  // namespace weft::cuda

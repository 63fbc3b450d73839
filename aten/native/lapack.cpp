// lapack.cpp: where NumPy's library of linear algebra has its routines.
#include "lapack.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include <string>

namespace weft {
namespace {

// The loaded OpenBLAS, or NULL.
void *openblas() {
  static void *const handle = [] {
    std::string path;
    dl_iterate_phdr(
        [](dl_phdr_info *info, size_t, void *found) {
          if (!info->dlpi_name || !strstr(info->dlpi_name, "openblas")) return 0;
          *static_cast<std::string *>(found) = info->dlpi_name;
          return 1;
        },
        &path);
    return path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  }();
  return handle;
}

}  // namespace

void *lapack_routine(char type, const char *name) {
  if (!openblas()) return nullptr;
  const std::string whole = std::string(1, type) + name + "_64_";  // so named, its integers have 64 bits
  for (const char *prefix : {"scipy_", ""})
    if (void *found = dlsym(openblas(), (prefix + whole).c_str())) return found;
  return nullptr;
}

}  // namespace weft

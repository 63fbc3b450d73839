// The states of weft's own files, of which every key of the cache is made: asked in C, they take half the time.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runner.h"

namespace runner {

static bool is_source(const std::string &name) {
  for (const char *ending : {".py", ".h", ".so"}) {
    const size_t n = strlen(ending);
    if (name.size() >= n && name.compare(name.size() - n, n, ending) == 0) return true;
  }
  return false;
}

// Appends a line for each source in `folder`, and the folders within it to `folders`. Sets OSError.
static bool list_folder(const std::string &root, const std::string &folder, std::vector<std::string> &folders, std::vector<std::string> &lines) {
  const std::string path = root + folder;
  DIR *dir = opendir(path.c_str());
  if (!dir) return PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str()), false;
  bool good = true;
  while (const dirent *item = good ? readdir(dir) : nullptr) {
    const std::string name = item->d_name, inner = folder + "/" + name;
    if (name == "." || name == ".." || name == "__pycache__") continue;
    struct stat status;
    bool is_folder = item->d_type == DT_DIR;
    if (item->d_type == DT_UNKNOWN) is_folder = fstatat(dirfd(dir), item->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
    if (is_folder) {
      folders.push_back(inner);
    } else if (is_source(name)) {
      good = fstatat(dirfd(dir), item->d_name, &status, 0) == 0;
      if (!good) PyErr_SetFromErrnoWithFilename(PyExc_OSError, (root + inner).c_str());
      const long long touched = (long long)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
      lines.push_back(inner + " " + std::to_string((long long)status.st_size) + " " + std::to_string(touched));
    }
  }
  closedir(dir);
  return good;
}

PyObject *source_states(PyObject *, PyObject *args) {
  PyObject *root, *packages;
  if (!PyArg_ParseTuple(args, "O&O!:source_states", PyUnicode_FSConverter, &root, &PyTuple_Type, &packages)) return nullptr;
  const std::string base = PyBytes_AS_STRING(root);
  Py_DECREF(root);
  std::vector<std::string> folders, lines;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(packages); i++) {
    const char *package = PyUnicode_AsUTF8(PyTuple_GET_ITEM(packages, i));
    if (!package) return nullptr;
    folders.push_back(std::string("/") + package);
  }
  while (!folders.empty()) {
    const std::string folder = folders.back();
    folders.pop_back();
    if (!list_folder(base, folder, folders, lines)) return nullptr;
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string &line : lines) text += (text.empty() ? "" : "\n") + line;
  return PyUnicode_DecodeFSDefaultAndSize(text.data(), (Py_ssize_t)text.size());
}

} // namespace runner

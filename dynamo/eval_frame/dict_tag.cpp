// dict_tag.cpp: tags of dictionaries where CPython keeps none (3.14).
//
// A dictionary that a memo depends on is watched. At its first change, or its end, it gets a tag that nobody had before,
// which every memo that noted the old one finds; and it is watched no longer, until a walk notes it again. So what changes
// often costs one callback a noted walk, and words of tags can go to another dictionary: who still compares with one sees
// a number that it never noted.
#include "pyversion.h"

#ifdef WEFT_KEEPS_DICT_TAGS
#include <unordered_map>

namespace {
constexpr size_t kBlock = 256;
int watcher = -1;
uint64_t last_tag = 0;
std::unordered_map<PyObject *, uint64_t *> *tags; // of the dictionaries that are watched; never destroyed: dictionaries end late
std::vector<uint64_t *> *unused;                  // words that no dictionary has; blocks of them are never freed

// Called before the change. Runs no Python.
int changed(PyDict_WatchEvent, PyObject *dict, PyObject *, PyObject *) {
  auto at = tags->find(dict);
  if (at == tags->end()) return 0;
  *at->second = ++last_tag;
  unused->push_back(at->second); // has room, see below
  tags->erase(at);
  return PyDict_Unwatch(watcher, dict);
}
} // namespace

const uint64_t *dict_tag(PyObject *dict) {
  if (watcher < 0) return NULL;
  auto at = tags->find(dict);
  if (at != tags->end()) return at->second;
  if (PyDict_Watch(watcher, dict) < 0) {
    PyErr_Clear();
    return NULL;
  }
  if (unused->empty()) {
    uint64_t *block = new uint64_t[kBlock];
    unused->reserve(tags->size() + kBlock);
    for (size_t i = kBlock; i-- > 0;) unused->push_back(block + i);
  }
  uint64_t *tag = unused->back();
  unused->pop_back();
  *tag = ++last_tag;
  tags->emplace(dict, tag);
  return tag;
}

// Without a watcher (there are eight) memos remember nothing that stands in dictionaries.
bool dict_tags_ready() {
  if (tags) return true;
  tags = new std::unordered_map<PyObject *, uint64_t *>;
  unused = new std::vector<uint64_t *>;
  watcher = PyDict_AddWatcher(changed);
  if (watcher < 0) PyErr_Clear();
  return true;
}
#endif

// guard_reads.cpp: a dictionary that changed, but not where a memo read it.
//
// A tag says that nothing at all has changed, by one word however much was read. Where it is another one (a loop at the top of
// a module rebinds a global of it in each turn, a module counts its calls in an attribute), what was read is looked up again. A
// value at the same address and of the same type stands for the one that was read: all else that the walk asked it are words,
// which come after and are compared as they always are; values of constants are owned, and whatever is compared by identity
// ends the program when it dies. What is none of these (Walk::saw_parts_of) makes the dictionary count as a whole.
#include "guard_program.h"

#include <algorithm>
#include <tuple>

void memo_settle_reads(Memo *m) {
  for (SeenKey &read : m->reads) {
    bool unlike = read.value && std::find(m->unlike.begin(), m->unlike.end(), read.value) != m->unlike.end();
    if (unlike || (read.key && !PyUnicode_CheckExact(read.key))) read.key = NULL;
  }
  auto before = [](const SeenKey &a, const SeenKey &b) { return std::tie(a.word, a.key) < std::tie(b.word, b.key); };
  auto same = [](const SeenKey &a, const SeenKey &b) { return a.word == b.word && (a.key == b.key || !a.key); };
  std::sort(m->reads.begin(), m->reads.end(), before);
  m->reads.erase(std::unique(m->reads.begin(), m->reads.end(), same), m->reads.end()); // of a whole one no more than that
  m->reads.shrink_to_fit();
  m->unlike.clear();
}

static bool holds(SeenKey &read) {
  PyObject *v = dict_entry(read.dict, read.at, read.key);
  if (!v) {
    v = PyDict_GetItemWithError(read.dict, read.key); // a str among strs: runs no Python, and raises nothing
    read.at = v ? dict_entry_of(read.dict, read.key) : -1;
  }
  return v == read.value && (!v || Py_TYPE(v) == read.type);
}

bool memo_reads_hold(Memo *m, size_t index) {
  auto before = [](const SeenKey &read, size_t word) { return read.word < word; };
  auto read = std::lower_bound(m->reads.begin(), m->reads.end(), index, before);
  if (read == m->reads.end() || read->word != index || !read->key || !dict_has_only_names(read->dict)) return false;
  PyObject *dict = read->dict;
  for (; read != m->reads.end() && read->word == index; ++read)
    if (!holds(*read)) return false;
  const uint64_t *tag = dict_tag(dict);
  if (!tag) return false;
  m->words[index] = {tag, *tag};
  return true;
}

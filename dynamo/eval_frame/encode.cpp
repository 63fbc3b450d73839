// encode.cpp: lists of instructions and handlers as the bytes of a code object; instructions.cpp is the other direction.
//
// The formats of the tables are those of CPython's Objects/locations.md and Objects/exception_handling_notes.txt
// (InternalDocs/ from 3.14 on).
#include "entry.h"

#include <string>

namespace {

struct Encoding {
  const unsigned char *caches;   // by opcode: units of cache behind it
  const unsigned char *backward; // by opcode: whether it jumps backward
  int cache, extended;
};

struct Place { // lines and columns; -1: unknown
  long line = -1, end_line = -1, column = -1, end_column = -1;
};

struct Item {
  int opcode;
  long arg, target;     // target: index of an instruction, -1 if it does not jump
  Place place;
  size_t unit = 0;      // where it begins, its extended arguments included
  int extensions = 0;   // how many of those
};

int extensions_of(long arg) { return arg > 0xffffff ? 3 : arg > 0xffff ? 2 : arg > 0xff ? 1 : 0; }

bool number_of(PyObject *given, long *out) {
  if (given == Py_None) return *out = -1, true;
  *out = PyLong_AsLong(given);
  return *out != -1 || !PyErr_Occurred();
}

bool place_of(PyObject *given, Place &place) {
  if (PyTuple_Check(given) && PyTuple_GET_SIZE(given) == 4)
    return number_of(PyTuple_GET_ITEM(given, 0), &place.line) && number_of(PyTuple_GET_ITEM(given, 1), &place.end_line) &&
           number_of(PyTuple_GET_ITEM(given, 2), &place.column) && number_of(PyTuple_GET_ITEM(given, 3), &place.end_column);
  return number_of(given, &place.line);
}

bool items_of(PyObject *list, std::vector<Item> &items) {
  Py_ssize_t n = PyList_GET_SIZE(list);
  items.reserve((size_t)n);
  for (Py_ssize_t i = 0; i < n; i++) {
    Item item;
    PyObject *place;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "illO", &item.opcode, &item.arg, &item.target, &place)) return false;
    if (item.opcode < 0 || item.opcode > 255 || item.arg < 0 || item.arg > 0x7fffffff || item.target < -1 || item.target > n)
      return PyErr_Format(PyExc_ValueError, "instruction %zd is outside of what an instruction holds", i), false;
    if (!place_of(place, item.place)) return false;
    items.push_back(item);
  }
  return true;
}

// Where everything stands. A jump grows with its distance and moves others, until none does.
bool laid_out(const Encoding &e, std::vector<Item> &items, size_t &units) {
  for (Item &item : items) item.extensions = extensions_of(item.arg);
  for (bool changed = true; changed;) {
    changed = false, units = 0;
    for (Item &item : items) {
      item.unit = units;
      units += (size_t)item.extensions + 1 + e.caches[item.opcode];
    }
    for (size_t i = 0; i < items.size(); i++) {
      Item &item = items[i];
      if (item.target < 0) continue;
      long from = (long)(item.unit + (size_t)item.extensions + 1 + e.caches[item.opcode]);
      long to = (long)((size_t)item.target < items.size() ? items[(size_t)item.target].unit : units);
      item.arg = e.backward[item.opcode] ? from - to : to - from;
      if (item.arg < 0) return PyErr_Format(PyExc_ValueError, "instruction %zu jumps the other way", i), false;
      if (extensions_of(item.arg) > item.extensions) item.extensions = extensions_of(item.arg), changed = true;
    }
  }
  return true;
}

void code_into(const Encoding &e, const std::vector<Item> &items, std::string &out) {
  for (const Item &item : items) {
    for (int i = item.extensions; i; i--) out += (char)e.extended, out += (char)(item.arg >> 8 * i & 0xff);
    out += (char)item.opcode, out += (char)(item.arg & 0xff);
    for (int i = 0; i < e.caches[item.opcode]; i++) out += (char)e.cache, out += '\0';
  }
}

// Six bits a byte, the lowest first, 0x40 where another one follows.
void varint(unsigned long value, std::string &out) {
  for (; value > 63; value >>= 6) out += (char)(64 | (value & 63));
  out += (char)value;
}

void signed_varint(long value, std::string &out) { varint(value < 0 ? (unsigned long)-value << 1 | 1 : (unsigned long)value << 1, out); }

// The place of at most eight units, in the shortest of the forms.
void place_into(const Place &p, size_t units, long &line, std::string &out) {
  auto begin = [&](int form) { out += (char)(0x80 | form << 3 | (int)(units - 1)); };
  if (p.line < 0) return begin(15);
  long step = p.line - line;
  line = p.line;
  long wide = p.end_column - p.column;
  if (p.column < 0 || p.end_column < 0) return begin(13), signed_varint(step, out);
  if (p.end_line == p.line && step == 0 && p.column < 80 && wide >= 0 && wide < 16) {
    begin((int)(p.column >> 3));
    out += (char)((p.column & 7) << 4 | wide);
  } else if (p.end_line == p.line && step >= 0 && step < 3 && p.column < 128 && p.end_column < 128) {
    begin((int)(10 + step));
    out += (char)p.column, out += (char)p.end_column;
  } else {
    begin(14);
    signed_varint(step, out);
    varint((unsigned long)(p.end_line > p.line ? p.end_line - p.line : 0), out);
    varint((unsigned long)p.column + 1, out), varint((unsigned long)p.end_column + 1, out);
  }
}

void places_into(const Encoding &e, const std::vector<Item> &items, long line, std::string &out) {
  for (const Item &item : items)
    for (size_t left = (size_t)item.extensions + 1 + e.caches[item.opcode]; left;) {
      size_t units = left < 8 ? left : 8;
      place_into(item.place, units, line, out);
      left -= units;
    }
}

// Six bits a byte, the highest first, 0x40 where another one follows; the first of an entry has 0x80.
void table_number(unsigned long value, bool first, std::string &out) {
  int shift = 0;
  while (value >> (shift + 6)) shift += 6;
  for (; shift >= 0; shift -= 6) {
    out += (char)((first ? 0x80 : 0) | (shift ? 0x40 : 0) | (value >> shift & 63));
    first = false;
  }
}

bool handlers_into(PyObject *list, const std::vector<Item> &items, size_t units, std::string &out) {
  auto unit_of = [&](long index) { return (size_t)index < items.size() ? items[(size_t)index].unit : units; };
  long behind = 0;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
    long first, last, target, depth;
    int lasti;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "llllp", &first, &last, &target, &depth, &lasti)) return false;
    if (first < behind || last <= first || last > (long)items.size() || target < 0 || target > (long)items.size() || depth < 0)
      return PyErr_Format(PyExc_ValueError, "handler %zd is empty, out of order or outside of its code", i), false;
    behind = last;
    table_number(unit_of(first), true, out);
    table_number(unit_of(last) - unit_of(first), false, out);
    table_number(unit_of(target), false, out);
    table_number((unsigned long)depth << 1 | (unsigned long)lasti, false, out);
  }
  return true;
}

// encoded(instructions, handlers, first_line, encoding) -> (code, location table, exception table).
PyObject *encoded(PyObject *, PyObject *args) {
  PyObject *list, *handlers, *caches, *backward;
  long line;
  Encoding e;
  if (!PyArg_ParseTuple(args, "O!O!l(SSii)", &PyList_Type, &list, &PyList_Type, &handlers, &line, &caches, &backward, &e.cache, &e.extended))
    return NULL;
  if (PyBytes_GET_SIZE(caches) != 256 || PyBytes_GET_SIZE(backward) != 256) return PyErr_Format(PyExc_TypeError, "a column has 256 bytes");
  e.caches = (const unsigned char *)PyBytes_AS_STRING(caches);
  e.backward = (const unsigned char *)PyBytes_AS_STRING(backward);
  std::vector<Item> items;
  size_t units = 0;
  std::string code, places, table;
  if (!items_of(list, items) || !laid_out(e, items, units) || !handlers_into(handlers, items, units, table)) return NULL;
  code_into(e, items, code);
  places_into(e, items, line, places);
  auto bytes = [](const std::string &text) { return PyBytes_FromStringAndSize(text.data(), (Py_ssize_t)text.size()); };
  return Py_BuildValue("(NNN)", bytes(code), bytes(places), bytes(table));
}

PyMethodDef functions[] = {
    {"encoded", encoded, METH_VARARGS, "encoded(instructions, handlers, first_line, encoding) -> (code, location table, exception table)"},
    {NULL, NULL, 0, NULL},
};

} // namespace

bool encode_ready(PyObject *module) { return PyModule_AddFunctions(module, functions) == 0; }

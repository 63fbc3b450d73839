// instructions.cpp: a code object as lists of Instructions and Handlers; what opcodes mean is said in bytecode/instruction.py.
#include "entry.h"

namespace {

// What an argument names, by opcode: nothing, the argument itself, two slots, or the item of a tuple.
enum Names : unsigned char { kNothing, kItself, kTwoSlots, kItem };

// The columns of a table of opcodes, as bytecode/instruction.py gives them.
struct Opcodes {
  PyObject *names;               // tuple: the name of each opcode
  const unsigned char *named;    // Names
  const unsigned char *of;       // kItem: the place of the tuple in `tables`
  const unsigned char *shift;    // kItem: bits below the place in the tuple
  const unsigned char *jump;     // 0: none, 1: forward, 2: backward
  int cache, extended;
};

bool column(PyObject *bytes, const unsigned char **out) {
  if (!PyBytes_Check(bytes) || PyBytes_GET_SIZE(bytes) != 256) return PyErr_Format(PyExc_TypeError, "a column has 256 bytes"), false;
  *out = (const unsigned char *)PyBytes_AS_STRING(bytes);
  return true;
}

bool opcodes_of(PyObject *given, Opcodes &o) {
  PyObject *named, *of, *shift, *jump;
  return PyArg_ParseTuple(given, "O!OOOOii", &PyTuple_Type, &o.names, &named, &of, &shift, &jump, &o.cache, &o.extended) &&
         column(named, &o.named) && column(of, &o.of) && column(shift, &o.shift) && column(jump, &o.jump);
}

// The source line of each unit of two bytes; what has none has that of the unit before.
bool lines_of(PyCodeObject *code, std::vector<long> &lines) {
  PyObject *ranges = PyObject_CallMethod((PyObject *)code, "co_lines", NULL);
  if (!ranges) return false;
  long line = code->co_firstlineno;
  while (PyObject *range = PyIter_Next(ranges)) {
    long start, end;
    PyObject *given;
    bool read = PyArg_ParseTuple(range, "llO", &start, &end, &given);
    if (read && given != Py_None) {
      long number = PyLong_AsLong(given);
      if (number) line = number;
    }
    if (read) lines.insert(lines.end(), (size_t)((end - start) / 2), line);
    Py_DECREF(range);
    if (!read) break;
  }
  Py_DECREF(ranges);
  return !PyErr_Occurred();
}

PyObject *item_at(PyObject *tuple, long place) {
  if (!PyTuple_Check(tuple) || place < 0 || place >= PyTuple_GET_SIZE(tuple))
    return PyErr_Format(PyExc_IndexError, "an argument names nothing"), nullptr;
  return Py_NewRef(PyTuple_GET_ITEM(tuple, place));
}

// What the argument of an opcode names: a new reference.
PyObject *named(const Opcodes &o, PyObject *tables, int opcode, long arg) {
  switch (o.named[opcode]) {
  case kItself: return PyLong_FromLong(arg);
  case kTwoSlots: {
    PyObject *slots = item_at(tables, o.of[opcode]), *pair = slots ? PyTuple_New(2) : NULL;
    for (int i = 0; pair && i < 2; i++) {
      PyObject *slot = item_at(slots, i ? arg & 15 : arg >> 4);
      if (slot)
        PyTuple_SET_ITEM(pair, i, slot);
      else
        Py_CLEAR(pair);
    }
    Py_XDECREF(slots);
    return pair;
  }
  case kItem: {
    PyObject *table = item_at(tables, o.of[opcode]), *found = table ? item_at(table, arg >> o.shift[opcode]) : NULL;
    Py_XDECREF(table);
    return found;
  }
  default: return Py_NewRef(Py_None);
  }
}

// The unit that a jump goes to; distances count from behind its caches.
size_t jumped_to(const unsigned char *raw, size_t units, const Opcodes &o, size_t unit, long distance) {
  for (unit++; unit < units && raw[2 * unit] == o.cache;) unit++;
  return unit + distance;
}

// An object of a class of tuples, of fields that it takes over.
template <size_t n> PyObject *tuple_of(PyTypeObject *cls, PyObject *const (&fields)[n]) {
  PyObject *made = cls->tp_alloc(cls, n);
  for (size_t i = 0; i < n; i++) {
    if (made && fields[i])
      PyTuple_SET_ITEM(made, i, fields[i]);
    else {
      Py_CLEAR(made);
      Py_XDECREF(fields[i]);
    }
  }
  return made;
}

// The next number of an exception table: six bits a byte, the highest first, another byte behind one with 0x40.
long table_number(const unsigned char *&at, const unsigned char *end) {
  long number = 0;
  while (at < end) {
    unsigned char byte = *at++;
    number = number << 6 | (byte & 63);
    if (!(byte & 64)) break;
  }
  return number;
}

PyObject *handlers_of(PyTypeObject *cls, PyCodeObject *code, const std::vector<long> &index_of) {
  PyObject *found = PyList_New(0), *table = code->co_exceptiontable;
  const unsigned char *at = (const unsigned char *)PyBytes_AS_STRING(table), *end = at + PyBytes_GET_SIZE(table);
  while (found && at < end) {
    long start = table_number(at, end), behind = start + table_number(at, end), target = table_number(at, end);
    long depth = table_number(at, end), last = (long)index_of.size() - 1;
    if (behind > last || target > last) return Py_DECREF(found), PyErr_Format(PyExc_ValueError, "a handler lies outside of its code");
    PyObject *made = tuple_of(cls, {PyLong_FromLong(index_of[start]), PyLong_FromLong(index_of[behind]), PyLong_FromLong(index_of[target]),
                                    PyLong_FromLong(depth >> 1), PyBool_FromLong(depth & 1)});
    if (!made || PyList_Append(found, made) < 0) Py_CLEAR(found);
    Py_XDECREF(made);
  }
  return found;
}

// decoded(Instruction, Handler, code, raw, tables, opcodes) -> (list of Instruction, list of Handler), of tuples of their fields.
PyObject *decoded(PyObject *, PyObject *args) {
  PyTypeObject *cls, *handler;
  PyObject *code, *bytes, *tables, *given;
  Opcodes o;
  if (!PyArg_ParseTuple(args, "O!O!O!O!O!O!", &PyType_Type, &cls, &PyType_Type, &handler, &PyCode_Type, &code, &PyBytes_Type, &bytes,
                        &PyTuple_Type, &tables, &PyTuple_Type, &given) ||
      !opcodes_of(given, o))
    return NULL;
  if (!PyType_IsSubtype(cls, &PyTuple_Type) || !PyType_IsSubtype(handler, &PyTuple_Type))
    return PyErr_Format(PyExc_TypeError, "decoded() makes tuples");
  std::vector<long> lines;
  if (!lines_of((PyCodeObject *)code, lines)) return NULL;
  const unsigned char *raw = (const unsigned char *)PyBytes_AS_STRING(bytes);
  size_t units = (size_t)PyBytes_GET_SIZE(bytes) / 2;
  std::vector<long> index_of(units + 1); // a cache or an extended argument means the instruction behind it
  long count = 0;
  for (size_t unit = 0; unit < units; unit++) {
    index_of[unit] = count;
    count += raw[2 * unit] != o.cache && raw[2 * unit] != o.extended;
  }
  index_of[units] = count;
  PyObject *found = PyList_New(count);
  long high = 0;
  for (size_t unit = 0, index = 0; found && unit < units; unit++) {
    int opcode = raw[2 * unit];
    long arg = raw[2 * unit + 1] | high;
    high = opcode == o.extended ? arg << 8 : 0;
    if (opcode == o.cache || opcode == o.extended) continue;
    long target = -1;
    if (o.jump[opcode]) {
      size_t at = jumped_to(raw, units, o, unit, o.jump[opcode] == 2 ? -arg : arg);
      target = at <= units ? index_of[at] : -1;
    }
    PyObject *value = named(o, tables, opcode, arg);
    PyObject *made = tuple_of(cls, {PyLong_FromSize_t(index), PyLong_FromSize_t(2 * unit), Py_NewRef(PyTuple_GET_ITEM(o.names, opcode)),
                                    PyLong_FromLong(opcode), PyLong_FromLong(arg), value, PyLong_FromLong(target),
                                    PyLong_FromLong(unit < lines.size() ? lines[unit] : -1)});
    if (made)
      PyList_SET_ITEM(found, index++, made);
    else
      Py_CLEAR(found);
  }
  PyObject *handlers = found ? handlers_of(handler, (PyCodeObject *)code, index_of) : NULL;
  PyObject *both = handlers ? PyTuple_Pack(2, found, handlers) : NULL;
  Py_XDECREF(found);
  Py_XDECREF(handlers);
  return both;
}

PyMethodDef functions[] = {
    {"decoded", decoded, METH_VARARGS, "decoded(Instruction, Handler, code, raw, tables, opcodes) -> (instructions, handlers)"},
    {NULL, NULL, 0, NULL},
};

} // namespace

bool instructions_ready(PyObject *module) { return PyModule_AddFunctions(module, functions) == 0; }

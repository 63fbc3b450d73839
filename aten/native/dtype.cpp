// dtype.cpp: the DType objects (aten.float32 ...), promotion of dtypes, and their NumPy counterparts.
#define WEFT_IMPORT_NUMPY
#include "numpy_api.h"

#include <string.h>

#include "native.h"

namespace weft {

struct DType {
  PyObject_HEAD
  int code;
};

PyTypeObject *dtype_type;
PyObject *dtype_objects[WEFT_NUM_DTYPES];
struct DTypeRow {
  DTypeKind kind;
  bool is_signed;
  const char *name, *type_name, *short_name, *element;
  int numpy;
};

#define ROW(code, size, kind, is_signed, ...) {KIND_##kind, is_signed, __VA_ARGS__},
static const DTypeRow rows[WEFT_NUM_DTYPES] = {WEFT_DTYPES(ROW)};
#undef ROW

const char *dtype_name(int code) { return rows[code].name; }
DTypeKind dtype_kind(int code) { return rows[code].kind; }
bool dtype_is_signed(int code) { return rows[code].is_signed; }
bool dtype_is_float8(int code) { return rows[code].kind == KIND_FLOAT && weft_itemsize(code) == 1; }

static int promote_integers(int a, int b) {
  int size_a = weft_itemsize(a), size_b = weft_itemsize(b);
  if (dtype_is_signed(a) == dtype_is_signed(b)) return size_a >= size_b ? a : b;
  int signed_one = dtype_is_signed(a) ? a : b, unsigned_one = dtype_is_signed(a) ? b : a;
  return weft_itemsize(signed_one) > weft_itemsize(unsigned_one) ? signed_one : WEFT_INT16;  // int8 with uint8
}

int promote_dtypes(int a, int b) {
  if (a == b) return a;
  if (dtype_is_float8(a) || dtype_is_float8(b)) return WEFT_NUM_DTYPES;
  DTypeKind kind_a = dtype_kind(a), kind_b = dtype_kind(b);
  if (kind_a > kind_b) std::swap(a, b), std::swap(kind_a, kind_b);
  if (is_wide_unsigned(a) || is_wide_unsigned(b)) return kind_b == KIND_FLOAT ? b : WEFT_NUM_DTYPES;
  if (kind_a == KIND_BOOL) return b;
  if (kind_b == KIND_INTEGER) return promote_integers(a, b);
  if (kind_b == KIND_FLOAT) {
    if (kind_a == KIND_INTEGER) return b;
    int size_a = weft_itemsize(a), size_b = weft_itemsize(b);
    if (size_a == 2 && size_b == 2) return WEFT_FLOAT32;  // float16 with bfloat16
    return size_a > size_b ? a : b;
  }
  if (b == WEFT_COMPLEX32 && (a == WEFT_FLOAT16 || kind_a < KIND_FLOAT)) return WEFT_COMPLEX32;
  return a == WEFT_FLOAT64 || a == WEFT_COMPLEX128 || b == WEFT_COMPLEX128 ? WEFT_COMPLEX128 : WEFT_COMPLEX64;
}

int dtype_code(PyObject *dtype) {
  if (Py_TYPE(dtype) == dtype_type) return reinterpret_cast<DType *>(dtype)->code;
  if (dtype == as_object(&PyFloat_Type)) return WEFT_FLOAT64;
  if (dtype == as_object(&PyLong_Type)) return WEFT_INT64;
  if (dtype == as_object(&PyBool_Type)) return WEFT_BOOL;
  PyErr_Format(PyExc_TypeError, "expected a dtype such as weft.float32, got %R", dtype);
  return -1;
}

PyObject *dtype_object(int code) { return dtype_objects[code]; }

// ml_dtypes registers its dtypes with NumPy; it is imported when the first array of one is met.
static PyObject *registered_descr(int code) {
  static PyObject *descr[WEFT_NUM_DTYPES];
  if (!descr[code]) {
    Ref module(PyImport_ImportModule("ml_dtypes"));
    Ref scalar(module ? PyObject_GetAttrString(module.get(), dtype_name(code)) : nullptr);
    PyArray_Descr *found = nullptr;
    if (scalar && PyArray_DescrConverter(scalar.get(), &found)) descr[code] = as_object(found);
  }
  Py_XINCREF(descr[code]);
  return descr[code];
}

// NumPy has no complex numbers of halves: their arrays are of pairs.
static PyObject *pair_descr() {
  static PyObject *descr;
  if (!descr) {
    Ref fields(Py_BuildValue("[(ss)(ss)]", "real", "<f2", "imag", "<f2"));
    PyArray_Descr *found = nullptr;
    if (fields && PyArray_DescrConverter(fields.get(), &found)) descr = as_object(found);
  }
  Py_XINCREF(descr);
  return descr;
}

PyObject *numpy_descr(int code) {
  if (code == WEFT_COMPLEX32) return pair_descr();
  return rows[code].numpy < 0 ? registered_descr(code) : as_object(PyArray_DescrFromType(rows[code].numpy));
}

int dtype_of_descr(PyObject *object) {
  PyArray_Descr *descr = reinterpret_cast<PyArray_Descr *>(object);
  if (descr->byteorder == NPY_OPPBYTE) {
    PyErr_Format(PyExc_ValueError, "the array's byte order (dtype %R) is not the machine's; convert it with "
                 "array.astype(array.dtype.newbyteorder('='))", object);
    return -1;
  }
  switch (descr->type_num) {
    case NPY_BOOL: return WEFT_BOOL;
    case NPY_BYTE: return WEFT_INT8;
    case NPY_UBYTE: return WEFT_UINT8;
    case NPY_SHORT: return WEFT_INT16;
    case NPY_USHORT: return WEFT_UINT16;
    case NPY_INT: return WEFT_INT32;
    case NPY_UINT: return WEFT_UINT32;
    case NPY_LONG: return sizeof(long) == 8 ? WEFT_INT64 : WEFT_INT32;
    case NPY_ULONG: return sizeof(long) == 8 ? WEFT_UINT64 : WEFT_UINT32;
    case NPY_LONGLONG: return WEFT_INT64;
    case NPY_ULONGLONG: return WEFT_UINT64;
    case NPY_HALF: return WEFT_FLOAT16;
    case NPY_FLOAT: return WEFT_FLOAT32;
    case NPY_DOUBLE: return WEFT_FLOAT64;
    case NPY_CFLOAT: return WEFT_COMPLEX64;
    case NPY_CDOUBLE: return WEFT_COMPLEX128;
    default: break;
  }
  if (descr->type_num >= NPY_USERDEF && strncmp(descr->typeobj->tp_name, "ml_dtypes.", 10) == 0)
    for (int code = 0; code < WEFT_NUM_DTYPES; code++)
      if (rows[code].numpy < 0 && strcmp(descr->typeobj->tp_name + 10, dtype_name(code)) == 0) return code;
  if (descr->type_num == NPY_VOID && PyDataType_ELSIZE(descr) == 4) {
    Ref pair(pair_descr());
    if (pair && PyArray_EquivTypes(descr, reinterpret_cast<PyArray_Descr *>(pair.get()))) return WEFT_COMPLEX32;
  }
  PyErr_Format(PyExc_TypeError, "no tensor dtype corresponds to the NumPy dtype %R; supported are bool, (u)int8-64, "
               "float16, bfloat16 (ml_dtypes), float32, float64, complex64, complex128", object);
  return -1;
}

static int code_of(PyObject *self) { return reinterpret_cast<DType *>(self)->code; }

// "torch.float32" and "torch.Size([2])" while weft stands in torch's place: programs compare with these, and show them.
static bool under_torch = false;
const char *shown_name() { return under_torch ? "torch" : "weft"; }
static PyObject *shown_as(PyObject *, PyObject *) { return PyUnicode_FromString(shown_name()); }

static PyObject *dtype_repr(PyObject *self) { return PyUnicode_FromFormat("%s.%s", shown_name(), dtype_name(code_of(self))); }
static PyObject *say_torch(PyObject *, PyObject *flag) {
  const int on = PyObject_IsTrue(flag);
  if (on < 0) return nullptr;
  under_torch = on != 0;
  Py_RETURN_NONE;
}

static PyObject *get_name(PyObject *self, void *) { return PyUnicode_FromString(dtype_name(code_of(self))); }
static PyObject *get_type_name(PyObject *self, void *) { return PyUnicode_FromString(rows[code_of(self)].type_name); }
static PyObject *get_short_name(PyObject *self, void *) { return PyUnicode_FromString(rows[code_of(self)].short_name); }
static PyObject *get_element(PyObject *self, void *) { return PyUnicode_FromString(rows[code_of(self)].element); }
static PyObject *get_itemsize(PyObject *self, void *) { return PyLong_FromLong(weft_itemsize(code_of(self))); }
static PyObject *get_is_floating_point(PyObject *self, void *) {
  return PyBool_FromLong(dtype_kind(code_of(self)) == KIND_FLOAT);
}
static PyObject *get_is_complex(PyObject *self, void *) {
  return PyBool_FromLong(dtype_kind(code_of(self)) == KIND_COMPLEX);
}

// The complex type whose parts are of a real type, and back.
static PyObject *dtype_to_complex(PyObject *self, PyObject *) {
  int code = code_of(self);
  if (code == WEFT_FLOAT16) code = WEFT_COMPLEX32;
  else if (code == WEFT_BFLOAT16 || code == WEFT_FLOAT32) code = WEFT_COMPLEX64;
  else if (code == WEFT_FLOAT64) code = WEFT_COMPLEX128;
  else if (dtype_kind(code) != KIND_COMPLEX)
    return PyErr_Format(PyExc_RuntimeError, "Unknown Complex ScalarType for %s", dtype_name(code));
  return Py_NewRef(dtype_objects[code]);
}

static PyObject *dtype_to_real(PyObject *self, PyObject *) {
  int code = code_of(self);
  if (code == WEFT_COMPLEX32) code = WEFT_FLOAT16;
  else if (code == WEFT_COMPLEX64) code = WEFT_FLOAT32;
  else if (code == WEFT_COMPLEX128) code = WEFT_FLOAT64;
  return Py_NewRef(dtype_objects[code]);
}

static PyObject *get_is_signed(PyObject *self, void *) { return PyBool_FromLong(dtype_is_signed(code_of(self))); }
static PyObject *dtype_to_numpy(PyObject *self, PyObject *) { return numpy_descr(code_of(self)); }

// Pickled by name, so that codes may be extended.
static PyObject *dtype_reduce(PyObject *self, PyObject *) {
  Ref module(PyImport_ImportModule("aten._native"));
  Ref by_name(module ? PyObject_GetAttrString(module.get(), "dtype_by_name") : nullptr);
  return by_name ? Py_BuildValue("O(s)", by_name.get(), dtype_name(code_of(self))) : nullptr;
}

static PyObject *dtype_by_name(PyObject *, PyObject *name) {
  const char *text = PyUnicode_AsUTF8(name);
  if (!text) return nullptr;
  for (int code = 0; code < WEFT_NUM_DTYPES; code++)
    if (strcmp(text, dtype_name(code)) == 0) return Py_NewRef(dtype_objects[code]);
  return PyErr_Format(PyExc_ValueError, "no dtype is called %R", name);
}

static PyObject *dtype_from_numpy(PyObject *, PyObject *arg) {
  PyArray_Descr *descr = nullptr;
  if (!PyArray_DescrConverter(arg, &descr)) return nullptr;
  Ref owned(as_object(descr));
  int code = dtype_of_descr(owned.get());
  return code < 0 ? nullptr : Py_NewRef(dtype_objects[code]);
}

static PyObject *promote_types(PyObject *, PyObject *args, PyObject *kwargs) {
  PyObject *first, *second;
  const char *names[] = {"type1", "type2", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:promote_types", const_cast<char **>(names), &first, &second)) return nullptr;
  int a = dtype_code(first), b = a < 0 ? -1 : dtype_code(second);
  if (b < 0) return nullptr;
  int found = promote_dtypes(a, b);
  if (found < WEFT_NUM_DTYPES) return Py_NewRef(dtype_objects[found]);
  const char *which = dtype_is_float8(a) || dtype_is_float8(b) ? "Float8 Types" : "uint16, uint32, uint64 types";
  return PyErr_Format(PyExc_RuntimeError, "Promotion for %s is not supported, attempted to promote %s and %s", which, rows[a].type_name, rows[b].type_name);
}

static PyGetSetDef dtype_getset[] = {
    {"name", get_name, nullptr, "the dtype's name: 'float32'", nullptr},
    {"type_name", get_type_name, nullptr, "what messages call it: 'Float'", nullptr},
    {"short_name", get_short_name, nullptr, "what graphs call it: 'f32'", nullptr},
    {"element", get_element, nullptr, "what messages call its elements: 'float'", nullptr},
    {"itemsize", get_itemsize, nullptr, "bytes of one element", nullptr},
    {"is_floating_point", get_is_floating_point, nullptr, nullptr, nullptr},
    {"is_complex", get_is_complex, nullptr, nullptr, nullptr},
    {"is_signed", get_is_signed, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
static PyMemberDef dtype_members[] = {
    {"code", T_INT, offsetof(DType, code), READONLY, "number of the dtype in weft.h, Programs and cache keys"},
    {nullptr, 0, 0, 0, nullptr}};
static PyMethodDef dtype_methods[] = {
    {"to_numpy", dtype_to_numpy, METH_NOARGS, "the numpy.dtype of the same items (bfloat16: ml_dtypes')"},
    {"to_complex", dtype_to_complex, METH_NOARGS, "the complex dtype whose parts are of this one (RuntimeError if there is none)"},
    {"to_real", dtype_to_real, METH_NOARGS, "the dtype of the parts of a complex one; itself if it is real"},
    {"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
static PyType_Slot dtype_slots[] = {{Py_tp_repr, (void *)dtype_repr},
                                    {Py_tp_getset, dtype_getset},
                                    {Py_tp_members, dtype_members},
                                    {Py_tp_methods, dtype_methods},
                                    {Py_tp_doc, (void *)"The type of a tensor's elements; one object each."},
                                    {0, nullptr}};
static PyType_Spec dtype_spec = {"aten._native.DType", sizeof(DType), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dtype_slots};
static PyMethodDef dtype_functions[] = {
    {"say_torch", say_torch, METH_O, "whether dtypes, sizes and what else shows its module say torch instead of weft"},
    {"shown_as", shown_as, METH_NOARGS, "shown_as() -> weft, or torch after say_torch(True)"},
    {"dtype_by_name", dtype_by_name, METH_O, "the DType called `name`"},
    {"dtype_from_numpy", dtype_from_numpy, METH_O, "the DType of a NumPy dtype; TypeError if there is none"},
    {"promote_types", (PyCFunction)(void *)promote_types, METH_VARARGS | METH_KEYWORDS, "the dtype to which both promote"},
    {nullptr, nullptr, 0, nullptr}};

static bool import_numpy() {
  import_array1(false);
  import_umath1(false);
  return true;
}

bool init_dtype(PyObject *module) {
  if (!import_numpy()) return false;
  dtype_type = add_type(module, &dtype_spec);
  if (!dtype_type || PyModule_AddFunctions(module, dtype_functions) < 0) return false;
  Ref table(PyTuple_New(WEFT_NUM_DTYPES));
  if (!table) return false;
  for (int code = 0; code < WEFT_NUM_DTYPES; code++) {
    DType *dtype = PyObject_New(DType, dtype_type);
    if (!dtype) return false;
    dtype->code = code;
    dtype_objects[code] = as_object(dtype);
    PyTuple_SET_ITEM(table.get(), code, Py_NewRef(as_object(dtype)));
  }
  return PyModule_AddObjectRef(module, "dtypes", table.get()) == 0;
}

}  // namespace weft

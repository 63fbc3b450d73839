// numpy_api.h: NumPy's C API for the files that need it; its table is imported once, in dtype.cpp.
#ifndef WEFT_NUMPY_API_H
#define WEFT_NUMPY_API_H

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL weft_numpy_api
#define PY_UFUNC_UNIQUE_SYMBOL weft_numpy_ufunc_api
#ifndef WEFT_IMPORT_NUMPY
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <Python.h>
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#endif

"""Functions of single values: one vocabulary for eager loops, compiled kernels and derivatives.

`table.py` holds the functions, `definitions.py` what is defined by them; `eager.py` writes the eager loops when the native module
is built, so that nothing in this folder imports another part of aten.
"""

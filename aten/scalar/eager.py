"""Writes the eager pointwise loops from the vocabulary: run when the native module is built, with nothing of aten but this folder.

`write(folder)` makes `pointwise_codes.h`, an enum and a table of what there is, and `pointwise_<part>.cpp`, which are compiled once
an instruction set (aten/native/isa/pointwise.h has the loops themselves).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import composites  # noqa: F401  (it adds to the definitions)
from .definitions import Definition, definitions
from .table import Scalar, table

KINDS = {"f": "float32", "i": "int64", "b": "bool"}  # a dtype that stands for the kind


class Text:
    """A value in a function's body: a name, and whether it is a mask of lanes."""

    def __init__(self, body: Body, name: str, truth: bool):
        self.body, self.name, self.truth = body, name, truth

    def __invert__(self) -> Text:
        return self.body.apply("logical_not", self)

    def __neg__(self) -> Text:
        return self.body.apply("neg", self)


def _operator(name: str, swapped: bool = False) -> Any:
    def method(self: Text, other: Any) -> Text:
        return self.body.apply(name, *((other, self) if swapped else (self, other)))

    return method


for _method, _name in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div"}.items():
    setattr(Text, f"__{_method}__", _operator(_name))
    setattr(Text, f"__r{_method}__", _operator(_name, True))
for _name in "lt le gt ge eq ne".split():
    setattr(Text, f"__{_name}__", _operator(_name))
for _name in ("and", "or"):
    setattr(Text, f"__{_name}__", _operator("logical_" + _name))


class Body:
    """The statements of one function of vectors of one kind of dtype: the vocabulary as `v` of definitions."""

    def __init__(self, kind: str):
        self.kind = kind
        self.lines: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *args: self.apply(name, *args)

    def apply(self, name: str, *args: Any) -> Text:
        if name in definitions:
            args = tuple(a if isinstance(a, Text) else self.constant(a) for a in args)
            return definitions[name].function(self, *args)
        row = table[name]
        texts = [a if isinstance(a, Text) else self.constant(a) for a in args]
        dtype = "bool" if texts[-1].truth else KINDS[self.kind]
        if dtype != "bool" and row.f is row.i is None and row.result == "bool":  # the truth of numbers
            texts = [t if t.truth else self.apply("to_bool", t) for t in texts]
            dtype = "bool"
        text = row.cpp(dtype).format(*(t.name for t in texts), V="V", A="V", T="w_elem<V>")
        return self.bind(text, row.result == "bool" or dtype == "bool")

    def constant(self, value: float) -> Text:
        text = '__builtin_nan("")' if value != value else repr(value).replace("inf", "__builtin_inf()")
        return self.bind(f"w_splat<V>({text})", False)

    def bind(self, text: str, truth: bool) -> Text:
        name = f"t{len(self.lines)}"
        self.lines.append(f"const auto {name} = {text};")
        return Text(self, name, truth)


def _function(entry: Scalar | Definition, kind: str) -> tuple[str, int]:
    """A struct whose `call` is the function of vectors; how many arguments it has."""
    body = Body(kind)
    count = len(entry.params) if isinstance(entry, Definition) else entry.arity
    args = [Text(body, f"x{k}", kind == "b") for k in range(count)]
    result = entry.function(body, *args) if isinstance(entry, Definition) else body.apply(entry.name, *args)
    params = ", ".join(f"V x{k}" for k in range(count))
    inside = " ".join([*body.lines, f"return {result.name};"])
    text = f"struct {kind}_{entry.name} {{ template <class V> W_INLINE auto call({params}) {{ {inside} }} }};"
    return text, count


def entries() -> Iterator[Scalar | Definition]:
    """All that has eager loops, in the order of their codes."""
    yield from (row for row in table.values() if row.eager)
    yield from (d for d in definitions.values() if d.eager)


DTYPES = {
    "f": {"WEFT_FLOAT32": "F32", "WEFT_FLOAT64": "F64"},
    "h": {"WEFT_FLOAT16": "F16", "WEFT_BFLOAT16": "BF16"},
    "i": {f"WEFT_{sign.upper()}INT{bits}": f"Plain<{sign}int{bits}_t>" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "b": {"WEFT_BOOL": "TruthLanes"},
}


PARTS = {"floats": "f", "halves": "h", "integers": "ib"}  # files, and the dtypes of each


def write(folder: Path) -> None:
    """All files, into `folder`."""
    rows = []
    for entry in entries():
        arity = len(entry.params) if isinstance(entry, Definition) else entry.arity
        rows.append((entry.name, arity, int(_truth(entry))))
    enum = ", ".join(f"WEFT_{name.upper()}" for name, _, _ in rows)
    known = ", ".join(f'{{"{name}", {arity}, {truth}}}' for name, arity, truth in rows)
    _replace(
        folder / "pointwise_codes.h",
        "// Written by aten/scalar/eager.py.\n"
        f"enum WeftPointwise {{ {enum}, WEFT_NUM_POINTWISE }};\n"
        "typedef struct { const char *name; int arity; int truth; } WeftPointwiseRow;\n"
        f"#define WEFT_POINTWISE_ROWS {known}\n",
    )
    for part, letters in PARTS.items():
        structs, fills = [], []
        for entry in entries():
            for letter in letters:
                if letter in entry.eager:
                    kind = "f" if letter == "h" else letter
                    text, arity = _function(entry, kind)
                    structs.append(text)
                    out = "Truths" if _truth(entry) else "Values"
                    for code, lanes in DTYPES[letter].items():
                        loop = f"pointwise_loop<{lanes}, {out}<{lanes}>, {kind}_{entry.name}, {arity}>"
                        fills.append(f"k->pointwise[WEFT_{entry.name.upper()}][{code}] = {loop};")
        _replace(
            folder / f"pointwise_{part}.cpp",
            '// Written by aten/scalar/eager.py.\n#include "isa/pointwise.h"\nnamespace {\n'
            + "\n".join(structs)
            + f"\n}}\nvoid WEFT_FILL({part})(WeftKernels *k) {{\n  "
            + "\n  ".join(fills)
            + "\n}\n",
        )


def _truth(entry: Scalar | Definition) -> bool:
    return isinstance(entry, Scalar) and entry.result == "bool"


def _replace(path: Path, text: str) -> None:
    """Write a file unless it says so already: what has not changed is not built anew."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main() -> None:
    """`python -c "... main()" FOLDER`."""
    folder = Path(sys.argv[-1])
    folder.mkdir(parents=True, exist_ok=True)
    write(folder)


__all__ = ["entries", "main", "write"]

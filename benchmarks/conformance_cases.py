"""Calls of the conformance data, grown from their few elements to about a megabyte.

The data are recorded for correctness, at sizes like [5, 5]. A sample grows by the first of these forms with which the
eager call still works:

    sizes    every size above 1 of every tensor, times one factor; numbers among the arguments stay
    numbers  the same, and so do the integers in lists of the arguments (the sizes of `zeros`, `view`, `expand`)
    rows     the first size of every tensor that has the same one as the largest tensor
    batch    every tensor gets one more dim in front
    input    the first size of the first tensor alone
    kept     nothing: what is left is a call of a few elements

The factor makes the largest input a megabyte, and is made smaller until a call takes no more than `SLOWEST` seconds, with its
gradients no more than `SLOWEST_BACKWARD`, and its results take no more than eight megabytes. Values are the recorded ones,
repeated: they stay in the domain of the op, and indices stay in range. Of float32 samples there is a case for `rows` as well,
if that works: few elements in a row are another question than many.
"""

from __future__ import annotations

import importlib.util
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

TARGET = 1 << 20  # bytes of the largest input
LARGEST_RESULT = 8 << 20
SLOWEST = 0.03
SLOWEST_BACKWARD = 0.5
SAMPLES = 4  # how many are tried before one is taken as it is
FORMS = ("sizes", "numbers", "rows", "batch", "input")
DTYPES = ("float32", "int64", "bfloat16")


@dataclass
class Case:
    """One call: `fn(*inputs)`. `differentiable` are the numbers of the inputs that have gradients."""

    op: str
    dtype: str
    form: str
    source: str
    fn: Callable
    inputs: list
    differentiable: list[int]

    @property
    def name(self) -> str:
        return f"{self.op} [{self.dtype} {self.form}]"

    def leaves(self) -> list:
        """The inputs whose gradients are asked for."""
        return [self.inputs[k] for k in self.differentiable if self.inputs[k].dtype.is_floating_point]

    def shapes(self) -> str:
        return ", ".join(str(list(t.shape)) for t in self.inputs)


class Missing(Exception):
    """The conformance data are not where they were looked for."""


def reader(folder: Path) -> Any:
    """The module that reads the data, which lies beside them."""
    for name in ("run_opinfo.py", "manifest.json", "ops.zip"):
        if not (folder / name).exists():
            raise Missing(f"no conformance data: {folder / name} does not exist (say where they are with --data FOLDER)")
    spec = importlib.util.spec_from_file_location("conformance_reader", folder / "run_opinfo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def grown_shapes(shapes: list[list[int]], itemsizes: list[int], form: str, shrink: float) -> list[list[int]] | None:
    """The sizes of every input under a form; None where the form has nothing to grow."""
    if not shapes:
        return shapes if form == "numbers" else None
    counts = [math.prod(s) * b for s, b in zip(shapes, itemsizes)]
    largest = max(range(len(shapes)), key=lambda k: counts[k])
    if counts[largest] == 0:
        return None
    room = TARGET / counts[largest] * shrink
    first = shapes[largest][0] if shapes[largest] else 1
    if form in ("sizes", "numbers"):
        dims = [sum(n > 1 for n in s) for s in shapes]  # (a small input of many dims may be the one that outgrows the others)
        factor = min((int((TARGET / c * shrink) ** (1 / d)) for c, d in zip(counts, dims) if c and d), default=1)
        grown = [[n * factor if n > 1 else n for n in s] for s in shapes]
    elif form == "rows":
        factor = int(room)
        if first < 2 or len(shapes[largest]) < 2:
            return None
        grown = [[s[0] * factor, *s[1:]] if s and s[0] == first else s for s in shapes]
    elif form == "batch":
        factor = int(room)
        grown = [[factor, *s] for s in shapes]
    else:
        factor = int(TARGET / max(counts[0], 1) * shrink)
        if not shapes[0] or not counts[0]:
            return None
        grown = [[shapes[0][0] * factor, *shapes[0][1:]], *shapes[1:]]
    return grown if factor >= 2 else None


def repeated(a: np.ndarray, shape: list[int]) -> np.ndarray:
    """The values of `a` again and again, along every dim, up to `shape`."""
    if a.ndim < len(shape):
        a = a.reshape((1,) * (len(shape) - a.ndim) + a.shape)
    return np.ascontiguousarray(np.tile(a, [new // old if old else 1 for new, old in zip(shape, a.shape)]))


def grown_numbers(value: Any, factor: int) -> Any:
    """An encoded argument, the integers above 1 in its lists times the factor."""
    if isinstance(value, dict):
        (key, inner), = value.items()
        if key in ("l", "t") and inner and all(type(x) is int for x in inner):
            return {key: [x * factor if x > 1 else x for x in inner]}
    return value


class Cases:
    """The cases of one op after the other, as calls of the module `torch` (which is weft)."""

    def __init__(self, torch: Any, folder: Path):
        self.torch, self.reader = torch, reader(folder)
        self.data = self.reader.DataSet(str(folder))

    def ids(self) -> list[str]:
        return [o["id"] for o in self.data.manifest["ops"]]

    def of(self, op: str, dtypes: tuple[str, ...] = DTYPES) -> Iterator[Case]:
        """For each dtype the first form that works, and `rows`."""
        spec, blob = self.data.load(op)
        found = False
        for dtype in dtypes:
            samples = [s for s in spec["samples"] if s["dt"] == dtype]
            for case in self.forms(spec, samples, blob):
                found = True
                yield case
        if not found and dtypes == DTYPES:  # an op of complex numbers, or of doubles
            for case in self.forms(spec, spec["samples"], blob):
                yield case

    def forms(self, spec: dict, samples: list[dict], blob: bytes) -> Iterator[Case]:
        samples = samples[:SAMPLES]
        first = self.first(spec, samples, blob, FORMS)
        if first is None:
            first = self.first(spec, samples[:1], blob, ("kept",))
        if first is None:
            return
        yield first
        if first.form in ("sizes", "numbers"):
            rows = self.first(spec, samples, blob, ("rows",)) if first.dtype == DTYPES[0] else None
            if rows is not None:
                yield rows

    def first(self, spec: dict, samples: list[dict], blob: bytes, forms: tuple[str, ...]) -> Case | None:
        for form in forms:
            for sample in samples:
                case = self.fitting(spec, sample, blob, form)
                if case is not None:
                    return case
        return None

    def fitting(self, spec: dict, sample: dict, blob: bytes, form: str) -> Case | None:
        """The largest case of that form that is not too slow; None where the call fails."""
        shrink = 1.0
        for _ in range(12):
            case = self.build(spec, sample, blob, form, shrink)
            if case is None:
                return None
            start = time.perf_counter()
            try:
                result = case.fn(*case.inputs)
            except Exception:  # whatever an op says of sizes that do not fit: this form is not for it
                return None
            seconds = time.perf_counter() - start
            if form == "kept" or (
                seconds <= SLOWEST
                and result_bytes(self.torch, result) <= LARGEST_RESULT
                and self.backward_seconds(spec, sample, blob, form, shrink) <= SLOWEST_BACKWARD
            ):
                return self.build(spec, sample, blob, form, shrink)  # anew: the call may have changed its inputs
            shrink /= 3
        return None

    def backward_seconds(self, *form: Any) -> float:
        """How long the call takes with its gradients; 0 where it has none."""
        case = self.build(*form)
        for t in case.leaves():
            t.requires_grad_()
        start = time.perf_counter()
        try:
            call = with_backward(self.torch, case.fn, case.leaves(), case.fn(*case.inputs)) if case.leaves() else None
            if call is not None:
                call(*case.inputs)
        except MemoryError:
            return math.inf
        except Exception:  # it is measured forward, and says there what it has to say of its gradients
            return 0.0
        return time.perf_counter() - start

    def build(self, spec: dict, sample: dict, blob: bytes, form: str, shrink: float) -> Case | None:
        torch, arrays = self.torch, [spec["arrays"][i] for i in sample["t"]]
        shapes = [list(a[1]) for a in arrays]
        if form != "kept":
            itemsizes = [2 if a[0] == "bfloat16" else np.dtype(self.reader.NP[a[0]]).itemsize for a in arrays]
            sizes = grown_shapes(shapes, itemsizes, form, shrink)
            if sizes is None:
                return None
            if form == "numbers":
                sample, sizes = self.with_numbers(sample, shapes, sizes, shrink)
            shapes = sizes
        inputs = []
        for array, shape in zip(arrays, shapes):
            t = torch.from_numpy(repeated(self.reader.load_array(array, blob), shape).reshape(shape))
            inputs.append(t.to(torch.bfloat16) if array[0] == "bfloat16" else t)
        source, constants = self.reader.call_source(spec, sample)
        fn = self.reader.make_fn(torch, source, constants)
        text = source.split("return ", 1)[1].strip()
        gradients = [k for k in sample.get("rg", ()) if sample.get("g")]
        return Case(spec["id"], sample["dt"], form, text, fn, inputs, gradients)

    @staticmethod
    def with_numbers(sample: dict, shapes: list, sizes: list, shrink: float) -> tuple[dict, list]:
        """The sample with its lists of integers as much larger as its tensors; without tensors, by itself a megabyte."""
        factor = next((n // o for new, old in zip(sizes, shapes) for n, o in zip(new, old) if o > 1), 0)
        if not factor:
            lists = [v for a in sample["a"] if isinstance(a, dict) for v in a.values() if isinstance(v, list)]
            numbers = [x for v in lists for x in v if type(x) is int and x > 1]
            count = max(math.prod(numbers), 1)
            factor = max(int((TARGET / 4 / count * shrink) ** (1 / max(len(numbers), 1))), 1)
        grown = [grown_numbers(a, factor) for a in sample["a"]]
        named = [[k, grown_numbers(a, factor)] for k, a in sample["k"]]
        return {**sample, "a": grown, "k": named}, sizes


def tensors(torch: Any, result: Any) -> list:
    """The tensors of a nested result."""
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (list, tuple)):
        return [t for r in result for t in tensors(torch, r)]
    return []


def with_backward(torch: Any, fn: Callable, leaves: list, result: Any) -> Callable | None:
    """A call that also asks for the gradients of `leaves`, and throws them away."""
    tangents = [(k, torch.ones_like(t)) for k, t in enumerate(tensors(torch, result)) if t.requires_grad]
    if not tangents:
        return None

    def call(*inputs):
        found = tensors(torch, fn(*inputs))
        torch.autograd.grad([found[k] for k, _ in tangents], leaves, [g for _, g in tangents], allow_unused=True)

    return call


def result_bytes(torch: Any, result: Any) -> int:
    return sum(t.numel() * t.element_size() for t in tensors(torch, result))

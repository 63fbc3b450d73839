"""The random programs of `tests.fuzz.layouts`: views, moves, writes, scans and reductions of tensors whose sizes are letters."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import weft
from tests.fuzz import forms as forms_of

FLOATS = ("float32", "float32", "float32", "float64", "float16", "bfloat16")
DTYPES = (*FLOATS, "int64", "int64", "int32", "int16", "int8", "uint8", "bool")
LAYOUTS = ("plain", "plain", "transposed", "reversed dims", "stepped", "offset", "expanded", "windows")
SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 5, 8)
MOST = 4000  # elements of a value


@dataclass(frozen=True)
class Given:
    """An input: the letters of its sizes, how it is laid out and filled, the input before it whose memory it is in."""

    dims: str
    dtype: str
    layout: str
    special: bool
    grad: bool
    same_memory_as: int | None


class Program:
    """`text` of a function `f`, its inputs, and the sizes of each call by letter."""

    def __init__(self, seed: int):
        self.seed = seed
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.count = 0
        self.exact = self.chance(0.3)
        self.dynamic = self.pick([True, True, None, None, False])
        letters = "abcd"[: self.pick([1, 2, 2, 3, 3])]
        self.sizes = [{c: self.pick(SIZES) for c in letters}]
        for _ in range(self.pick([2, 3, 4])):
            changed = {c: self.pick(SIZES) if self.chance(0.6) else n for c, n in self.sizes[-1].items()}
            self.sizes.append(changed)
        self.inputs = list(self._inputs(letters))
        dims = [(k, d) for k, g in enumerate(self.inputs) for d in range(len(g.dims))]
        self.marked = [at for at in dims if self.dynamic is None and self.chance(0.2)]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            self._build()

    def __str__(self):
        given = "\n".join(f"  x{k}: {g}" for k, g in enumerate(self.inputs))
        return f"{self.text}\n{given}\n  sizes {self.sizes}, dynamic={self.dynamic}, exact={self.exact}, marked {self.marked}"

    def pick(self, items: Any) -> Any:
        return self.random.choice(list(items))

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    # ---------------------------------------------------------------------------------------------- inputs
    def _inputs(self, letters: str) -> Iterator[Given]:
        dtype = self.pick(DTYPES)
        special, grad = self.chance(0.2), self.chance(0.4)
        shape = "".join(self.pick(letters) for _ in range(self.pick([1, 1, 2, 2, 2, 3, 3, 4])))
        for k in range(self.pick([1, 2, 2, 3])):
            dims = shape if self.chance(0.6) else shape[self.random.randrange(len(shape)) :]
            own = dtype if self.chance(0.8) else self.pick(DTYPES)
            shared = self.random.randrange(k) if k and not grad and self.chance(0.15) else None
            yield Given(dims, own, self.pick(LAYOUTS), special, grad and self.chance(0.8), shared)

    def _build(self) -> None:
        from tests.fuzz.layouts import inputs_of

        given = inputs_of(self, 0)
        names = [f"x{k}" for k in range(len(given))]
        self.known: dict[str, Any] = dict(zip(names, given))
        steps = self.random.randint(2, 9)
        for _ in range(50):
            if len(self.lines) >= steps:
                break
            self._step(self.pick(self.known))
        made = [n for n in self.known if n not in names]
        results = (made[-3:] + [n for n in made[:-3] if self.chance(0.3)]) or names[:1]
        if self.chance(0.2):
            results.append(self.pick(names))
        body = "\n".join(f"    {line}" for line in self.lines)
        self.text = f"def f({', '.join(names)}):\n{body}\n    return {', '.join(results)},\n"

    # ----------------------------------------------------------------------------------------------- steps
    def _keep(self, expression: str, new: bool = True) -> None:
        """Appends `v = expression`, or a statement, if eager can run it at the first sizes."""
        name = f"v{self.count}"
        line = f"{name} = {expression}" if new else expression
        names = dict(self.known)
        try:
            exec(line, {"weft": weft, "F": weft.nn.functional}, names)
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, ZeroDivisionError, OverflowError):
            return
        if new:
            value = names[name]
            if not isinstance(value, weft.Tensor) or value.numel() > MOST or value.dtype.is_complex:
                return
            self.count += 1
        self.known = {n: v for n, v in names.items() if isinstance(v, weft.Tensor)}
        self.lines.append(line)

    def _step(self, x: str) -> None:
        kinds = [self._view, self._view, self._view, self._move, self._move, self._pointwise, self._pointwise, self._reduction]
        kinds += [self._scan, self._places, self._write, self._write, self._make, self._cast]
        self.pick(kinds)(x)

    def _dim(self, x: str) -> int:
        n = self.known[x].ndim
        return self.random.randrange(-n, n) if n else 0

    def _form(self, forms: tuple[str, ...], x: str, y: str | None = None) -> str:
        """One of the forms, filled in for x."""
        t = self.known[x]
        order = self.random.sample(range(t.ndim), t.ndim)
        d = self._dim(x)
        numbers = {"d": d, "e": self._dim(x), "order": order, "ones": [1] * t.ndim, "which": self.pick([0, 1])}
        names = {"x": x, "y": y or self.pick(self.known), "dtype": self.pick(DTYPES), "extreme": self.pick(["amax", "amin", "sum"])}
        turned = ", ".join(f"{x}.shape[{k}]" for k in order)
        filled = {**numbers, **names, "turned": turned, "s": self.pick(forms_of.SIZES).format(x=x, d=d)}
        return self.pick(forms).format_map(filled)

    def _view(self, x: str) -> None:
        if not self.known[x].ndim:
            return self._keep(self.pick([f"{x}.reshape(1)", f"{x}.unsqueeze(0)", f"{x}.expand(3)", f"{x}.view(1, 1)"]))
        self._keep(self._form(forms_of.VIEWS, x))

    def _move(self, x: str) -> None:
        alike = [n for n, t in self.known.items() if t.dtype is self.known[x].dtype]
        self._keep(self._form(forms_of.MOVES, x, self.pick(alike)))

    def _pointwise(self, x: str) -> None:
        text = self._form(forms_of.POINTWISE, x)
        self._keep(f"({text}).clamp(-8, 8)" if any(t in text for t in ("*", "+", "square", "add")) else text)

    def _reduction(self, x: str) -> None:
        name = self.pick(forms_of.REDUCED)
        if self.chance(0.15):
            return self._keep(self._form(("weft.aminmax({x}, dim={d})[{which}]", "({x} % 2).prod({d})"), x))
        part = "[0]" if name in ("max", "min") else ""
        forms = [f.replace("{name}", name).replace("{part}", part) for f in forms_of.REDUCTIONS]
        self._keep(self._form(tuple(forms), x))
        made = f"v{self.count - 1}"
        if made in self.known and self.chance(0.5):
            self._keep(f"{made}.clamp(-8, 8)")

    def _scan(self, x: str) -> None:
        self._keep(self._form(forms_of.SCANS, x))

    def _places(self, x: str) -> None:
        """Gathers and scatters: the places are counted along one dim, which the form is filled in with."""
        t = self.known[x]
        if not t.ndim:
            return
        d = self._dim(x)
        n = f"max({x}.shape[{d}], 1)"
        y = self.pick(self.known)
        index = self.pick(forms_of.INDICES).format(x=x, y=y, d=d, n=n)
        like = self.pick([f"({y}.long() % {n})", f"{x}.argsort({d}, stable=True)", f"({x}.long() % {n})"])
        extreme, before = self.pick(["amax", "amin", "sum"]), ":, " * (d % t.ndim)
        form = self.pick(forms_of.PLACES)
        self._keep(form.format(x=x, y=y, d=d, index=index, like=like, before=before, extreme=extreme, flag=self.chance(0.5)))

    def _write(self, x: str) -> None:
        t = self.known[x]
        if self.chance(0.5) or (t.requires_grad and t.is_leaf):
            self._keep(f"{x}.clone()" if self.chance(0.5) else f"{x} * 1")
            x = f"v{self.count - 1}"
            if x not in self.known:
                return
        parts = forms_of.WRITES_OF_PARTS if self.known[x].ndim else ()
        self._keep(self._form((*forms_of.WRITES, *parts), x), new=False)

    def _make(self, x: str) -> None:
        self._keep(self._form(forms_of.MADE, x))

    def _cast(self, x: str) -> None:
        self._keep(self._form(forms_of.CASTS, x))

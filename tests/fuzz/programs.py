"""Draws of what arguments alone do not reach: instances of native types, Programs changed a little, calls in several threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import weft
from aten import _native
from inductor import _runner
from inductor.ir.program import Program
from inductor.ir.steps import Alloc, Copy, Output, View
from tests.fuzz.arguments import Arguments
from tests.inductor.runtime.program_builder import Builder

Draw = tuple[Callable[[], Any], str]


def instance(cls: type, a: Arguments) -> Any:
    """An instance of a native type, or None where there is no way to one."""
    history = (weft.ones(3, requires_grad=True) * 2).exp()
    made: dict[str, Callable[[], Any]] = {
        "Node": lambda: history.grad_fn,
        "Size": lambda: weft.ones(2, 3).shape,
        "DType": lambda: weft.float32,
        "Device": lambda: weft.device("cpu"),
        "Generator": weft.Generator,
        "UntypedStorage": lambda: weft.ones(4).untyped_storage(),
        "NativeOp": lambda: weft.add,
        "OpMethod": lambda: vars(_native.Tensor)["sum"],
        "CompiledFunction": lambda: weft.compile(lambda x: x + 1),
        "Program": lambda: _runner.Program(small().to_data()),
    }
    return made[cls.__name__]() if cls.__name__ in made else None


def small() -> Program:
    """A Program of a view, copies, an op and a number, without a library."""
    b = Builder()
    x, n = b.input(4, 3), b.number()
    out, whole = b.buffer("fresh", 4, 3), b.buffer("fresh", 2, 3)
    part = b.buffer("view", 2, 3, base=x, offset=3)
    steps = [Alloc(out), Copy(x, out), View(part), Alloc(whole), Copy(part, whole)]
    return b.program(steps, [Output("buffer", out), Output("buffer", whole), Output("int", b.value(n)), Output("input", 0)])


def _places(data: Any, path: tuple = ()) -> list[tuple]:
    """Every place in nested lists and dicts."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list | tuple) else ()
    found = [] if not path else [path]
    for key, value in items:
        found += _places(value, (*path, key))
    return found


def _changed(data: Any, path: tuple, value: Any) -> Any:
    """`data` with another value at a place; lists and dicts along the way are copied."""
    if not path:
        return value
    copy = dict(data) if isinstance(data, dict) else list(data)
    copy[path[0]] = _changed(copy[path[0]], path[1:], value)
    return copy if isinstance(data, dict | list) else tuple(copy)


def malformed(a: Arguments) -> Draw:
    """A Program with one to three places changed, loaded; and called where it still loads."""
    data, text = small().to_data(), []
    for _ in range(a.random.choice([1, 1, 2, 3])):
        path = a.random.choice(_places(data))
        value, shown = a.draw() if a.random.random() < 0.5 else a.integer()
        data = _changed(data, path, value)
        text.append(f"{'.'.join(map(str, path))} = {shown}")

    def make() -> Any:
        program = _runner.Program(data)
        x = a.tensor()[0] if a.random.random() < 0.3 else weft.ones(4, 3)
        return program(x, a.integer()[0] if a.random.random() < 0.5 else 3)

    return make, f"Program with {'; '.join(text)}"


def called(a: Arguments) -> Draw:
    """A good Program called with arguments it does not expect."""
    drawn = [a.draw() for _ in range(a.random.choice([0, 1, 2, 2, 2, 3]))]
    program = _runner.Program(small().to_data())
    return (lambda: program(*[v for v, _ in drawn])), f"Program()({', '.join(t for _, t in drawn)})"


def compiled(a: Arguments) -> Draw:
    """What weft.compile makes of a small function, called with arguments it has not seen."""
    drawn = [a.draw() for _ in range(a.random.choice([0, 1, 2, 2]))]
    function = weft.compile(lambda x, y=2: x * y + 1, backend="eager")
    return (lambda: function(*[v for v, _ in drawn])), f"compiled({', '.join(t for _, t in drawn)})"


_THREADED: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, i: x + x,
    "sum": lambda x, i: x.sum(0, keepdim=True),
    "mean": lambda x, i: x.mean(-1),
    "softmax": lambda x, i: x.softmax(-1),
    "product": lambda x, i: x @ x,
    "cat": lambda x, i: weft.cat([x, x, x]),
    "sort": lambda x, i: x.sort(-1),
    "var": lambda x, i: x.var(0, keepdim=True),
    "clone": lambda x, i: x.t().contiguous(),
    "gather": lambda x, i: weft.gather(x, 1, i),
    "scatter": lambda x, i: x.scatter(1, i, x),
    "embedding": lambda x, i: weft.nn.functional.embedding(i, x),
    "layer_norm": lambda x, i: weft.nn.functional.layer_norm(x, (x.shape[-1],)),
    "argmax": lambda x, i: x.argmax(0),
    "cumsum": lambda x, i: x.cumsum(1),
}


def threaded(a: Arguments) -> Draw:
    """An op while another thread rebinds the data of its argument, writes its index, resizes it, or empties its list."""
    r = a.random
    name = r.choice(list(_THREADED))
    n = r.choice([64, 300, 400])
    change = r.choice(["data", "index", "resize", "list"])

    def make() -> Any:
        x, i = weft.rand(n, n), weft.zeros(n, n, dtype=weft.int64)
        tensors, stop = [x] * 40, threading.Event()

        def disturb() -> None:
            small, k = weft.ones(2, 2), 0
            while not stop.is_set():
                k += 1
                if change == "data":
                    x.data = small if k % 2 else weft.rand(n, n)
                elif change == "index":
                    i.fill_(2**40 if k % 2 else 0)
                elif change == "resize":
                    x.resize_(2, 2).resize_(2 * n, n)
                    x.resize_(n, n)
                else:
                    tensors.clear()
                    tensors.extend([weft.rand(n, n) for _ in range(3)])

        other = threading.Thread(target=disturb)
        other.start()
        try:
            for _ in range(4):
                try:
                    _THREADED[name](x, i)
                    if change == "list" and tensors:
                        weft.cat(tensors)
                except (RuntimeError, IndexError):  # sizes or an index that do not fit at this moment
                    continue
        finally:
            stop.set()
            other.join()

    return make, f"{name} of [{n}, {n}] while another thread changes its {change}"


DRAWS: dict[str, Callable[[Arguments], Draw]] = {
    "malformed": malformed,
    "malformed again": malformed,
    "called": called,
    "compiled": compiled,
    "threaded": threaded,
}

"""The tape of one reverse-mode differentiation: ops that depend on its inputs, walked backwards through their vjps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from aten import _native
from aten._native import Tensor
from aten.autograd import anomaly
from aten.derivative import Missing, is_lost
from aten.meta import Meta, known_equal
from aten.op import Op, node_name


class Entry(NamedTuple):
    """One op: its core arguments with values in place of tensors, its result(s), which arguments need a gradient."""

    op: Any  # None: `out` has the history of the only argument
    args: tuple
    metas: tuple
    out: Any
    out_metas: Any
    needs: tuple
    line: Any


class TapeNode:
    """What `grad_fn` is within a transform: it has a name, and its class has it."""

    __slots__ = ()
    _classes: dict[str, type] = {}

    @classmethod
    def of(cls, op: Any) -> TapeNode:
        """The node of an op, or of an autograd.Function."""
        name = f"{op.name}GeneratedBackward" if not isinstance(op, Op) else node_name(op.name)
        if name not in cls._classes:
            cls._classes[name] = type(name, (cls,), {"__slots__": ()})
        return cls._classes[name]()

    def name(self) -> str:
        """As the class."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{self.name()}>"


class Tape:
    """Records ops on *values*: hashable objects that stand for tensors of a level (graph nodes, boxes).

    `tensor(value, meta)` makes the tensor that a vjp computes with.
    """

    def __init__(self, tensor: Callable[[Any, Meta], Tensor], inputs: Sequence[Any] = ()):
        self.tensor = tensor
        self.tracked: set[Any] = set(inputs)
        self.leaves: list[Any] = []  # tensors that became leaves; they may be views
        self.entries: list[Entry] = []
        self.unrecorded: dict[Any, Any] = {}  # see `same`
        self.hooks: dict[Any, list[tuple[int, Callable]]] = {}  # of values: (0, hook), called with the complete gradient

    def record(self, op: Op, args: tuple, metas: tuple, out: Any, out_metas: Any, line: Any = None) -> None:
        """Note `out = op(*args)` (with values for tensors) if a differentiable argument is tracked."""
        if op.vjp_fn is None and not is_lost(op, out_metas):
            return
        tracked, some, needs = self.tracked, False, []
        for param, a in zip(op.core, args):
            if not param.differentiable:
                needs.append(False)
            elif type(a) is list:
                of_list = tuple([_is_value(x) and x in tracked for x in a])
                some = some or True in of_list
                needs.append(of_list)
            else:
                need = _is_value(a) and a in tracked
                some = some or need
                needs.append(need)
        if not some:
            return
        for value, meta in zip(out, out_metas) if type(out) is tuple else ((out, out_metas),):
            if meta.dtype.is_floating_point or meta.dtype.is_complex:
                tracked.add(value)
        self.entries.append(Entry(op, args, metas, out, out_metas, tuple(needs), line))

    def node(self, value: Any) -> TapeNode | None:
        """What made a value, for who asks for its `grad_fn`; None where nothing that is recorded did."""
        for entry in reversed(self.entries):
            out = entry.out
            if entry.op is not None and (value is out or (type(out) is tuple and any(value is o for o in out))):
                return TapeNode.of(entry.op)
        return None

    def same(self, old: Any, new: Any) -> None:
        """`new` has the history of `old`: what a write that is not recorded makes of a tensor's value."""
        if old in self.tracked:
            self.tracked.add(new)
            self.unrecorded[new] = old
            self.entries.append(Entry(None, (old,), (), new, None, (), None))

    def record_call(self, made: Any, args: tuple, metas: tuple, out: tuple, out_metas: tuple) -> bool:
        """Note `out = made(*args)` for something that is no op but has a `plan` as ops do. Whether it was tracked."""
        needs = tuple([_is_value(a) and a in self.tracked for a in args])
        if any(needs):
            self.tracked.update(out)
            self.entries.append(Entry(made, args, metas, out, out_metas, needs, None))
        return any(needs)

    def _hooked(self, value: Any, grads: dict[Any, Tensor]) -> None:
        for _, hook in list(self.hooks.get(value, ())) if value in grads else ():
            changed = hook(grads[value])
            if changed is not None:
                grads[value] = changed

    def origin(self, value: Any) -> Any:
        """What `value` was before writes that are not recorded."""
        while value in self.unrecorded:
            value = self.unrecorded[value]
        return value

    def backward(
        self, outputs: Sequence[tuple[Any, Tensor]], inputs: Sequence[Any], at: Callable[[Any], None] | None = None
    ) -> list[Tensor | None]:
        """Gradients of the inputs for (value, gradient) of the outputs; None where there is no dependence.

        `at(line)` is called before the vjp of an op that was recorded with that line.
        """
        grads: dict[Any, Tensor] = {}
        for value, grad in outputs:
            if value in self.tracked:
                grads[value] = grads[value] + grad if value in grads else grad
        keep = set(inputs)
        for entry in reversed(self.entries):
            out = entry.out
            for value in (out if type(out) is tuple else (out,)) if self.hooks else ():
                self._hooked(value, grads)
            if type(out) is tuple:
                g: Any = tuple([grads.get(o) for o in out])
                if all(x is None for x in g):
                    continue
            else:
                g = grads.get(out)
                if g is None:
                    continue
            if entry.op is None:
                old = entry.args[0]
                grads[old] = grads[old] + g if old in grads else g
                if out not in keep:
                    del grads[out]
                continue
            if at is not None:
                at(entry.line)
            for o in out if type(out) is tuple else (out,):
                if o not in keep:
                    grads.pop(o, None)
            for value, meta, grad in self._gradients(entry, g):
                grad = fit(grad, meta)
                before = grads.get(value)
                grads[value] = grad if before is None else before + grad
        for value in inputs if self.hooks else ():
            self._hooked(value, grads)
        return [grads.get(v) for v in inputs]

    def derive(self, plan: Any, g: Any, saved: tuple) -> list[Any]:
        """One gradient (or None) for each differentiable parameter."""
        return plan.run(g, saved)

    def _gradients(self, entry: Entry, g: Any) -> list[tuple[Any, Meta, Tensor]]:
        """(value, meta, gradient) for each argument that needs one and gets one."""
        out, tensor = entry.out, self.tensor
        if type(out) is tuple:
            result: Any = tuple([tensor(o, m) for o, m in zip(out, entry.out_metas)])
        else:
            result = tensor(out, entry.out_metas)
        plan = entry.op.plan(entry.needs)
        found = []
        derived = self.derive(plan, g, plan.save(_Arguments(entry, tensor), result))
        if anomaly.finds_nan():
            _check_nan(entry.op, derived)
        for i, grad in zip(plan.slots, derived):
            a, m, need = entry.args[i], entry.metas[i], entry.needs[i]
            if grad is None:
                continue
            if type(grad) is Missing:
                grad()
            if type(a) is list:
                found += [(x, y, d) for x, y, d, n in zip(a, m, grad, need) if n and d is not None]
            elif need:
                found.append((a, m, grad))
        return found


def _check_nan(op: Any, grads: Sequence[Any]) -> None:
    """Raises RuntimeError, naming the op, where what it gave holds a NaN, for whichever element of a batch."""
    for i, grad in enumerate(grads):
        while isinstance(grad, Tensor) and _native.is_tracer(grad):
            inside = grad.level.read(grad)  # type: ignore[attr-defined]
            grad = getattr(inside, "value", getattr(inside, "primal", None))
        if isinstance(grad, Tensor) and (grad.dtype.is_floating_point or grad.dtype.is_complex) and bool(grad.isnan().any()):
            anomaly.refuse_nan(TapeNode.of(op).name(), i)


class _Arguments:
    """The arguments of an entry as tensors, made when asked for."""

    __slots__ = ("entry", "tensor")

    def __init__(self, entry: Entry, tensor: Callable[[Any, Meta], Tensor]):
        self.entry, self.tensor = entry, tensor

    def __getitem__(self, i: int) -> Any:
        return self._value(self.entry.args[i], self.entry.metas[i])

    def _value(self, a: Any, m: Any) -> Any:
        if type(a) is list:
            return [self._value(x, y) for x, y in zip(a, m)]
        return self.tensor(a, m) if type(m) is Meta else a


def _is_value(a: Any) -> bool:
    return type(a) not in (int, float, bool, complex, type(None))


def fit(grad: Tensor, meta: Meta) -> Tensor:
    """A gradient as its argument wants it: summed over broadcast dims, of its dtype."""
    sizes = grad.shape
    if len(sizes) != len(meta.sizes) or not all(map(known_equal, sizes, meta.sizes)):
        grad = sum_to(grad, meta.sizes)
    if grad.dtype is not meta.dtype:
        if grad.dtype.is_complex and not meta.dtype.is_complex:
            grad = grad.real
        grad = grad.to(meta.dtype)
    return grad


def sum_to(grad: Tensor, sizes: Sequence[Any]) -> Tensor:
    """`grad` summed over the dims that broadcasting added or stretched."""
    extra = grad.ndim - len(sizes)
    if extra < 0:
        return grad.expand(tuple(sizes))
    dims = list(range(extra))
    for d, size in enumerate(sizes):
        have = grad.shape[d + extra]
        if known_equal(have, size):
            continue
        if type(size) is int:
            if size == 1:
                dims.append(d + extra)
        elif not bool(have == size) and bool(size == 1):
            dims.append(d + extra)
    if dims:
        grad = grad.sum(dims, keepdim=True)
    return grad.squeeze(list(range(extra))) if extra else grad

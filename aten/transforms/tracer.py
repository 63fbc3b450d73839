"""A Tracer: a tensor that has no memory, only a Meta, and stands for a value of one open transform level.

In-place ops are made functional here, for every level alike. A Tracer's `payload` is its value as the level knows it.
Views of one tensor share a Cell, which holds the current payload of the tensor they view; each view keeps the chain of
view ops that leads to it. A write through a view goes back through the `put` rules of its chain to the base; other
views notice by the cell's generation and replay their chain when they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from aten import _native, dispatch, overrides, pytree
from aten._native import Tensor
from aten.errors import DataDependentError
from aten.meta import Meta, shows_twice
from aten.op import Op
from aten.symbolic.unknown import unknown_number

CUT = dispatch.CUT | {"data_of"}  # (the last from that of one transform alone)


class TracerSize(tuple):
    """The sizes of a Tracer: ints and SymInts."""

    __slots__ = ()

    def numel(self) -> Any:
        n: Any = 1
        for size in self:
            n = n * size
        return n

    def __repr__(self) -> str:
        return f"Size([{', '.join(map(str, self))}])"


class Writes:
    """How often what a tensor and its views share was written; `unseen`: as its `data`, which has a version of its own."""

    __slots__ = ("count", "unseen")

    def __init__(self) -> None:
        self.count = self.unseen = 0


class Cell:
    """What a tensor and its views share: the current payload and meta of the tensor itself."""

    __slots__ = ("payload", "meta", "writes")

    def __init__(self, payload: Any, meta: Meta, writes: Writes):
        self.payload, self.meta, self.writes = payload, meta, writes


class Tracer(Tensor):
    """A tensor of `level`, described by `meta`, whose value is `payload` in the level's own terms."""

    __slots__ = ("level", "meta", "payload", "cell", "chain", "generation", "writes")
    transform = "a function transform"

    level: Level
    meta: Meta
    payload: Any
    cell: Cell | None
    chain: tuple  # ((view op, arguments after the first), ...) from the cell's tensor to this
    generation: int  # of the cell, when the payload was read
    writes: Writes | None  # None: never

    @property
    def shape(self) -> TracerSize:
        return TracerSize(self.meta.sizes)

    def size(self, dim: int | None = None) -> Any:
        if dim is None:
            return TracerSize(self.meta.sizes)
        ndim = len(self.meta.sizes)
        if not -ndim <= dim < ndim:
            n = max(ndim, 1)
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
        return self.meta.sizes[dim]

    def stride(self, dim: int | None = None) -> Any:
        return self.meta.strides if dim is None else self.meta.strides[dim]

    def storage_offset(self) -> Any:
        return self.meta.offset

    def numel(self) -> Any:
        return self.meta.numel()

    nelement = numel

    def is_contiguous(self) -> bool:
        return self.meta.is_contiguous()

    @property
    def nbytes(self) -> Any:
        return self.meta.numel() * self.dtype.itemsize

    @property
    def _version(self) -> int:
        return 0 if self.writes is None else self.writes.count - self.writes.unseen

    @property
    def _base(self) -> Tracer | None:
        return self.level.base_of(self) if self.chain else None

    def item(self) -> Any:
        return self.level.item(self)

    def numpy(self, *, force: bool = False) -> Any:
        """As a Tensor's, of duals outside of transforms, which have values like any other tensor."""
        value = None if self.level.transforms else self.level.value(self)
        return super().numpy(force=force) if value is None else value.numpy(force=force)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        value = None if self.level.transforms else self.level.value(self)
        return (super() if value is None else value).__array__(*args, **kwargs)  # type: ignore[misc]

    def tolist(self) -> Any:
        """Nested lists of the numbers, as `item` gives them."""
        if not self.meta.sizes:
            return self.item()
        return [part.tolist() for part in _registry()["unbind"](self)]

    def detach(self) -> Tracer:
        return _registry()["detach"](self)

    @property
    def data(self) -> Tracer:
        return self.detach()

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """As a Tensor's. Raises RuntimeError within a function that is transformed: what it differentiates is the transform's."""
        if self.level.transforms:
            raise RuntimeError(
                "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of "
                "a function being transformed by a functorch transform. This is unsupported, please use the transforms (e.g. grad, "
                "vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of the function."
            )
        return super().requires_grad_(requires_grad)

    def retain_grad(self) -> None:
        """As a Tensor's. Raises RuntimeError within a function that is transformed: there is no `.grad` to keep it in."""
        if self.level.transforms and self.requires_grad:
            raise RuntimeError(
                "You are attempting to call Tensor.retain_grad() inside of a function being transformed by a functorch transform. "
                "This is unsupported, please use the transforms (e.g. grad, vjp, jacrev, jacfwd, hessian), which return gradients."
            )
        return super().retain_grad()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.meta!r})"

    def __deepcopy__(self, memo: dict) -> Tracer:
        raise RuntimeError(f"a tensor cannot be copied deeply inside {self.transform}")


def writes_of(t: Tracer) -> Writes:
    """What counts the writes of a Tracer, from now on."""
    if t.writes is None:
        t.writes = Writes()
    return t.writes


def word_of(meta: Meta) -> int:
    """The tensor word of weft.h for this Meta."""
    device = meta.device
    kind = {"cpu": 0, "cuda": 1, "meta": 2}[device.type]
    return meta.dtype.code | kind << 8 | (device.index or 0) << 12 | len(meta.sizes) << 16


def made_by(transform: Callable, function: Callable, **settings: Any) -> Callable:
    """Note on what `transform` made of its `__wrapped__` that it did, and how: compiled code traces what was wrapped."""
    function.__dict__["__transform__"] = transform, settings
    return function


class opened:
    """Within it `level` is open again, above what is: for a level that runs ops of its own while it handles one."""

    __slots__ = ("level",)

    def __init__(self, level: Level):
        self.level = level

    def __enter__(self) -> Level:
        dispatch.push_level(self.level)
        return self.level

    def __exit__(self, *exc: Any) -> None:
        dispatch.pop_level()


class below:
    """Within it the levels from the `place`-th on are closed, as they are while that one handles a call."""

    def __init__(self, place: int):
        self.place = place

    def __enter__(self) -> None:
        stack = dispatch.stack
        self.top, self.above = stack.top, stack.levels[self.place :]
        stack.top = self.place

    def __exit__(self, *exc: Any) -> None:
        stack = dispatch.stack
        stack.levels[self.place :] = self.above
        stack.top = self.top


class Level:
    """One open transform. Subclasses say what an op does (`process`) and which calls they take (`wants`)."""

    tracer_type: type[Tracer] = Tracer
    differentiates = False  # whether its Tracers have a history
    leaves: Sequence[Tracer] = ()  # tensors that became leaves; they may be views
    transforms = False  # whether what runs in it is a user's function that is transformed

    # ------------------------------------------------------------------------------------ for subclasses

    def process(self, op: Op, args: tuple) -> Any:
        """The result of a core op on core arguments: Tracers of this level, plain tensors, numbers."""
        raise NotImplementedError

    def lift(self, tensor: Tensor) -> Tracer:
        """A tensor of a lower level as a Tracer of this one."""
        raise NotImplementedError

    def fresh(self, tensor: Tensor) -> Tensor:
        """New data of the level below, as this level has it: lifted, where it may be written with what the level transforms."""
        return tensor

    def item(self, tracer: Tracer) -> Any:
        raise DataDependentError(f"item() needs the value of a tensor, but inside {tracer.transform} a tensor has no values yet")

    def value(self, tracer: Tracer) -> Tensor | None:
        """What the tensor is in the level below, where levels compute with values; None where they do not."""
        return None

    def constant(self, tracer: Tracer) -> Tensor | None:
        """The same, of a tensor that does not depend on what the level transforms."""
        return None

    def wants(self, args: tuple) -> bool:
        for a in args:
            if isinstance(a, Tracer):
                if a.level is self:
                    return True
            elif type(a) is list or type(a) is tuple:
                for x in a:
                    if isinstance(x, Tracer) and x.level is self:
                        return True
        return False

    def forget(self, t: Tracer) -> None:
        """Let a tensor have no history, in place."""

    def hooked(self, hook: Callable) -> Callable:
        """A hook of this level's tensors, as a backward walk calls it."""
        return hook

    def check_out(self, op: Op, values: tuple) -> None:
        """Raises RuntimeError where an op may not be given an `out`, which is among the values."""

    def call_function(self, cls: Any, args: tuple, kwargs: dict, asked: tuple, place: int) -> Any:
        """(value, context) of an autograd.Function on Tracers of this level, the `place`-th of those open; NotImplemented lets
        its `forward` run on them."""
        return NotImplemented

    # ------------------------------------------------------------------------------------ tracers

    def make(self, payload: Any, meta: Meta, requires_grad: bool = False) -> Tracer:
        """A new Tracer of this level."""
        word = word_of(meta)
        t = _native.make_tracer(self.tracer_type, word | 0x01000000 if requires_grad else word)
        t.level, t.meta, t.payload = self, meta, payload
        t.cell, t.chain, t.generation, t.writes = None, (), 0, None
        return t

    def own(self, value: Any) -> bool:
        """Whether `value` is a Tracer of this level."""
        return isinstance(value, Tracer) and value.level is self

    def read(self, t: Tracer) -> Any:
        """The current payload of a Tracer of this level."""
        cell = t.cell
        if cell is not None and t.generation != cell.writes.count:
            t.payload = self._replay(cell, t.chain).payload if t.chain else cell.payload
            t.generation = cell.writes.count
            self.moved(t)
        return t.payload

    def moved(self, t: Tracer) -> None:
        """The tensor has another payload than it had."""

    def snapshot(self, t: Tracer) -> Tracer:
        """A Tracer of the current value that later writes do not reach."""
        return self.make(self.read(t), t.meta)

    def base_of(self, t: Tracer) -> Tracer:
        assert t.cell is not None
        return self.make(t.cell.payload, t.cell.meta)

    def _replay(self, cell: Cell, chain: tuple) -> Tracer:
        value = self.make(cell.payload, cell.meta)
        recording = _native.set_grad_enabled(True) if self.differentiates else None
        try:
            with opened(self):
                for op, args in chain:
                    value = dispatch.call_core(op, (value, *args))
        finally:
            if recording is not None:
                _native.set_grad_enabled(recording)
        return value

    # ------------------------------------------------------------------------------------ the call

    def handle(self, op: Op, args: tuple, kwargs: dict) -> Any:
        """What `dispatch` asks: a result, or NotImplemented to let the op's own definition run."""
        kind = op.kind
        if kind == "composite":
            return NotImplemented
        if kwargs:
            args = op.join(args, kwargs)
        if kind == "inplace":
            return self.write_op(op, args)
        result = self.process(op, args)
        if kind == "view" and self.own(result) and self.own(args[0]):
            source = args[0]
            if source.cell is None:
                source.cell = Cell(source.payload, source.meta, writes_of(source))
                source.generation = source.writes.count
            result.cell, result.writes, result.generation = source.cell, source.writes, source.writes.count
            result.chain = (*source.chain, (op, args[1:]))
        return result

    def write_op(self, op: Op, args: tuple) -> Any:
        """An in-place op: the functional op, then the target stands for its result."""
        target = args[0]
        base: Any = op.base
        self.check_write(op, target)
        with opened(self):
            positional, keywords = op.split((self.snapshot(target) if self.own(target) else target, *args[1:]))
            result = base(*positional, **keywords)  # (of what the target was: what is kept for backward is not written)
            dispatch._check_result(target, result.dtype, result.shape, result.device)
            if result.dtype is not target.dtype:
                result = result.to(target.dtype)
        if not self.own(result):
            result = self.lift(result)
        self.assign(target, result)
        return target

    def relayout(self, target: Tracer, view: Tracer) -> None:
        """Let `target` be what `view`, made from it, is."""
        _native.relayout(target, view, view)
        target.meta, target.payload = view.meta, view.payload
        target.cell, target.chain, target.generation, target.writes = view.cell, view.chain, view.generation, view.writes
        if isinstance(view.grad_fn, _native.Node):
            target._grad_fn = (view.grad_fn, view.output_nr)

    def check_write(self, op: Op, target: Any) -> None:
        """Raises RuntimeError where an in-place write is impossible."""
        if not self.own(target):
            if not self.transforms:
                raise RuntimeError(
                    f"{op.name}: inside {self.tracer_type.transform} a tensor that comes from outside cannot be written in place"
                )
            raise RuntimeError(
                f"During a {self.tracer_type.transform} transform, the function provided attempted to call in-place operation "
                f"(aten::{op.name}) that would mutate a captured Tensor. This is not supported; pass the tensor that is written to "
                "the function as an argument."
            )
        if shows_twice(target.meta) and not {"fill", "into_expanded"} & set(op.tags):
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to a single memory "
                "location. Please clone() the tensor before performing the operation."
            )

    def assign(self, target: Tracer, result: Tracer) -> None:
        """Let `target`, what it views and its other views see `result` from now on."""
        if not target.chain and result.meta.strides != target.meta.strides:
            place = self.snapshot(target)
            place._grad_fn = None  # what was there gets no gradient, not even zeros
            with opened(self):  # the value in the layout that views of the target rely on
                result = dispatch.call_core(_registry()["copy"], (place, result))
        new = self.read(result)
        cell = target.cell
        if cell is None:
            self.replaced(target.payload, new)
            target.payload = new
            writes_of(target).count += 1
            self.moved(target)
            return
        if target.chain:
            new = self._put(cell, target.chain, result)
        self.replaced(cell.payload, new)
        cell.payload = new
        cell.writes.count += 1
        cell.writes.unseen += any(op.name == "data_of" for op, _ in target.chain)
        if not target.chain:
            target.payload, target.generation = new, cell.writes.count
            self.moved(target)
        for leaf in self.leaves:
            if leaf.cell is cell:
                self.replaced_leaf(leaf)

    def replaced(self, old: Any, new: Any) -> None:
        """A tensor whose payload was `old` has been written, and its payload is `new` from now on."""

    def replaced_leaf(self, leaf: Tracer) -> None:
        """One of `leaves` has been written."""

    def _put(self, cell: Cell, chain: tuple, new: Tracer) -> Any:
        """The payload of the cell's tensor after what `chain` views of it became `new`."""
        with opened(self):
            values = [self.make(cell.payload, cell.meta)]
            for op, args in chain[:-1]:
                values.append(dispatch.call_core(op, (values[-1], *args)))
            windows = next((k for k, (op, _) in enumerate(chain[:-1]) if op.name == "unfold"), None)
            if windows is not None:
                new = self._put_at_places(values[windows], chain[windows:], new)
                values, chain = values[:windows], chain[:windows]
            for base, (op, args) in zip(reversed(values), reversed(chain)):
                if op.put_fn is None:
                    raise RuntimeError(f"an in-place write through {op.name} cannot be transformed")
                new = op.put_fn(base, new, *args)
        return self.read(new)

    def _put_at_places(self, base: Tracer, chain: tuple, new: Tracer) -> Tracer:
        """`base` after what `chain` views of it became `new`, where an element may be seen several times on the way: step by
        step back, what is seen of it beside the written view would win over what was written."""
        registry = _registry()
        places = registry["arange"](base.numel(), device=base.device).reshape(list(base.shape))
        for op, args in chain:
            places = dispatch.call_core(op, (places, *args))
        flat = registry["scatter"](base.reshape(-1), 0, places.reshape(-1), new.reshape(-1))
        made = dispatch.call_core(registry["copy"], (base, flat.reshape(list(base.shape))))
        cut = {op.name for op, _ in chain if op.name in CUT}
        return registry["replace_data" if cut == {"data_of"} else "replace_values"](base, made) if cut else made


def shown(name: str, tracer: Tracer, value: Any, more: str = "") -> str:
    """How a tensor inside of a transform prints: which transform, at which level of those open, and what it stands for."""
    levels = dispatch.stack.levels
    at = f"lvl={levels.index(tracer.level) + 1}" if tracer.level in levels else "dead"
    text = repr(value).replace("\n", "\n    ")
    return f"{name}({at}, {more}value=\n    {text}\n)"


def split_aux(call: str, result: Any) -> Any:
    """(output, aux) as a function returned it. Raises RuntimeError where it returned something else."""
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{call}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def checked_aux(aux: Any) -> Any:
    """`aux`, which is nested tensors. Raises RuntimeError where it holds something else."""
    leaves = pytree.flatten(aux)[0] if aux is not None else [None]
    for x in leaves:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")
    return aux


def check_outputs(call: str, function: str, outputs: list[Any], result: Any) -> None:
    """Raises RuntimeError where a transformed function returned nothing, or what is no tensor."""
    if result is None or not outputs:
        got = [None] if result is None else outputs
        raise RuntimeError(f"{call}: Expected f to be a function that has non-empty output (got output = {got})")
    for o in outputs:
        if not isinstance(o, Tensor):
            raise RuntimeError(f"{call}: expected {function} to return only tensors, got unsupported type {type(o)}")


def public(op: Op, results: Any) -> Any:
    """A tuple of results as the op's named tuple."""
    return op.schema.result_type(results) if type(results) is tuple and len(op.schema.returns) > 1 else results


def _registry() -> dict[str, Op]:
    from aten.op import registry

    return registry


def any_wrapper(args: Iterable[Any]) -> bool:
    """Whether a tensor is among the arguments whose class has a `__torch_dispatch__`: levels that record get what it is made of."""
    for a in args:
        if type(a) is list or type(a) is tuple:
            if any_wrapper(a):
                return True
        elif overrides.kind_of(type(a)) & overrides.DISPATCH:
            return True
    return False


class MetaTracer(Tracer):
    __slots__ = ()
    transform = "a shape rule"


class MetaLevel(Level):
    """Runs ops on Metas alone."""

    tracer_type = MetaTracer

    def wants(self, args: tuple) -> bool:
        return not any_wrapper(args)

    def process(self, op: Op, args: tuple) -> Any:
        if op.name == "philox_reserve":
            return 0, 0
        given = [meta_argument(a) for a in args]
        metas = op.rule(*given)
        if type(metas) is tuple:
            return public(op, tuple([self.make(None, m) for m in metas]))
        if any([metas is a for a in given]):  # (a Tracer is told by its Meta, which it shares with no other)
            metas = metas.view(metas.sizes, metas.strides, metas.offset)
        return self.make(None, metas)

    def lift(self, tensor: Tensor) -> Tracer:
        return self.make(None, Meta.of(tensor))

    def item(self, tracer: Tracer) -> Any:
        what = f"item() needs the value of a tensor, but inside {tracer.transform} a tensor has no values yet"
        if tracer.meta.numel() != 1 or tracer.dtype.is_complex:
            raise DataDependentError(what)
        return unknown_number(what, "float" if tracer.dtype.is_floating_point else "int")


def meta_argument(a: Any) -> Any:
    """An argument as shape rules see it: Metas for tensors."""
    if isinstance(a, Tensor):
        return Meta.of(a)
    if type(a) is list:
        return [meta_argument(x) for x in a]
    return a


def meta_of_call(op: Op, public_args: tuple) -> Any:
    """Result Metas of a call of a composite or in-place op on Metas: its definition, run on Tracers."""
    n = op.schema.positional
    names = [p.name for p in op.schema.params[n:]]
    return meta_of_function(lambda *args: op(*args[:n], **dict(zip(names, args[n:]))), public_args)


def meta_of_function(fn: Callable[..., Any], args: tuple) -> Any:
    """Result Metas of a function of tensors, called with Metas (or tensors) for them: it is run on Tracers."""
    level = MetaLevel()

    def enter(a: Any) -> Any:
        if type(a) is Meta:
            return level.make(None, a)
        if isinstance(a, Tensor):
            return level.make(None, Meta.of(a))
        return type(a)(map(enter, a)) if type(a) in (list, tuple) else a

    def leave(r: Any) -> Any:
        if isinstance(r, Tensor):
            return Meta.of(r)
        if hasattr(r, "_make"):  # a named tuple
            return r._make(map(leave, r))
        return type(r)(map(leave, r)) if isinstance(r, (list, tuple)) else r

    with opened(level):
        return leave(fn(*map(enter, args)))

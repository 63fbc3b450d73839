"""vmap: a function of single elements applied to batches, by a batching rule for each op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from aten import dispatch, pytree, random
from aten._native import Tensor
from aten.autograd import function
from aten.errors import warn_caller
from aten.meta import Meta
from aten.on_device import beside
from aten.op import Op, registry
from aten.ops import indexing_batch, library_batch, on_demand  # noqa: F401  (rules of ops)
from aten.scalar.unpatched import functools
from aten.shapes import wrap_dim
from aten.transforms.mapped_function import MappedFunction
from aten.transforms.tracer import Level, Tracer, below, made_by, opened, public, shown, writes_of

on_demand.also(library_batch.declare())
_SIZES_MAY_BE_EQUAL = frozenset({"bincount", "histogramdd_kernel"})  # of results that data decides, as PyTorch has it
_OF_THE_BATCH = frozenset({"_is_all_true", "_is_any_true"})  # one answer for all elements, for decisions
_LIKE = frozenset("empty_like zeros_like ones_like full_like new_empty new_zeros new_ones new_full new_tensor".split())


class VmapInfo(NamedTuple):
    """What Function.vmap is told: the number of elements and what random ops mean."""

    batch_size: Any
    randomness: str


class Batched:
    """A tensor of the level below and which of its dimensions is the batch."""

    __slots__ = ("value", "dim")

    def __init__(self, value: Tensor, dim: int):
        self.value, self.dim = value, dim


class VmapTracer(Tracer):
    """Its payload is a Batched; its Meta has no batch dimension."""

    __slots__ = ()
    transform = "vmap"

    @property
    def data(self) -> Tracer:
        raise RuntimeError("accessing `data` under vmap transform is not allowed: use detach()")

    @data.setter
    def data(self, value: Any) -> None:
        raise RuntimeError("mutating directly with `.data` under vmap transform is not allowed.")

    def __bool__(self) -> bool:
        raise RuntimeError(
            "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that: the "
            "elements would take different branches. Choose with where()."
        )

    def data_ptr(self) -> int:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def __repr__(self) -> str:
        batched = self.level.read(self)
        return shown("BatchedTensor", self, batched.value, f"bdim={batched.dim}, ")


class VmapLevel(Level):
    """Runs ops on whole batches in the level below."""

    tracer_type = VmapTracer

    def __init__(self, size: Any, randomness: str, transforms: bool = True):
        self.size = size
        self.transforms = transforms  # whether users asked for it: else Functions run as they are
        self.randomness = randomness
        self.draws = size if randomness == "different" else 1  # for each number that the function draws

    def wants(self, args: tuple) -> bool:
        return True  # for the random ops without tensor arguments

    def check_out(self, op: Op, values: tuple) -> None:
        if super().wants(values):
            raise RuntimeError(
                f"Batching rule not implemented for aten::{op.name}.out; the fallback path doesn't work on out= or view ops. Call "
                "it without out=."
            )

    def wrap(self, value: Tensor, dim: int) -> Tracer:
        """A batch as a Tracer of one element."""
        meta = Meta.of(value)
        sizes, strides = list(meta.sizes), list(meta.strides)
        del sizes[dim], strides[dim]
        return self.make(Batched(value, dim), Meta(meta.dtype, meta.device, sizes, strides, meta.offset))

    def lift(self, tensor: Tensor) -> Tracer:
        return self.wrap(tensor.unsqueeze(0).expand([self.size, *tensor.shape]), 0)

    def split(self, a: Any) -> tuple[Any, Any]:
        """(tensor of the level below, batch dimension or None) of an argument; lists of each for a list."""
        if isinstance(a, Tracer) and a.level is self:
            batched = self.read(a)
            return batched.value, batched.dim
        if type(a) is list:
            pairs = [self.split(x) for x in a]
            dims = [d for _, d in pairs]
            return [v for v, _ in pairs], (None if all(d is None for d in dims) else dims)
        return a, None

    def call_function(self, cls: Any, args: tuple, kwargs: dict, asked: tuple, place: int) -> Any:
        if not self.transforms:
            return NotImplemented
        if cls.vmap is function.Function.vmap:
            if not cls.generate_vmap_rule:
                raise RuntimeError(
                    f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the "
                    "vmap staticmethod or set generate_vmap_rule=True."
                )
            return self._map_function(cls, args, kwargs, asked, place)
        if cls.generate_vmap_rule:
            raise RuntimeError(
                f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
                "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity."
            )
        values, in_dims = pytree_split(self, args)
        with below(place):
            found = cls.vmap(VmapInfo(self.size, self.randomness), in_dims, *values)
        outputs = pytree_wrap(self, found)
        return outputs, function.FunctionCtx(asked)

    def _map_function(self, cls: Any, args: tuple, kwargs: dict, asked: tuple, place: int) -> Any:
        """As call_function, of a Function that has no `vmap`."""
        pairs = [self.split(a) if isinstance(a, Tensor) else (a, None) for a in args]
        mapped = MappedFunction(self, cls, tuple([d for _, d in pairs]), kwargs)
        with below(place):
            result, ctx = function.call(mapped.function, tuple([v for v, _ in pairs]), {}, asked)
        several = isinstance(result, tuple)
        results = result if several else (result,)
        outputs = [r if d is None else self.wrap(r, d) for r, d in zip(results, mapped.out_dims)]
        known = [*zip([v for v, _ in pairs], args), *zip(results, outputs)]
        return (tuple(outputs) if several else outputs[0]), mapped.seen(ctx, known)

    def _like(self, op: Op, args: tuple, kwargs: dict) -> Any:
        """A tensor made like one of this level is of this level: a batch, that it may be written."""
        with opened(self):
            made = op.function(*op.join(args, kwargs))
        if isinstance(made, Tracer) and made.level is self:
            return made
        below = registry["new_empty"](self.read(args[0]).value, [self.size, *made.shape], dtype=made.dtype, device=made.device)
        return self.wrap(below.copy_(made), 0)  # mapped there too, where the argument is

    def handle(self, op: Op, args: tuple, kwargs: dict) -> Any:
        if op.kind == "composite" and op.name in _LIKE and self.own(args[0]):
            return self._like(op, args, kwargs)
        if op.name in _OF_THE_BATCH and self.own(args[0]):
            return op(self.read(args[0]).value)
        if "random" in op.tags or op.kind == "random":
            result = self._random(op, op.join(args, kwargs))
            if result is not NotImplemented:
                return result
        if not super().wants((*args, *kwargs.values())):
            return NotImplemented
        if op.kind == "view":
            return self.process(op, op.join(args, kwargs))  # the level below knows what shares memory
        return super().handle(op, args, kwargs)

    def item(self, tracer: Tracer) -> Any:
        raise RuntimeError(
            "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor: it "
            "stands for one value of each element, and there is no single number."
        )

    def process(self, op: Op, args: tuple) -> Any:
        if "dynamic" in op.tags and op.kind != "random" and op.name not in _SIZES_MAY_BE_EQUAL:
            raise RuntimeError(
                "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
                f"aten::{op.name}: its elements would have results of different sizes."
            )
        pairs = [self.split(a) for a in args]
        values = tuple([v for v, _ in pairs])
        dims = tuple([d for _, d in pairs])
        if op.batch_fn is not None and not _along_nothing(op, values, dims):
            result, out_dims = op.batch_fn(self.size, dims, *values)
        elif op.decompose_fn is not None:
            with opened(self), beside(args):
                return op.decompose_fn(*args)
        else:
            result, out_dims = self._one_by_one(op, values, dims)
        if isinstance(result, (tuple, list)):
            if not isinstance(out_dims, (tuple, list)):
                out_dims = (out_dims,) * len(result)
            return public(op, tuple([r if d is None else self.wrap(r, d) for r, d in zip(result, out_dims)]))
        return result if out_dims is None else self.wrap(result, out_dims)

    def _one_by_one(self, op: Op, values: tuple, dims: tuple) -> tuple[Any, Any]:
        """An op without a batching rule runs once for each element, and says so."""
        _tell_of_loop(op)

        def element(v: Any, d: Any, i: int) -> Any:
            if type(v) is list:
                return v if d is None else [element(x, e, i) for x, e in zip(v, d)]
            return v if d is None else v.select(d, i) if op.name != "as_strided" else v.select(d, i).clone()

        results = [dispatch.call_core(op, tuple([element(v, d, i) for v, d in zip(values, dims)])) for i in range(int(self.size))]
        if not results:
            raise RuntimeError(f"vmap: {op.name} has no batching rule, so that it cannot be mapped over no elements")
        stack = registry["stack"]
        if isinstance(results[0], (tuple, list)):
            return tuple([stack(list(column), 0) for column in zip(*results)]), (0,) * len(results[0])
        return stack(results, 0), 0

    def assign(self, target: Tracer, result: Tracer) -> None:
        """Writes go to the batch itself, so that whoever shares its memory sees them."""
        to, new = target.payload, result.payload
        if new.dim != to.dim:
            value = new.value.movedim(new.dim, to.dim)
        else:
            value = new.value
        to.value.copy_(value)
        if target.cell is None:
            writes_of(target).count += 1

    def write_op(self, op: Op, args: tuple) -> Any:
        if not self.own(args[0]):
            raise RuntimeError(
                "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args "
                "that has more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped "
                f"over in {op.name}. Use the out-of-place {op.name.rstrip('_')}, or make `self` from a tensor that is mapped."
            )
        return super().write_op(op, args)

    def _random(self, op: Op, args: tuple) -> Any:
        """What a random op means here; NotImplemented leaves it to its definition, drawing once for all elements."""
        given = {param.name: a for param, a in zip(op.schema.params, args)}
        if given.get("training") is False or ("training" in given and given.get("p") == 0):
            return NotImplemented  # nothing is drawn
        if self.randomness == "error" and op.kind == "composite":
            return NotImplemented  # its definition draws, or draws nothing: a layer with no dropout
        if self.randomness == "error" and op.kind != "factory":
            if not self.transforms:
                raise RuntimeError(
                    "vmap: We do not yet support calling random operations inside of vmap. Please perform random operations "
                    "outside of vmap as a workaround"
                )
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' "
                "or 'different' randomness flags on vmap or perform the randomness operation out of vmap"
            )
        drawn_by = args[1:] if op.kind == "inplace" else args
        if self.randomness == "same":
            if op.name in _DRAWN_FROM_TENSORS and any(map(self.own, drawn_by)):
                raise RuntimeError(
                    "Vmap does not currently support same randomness with a batched tensor input. Please use randomness='different'"
                )
            return NotImplemented
        if op.kind == "inplace" and not self.own(args[0]) and not any(map(self.own, drawn_by)):
            raise RuntimeError(
                "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. "
                "Write into a tensor that is batched instead."
            )
        if op.name == "philox_reserve":
            return dispatch.call_core(op, (args[0] * self.size,))
        if op.kind == "core" and not any(map(self.own, args)):  # drawn from a tensor that all elements share
            return self.process(op, tuple([self.lift(a) if isinstance(a, Tensor) else a for a in args]))
        at = next((i for i, p in enumerate(op.core) if p.name == "size"), None)
        if op.kind != "factory":
            return NotImplemented
        if at is None:  # an order of numbers, which are drawn for each element
            with opened(self):
                return op.decompose_fn(*args)
        args = (*args[:at], [self.size, *args[at]], *args[at + 1 :])
        return self.wrap(dispatch.call_core(op, args), 0)


_DRAWN_FROM_TENSORS = frozenset(
    "bernoulli bernoulli_fill_ binomial multinomial normal poisson _standard_gamma _sample_dirichlet".split()
)
"""Random ops whose tensors say what to draw: one draw for all elements has no meaning where these differ."""


class _Loops:
    """Whether every loop over elements is told, and the ops whose loop was."""

    allowed = True
    every_time = False
    told: set[str] = set()


def warns_of_loops() -> bool:
    """Whether every loop over elements is told, instead of one an op."""
    return _Loops.every_time


def warn_of_loops(every_time: bool) -> None:
    """Tell of every loop over elements, or of one an op."""
    _Loops.every_time = every_time


def loops_allowed() -> bool:
    """Whether ops without a batching rule run once for each element."""
    return _Loops.allowed


def allow_loops(allowed: bool) -> None:
    """Let them, or have them raise RuntimeError."""
    _Loops.allowed = allowed


def _tell_of_loop(op: Op) -> None:
    if not _Loops.allowed:
        raise RuntimeError(f"Batching rule not implemented for aten::{op.name}; the fallback path is not enabled.")
    if _Loops.every_time or op.name not in _Loops.told:
        _Loops.told.add(op.name)
        warn_caller(
            f"There is a performance drop because we have not yet implemented the batching rule for aten::{op.name}: it "
            f"runs once for "
            "each element of the batch."
        )


def _along_nothing(op: Op, values: tuple, dims: tuple) -> bool:
    """Whether the op works along dim 0 of an element that has no dimensions, which a batch cannot show."""
    if (op.kind == "view" and op.name != "unfold") or "reduction" in op.tags or dims[0] is None:
        return False
    if getattr(op.batch_fn, "takes_scalars", False):
        return False
    return type(dims[0]) is int and values[0].ndim == 1 and any(p.name in ("dim", "dimension") for p in op.core)


_NOT_A_TENSOR = "vmap({0}, ...): `{0}` must only return Tensors, got type {1}. Did you mean to set out_dims= to None for output?"


def vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None):
    """A function that maps `func` over dimensions `in_dims` of its arguments (an int or None for all, or nested as they
    are) and stacks the results at `out_dims`.

    randomness: "error", "same" (one draw for all elements) or "different". chunk_size: elements at a time. Keyword arguments are
    not mapped: every element gets them whole.
    Raises ValueError where in_dims does not fit the arguments or batch sizes differ.
    """
    if randomness not in ("error", "same", "different"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = pytree.flatten(args)
        dims = input_dims(in_dims, args, leaves, name=_name_of(func))
        size = batch_size(leaves, dims)
        mapped = (lambda *xs: func(*xs, **kwargs)) if kwargs else func  # keyword arguments are those of every element
        name = _name_of(func)
        if chunk_size is None:
            return _run(mapped, leaves, dims, spec, size, out_dims, randomness, name)
        if chunk_size <= 0:
            raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
        parts = []
        state = random.get_rng_state() if randomness == "same" else None
        for start in range(0, int(size), chunk_size):
            n = min(chunk_size, int(size) - start)
            chunk = [x if d is None else x.narrow(d, start, n) for x, d in zip(leaves, dims)]
            if state is not None:
                random.set_rng_state(state)  # all chunks draw the same
            parts.append(pytree.flatten(_run(mapped, chunk, dims, spec, n, out_dims, randomness, name)))
        out_spec = parts[0][1]
        places = _output_dims(out_dims, out_spec, name)
        joined = [registry["cat"](list(column), d) for column, d in zip(zip(*[p for p, _ in parts]), places)]
        return pytree.unflatten(joined, out_spec)

    return made_by(vmap, wrapper, in_dims=in_dims, out_dims=out_dims, randomness=randomness, chunk_size=chunk_size)


def batched(func: Callable, in_dims: Any = 0, out_dims: Any = 0) -> Callable:
    """As vmap, for the walks of autograd: what it calls is no function that is transformed, so that Functions run as they are."""

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        leaves, spec = pytree.flatten(args)
        name = _name_of(func)
        dims = input_dims(in_dims, args, leaves, name=name)
        size = batch_size(leaves, dims)
        return _run(func, leaves, dims, spec, size, out_dims, "error", name, VmapLevel(size, "error", transforms=False))

    return wrapper


def _run(func, leaves, dims, spec, size, out_dims, randomness, name, level=None) -> Any:
    level = level or VmapLevel(size, randomness)
    inputs = [x if d is None else level.wrap(x, d) for x, d in zip(leaves, dims)]
    with opened(level):
        result = func(*pytree.unflatten(inputs, spec))
    if result is None:
        raise ValueError(_NOT_A_TENSOR.format(name, type(None)))
    outputs, out_spec = pytree.flatten(result)
    values = []
    for o, place in zip(outputs, _output_dims(out_dims, out_spec, name)):
        value, dim = level.split(o)
        if place is None and not isinstance(value, Tensor):  # the same for all
            values.append(value)
            continue
        if not isinstance(value, Tensor):
            raise ValueError(_NOT_A_TENSOR.format(name, type(o)))
        if place is None:
            if dim is not None:
                raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
            values.append(value)
            continue
        if dim is None:
            value, dim = value.unsqueeze(0).expand([size, *value.shape]), 0
        place = wrap_dim(place, value.ndim)
        values.append(value if dim == place else value.movedim(dim, place))
    return pytree.unflatten(values, out_spec)


def pytree_split(level: VmapLevel, args: tuple) -> tuple[tuple, tuple]:
    """The values below of nested arguments, and which of their dimensions is the batch, nested alike."""
    leaves, spec = pytree.flatten(args)
    pairs = [level.split(x) if isinstance(x, Tensor) else (x, None) for x in leaves]
    return pytree.unflatten([v for v, _ in pairs], spec), pytree.unflatten([d for _, d in pairs], spec)


def pytree_wrap(level: VmapLevel, found: Any) -> Any:
    """What `Function.vmap` returned, (output, out_dims), as the output of an element. Raises RuntimeError for another thing."""
    expected = (
        "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with the "
        "output"
    )
    if not isinstance(found, tuple):
        raise RuntimeError(f"{expected}. Got a {type(found)} instead")
    if len(found) != 2:
        raise RuntimeError(f"{expected}. Got {len(found)} returns instead")
    output, out_dims = found
    leaves, spec = pytree.flatten(output)
    try:
        dims = _broadcast(out_dims, spec, "out", "", alike=True)
    except ValueError:
        raise RuntimeError(
            f"The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has structure "
            f"{pytree.flatten(out_dims)[1]} but output has structure {spec}."
        ) from None
    return pytree.unflatten([x if d is None else level.wrap(x, d) for x, d in zip(leaves, dims)], spec)


def _name_of(func: Any) -> str:
    """What errors call the mapped function."""
    if isinstance(func, functools.partial):
        return f"functools.partial({_name_of(func.func)}, ...)"
    return getattr(func, "__name__", None) or repr(func)


def _broadcast(dims: Any, spec: pytree.Spec, what: str, call: str, alike: bool = False) -> list[Any]:
    """`dims` (an int, None, or a prefix of the nesting `spec`) as one entry a leaf of it; alike: in containers of its classes."""
    found: list[Any] = []

    def visit(d: Any, s: pytree.Spec) -> None:
        if not isinstance(d, (tuple, list, dict)):
            found.extend([d] * s.num_leaves)
            return
        children = list(d.values()) if isinstance(d, dict) else list(d)
        if s.kind is None or len(children) != len(s.children) or (alike and type(d) is not s.kind):
            raise ValueError(
                f"{call}: {what}_dims is not compatible with the structure of `{what}puts`. {what}_dims has structure "
                f"{pytree.flatten(dims)[1]} but {what}puts has structure {spec}."
            )
        for x, child in zip(children, s.children):
            visit(x, child)

    visit(dims, spec)
    return found


def input_dims(in_dims: Any, args: tuple, leaves: list[Any], tensor: Any = Tensor, name: str = "function") -> list[Any]:
    """The dimension that is mapped of each leaf of `args`, None for none.

    tensor: the class of what has dimensions; name: the mapped function's, for errors.
    """
    call = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{call}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
            f"{type(in_dims)}."
        )
    if not leaves:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function "
            "with no inputs. The latter is unsupported."
        )
    found: list[Any] = []
    for leaf, d in zip(leaves, _broadcast(in_dims, pytree.flatten(args)[1], "in", call, alike=True)):
        if d is not None and not isinstance(d, int):
            raise ValueError(f"{call}: Got in_dim={d} for an input but in_dim must be either an integer dimension or None.")
        if d is None or not isinstance(leaf, tensor):
            if d is not None:
                raise ValueError(
                    f"{call}: Got in_dim={d} for an input but the input is of type {type(leaf)}. We cannot vmap over non-Tensor "
                    "arguments, please use None as the respective in_dim"
                )
            found.append(None)
            continue
        if not -leaf.ndim <= d < leaf.ndim:
            raise ValueError(
                f"{call}: Got in_dim={d} for some input, but that input is a Tensor of dimensionality {leaf.ndim} so "
                f"expected in_dim to satisfy -{leaf.ndim} <= in_dim < {leaf.ndim}."
            )
        found.append(d + leaf.ndim if d < 0 else d)
    return found


def _output_dims(out_dims: Any, spec: pytree.Spec, name: str) -> list[Any]:
    if isinstance(out_dims, (tuple, list)) and len(out_dims) == 1 and spec.kind is None:
        out_dims = out_dims[0]
    call = f"vmap({name}, ..., out_dims={out_dims})"
    places = _broadcast(out_dims, spec, "out", call + "(<inputs>)", alike=spec.kind in (tuple, list))
    if not all(p is None or isinstance(p, int) for p in places):
        raise ValueError(
            f"{call}: `out_dims` must be an int, None or a python collection of ints representing where in the outputs the "
            "vmapped dimension should appear."
        )
    return places


def batch_size(leaves: list[Any], dims: list[Any]) -> Any:
    sizes = [x.shape[d] for x, d in zip(leaves, dims) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    for s in sizes[1:]:
        if not (s is sizes[0] or bool(s == sizes[0])):
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                f"{list(map(int, sizes))} for the mapped dimension"
            )
    return sizes[0]

"""Ops: declared once with `@op`, kept in `registry`.

    @op("softmax(Tensor input, int dim) -> Tensor", tags=["reduction"], compute="float32")
    def softmax(input: Meta, dim: int) -> Meta: ...          # the shape rule: Metas → Meta

The rule takes the op's *core signature*: a prefix of the declared parameters. What is declared beyond (alpha of add,
dtype of sum) is resolved before the core: by `.special`, `.normal` or `promote`. A composite's function is its
definition in other ops.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from aten import _native
from aten.dtype import float32
from aten.meta import Meta
from aten.promotion import category
from aten.schema import Param, Schema

registry: dict[str, Op] = {}


class Op(_native.NativeOp):
    """An op: a callable with its declaration, rules and derivatives. See `docs/design.md` section 3.

    A call goes to the op's native rule, if its declaration says of which kind (`native=`), or else to `aten.dispatch.call`.
    """

    own = False  # one of aten's, whose definition and derivative follow from their arguments alone (aten/replay.py)
    # Declarations come after construction; what an op has none of stands here, once for all.
    base: Any = None
    inplace: Any = None
    _schema: Any = None
    _core: Any = None
    _plans: dict[Any, Any] | None = None
    kernel_fn: Any = None  # the CPU's
    kernels: Mapping[str, Any] = types.MappingProxyType({})  # by type of device
    native_fn: Any = None  # f(out, *core arguments) on plain CPU tensors, or NotImplemented (native/native_kernel.h)
    anywhere_fn: Any = None
    vjp_fn: Any = None
    whole = False  # each gradient is recorded as a function of all that is kept for it, also of what chooses among slopes alone
    tie: Any = None  # which does that (aten/ops/put.py)
    jvp_fn: Any = None
    batch_fn: Any = None
    decompose_fn: Any = None
    put_fn: Any = None
    recorded_fn: Any = None  # runs instead in plain code with history: keeps what its derivative would compute again
    traced_fn: Any = None
    refuses: Any = None  # of declared arguments; aten/ops/refusals.py
    special_when: Any = None
    special_fn: Any = None
    normal_fn: Any = None
    positional_out: Any = None  # where `out` may be given by position: the arguments with it as a keyword (aten/older_forms.py)

    def __init__(
        self,
        name: str,
        declaration: str,
        kind: str,
        function: Any,
        tags: Iterable[str],
        promote: Any,
        compute: str | None,
        native: str | None = None,
    ):
        self.name = self.__name__ = self.__qualname__ = name
        self.declaration = declaration
        self.kind = kind
        self.tags = frozenset(tags)
        self.promote = promote
        self.compute = compute
        self.native = native
        self.function = function
        self.__doc__ = function.__doc__ if function is not None else None
        self.__module__ = "aten"
        self.out_in_python = kind == "random" or not self.tags.isdisjoint({"random", "no_result_of_out"})
        if native is not None and not _native.set_rule(self, name, native) and kind != "inplace":
            raise ValueError(f"there is no native rule of {name} of the kind {native}")

    def __repr__(self) -> str:
        return f"aten.{self.name}"

    def __reduce__(self) -> Any:
        return (lookup, (self.name,))

    def __get__(self, obj: Any, cls: Any = None) -> Any:
        """A method of tensors: programs put back on Tensor what they read there. To other objects an op is a plain attribute."""
        return types.MethodType(self, obj) if isinstance(obj, _native.Tensor) else self

    # ---- declaration
    @property
    def kernel_name(self) -> str:
        """What errors call its kernel, where PyTorch has no other name."""
        return self.name.removeprefix("special_") + "_cpu"

    @property
    def rule(self) -> Callable[..., Any]:
        """The shape rule of a core op: core arguments with Metas for tensors → Meta, or a tuple of Metas."""
        return self.function

    @property
    def schema(self) -> Schema:
        if self._schema is None:
            self._schema = Schema(self.declaration, "scalars" in self.tags, "tensor_first" in self.tags)
        return self._schema

    @property
    def core(self) -> tuple[Param, ...]:
        """The parameters of the core signature: what rules, kernels, vjps and core graphs see."""
        if self._core is None:
            params = self.schema.params
            if self.kind not in ("composite", "inplace") and self.function is not None:
                params = params[: self.function.__code__.co_argcount]
            self._core = params
        return self._core

    def native_form(self) -> tuple[Any, ...]:
        """What the native binder is compiled from, at the op's first call; see aten/native/binder.cpp."""
        recorded = self.vjp_fn is not None or self.kind == "composite"
        return (*self.schema.native_form(), len(self.core), node_name(self.name) if recorded else None, self.promote == "float")

    def split(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Core arguments as (positional, keyword-only), the form of `node.args` and `node.kwargs`."""
        positional = sum(not p.kw_only for p in self.core)
        return args[:positional], {p.name: v for p, v in zip(self.core[positional:], args[positional:])}

    def join(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The inverse of `split`."""
        return (*args, *(kwargs[p.name] for p in self.core[len(args) :]))

    def meta(self, *args: Any, **kwargs: Any) -> Any:
        """Result Meta(s) of a call with Metas (or tensors) for tensors."""
        return _meta(self, args, kwargs)

    # ---- decorators
    def kernel(self, fn):
        """`fn(out, *core arguments)` on NumPy arrays: writes the result into `out` (a tuple for several)."""
        self.kernel_fn = fn
        self.kernels = {**self.kernels, "cpu": fn}
        return fn

    def kernel_for(self, device_type):
        """`@op.kernel_for("cuda")`: `fn(out, *core arguments)` on tensors of that type of device; `out` is allocated there."""

        def declare(fn):
            self.kernels = {**self.kernels, device_type: fn}
            return fn

        return declare

    def anywhere(self, fn):
        """`fn(*core arguments)` on tensors of any device that has memory: gives the results."""
        self.anywhere_fn = fn
        return fn

    def traced(self, fn):
        """`fn(level, *core arguments)`: the arguments as make_fx records them, for an op that takes functions."""
        self.traced_fn = fn
        return fn

    def vjp(self, fn):
        """`fn(g, out, needs, <parameter names>, <name>_meta)`: gradients of the differentiable parameters, in order."""
        self.vjp_fn = fn
        return fn

    def jvp(self, fn):
        """`fn(tangents, *core arguments, out)`: the tangent of the result; tangents by core parameter, None for
        zero.
        """
        self.jvp_fn = fn
        return fn

    def batch(self, fn):
        """`fn(size, dims, *core arguments) -> (result, dim)`: the op on batched tensors; dims by parameter, None
        if unbatched.
        """
        self.batch_fn = fn
        return fn

    def decompose(self, fn):
        """`fn(*core arguments)` in smaller ops."""
        self.decompose_fn = fn
        return fn

    def put(self, fn):
        """For a view: `fn(base, new, *other core arguments)` = base with the viewed elements replaced by `new`."""
        self.put_fn = fn
        return fn

    def in_place(self, fn):
        """`fn(*declared arguments)` writes its first argument: what `name_` does where no gradient is recorded, instead of a copy
        of the whole result. NotImplemented: not this time."""
        self.inplace.function = fn
        return fn

    def special(self, when):
        """`@op.special(when)`: where `when(*declared arguments)` holds, `fn(*declared arguments)` is the call's
        meaning, in
        other ops (add with alpha, clamp between tensors)."""

        def declare(fn):
            self.special_when, self.special_fn = when, fn
            return fn

        return declare

    def normal(self, fn):
        """`fn(*declared arguments) -> core arguments`: wraps dims, fills in what depends on the tensor."""
        self.normal_fn = fn
        return fn

    # ---- derivatives
    def plan(self, needs: tuple[Any, ...]) -> Any:
        """The `Plan` (see aten/derivative.py) of the vjp for this pattern of needed gradients by core parameter."""
        if self._plans is None:
            self._plans = {}
        found = self._plans.get(needs)
        if found is None:
            from aten.derivative import Plan

            found = self._plans[needs] = Plan(self, needs)
        return found


_native.enable_vectorcall(Op)
Method = _native.OpMethod  # an op as an attribute of Tensor: bound on instances, the op itself on the class


def _declared(name: str, *declaration: Any) -> Op:
    """The op in the registry; what was promised there (aten/ops/on_demand.py) becomes it."""
    known = registry.get(name)
    if known is not None and known.promised:
        Op.__init__(known, name, *declaration)
        return known
    made = registry[name] = Op(name, *declaration)
    return made


def op(
    declaration: str,
    *,
    kind: str = "core",
    tags: Iterable[str] = (),
    promote: Any = "none",
    compute: str | None = None,
    inplace: bool = False,
    native: str | None = None,
) -> Callable[[Callable[..., Any]], Op]:
    """Declare an op; the decorated function is its shape rule, or for kind="composite" its definition.

    `inplace=True` also makes `name_`, which writes into the first argument. `native`: the kind of the native rule of this name
    (the tables at the end of aten/native/fast_*.cpp), which answers usual calls; ValueError if there is none.
    """

    def declare(function: Callable[..., Any]) -> Op:
        name = declaration[: declaration.index("(")]
        made = _declared(name, declaration, kind, function, tags, promote, compute, native)
        if inplace:
            made.inplace = inplace_of(made)
        return made

    return declare


def composite(
    declaration: str, *, tags: Iterable[str] = (), inplace: bool = False, compute: str | None = None, native: str | None = None
) -> Callable[[Callable[..., Any]], Op]:
    """Declare an op by its definition in other ops; with compute="float32" on halves as on float32, rounded once."""
    declare = op(declaration, kind="composite", tags=tags, inplace=inplace, native=native)
    return declare if compute is None else lambda function: declare(widened(function))


def widened(function: Callable[..., Any]) -> Callable[..., Any]:
    """The definition with narrow floats as float32, where all floating tensors are of one such dtype; the result has it again."""

    def is_half(x: Any) -> bool:
        return isinstance(x, _native.Tensor) and x.dtype.is_floating_point and x.dtype.itemsize <= 2

    @functools.wraps(function)
    def definition(*args: Any) -> Any:
        # (Numbers of NumPy have a dtype of their own.)
        floats = {x.dtype for x in args if isinstance(x, _native.Tensor) and category(x.dtype) >= 2}
        half = next((x.dtype for x in args if is_half(x)), None)
        if half is None or floats != {half}:
            return function(*args)
        cast = registry["cast"]
        result = function(*[cast(x, float32) if is_half(x) else x for x in args])
        if isinstance(result, (tuple, list)):
            return type(result)([cast(x, half) if getattr(x, "dtype", None) is float32 else x for x in result])
        return cast(result, half) if getattr(result, "dtype", None) is float32 else result

    return definition


def inplace_of(base: Op, native: str | None = None) -> Op:
    """The op `name_` that writes the result of `base` into its first argument; by default with a native rule of its kind."""
    native = native or base.native
    name = base.name + "_"
    declaration = name + base.declaration[len(base.name) :]
    made = _declared(name, declaration, "inplace", None, base.tags, base.promote, base.compute, native)
    made.base = base
    if "resizes" not in base.tags:
        made.functional = base
        made.writes_core = base.kind == "core"
    made.__doc__ = f"In-place `{base.name}`."
    return made


def alias_of(name: str, target: Op) -> Op:
    """Another public name of an op (`multiply` for `mul`): the same object under two names."""
    registry[name] = target
    if target.inplace is not None:
        registry[name + "_"] = target.inplace
    return target


_NODES = {  # where PyTorch's op, or its own derivative of it, has another name
    "row_major": "Clone", "cast": "ToCopy", "copy": "CopyBackwards", "max_dim": "Max", "min_dim": "Min", "square": "Pow",
    "layer_norm": "NativeLayerNorm", "clamp": "ClampBackward1", "chunk": "Split",
    "power_norm": "LinalgVectorNorm", "root": "Sqrt",
}  # fmt: skip


def node_name(op_name: str) -> str:
    """'add' → 'AddBackward0', 'log_softmax' → 'LogSoftmaxBackward0'; copies of every layout are clones."""
    name = _NODES.get(op_name) or "".join(part.capitalize() for part in op_name.strip("_").split("_"))
    return name if "Backward" in name else f"{name}Backward0"


def lookup(name: str) -> Op:
    """The op of that name; AttributeError if there is none."""
    try:
        return registry[name]
    except KeyError:
        raise AttributeError(f"there is no op {name!r}") from None


class _Ops:
    """`ops.name` is the op of that name: how definitions call ops of other files."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    else:
        __getattr__ = staticmethod(lookup)


ops = _Ops()


def _meta(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    raise RuntimeError("aten.dispatch is not loaded")


def tensors_of(params: Iterable[Param], args: Iterable[Any], kinds: type | tuple[type, ...]) -> list[Any]:
    """The tensors among arguments, lists flattened, in order."""
    found = []
    for param, value in zip(params, args):
        if param.is_tensor:
            if type(value) is list:
                found += [v for v in value if isinstance(v, kinds)]
            elif isinstance(value, kinds):
                found.append(value)
    return found


__all__ = [
    "Meta",
    "Method",
    "Op",
    "alias_of",
    "composite",
    "inplace_of",
    "lookup",
    "node_name",
    "op",
    "ops",
    "registry",
    "widened",
    "tensors_of",
]

"""The path of a call: subclasses and modes → levels → composite → promotion → autograd → shape rule, memory, kernel.

This is the general path, in Python. Calls of ops with native rules on plain tensors take a native one with the same meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import aten.op
import aten.schema
from aten import _native, autocast, default_device, devices, out_dtypes, overrides
from aten import dtype as dtypes
from aten._native import Tensor
from aten.arrays import array, from_arrays, kernel_argument, numbers, run_kernel, store
from aten.autograd.inplace import record_inplace
from aten.autograd.record import record
from aten.derivative import is_lost
from aten.errors import warn_caller
from aten.laid_out import lie_as_arguments
from aten.meta import Meta, contiguous_strides, dense_strides, shows_twice
from aten.on_device import On, beside, pop_level, pop_mode, push_level, push_mode
from aten.op import Op
from aten.open_levels import ask_levels, ask_modes, stack
from aten.promotion import TYPE_NAMES, can_cast, category, floating, number_dtype, result_dtype
from aten.shapes import show

aten.schema.tensor_types = (Tensor, Meta)
by_rule = _native.by_rule


def __getattr__(name: str) -> Any:
    if name == "levels":
        return stack.levels[: stack.top]
    raise AttributeError(f"module 'aten.dispatch' has no attribute {name!r}")


_DEVICES_APART = frozenset(  # composites of tensors that may be on several devices
    {"to", "cpu", "cuda", "type_as", "copy_", "getitem", "setitem", "fill", "ctc_loss", "lstm", "gru", "rnn_tanh", "rnn_relu"}
)


def call(op: Op, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Run `op` on a user's arguments."""
    if stack.mode_top:
        result = ask_modes(op, tuple(args), kwargs)
        if result is not NotImplemented:
            return result
        default = default_device.current()
        if default is not None and default is not devices.CPU and tensors_on_cpu((*args, *kwargs.values())):
            with On(devices.CPU):  # what the op makes lies where its tensors do
                return _call_overriding(op, args, kwargs)
    return _call_overriding(op, args, kwargs)


def tensors_on_cpu(args: Sequence[Any]) -> bool:
    """Whether there are tensors among the arguments, or in lists of them, and all are on the CPU."""
    given = [v for value in args for v in (value if type(value) in (list, tuple) else (value,)) if isinstance(v, Tensor)]
    return bool(given) and all(v.device is devices.CPU for v in given)


def _call_overriding(op: Op, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    for value in (*args, *kwargs.values()):
        cls = type(value)
        if cls is list or cls is tuple or overrides.kind_of(cls) & 1:
            found = () if overrides.state.off else overrides.overriding((*args, *kwargs.values()))
            if found:
                return overrides.ask(found, op, tuple(args), kwargs)
            break
    if op.autocast and _native.ambient() & autocast.ON:
        go_on = op if not stack.mode_top else lambda *args, **kwargs: _call(op, args, kwargs)  # modes have been asked
        result = autocast.run(op, args, kwargs, go_on)
        if result is not NotImplemented:
            return result
    return _call(op, args, kwargs)


def _call(op: Op, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    if len(args) > 4 and op.positional_out is not None:
        args, kwargs = op.positional_out(args, kwargs, Tensor)
    if kwargs and "out" in kwargs and "out" not in op.schema.index:
        out = kwargs.pop("out")
        if out is not None:
            return _call_out(op, args, kwargs, out)
    if kwargs and kwargs.get("pin_memory"):
        return _call(op, args, {**kwargs, "pin_memory": None}).pin_memory()
    public = op.schema.bind(args, kwargs, op.name)
    if "scalars" in op.tags and op.kind == "core":
        public = numbers_alone(op, public)
    if op.refuses is not None:
        op.refuses(public)
    if op.kind == "composite":
        if stack.top:
            result = ask_levels(op, public)
            if result is not NotImplemented:
                return result
        if op.name in overrides.LIKE and overrides.kind_of(type(public[0])) & overrides.DISPATCH:
            result = overrides.dispatched(op, public)
            if result is not NotImplemented:
                return result
        away = None if op.name in _DEVICES_APART else devices.elsewhere(public, op)
        if away is not None:
            with On(away):
                return own_memory(op.function(*public), public)
        result = op.function(*public)
        return own_memory(lie_as_arguments(result, public) if op.native == "chain" else result, public)
    if op.kind == "inplace":
        return _call_inplace(op, public)
    if op.special_when is not None and op.special_when(*public):
        return own_memory(op.special_fn(*public), public)
    return call_core(op, normalize(op, public))


def own_memory(result: Any, public: tuple[Any, ...]) -> Any:
    """The result of a definition in other ops: no view where it shows memory made on the way, that no argument shares."""
    made = result if isinstance(result, (tuple, list)) else (result,)
    shown = [t for t in made if isinstance(t, Tensor) and t._view_of is not None] if not stack.top else ()
    if shown:
        given = [t for a in public for t in (a if isinstance(a, (tuple, list)) else (a,)) if isinstance(t, Tensor)]
        known = {id(t) for t in given} | {id(t._base) for t in given}
        for t in shown:
            if id(t._base) not in known:
                t._view_of = None
    return result


_OF_NUMBERS = frozenset({"add", "sub", "mul", "div", "floor_divide"})


def numbers_alone(op: Op, public: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments where all operands are numbers: arithmetic takes the first as a tensor, other ops raise TypeError."""
    if any(isinstance(value, (Tensor, Meta)) for value in public):
        return public
    if op.name not in _OF_NUMBERS:
        first = op.schema.params[0].name
        raise TypeError(f"{op.name}(): argument '{first}' (position 1) must be Tensor, not {type(public[0]).__name__}")
    return (aten.op.registry["full"]([], public[0]), *public[1:])


def normalize(op: Op, public: tuple[Any, ...]) -> tuple[Any, ...]:
    """Core arguments of a bound call: tensors of the promoted dtype, dims explicit."""
    if op.promote != "none":
        dtype = promoted_dtype(op, public)
        if dtype is not None:
            public = tuple([_cast_to(v, dtype) if p.type == "Tensor" else v for p, v in zip(op.schema.params, public)])
    if op.normal_fn is not None:
        return op.normal_fn(*public)
    return public[: len(op.core)]


def promoted_dtype(op: Op, public: tuple[Any, ...]) -> Any:
    """The dtype in which the op's tensor arguments must come, or None to leave them."""
    promote = op.promote
    if callable(promote):
        return promote(*public)
    operands = []
    for param, value in zip(op.schema.params, public):
        if param.type == "Tensor" and value is not None:
            if type(value) is list:
                operands += [(t.dtype, 2 if t.ndim else 1) for t in value]
            elif isinstance(value, (Tensor, Meta)):
                operands.append((value.dtype, 2 if value.ndim else 1))
            else:
                operands.append((number_dtype(value), 0))
    if promote == "first":
        return operands[0][0]
    dtype = operands[0][0] if len(operands) == 1 else result_dtype(operands)
    if promote == "float":
        return floating(dtype)
    if promote == "bool_to_int64":
        return dtype if category(dtype) >= 2 else dtypes.int64
    return dtype


def _cast_to(value: Any, dtype: Any) -> Any:
    if type(value) is list:
        return [_cast_to(v, dtype) for v in value]
    if isinstance(value, Tensor):
        if value.dtype is dtype:
            return value
        if stack.top or (value.requires_grad and _native.is_grad_enabled()):
            return aten.op.registry["cast"](value, dtype)
        return run(aten.op.registry["cast"], (value, dtype))
    if isinstance(value, Meta) and value.dtype is not dtype:
        return value.like(dtype=dtype)
    return value


def call_core(op: Op, args: tuple[Any, ...]) -> Any:
    """Run an op on core arguments: levels first, then memory."""
    if stack.top:
        result = ask_levels(op, args)
        if result is not NotImplemented:
            return result
    needs = needs_of(op, args) if _native.is_grad_enabled() else None
    if needs is not None and op.recorded_fn is not None:
        return op.recorded_fn(*args)
    if needs is not None and op.vjp_fn is None and op.decompose_fn is not None:
        with beside(args):
            return _public(op, op.decompose_fn(*args))
    result = run(op, args)
    if needs is not None and (op.vjp_fn is not None or is_lost(op, result)):
        record(op, args, result, needs)
    return _public(op, result)


def _public(op: Op, result: Any) -> Any:
    if type(result) is tuple and len(op.schema.returns) > 1:
        return op.schema.result_type(result)
    return result


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def needs_of(op: Op, args: tuple[Any, ...], takes: Callable[[Any], bool] = _is_tensor) -> tuple[Any, ...] | None:
    """Which core arguments need a gradient: bools by parameter (a tuple of bools for a list), or None if none does. takes: which
    values may."""
    needs, some = [], False
    for param, value in zip(op.core, args):
        if not param.differentiable:
            needs.append(False)
        elif type(value) is list:
            of_list = tuple([takes(v) and v.requires_grad for v in value])
            some = some or any(of_list)
            needs.append(of_list)
        else:
            need = takes(value) and value.requires_grad
            some = some or need
            needs.append(need)
    return tuple(needs) if some else None


# ---------------------------------------------------------------------------------- shape rule, memory, kernel
def _meta_argument(value: Any) -> Any:
    if isinstance(value, Tensor):
        return Meta.of(value)
    if type(value) is list:
        return [_meta_argument(v) for v in value]
    return value


def result_meta(op: Op, args: tuple[Any, ...]) -> Any:
    """The shape rule's answer for core arguments."""
    return op.function(*[_meta_argument(v) for v in args])


def allocate(meta: Meta) -> Tensor:
    """Memory for a result."""
    return _native.empty(meta.sizes, meta.dtype, meta.device, meta.strides)


CUT = frozenset({"detach", "bitcast"})  # views that are cut from the history of their memory


def run(op: Op, args: tuple[Any, ...]) -> Any:
    """Shape rule, allocation and kernel on plain tensors, without autograd."""
    if overrides.state.modes or any([overrides.kind_of(type(v)) or type(v) is list for v in args]):
        result = overrides.dispatched(op, args)
        if result is not NotImplemented:
            return result
    if op.kind == "view":
        meta = result_meta(op, args)
        if op.name == "data_of":
            return args[0].data
        if op.name in CUT:
            return _native.alias(args[0], meta.sizes, meta.strides, meta.offset, None, (), meta.dtype)
        return _native.alias(args[0], meta.sizes, meta.strides, meta.offset, op, args[1:], meta.dtype)
    away = devices.elsewhere(args, op)
    if op.anywhere_fn is not None and away is not devices.META:  # a function on tensors
        with no_grad():
            return op.anywhere_fn(*args)
    if away is not None and away.type in devices.compilers and away.type not in op.kernels:
        with no_grad():
            return devices.run_elsewhere(op, args, away, lambda: result_meta(op, args))
    if op.decompose_fn is not None and (op.kernel_fn is None if away is None else away.type not in (*op.kernels, "meta")):
        with no_grad():
            if away is None:
                return op.decompose_fn(*args)
            with On(away):
                return op.decompose_fn(*args)
    if away is not None:
        if away is devices.META:
            return devices.run_on_meta(op, lambda: result_meta(op, args))
        with no_grad():
            return devices.run_elsewhere(op, args, away, lambda: result_meta(op, args))
    if "dynamic" in op.tags:  # sizes depend on data: the kernel returns its arrays
        found = NotImplemented if op.native_fn is None else op.native_fn(*args)
        if found is not NotImplemented:
            return found
        return from_arrays(op.kernel_fn(*[kernel_argument(v) for v in args]))
    if not _widens_again(op, args):
        with no_grad():  # what came here for its dtypes, say, gets the same kernel as if it had come with these arguments
            found = by_rule(op, *op.split(args))
        if found is not NotImplemented:
            return found
    meta = result_meta(op, args)
    if type(meta) is not tuple and meta.device is not devices.CPU and op.kind == "factory":
        return _factory(op, args, meta)
    out = tuple(map(allocate, meta)) if type(meta) is tuple else allocate(meta)
    run_kernel(op, out, args)
    return out


def _factory(op: Op, args: tuple[Any, ...], meta: Meta) -> Tensor:
    """The result of a factory on another device than the CPU's memory."""
    kernel = op.kernels.get(meta.device.type)
    if kernel is None and meta.device.type != "cpu" and not meta.device.type == "meta":
        with no_grad():
            return devices.made(op, args, meta, lambda made: run_kernel(op, made, args))
    out = allocate(meta)
    if kernel is op.kernel_fn:
        run_kernel(op, out, args)
    elif kernel is not None:
        kernel(out, *args)
    return out


def _widens_again(op: Op, args: tuple[Any, ...]) -> bool:
    """Whether a native rule would add up integers in int64 that were cast to another dtype because the call said so."""
    return "scan" in op.tags and callable(op.promote) and category(args[0].dtype) < 2 and args[0].dtype is not dtypes.int64


# ------------------------------------------------------------------------------------------- out= and in place
class no_grad:
    """Gradients off inside (the bare switch; `aten.autograd.no_grad` is the public one)."""

    __slots__ = ("before",)

    def __enter__(self) -> None:
        self.before = _native.set_grad_enabled(False)

    def __exit__(self, *exc: Any) -> None:
        _native.set_grad_enabled(self.before)


_READ_FIRST = frozenset({"reduction", "matmul"})  # ops whose arguments may share memory with their `out`


def _call_out(op: Op, args: Sequence[Any], kwargs: dict[str, Any], out: Any) -> Any:
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    for level in stack.levels[: stack.top]:
        level.check_out(op, (*args, *outs))
    if _native.is_grad_enabled() and _any_requires_grad([*args, *outs]):
        raise RuntimeError(
            f"{op.name}(): functions with out=... arguments don't support automatic differentiation, but one of "
            "the arguments requires grad."
        )
    if kwargs.get("as_tuple"):
        raise RuntimeError(f"{op.name} does not support the out kwarg when as_tuple is True")
    if "dtype_of_out" in op.tags and isinstance(out, Tensor):
        kwargs = _with_dtype_of(out, kwargs)
    result = call(op, out_dtypes.in_width_of(op, args, outs[0]), out_dtypes.with_dtype(op, args, kwargs, outs[0]))
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    if isinstance(out, (tuple, list)) and not isinstance(result, (tuple, list)):
        raise TypeError(f"{op.name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if len(outs) != len(results):
        raise TypeError(f"expected tuple of {len(results)} elements but got {len(outs)}")
    for i, (target, value) in enumerate(zip(outs, results)):
        if not isinstance(target, Tensor):
            raise TypeError(f"{op.name}(): argument 'out' must be Tensor, not {type(target).__name__}")
        if "out_as_result" in op.tags and target.dtype is not value.dtype:
            names = TYPE_NAMES[value.dtype.name], TYPE_NAMES[target.dtype.name]
            raise RuntimeError("expected scalar_type {} but found {}".format(*names))
        refused = out_dtypes.refusal(op, (*args, *kwargs.values()), target.dtype, value.dtype, i)
        if refused is not None:
            raise RuntimeError(refused)
        if (lacking := out_dtypes.not_computed(op, args, value, target.dtype)) is not None:
            raise NotImplementedError(lacking)
        value = out_dtypes.as_it_lies(op, value, target)
        if not can_cast(value.dtype, target.dtype) and op.name not in out_dtypes.ANY:
            raise out_dtypes.not_cast(op, value.dtype, target.dtype)
        if any(isinstance(a, Tensor) for a in args):  # (a factory makes its result where the target is)
            _check_device(target, value.device)
        if not _READ_FIRST & op.tags and tuple(target.shape) == tuple(value.shape):
            for a in args:
                _native.check_overlap(target, a)
        if tuple(target.shape) != tuple(value.shape):
            with no_grad():
                _native.check_inplace(target)
            _warn_of_resize(op, args, target, value)
            _resize_out(target, value)
        with no_grad():
            target.copy_(value)
    if "no_result_of_out" in op.tags:
        return None
    return out if not isinstance(out, (tuple, list)) else type(result)(out) if not hasattr(result, "_make") else result._make(out)


def _with_dtype_of(out: Tensor, kwargs: dict[str, Any]) -> dict[str, Any]:
    """What sums and products are computed in is what they are written into; a dtype that is asked for must be that."""
    dtype = kwargs.get("dtype")
    if dtype is not None and dtype is not out.dtype:
        names = TYPE_NAMES[dtype.name], TYPE_NAMES[out.dtype.name]
        raise RuntimeError("Expected out tensor to have dtype {}, but got {} instead".format(*names))
    return {**kwargs, "dtype": out.dtype}


def _resize_out(target: Tensor, value: Tensor) -> None:
    """Other sizes for a result tensor, in its own memory, which grows where it must: other views of it see what is written."""
    sizes, strides = tuple(value.shape), dense_strides(Meta.of(value))
    if _native.is_tracer(target) or target.is_meta:
        target.data = _native.empty(sizes, target.dtype, target.device, strides)
        return
    offset, memory = target.storage_offset(), target.untyped_storage()
    needed = (offset + value.numel()) * target.itemsize
    if memory.nbytes() < needed:
        memory.resize_(needed)
    target.data = _native.alias(target.detach(), sizes, strides, offset)


def _warn_of_resize(op: Op, args: Sequence[Any], target: Tensor, value: Tensor) -> None:
    """A result tensor that is not empty, and of other sizes; factories take it as they find it, but `arange`, whose count may be
    a surprise."""
    if not target.numel():
        return
    has, wants = list(target.shape), list(value.shape)
    if any(isinstance(t, Tensor) for a in args for t in (a if isinstance(a, (tuple, list)) else [a])):
        text = (
            f"An output with one or more elements was resized since it had shape {has}, which does not match the required output "
            f"shape {wants}. This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they "
            "have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with "
            "t.resize_(0)."
        )
    elif op.name == "arange":
        text = (
            f"The number of elements in the out tensor of shape {has} is {target.numel()} which does not match the computed number "
            f"of elements {value.numel()}. Note that this may occur as a result of rounding error. The out tensor will be resized "
            f"to a tensor of shape ({value.numel()},)."
        )
    else:
        return
    warn_caller(text)


def _call_inplace(op: Op, public: tuple[Any, ...]) -> Any:
    if stack.top:
        result = ask_levels(op, public)
        if result is not NotImplemented:
            return result
    target, base = public[0], op.base
    of_classes = any([overrides.kind_of(type(value)) & overrides.DISPATCH for value in public])
    if of_classes and overrides.dispatched(op, public) is not NotImplemented:
        return target
    if base.refuses is not None:
        base.refuses(public)
    expanded = _is_deprecated(op, target)
    filled = "fill" in op.tags and not any(isinstance(value, Tensor) for value in public[1:])  # with a number, again and again
    (_native.check_fill if filled or expanded else _native.check_inplace)(target)
    for value in public[1:]:
        if "number" not in op.tags or getattr(value, "ndim", 1):  # (a tensor without dims may stand for a number)
            _native.check_overlap(target, value, "indexing" in op.tags)
    if expanded and base.kind == "core" and not _any_requires_grad(public):
        base.kernel_fn(array(target), *[kernel_argument(v) for v in normalize(base, public)])  # one element after the other
        target._bump_version()
        return target
    if _native.is_grad_enabled() and _any_requires_grad(public):
        _native.check_view(target)
        positional, keywords = _as_call(base, _values_kept(base, public))
        result = base(*positional, **keywords)
        _check_result(target, result.dtype, result.shape, result.device)
        record_inplace(target, result)
        return target
    if op.function is not None and op.function(*public) is not NotImplemented:
        return target
    if base.kind == "core" and "pointwise" in base.tags and not (base.special_when is not None and base.special_when(*public)):
        args = normalize(base, public)
        try:
            meta = result_meta(base, args)
        except NotImplementedError:  # of a dtype that the target could not take in any case
            _check_castable(next(a.dtype for a in args if isinstance(a, Tensor)), target)
            raise
        _check_result(target, meta.dtype, meta.sizes, meta.device)
        away = devices.elsewhere((target, *args), base)
        if meta.dtype is target.dtype and base.kernel_fn is not None and away is None and not _overlaps(target, args):
            run_kernel(base, target, args)
            target._bump_version()
            return target
        result = run(base, args)
    else:
        positional, keywords = _as_call(base, public)
        result = base(*positional, **keywords)
        if "resizes" in op.tags and tuple(result.shape) != tuple(target.shape):
            target.resize_(tuple(result.shape))
        _check_result(target, result.dtype, result.shape, result.device)
    write(target, result)
    return target


def _any_requires_grad(args: Iterable[Any]) -> bool:
    """Whether a tensor among arguments, or in a list of them, requires grad, whatever type its parameter is declared to have."""
    return any(v.requires_grad if isinstance(v, Tensor) else type(v) in (list, tuple) and _any_requires_grad(v) for v in args)


def _values_kept(base: Op, public: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of an in-place call, with a copy for its target if the derivative needs the value it had."""
    target, core = public[0], base.core
    if base.kind == "core" and not (base.special_when is not None and base.special_when(*public)):
        needs = needs_of(base, public[: len(core)])
        if base.vjp_fn is None or needs is None:
            return public
        names = base.plan(needs).names
        if core[0].name not in names:
            return public
    kept = aten.op.registry["clone"](target)
    return kept, *[kept if v is target and base.kind != "core" else v for v in public[1:]]  # (of one history)


def _as_call(base: Op, public: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    n = base.schema.positional
    return public[:n], {p.name: v for p, v in zip(base.schema.params[n:], public[n:])}


def _check_castable(dtype: Any, target: Tensor) -> None:
    if not can_cast(dtype, target.dtype):
        raise RuntimeError(
            f"result type {TYPE_NAMES[dtype.name]} can't be cast to the desired output type {TYPE_NAMES[target.dtype.name]}"
        )


def _check_result(target: Tensor, dtype: Any, sizes: Sequence[Any], device: Any) -> None:
    _check_castable(dtype, target)
    _check_device(target, device)
    if tuple(sizes) != tuple(target.shape):
        raise RuntimeError(f"output with shape {show(target.shape)} doesn't match the broadcast shape {show(sizes)}")


def _is_deprecated(op: Op, target: Tensor) -> bool:
    """Whether the op writes into a tensor that shows elements more than once, and says that it should not."""
    if "into_expanded" not in op.tags or target.device is not devices.CPU or not shows_twice(Meta.of(target)):
        return False
    warn_caller(
        f"Use of {op.name} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. This "
        "also applies to advanced indexing e.g. tensor[indices] = tensor"
    )
    return True


def _check_device(target: Tensor, device: Any) -> None:
    if target.device is not device and not devices.same(target.device, device):
        raise devices.two_devices(device, target.device)


def write(target: Tensor, value: Tensor) -> None:
    """Copy the elements of `value` into the memory of `target`, if it has any, casting; advances the version."""
    while _native.is_tracer(value) and (below := value.level.constant(value)) is not None:
        value = below
    if target.device is devices.CPU:
        to = target
        if target.ndim > 64:  # which NumPy does not have: all but a few are of size 1
            with no_grad():
                to, value = target.squeeze(), value.squeeze()
        with np.errstate(all="ignore"):
            store(to, numbers(value))
    elif not target.is_meta:
        devices.overwrite(target, value)
    target._bump_version()


def _overlaps(target: Tensor, args: tuple[Any, ...]) -> bool:
    """Whether some argument shares memory with the target without being exactly it."""
    where = array(target)
    for value in args:
        if isinstance(value, Tensor) and value is not target and not overrides.kind_of(type(value)) & overrides.DISPATCH:
            if value.data_ptr() == target.data_ptr() and value.shape == target.shape and value.stride() == target.stride():
                continue
            if np.may_share_memory(where, array(value)):
                return True
    return False


_native.set_general_call(call)
reserve: Callable[[int], tuple[int, int]] = _native.philox_reserve
__all__ = [
    "Meta",
    "call",
    "call_core",
    "contiguous_strides",
    "normalize",
    "pop_level",
    "pop_mode",
    "push_level",
    "push_mode",
]

"""Where tensors are: an op's call runs where its tensors are, by the kernel that the op has for that type of device.

The memory of a device is its row in the table of `aten/native/devices.cpp`. On the CPU kernels see NumPy arrays; elsewhere they
are given tensors, `kernel(out, *core arguments)`. On `meta` there is nothing to run: a call gives what the shape rule says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten import _native
from aten import dtype as dtypes
from aten._native import Tensor
from aten.meta import Meta
from aten.op import Op

CPU = dtypes.device("cpu")
META = dtypes.device("meta")


# By type of device what runs ops that have no kernel there: a function that gives a module with `run(op, core arguments, device)`
# and `overwrite(target, value)`. inductor compiles them.
compilers: dict[str, Callable[[], Any]] = {}
# By type of device what makes tensors from nothing there: a module with `make(op, core arguments, meta, on_host)`, by a function.
makers: dict[str, Callable[[], Any]] = {}
# Called when somebody has waited for a device: raises what kernels there have found meanwhile.
after_wait: list[Callable[[], Any]] = []


def waited() -> None:
    """Raise what kernels on a device have found wrong, now that it has been waited for."""
    for look in after_wait:
        look()


def same(a: Any, b: Any) -> bool:
    """Whether two devices are one: no index means the one that this thread is on."""
    return a.type == b.type and (a.type != "cuda" or _native.device_index(a) == _native.device_index(b))


def elsewhere(args: Sequence[Any], op: Op | None = None, among: Sequence[Any] | None = None) -> Any:
    """The device of the tensors among the op's arguments, None for the CPU; 0-d tensors of the CPU go with all.

    Raises RuntimeError, naming the argument, where tensors are on two devices that both have memory. `among`: the arguments that a
    list of tensors is one of.
    """
    found = None
    on_cpu = False
    for value in args:
        if type(value) is list:
            device = elsewhere(value, op, args)
            on_cpu = on_cpu or (device is None and any(isinstance(v, Tensor) and v.ndim for v in value))
        elif isinstance(value, Tensor):
            device = value.device
            if device is CPU:
                on_cpu = on_cpu or value.ndim > 0
                continue
        else:
            continue
        if device is None:
            continue
        if found is not None and found != device:
            raise two_devices(found, device, argument_on(device, among or args, op))
        found = device
    if found is not None and found is not META and on_cpu:
        raise two_devices(found, CPU, argument_on(CPU, among or args, op))
    return found


def argument_on(device: Any, args: Sequence[Any], op: Op | None) -> str:
    """Which argument of the op is on the device, in PyTorch's words; empty where that cannot be told."""
    if op is not None:
        for param, value in zip(op.schema.params, args):
            tensors = value if type(value) is list else [value]
            if any(isinstance(v, Tensor) and v.device == device and (v.ndim or device is not CPU) for v in tensors):
                return f" (when checking argument for argument {param.name} in method {op.name})"
    return ""


def two_devices(a: Any, b: Any, where: str = "") -> RuntimeError:
    """What is raised for tensors on two devices."""
    return RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {a} and {b}!{where}")


def is_recording(device: Any) -> bool:
    """Whether this thread's work on the device is captured into a graph instead of run: then nobody may wait for it."""
    if device.type != "cuda":
        return False
    from aten import _cuda  # (there are devices: it is imported)

    return _cuda.is_capturing(_cuda.current_stream(_native.device_index(device))[0])


def no_kernel(op: Op, device: Any) -> NotImplementedError:
    """What is raised for an op that a device has no kernel for."""
    return NotImplementedError(f"{op.name}: there is no kernel of it for tensors on {device}")


def run_on_meta(op: Op, metas: Callable[[], Any]) -> Any:
    """What the shape rule says of the result, on meta; nothing is read or written."""
    if "dynamic" in op.tags:
        raise NotImplementedError(f"{op.name}: the sizes of the result depend on values, which tensors on meta do not have")
    found = metas()
    if type(found) is tuple:
        return tuple([_native.empty(m.sizes, m.dtype, META, m.strides) for m in found])
    return _native.empty(found.sizes, found.dtype, META, found.strides)


def run_elsewhere(op: Op, args: tuple[Any, ...], device: Any, metas: Callable[[], Any]) -> Any:
    """The op by its kernel for this type of device; NotImplementedError if it has none."""
    kernel = op.kernels.get(device.type)
    if kernel is None:
        if device.type in compilers:
            return compilers[device.type]().run(op, args, device)
        raise no_kernel(op, device)
    found = metas()
    if type(found) is tuple:
        out: Any = tuple([_native.empty(m.sizes, m.dtype, device, m.strides) for m in found])
    else:
        out = _native.empty(found.sizes, found.dtype, device, found.strides)
    kernel(out, *args)
    return out


def made(op: Op, args: tuple[Any, ...], found: Meta, run: Callable[[Tensor], None]) -> Tensor:
    """A factory's result on a device without a kernel of its own; by `run` in the host's memory if nothing makes it there."""

    def on_host() -> Tensor:
        result = _native.empty(found.sizes, found.dtype, CPU, found.strides)
        run(result)
        return _native.move(result, found.device)

    maker = makers.get(found.device.type)
    return on_host() if maker is None else maker().make(op, args, found, on_host)


def overwrite(target: Tensor, value: Tensor) -> None:
    """The bytes of `value`, of the target's sizes and dtype, into the target's memory on whatever device."""
    if target.device.type in compilers and value.device == target.device:
        if not (target.is_contiguous() and value.is_contiguous() and value.dtype is target.dtype):
            compilers[target.device.type]().overwrite(target, value)
            return
    if not (target.is_contiguous() and value.is_contiguous()):
        raise NotImplementedError(f"copy: there is no kernel of it for strided memory on {target.device}")
    _native.copy_memory(target, value)


__all__ = ["CPU", "META", "elsewhere", "is_recording", "made", "overwrite", "run_elsewhere", "run_on_meta", "same", "two_devices"]

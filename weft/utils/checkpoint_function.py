"""Checkpointing as one autograd.Function, and the parts that programs write their own from."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import weft
from aten import Tensor, pytree
from aten.autograd import Function, Variable, backward


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors as leaves that require gradients as they did; what is no tensor stays. RuntimeError for what is no tuple."""
    if not isinstance(inputs, tuple):
        raise RuntimeError("Only tuple of tensors is supported. Got Unsupported input type: ", type(inputs).__name__)
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warns where none of the inputs requires a gradient: none will come through the checkpoint."""
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=3)


class DefaultDeviceType:
    """The kind of device whose generators a checkpoint keeps where its arguments do not say."""

    _type = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        DefaultDeviceType._type = device

    @staticmethod
    def get_device_type() -> str:
        return DefaultDeviceType._type


def _devices_of(args: Any) -> list[Any]:
    leaves = pytree.leaves(args)
    return [x.device for x in leaves if isinstance(x, Tensor) and x.device.type not in ("cpu", "meta")]


def _infer_device_type(*args: Any) -> str:
    """The kind of the tensors' devices other than the CPU, the first if there are several; else the default."""
    kinds = list(dict.fromkeys(device.type for device in _devices_of(args)))
    if len(kinds) > 1:
        warnings.warn(
            "Tensor arguments, excluding CPU tensors, are detected on at least two types of devices. Device state will only be "
            f"saved for devices of a single device type, and the remaining devices will be ignored: {kinds}",
            stacklevel=2,
        )
    return kinds[0] if kinds else DefaultDeviceType.get_device_type()


def _get_device_module(device: str = "cuda") -> Any:
    """weft.cuda and the like."""
    return None if device == "meta" else getattr(weft, device)


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """(numbers of the devices that the tensors lie on, the states of their generators). The CPU's is not among them."""
    kind = _infer_device_type(*args)
    numbers = sorted({device.index or 0 for device in _devices_of(args) if device.type == kind})
    module = _get_device_module(kind)
    states = []
    for number in numbers:
        with module.device(number):
            states.append(module.get_rng_state())
    return numbers, states


def set_device_states(devices: list[int], states: list[Tensor], *, device_type: str | None = None) -> None:
    """The generators of these devices get these states."""
    kind = DefaultDeviceType.get_device_type() if device_type is None else device_type
    if kind == "meta":
        return
    module = _get_device_module(kind)
    for number, state in zip(devices, states):
        with module.device(number):
            module.set_rng_state(state)


def _autocast_of(device_type: str) -> dict[str, Any]:
    return {
        "enabled": weft.is_autocast_enabled(device_type),
        "dtype": weft.get_autocast_dtype(device_type),
        "cache_enabled": weft.is_autocast_cache_enabled(),
    }


def _get_autocast_kwargs(device_type: str = "cuda") -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """(how autocast is set for that kind of device, None if there is none; how for the CPU)."""
    there = _get_device_module(device_type).is_available()
    return _autocast_of(device_type) if there else None, _autocast_of("cpu")


class CheckpointFunction(Function):
    """apply(run_function, preserve_rng_state, *args): `run_function(*args)`, called again in backward for its gradients.

    The form that `checkpoint` with use_reentrant=True has for programs that derive from it. Only tensors among `args` get
    gradients, and `backward()` must be for all leaves (RuntimeError where inputs are named).
    """

    @staticmethod
    def forward(ctx: Any, run_function: Callable, preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function, ctx.preserve_rng_state = run_function, preserve_rng_state
        ctx.device_type = _infer_device_type(*args)
        ctx.device_autocast_kwargs, ctx.cpu_autocast_kwargs = _get_autocast_kwargs(ctx.device_type)
        if preserve_rng_state:
            ctx.fwd_cpu_state = weft.get_rng_state()
            ctx.fwd_devices, ctx.fwd_device_states = get_device_states(*args)
        ctx.inputs = [None if isinstance(x, Tensor) else x for x in args]
        ctx.tensor_indices = [i for i, x in enumerate(args) if isinstance(x, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.tensor_indices])
        with weft.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if not Variable._execution_engine.is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing "
                "the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for i, tensor in zip(ctx.tensor_indices, ctx.saved_tensors):
            inputs[i] = tensor
        leaves = detach_variable(tuple(inputs))
        with contextlib.ExitStack() as stack:
            if ctx.preserve_rng_state:
                stack.enter_context(weft.random.fork_rng(devices=ctx.fwd_devices, device_type=ctx.device_type))
                weft.set_rng_state(ctx.fwd_cpu_state)
                set_device_states(ctx.fwd_devices, ctx.fwd_device_states, device_type=ctx.device_type)
            stack.enter_context(weft.enable_grad())
            if ctx.device_autocast_kwargs is not None:
                stack.enter_context(weft.amp.autocast(ctx.device_type, **ctx.device_autocast_kwargs))
            stack.enter_context(weft.amp.autocast("cpu", **ctx.cpu_autocast_kwargs))
            outputs = ctx.run_function(*leaves)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [(out, g) for out, g in zip(outputs, grads) if isinstance(out, Tensor) and out.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([out for out, _ in pairs], [g for _, g in pairs])
        return (None, None, *(x.grad if isinstance(x, Tensor) else None for x in leaves))

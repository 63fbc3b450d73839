"""FakeTensor: what is known of a tensor without its data, as a tensor; FakeTensorMode: in which all tensors are such.

A FakeTensor wraps a tensor on the meta device, whose kernels give exact sizes, strides and dtypes, and adds the device that it
stands for. Gradients are taken above it, as above every `__torch_dispatch__` class. Sizes are numbers: `from_tensor` of a
dynamic size takes the size it has.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import aten
from aten import Tensor
from weft.utils import _pytree as pytree
from weft.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing

__all__ = [
    "DataDependentOutputException", "DynamicOutputShapeException", "FakeTensor", "FakeTensorMode",
    "UnsupportedFakeTensorException", "is_fake", "maybe_get_fake_mode", "unset_fake_temporarily",
]  # fmt: skip


class DataDependentOutputException(RuntimeError):
    """A number was asked of a fake tensor, which has none."""

    def __init__(self, func: Any):
        self.func = func
        super().__init__(f"{func}: the result depends on the data of a fake tensor, which has none")


class DynamicOutputShapeException(RuntimeError):
    """The sizes of an op's result depend on data."""

    def __init__(self, func: Any):
        self.func = func
        super().__init__(f"{func}: the sizes of the result depend on the data of a fake tensor, which has none")


class UnsupportedFakeTensorException(RuntimeError):
    """A tensor that no fake tensor can stand for."""

    def __init__(self, reason: str):
        self.reason = reason
        super().__init__(reason)


class FakeTensor(Tensor):
    """A tensor of a FakeTensorMode. `fake_device` is what it says of its device; `elem` is the meta tensor inside."""

    fake_mode: FakeTensorMode
    elem: Tensor

    @staticmethod
    def __new__(cls, fake_mode: FakeTensorMode, elem: Tensor, device: Any) -> FakeTensor:
        made = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            tuple(elem.shape),
            strides=elem.stride(),
            storage_offset=elem.storage_offset(),
            dtype=elem.dtype,
            device=aten.device(device),
            requires_grad=elem.requires_grad,
        )
        made.fake_mode, made.elem = fake_mode, elem.detach()
        return made

    @property
    def fake_device(self) -> Any:
        return self.device

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        mode = next(a.fake_mode for a in pytree.tree_leaves((args, kwargs)) if isinstance(a, FakeTensor))
        return mode.dispatch(func, args, kwargs or {})

    @staticmethod
    def from_tensor(t: Tensor, fake_mode: FakeTensorMode) -> FakeTensor:
        """The fake tensor of `t`."""
        return fake_mode.from_tensor(t)

    def tolist(self) -> Any:
        raise DataDependentOutputException("tolist")

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        parts = [f"size={tuple(self.shape)}"]
        if self.device.type != "cpu":
            parts.insert(0, f"device='{self.device}'")
        if self.dtype is not aten.get_default_dtype():
            parts.append(f"dtype={self.dtype}")
        if self.grad_fn is not None:
            parts.append(f"grad_fn=<{self.grad_fn.name()}>")
        elif self.requires_grad:
            parts.append("requires_grad=True")
        return f"FakeTensor(..., {', '.join(parts)})"

    def __deepcopy__(self, memo: dict) -> FakeTensor:
        made = FakeTensor(self.fake_mode, self.elem.clone(), self.device)
        memo[id(self)] = made
        return made.requires_grad_(self.requires_grad)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a FakeTensor has no data that could be saved")


_RANDOM = "philox_reserve"  # takes a place in the sequence of random numbers: fake ones take none


class FakeTensorMode(TorchDispatchMode):
    """Within `with mode:` ops compute no data: what they make are FakeTensors, on the devices that real ones would be on.

    allow_non_fake_inputs: whether ops take real tensors, too; else they raise, but for tensors without dimensions. The other
    arguments are PyTorch's; sizes are static whatever `shape_env` is.
    """

    def __init__(
        self,
        *,
        allow_fallback_kernels: bool = True,
        allow_non_fake_inputs: bool = False,
        shape_env: Any = None,
        static_shapes: bool | None = None,
        export: bool = False,
    ):
        self.allow_fallback_kernels, self.export = allow_fallback_kernels, export
        self.allow_non_fake_inputs, self.shape_env = allow_non_fake_inputs, shape_env
        self.static_shapes = shape_env is None if static_shapes is None else static_shapes

    def __enter__(self) -> FakeTensorMode:
        super().__enter__()
        _open.modes.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _open.modes.pop()
        super().__exit__(*exc)

    def from_tensor(
        self, tensor: Tensor, *, static_shapes: bool | None = None, source: Any = None, symbolic_context: Any = None
    ) -> Tensor:
        """A fake tensor with the sizes, strides, dtype, device and requires_grad of `tensor`.

        Raises UnsupportedFakeTensorException for a sparse tensor.
        """
        if isinstance(tensor, FakeTensor):
            if tensor.fake_mode is not self:
                raise AssertionError("Mixing fake modes NYI")
            return tensor
        if tensor.layout is not aten.strided:
            raise UnsupportedFakeTensorException("sparse tensors have no fake ones")
        with unset_fake_temporarily():
            with aten.no_grad():
                elem = aten.empty_strided(tuple(tensor.shape), tensor.stride(), dtype=tensor.dtype, device="meta")
            made = FakeTensor(self, elem, tensor.device)
            made = made.requires_grad_(tensor.requires_grad)
            if isinstance(tensor, aten.Parameter):
                made = aten.Parameter(made, tensor.requires_grad)
            return made

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.dispatch(func, args, kwargs or {})

    def dispatch(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """func(*args, **kwargs) on fake tensors: its result on tensors of the meta device, on the device it would be on."""
        name = str(func).split(".")[1]
        if name == _RANDOM:
            return 0, 0
        if name == "lift_fresh":
            return self.from_tensor(args[0])
        written = args[0] if getattr(func, "kind", "") == "inplace" else kwargs.get("out")
        if isinstance(written, Tensor) and not isinstance(written, FakeTensor):
            raise DataDependentOutputException(func)
        with unset_fake_temporarily():
            device = self._device(func, args, kwargs)
            named = {**kwargs, "device": aten.device("meta")} if kwargs.get("device") is not None else kwargs
            inner_args, inner_kwargs = pytree.tree_map(self._inner, (args, named))
            inner_args = tuple(aten.device("meta") if isinstance(a, aten.Device) else a for a in inner_args)
            drawn_from = aten.get_rng_state() if "random" in getattr(func, "tags", ()) else None
            try:
                out = func(*inner_args, **inner_kwargs)
            except NotImplementedError as error:
                if "depend on values" in str(error):
                    raise DynamicOutputShapeException(func) from None
                raise
            except RuntimeError as error:
                if "cannot be called on meta tensors" in str(error):
                    raise DataDependentOutputException(func) from None
                raise
            finally:
                if drawn_from is not None:
                    aten.set_rng_state(drawn_from)
            made = pytree.tree_map(lambda x: FakeTensor(self, x, device) if isinstance(x, Tensor) else x, out)
            for outer, inner in zip(pytree.tree_leaves((args, kwargs)), pytree.tree_leaves((inner_args, inner_kwargs))):
                if isinstance(outer, FakeTensor):
                    outer.elem = inner
        return return_and_correct_aliasing(func, args, kwargs, made)

    def _inner(self, value: Any) -> Any:
        if isinstance(value, FakeTensor):
            return value.elem
        if not isinstance(value, Tensor) or value.is_meta:
            return value
        if not self.allow_non_fake_inputs and value.dim():
            raise AssertionError(
                "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
                f"'allow_non_fake_inputs'. Found a real tensor of sizes {list(value.shape)}"
            )
        return self.from_tensor(value).elem  # type: ignore[attr-defined]

    def _device(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Where the result is: the device that is named, else that of the tensors. Raises RuntimeError for several of them; a
        number on the CPU goes with all."""
        named = [a for a in (kwargs.get("device"), *args) if isinstance(a, aten.Device)]
        if named:
            return named[0]
        found = None
        numbers = None
        for value in pytree.tree_leaves((args, kwargs)):
            if not isinstance(value, Tensor):
                continue
            if not value.dim() and value.device.type == "cpu":
                numbers = value.device
            elif found is None:
                found = value.device
            elif found != value.device:
                raise RuntimeError(
                    f"Unhandled FakeTensor Device Propagation for {func}, found two different devices {found}, {value.device}"
                )
        return found or numbers or aten.get_default_device()


class _Open(threading.local):
    """A thread's open modes, the innermost last."""

    def __init__(self) -> None:
        self.modes: list[FakeTensorMode] = []


_open = _Open()


@contextlib.contextmanager
def unset_fake_temporarily() -> Iterator[None]:
    """Within it no FakeTensorMode is open: tensors are real."""
    from aten.overrides import state  # (the list of open modes, which TorchDispatchMode keeps)

    before = list(state.modes)
    state.modes[:] = [m for m in before if not isinstance(m, FakeTensorMode)]
    try:
        yield
    finally:
        state.modes[:] = before


def is_fake(x: Any) -> bool:
    """Whether `x` is a fake tensor."""
    return isinstance(x, FakeTensor)


def maybe_get_fake_mode(t: Any) -> FakeTensorMode | None:
    """The mode of a fake tensor; None for anything else."""
    return getattr(t, "fake_mode", None) if isinstance(t, Tensor) else None


def detect_fake_mode(inputs: Any = None) -> FakeTensorMode | None:
    """The mode of the fake tensors among the leaves of `inputs`, or the innermost that is open; None if there is none."""
    for leaf in pytree.tree_leaves(inputs):
        mode = maybe_get_fake_mode(leaf)
        if mode is not None:
            return mode
    return _open.modes[-1] if _open.modes else None

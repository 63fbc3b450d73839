"""Convolutions and transposed convolutions."""

from __future__ import annotations

import inspect
import math
from typing import Any

import aten
from aten import Parameter, Tensor
from weft.nn import functional as F
from weft.nn import init
from weft.nn.module import Module
from weft.nn.modules.lazy import LazyModuleMixin
from weft.nn.modules.utils import _ntuple, _pair, _reverse_repeat_tuple, _single, _triple  # noqa: F401  (taken from here)
from weft.nn.uninitialized import UninitializedParameter

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")
_PADDINGS = ("same", "valid")


class _ConvNd(Module):
    """What all convolutions have: sizes as tuples, weight and bias, their initial values. `weight`: (out, in / groups, *kernel),
    transposed (in, out / groups, *kernel). Raises ValueError for channels that groups do not divide and unknown paddings."""

    __constants__ = [
        "stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels", "out_channels", "kernel_size",
    ]  # fmt: skip
    _dims = 0
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check(in_channels, out_channels, stride, padding, groups, padding_mode)
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, kernel_size
        self.stride, self.padding, self.dilation, self.transposed = stride, padding, dilation, transposed
        self.output_padding, self.groups, self.padding_mode = output_padding, groups, padding_mode
        self._reversed_padding_repeated_twice = _around(padding, dilation, kernel_size)
        ends = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        make = lambda *sizes: Parameter(aten.empty(sizes, device=device, dtype=dtype))
        self.weight = make(*ends, *kernel_size)
        self.register_parameter("bias", make(out_channels) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = math.prod(self.weight.shape[1:])
            if fan_in:
                init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def extra_repr(self) -> str:
        n = len(self.kernel_size)
        usual = {"padding": (0,) * n, "dilation": (1,) * n, "output_padding": (0,) * n, "groups": 1}
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        parts += [f"{name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value]
        parts += ["bias=False"] if self.bias is None else []
        parts += [f"padding_mode={self.padding_mode}"] if self.padding_mode != "zeros" else []
        return ", ".join(parts)

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


def _check(in_channels: int, out_channels: int, stride: Any, padding: Any, groups: int, padding_mode: str) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups != 0:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups != 0:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in _PADDINGS:
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {set(_PADDINGS)}")
        if padding == "same" and any(s != 1 for s in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _PADDING_MODES:
        raise ValueError(f"padding_mode must be one of {set(_PADDING_MODES)}, but got padding_mode='{padding_mode}'")


def _around(padding: Any, dilation: tuple[int, ...], kernel: tuple[int, ...]) -> Any:
    """The padding as `F.pad` takes it: both ends of the last dim first."""
    if not isinstance(padding, str):
        return _reverse_repeat_tuple(padding, 2)
    total = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, kernel)]
    return [end for t in reversed(total) for end in (t // 2, t - t // 2)]


class _Conv(_ConvNd):
    """Cross-correlation of ([N,] C, *S) with one kernel an output channel; the padding may be "same" or "valid"."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        spread = _ntuple(self._dims)
        padding = padding if isinstance(padding, str) else spread(padding)
        super().__init__(
            in_channels, out_channels, spread(kernel_size), spread(stride), padding, spread(dilation), False, spread(0),
            groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode), 0
        return self._function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    _dims = 1
    _function = staticmethod(F.conv1d)


class Conv2d(_Conv):
    _dims = 2
    _function = staticmethod(F.conv2d)


class Conv3d(_Conv):
    _dims = 3
    _function = staticmethod(F.conv3d)


class _ConvTransposeNd(_ConvNd):
    """The transpose of a convolution: ([N,] C, *S) to larger images; `output_size` in the call picks among the possible sizes."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        transposed: bool,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def _output_padding(
        self,
        input: Tensor,
        output_size: list[int] | None,
        stride: Any,
        padding: Any,
        kernel_size: Any,
        num_spatial_dims: int,
        dilation: Any = None,
    ) -> Any:
        """What is added at the end of each dim. Raises ValueError for an output size that the input cannot give."""
        n = num_spatial_dims
        if output_size is None:
            return _ntuple(1)(self.output_padding)
        if len(output_size) == input.dim():
            output_size = output_size[-n:]
        if len(output_size) != n:
            raise ValueError(
                f"{type(self).__name__}: for {input.dim()}D input, output_size must have {n} or {input.dim()} elements "
                f"(got {len(output_size)})"
            )
        dilation = (1,) * n if dilation is None else dilation
        sizes = input.shape[input.dim() - n :]
        least = [(s - 1) * t - 2 * p + d * (k - 1) + 1 for s, t, p, d, k in zip(sizes, stride, padding, dilation, kernel_size)]
        most = [m + s - 1 for m, s in zip(least, stride)]
        if any(not low <= size <= high for low, size, high in zip(least, output_size, most)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {least} to {most} "
                f"(for an input of {list(sizes)})"
            )
        return [size - low for size, low in zip(output_size, least)]


class _ConvTranspose(_ConvTransposeNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        spread = _ntuple(self._dims)
        super().__init__(
            in_channels, out_channels, spread(kernel_size), spread(stride), spread(padding), spread(dilation), True,
            spread(output_padding), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        if self.padding_mode != "zeros":
            raise ValueError(f"Only `zeros` padding mode is supported for {type(self).__name__}")
        extra = self._output_padding(
            input, output_size, self.stride, self.padding, self.kernel_size, self._dims, self.dilation
        )
        return self._function(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)


class ConvTranspose1d(_ConvTranspose):
    _dims = 1
    _function = staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTranspose):
    _dims = 2
    _function = staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTranspose):
    _dims = 3
    _function = staticmethod(F.conv_transpose3d)


class _LazyConvXdMixin(LazyModuleMixin):
    """A convolution whose in_channels are those of the first input. Raises RuntimeError for another number of dims."""

    groups: int
    transposed: bool
    out_channels: int
    kernel_size: tuple[int, ...]
    weight: UninitializedParameter
    bias: Any

    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        signature = inspect.signature(self.cls_to_become.__init__)
        given = signature.bind(self, 0, 0, kernel_size, *args, **kwargs).arguments
        place = {name: given.get(name) for name in ("device", "dtype")}
        bias = given.get("bias", True)
        given.update(bias=False)
        given.pop("self")
        super().__init__(**given)
        self.weight, self.out_channels = UninitializedParameter(**place), out_channels
        if bias:
            self.bias = UninitializedParameter(**place)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        if self.has_uninitialized_params():
            self.in_channels = self._get_in_channels(input)
            if self.in_channels % self.groups != 0:
                raise ValueError("in_channels must be divisible by groups")
            ends = (self.in_channels, self.out_channels // self.groups)
            ends = ends if self.transposed else (self.out_channels, self.in_channels // self.groups)
            self.weight.materialize((*ends, *self.kernel_size))
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()

    def _get_num_spatial_dims(self) -> int:
        return self._dims  # type: ignore[attr-defined]

    def _get_in_channels(self, input: Tensor) -> int:
        n = self._get_num_spatial_dims()
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}, but got input of size: "
                f"{input.shape}"
            )
        return input.shape[1] if input.dim() == n + 2 else input.shape[0]


class LazyConv1d(_LazyConvXdMixin, Conv1d):
    cls_to_become = Conv1d


class LazyConv2d(_LazyConvXdMixin, Conv2d):
    cls_to_become = Conv2d


class LazyConv3d(_LazyConvXdMixin, Conv3d):
    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvXdMixin, ConvTranspose1d):
    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvXdMixin, ConvTranspose2d):
    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvXdMixin, ConvTranspose3d):
    cls_to_become = ConvTranspose3d

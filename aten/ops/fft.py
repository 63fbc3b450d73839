"""Discrete Fourier transforms: `fft_c2c`, `fft_r2c`, `fft_c2r` over a list of dims, and PyTorch's names on top."""

from typing import Any

import numpy as np

from aten import dtype as dtypes
from aten.fx.targets import holds
from aten.meta import Meta, contiguous_strides
from aten.op import composite, op, ops
from aten.promotion import category, to_complex, to_real
from aten.shapes import product, wrap_dim

_NORMS = ("backward", "ortho", "forward")


def _scale(n: int, norm: str, forward: bool) -> float:
    """What the plain sums of a transform are multiplied by."""
    if norm == "ortho":
        return n**-0.5
    return 1.0 / n if (norm == "forward") == forward else 1.0


def _transformed(input: Meta, dims: list[int], last: int | None, sizes: Any, dtype: Any = None) -> Meta:
    """A result in whose memory the transformed dims are innermost, `last` of them all, the others outside, as in the input's."""
    steps: list[Any] = [s if type(s) is int else getattr(s, "hint", None) for s in input.strides]
    if None in steps:
        return input.like(sizes=sizes, dtype=dtype)
    outermost = lambda ds: sorted(ds, key=lambda d: -steps[d])
    inner = [d for d in dims if d != last]
    order = [*outermost(d for d in range(len(steps)) if d not in dims), *outermost(inner), *([] if last is None else [last])]
    strides = contiguous_strides([sizes[d] for d in order])
    return input.like(sizes=sizes, dtype=dtype, strides=[strides[order.index(d)] for d in range(len(steps))])


@op("fft_c2c(Tensor input, int[] dim, bool forward, float scale=1.0) -> Tensor", tags=["library", "function_only"])
def fft_c2c(input: Meta, dim: list[int], forward: bool, scale: float) -> Meta:
    """Complex transform over dims (of the negative exponent if forward), times `scale`."""
    return _transformed(input, dim, None, input.sizes)


@fft_c2c.kernel
def _(out, x, dim, forward, scale):
    out[...] = np.fft.fftn(x, axes=dim) if forward else np.fft.ifftn(x, axes=dim, norm="forward")
    _scaled(out, scale)


def _scaled(out: np.ndarray, scale: float) -> None:
    """Each part of each number times `scale`, in place."""
    parts = [out.real, out.imag] if out.dtype.kind == "c" else [out]
    for part in parts if scale != 1.0 else []:
        part *= scale


fft_c2c.vjp(lambda g, dim, forward, scale: fft_c2c(g, dim, not forward, scale))


@op("fft_r2c(Tensor input, int[] dim, float scale=1.0) -> Tensor", tags=["library", "function_only"])
def fft_r2c(input: Meta, dim: list[int], scale: float) -> Meta:
    """Transform of real numbers, times `scale`; the last dim keeps n // 2 + 1 of its n frequencies."""
    sizes = list(input.sizes)
    sizes[dim[-1]] = sizes[dim[-1]] // 2 + 1
    return _transformed(input, dim, dim[-1], sizes, to_complex(input.dtype))


@fft_r2c.kernel
def _(out, x, dim, scale):
    np.copyto(out, np.fft.rfftn(x, axes=dim))
    _scaled(out, scale)


@fft_r2c.vjp
def _(g, dim, scale, input_meta):
    """The real part of the backward transform of g filled up with zeros: to it the other half, which is not there, adds as much
    again as the inner frequencies do."""
    last, n = dim[-1], input_meta.sizes[dim[-1]]
    return fft_c2r(g * _weights(g, last, n, 0.5), dim, n, scale)


def _weights(g: Any, dim: int, n: Any, inner: float) -> Any:
    """`inner` for the frequencies along `dim` that stand for two of n, else 1."""
    weights = ops.ones(g.shape[dim], dtype=to_real(g.dtype), device=g.device)
    if n > 2:
        weights[1 : (n + 1) // 2] = inner
    return weights.reshape([-1 if d == dim else 1 for d in range(g.ndim)])


@op("fft_c2r(Tensor input, int[] dim, int last, float scale=1.0) -> Tensor", tags=["library", "function_only"])
def fft_c2r(input: Meta, dim: list[int], last: int, scale: float) -> Meta:
    """Backward transform to real numbers, times `scale`; the last dim becomes `last` long."""
    sizes = list(input.sizes)
    sizes[dim[-1]] = last
    between = _transformed(input, dim[:-1], None, input.sizes) if len(dim) > 1 else input
    return _transformed(between, dim[-1:], dim[-1], sizes, to_real(input.dtype))


@fft_c2r.kernel
def _(out, x, dim, last, scale):
    np.copyto(out, np.fft.irfftn(x, [*(x.shape[d] for d in dim[:-1]), last], axes=dim, norm="forward"))
    _scaled(out, scale)


@fft_c2r.vjp
def _(g, dim, last, scale):
    """The forward transform of g; frequencies that stand for two count twice."""
    gx = fft_r2c(g, dim, scale)
    return gx * _weights(gx, dim[-1], last, 2.0)


def _check_points(n: Any) -> None:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")


def _resized(x: Any, dims: list[int], sizes: list[int]) -> Any:
    """Cut or filled up with zeros to these sizes."""
    pad = [0] * (2 * x.ndim)
    for d, n in zip(dims, sizes):
        _check_points(n)
        pad[2 * (x.ndim - 1 - d) + 1] = n - x.shape[d]
    return ops.constant_pad_nd(x, pad, 0) if any(pad) else x


def _arguments(x: Any, s: Any, dim: Any, norm: str | None) -> tuple[list[int], list[int], str]:
    norm = norm or "backward"
    if norm not in _NORMS:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    if dim is None and s is not None and len(_each(s)) > x.ndim:
        raise RuntimeError(f"Got shape with {len(_each(s))} values but input tensor only has {x.ndim} dimensions.")
    if dim is None:
        dims = list(range(x.ndim)) if s is None else list(range(x.ndim - len(s), x.ndim))
    else:
        dims = [wrap_dim(d, x.ndim) for d in ([dim] if isinstance(dim, int) else dim)]
    if s is not None and len(_each(s)) != len(dims):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    if len(set(dims)) != len(dims):
        raise RuntimeError("FFT dims must be unique")
    s = [-1] * len(dims) if s is None else _each(s)
    sizes = [x.shape[d] if n in (-1, None) else n for d, n in zip(dims, s)]
    for n in sizes:
        _check_points(n)
    return dims, sizes, norm


def _each(s: Any) -> list[Any]:
    """The sizes asked for: one number, or one for each dim."""
    return list(s) if isinstance(s, (tuple, list)) else [s]


def _as_complex(x: Any) -> Any:
    x = x if category(x.dtype) >= 2 else x.to(dtypes.get_default_dtype())
    return x if x.dtype.is_complex else x.to(to_complex(x.dtype))


def _as_real(name: str, x: Any) -> Any:
    if x.dtype.is_complex:
        raise RuntimeError(f"{name} expects a real input tensor, but got {x.dtype.name}")
    return x if category(x.dtype) >= 2 else x.to(dtypes.get_default_dtype())


def complex_to_complex(x: Any, s: Any, dim: Any, norm: str | None, forward: bool) -> Any:
    dims, sizes, norm = _arguments(x, s, dim, norm)
    return fft_c2c(_resized(_as_complex(x), dims, sizes), dims, forward, _scale(product(sizes), norm, forward))


def real_to_complex(name: str, x: Any, s: Any, dim: Any, norm: str | None, forward: bool) -> Any:
    dims, sizes, norm = _arguments(x, s, dim, norm)
    result = fft_r2c(_resized(_as_real(name, x), dims, sizes), dims, _scale(product(sizes), norm, forward))
    return result if forward else ops.conj(result)


def complex_to_real(x: Any, s: Any, dim: Any, norm: str | None, forward: bool) -> Any:
    dims, sizes, norm = _arguments(x, s, dim, norm)
    given = None if s is None else _each(s)
    last = 2 * (x.shape[dims[-1]] - 1) if given is None or given[-1] in (-1, None) else given[-1]
    if last < 1:
        raise RuntimeError(f"Invalid number of data points ({last}) specified")
    x = _resized(_as_complex(x), dims, [*sizes[:-1], last // 2 + 1])
    return fft_c2r(ops.conj(x) if forward else x, dims, last, _scale(product([*sizes[:-1], last]), norm, forward))


def _declare(name: str, run: Any, doc: str) -> None:
    """The forms over one dim, two dims and any dims."""
    for suffix, parameters in (
        ("", "Any n=None, int dim=-1"),
        ("2", "Any s=None, Any dim=(-2, -1)"),
        ("n", "Any s=None, Any dim=None"),
    ):

        @composite(f"fft_{name}{suffix}(Tensor input, {parameters}, str? norm=None) -> Tensor", tags=["function_only"])
        def definition(input, s, dim, norm):
            if isinstance(s, int) and s < 1:
                raise RuntimeError(f"Invalid number of data points ({s}) specified")
            given = s if dim is None else dim  # (without dims those of the sizes are the last)
            if name not in ("fft", "ifft") and isinstance(given, (tuple, list)) and len(given) == 0:
                raise RuntimeError(f"{name}n must transform at least one axis")
            return run(input, s, dim, norm)

        definition.__doc__ = doc


_declare("fft", lambda x, s, d, n: complex_to_complex(x, s, d, n, True), "The discrete Fourier transform.")
_declare("ifft", lambda x, s, d, n: complex_to_complex(x, s, d, n, False), "The inverse transform.")
_declare("rfft", lambda x, s, d, n: real_to_complex("rfft", x, s, d, n, True), "The transform of real numbers, half of it.")
_declare("irfft", lambda x, s, d, n: complex_to_real(x, s, d, n, False), "The inverse of `rfft`.")
_declare(
    "hfft",
    lambda x, s, d, n: complex_to_real(x, s, d, n, True),
    "The transform of a Hermitian signal, half of it given.",
)
_declare("ihfft", lambda x, s, d, n: real_to_complex("ihfft", x, s, d, n, False), "The inverse of `hfft`.")


def _shift(name: str, amount: Any, doc: str) -> None:
    @composite(f"fft_{name}(Tensor input, Any dim=None) -> Tensor", tags=["function_only"])
    def definition(input, dim):
        dims = list(range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
        return ops.roll(input, [amount(input.shape[d]) for d in dims], dims) if dims else ops.clone(input)

    definition.__doc__ = doc


_shift("fftshift", lambda n: n // 2, "The zero frequency moved to the middle.")
_shift("ifftshift", lambda n: (n + 1) // 2, "The inverse of `fftshift`.")


def _check_frequencies(name: str, dtype: Any) -> None:
    if dtype is not None and category(dtype) < 2:
        raise RuntimeError(f"{name} requires a floating point or complex dtype")


@composite(
    "fft_fftfreq(int n, float d=1.0, *, ScalarType? dtype=None, Device? device=None, Any layout=None, bool "
    "requires_grad=False) -> Tensor",
    tags=["function_only"],
)
def fft_fftfreq(n, d, dtype, device, layout, requires_grad):
    """The frequencies of `fft`."""
    _check_frequencies("fftfreq", dtype)
    i = ops.arange(n, device=device)
    i = ops.where(i < (n + 1) // 2, i, i - n)
    made = i.to(dtype or dtypes.get_default_dtype()) / (n * d)
    return made.requires_grad_() if requires_grad else made


@composite(
    "fft_rfftfreq(int n, float d=1.0, *, ScalarType? dtype=None, Device? device=None, Any layout=None, bool "
    "requires_grad=False) -> Tensor",
    tags=["function_only"],
)
def fft_rfftfreq(n, d, dtype, device, layout, requires_grad):
    """The frequencies of `rfft`."""
    _check_frequencies("rfftfreq", dtype)
    made = ops.arange(n // 2 + 1, device=device).to(dtype or dtypes.get_default_dtype()) / (n * d)
    return made.requires_grad_() if requires_grad else made


@composite(
    "stft(Tensor input, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, "
    "str pad_mode='reflect', bool normalized=False, bool? onesided=None, bool? return_complex=None, "
    "bool? align_to_window=None) -> Tensor"
)
def stft(input, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex, align_to_window):
    """Transforms of windows of a signal [B, T] or [T]: [B, frequencies, frames]."""
    hop, length = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    x = input if input.ndim == 2 else input.unsqueeze(0)
    if center:
        x = ops.pad(x.unsqueeze(1), [n_fft // 2, n_fft // 2], pad_mode).squeeze([1])
    if not 0 < n_fft <= x.shape[1]:
        raise RuntimeError(f"stft: expected 0 < n_fft < {x.shape[1]}, but got n_fft={n_fft}")
    if hop <= 0 or not 0 < length <= n_fft:
        raise RuntimeError(f"stft: expected hop_length > 0 and 0 < win_length <= n_fft, but got {hop} and {length}")
    if return_complex is None and not (x.dtype.is_complex or (window is not None and window.dtype.is_complex)):
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs")
    frames = ops.unfold(x, 1, n_fft, hop)
    if window is not None or length != n_fft:
        if window is None:
            window = ops.ones(length, dtype=to_real(x.dtype), device=x.device)
        left = (n_fft - length) // 2
        frames = frames * ops.constant_pad_nd(window, [left, n_fft - length - left], 0)
    one_sided = onesided if onesided is not None else not frames.dtype.is_complex
    kind = "ortho" if normalized else "backward"
    found = ops.fft_rfft(frames, None, -1, kind) if one_sided else ops.fft_fft(frames, None, -1, kind)
    found = ops.transpose(found, 1, 2)
    found = found if input.ndim == 2 else found.squeeze([0])
    return found if return_complex is not False else ops.view_as_real(found)


@composite(
    "istft(Tensor input, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, "
    "bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor"
)
def istft(input, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex):
    """The signal whose `stft` is [B, frequencies, frames], by least squares (Griffin & Lim 1984)."""
    if not input.dtype.is_complex:
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft with return_complex=True.")
    if input.ndim not in (2, 3) or 0 in input.shape:
        raise RuntimeError("istft(...) : expected a tensor with 2 or 3 dimensions that has elements")
    hop, width = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    if hop <= 0 or not 0 < width <= n_fft:
        raise RuntimeError(f"istft: expected 0 < hop_length and 0 < win_length <= n_fft, but got {hop} and {width}")
    x = ops.transpose(input if input.ndim == 3 else input.unsqueeze(0), 1, 2)
    one_sided = onesided if onesided is not None else x.shape[2] != n_fft
    if x.shape[2] != (n_fft // 2 + 1 if one_sided else n_fft):
        raise RuntimeError(f"istft: {x.shape[2]} frequencies do not go with n_fft={n_fft}")
    if window is None:
        window = ops.ones(width, dtype=to_real(x.dtype), device=x.device)
    left = (n_fft - width) // 2
    window = ops.constant_pad_nd(window, [left, n_fft - width - left], 0)
    kind = "ortho" if normalized else "backward"
    if not return_complex and not one_sided:  # of a real signal, which half of the frequencies describes
        x, one_sided = x[..., : n_fft // 2 + 1], True
    frames = (ops.fft_irfft(x, n_fft, -1, kind) if one_sided else ops.fft_ifft(x, None, -1, kind)) * window
    batch, count, total = x.shape[0], x.shape[1], n_fft + hop * (x.shape[1] - 1)
    at = (ops.arange(count, device=x.device).unsqueeze(1) * hop + ops.arange(n_fft, device=x.device)).reshape([-1])
    summed = ops.index_add(ops.zeros([batch, total], dtype=frames.dtype, device=x.device), 1, at, frames.reshape([batch, -1]))
    squares = (window * window).expand([count, n_fft]).reshape([-1])
    envelope = ops.index_add(ops.zeros([total], dtype=squares.dtype, device=x.device), 0, at, squares)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - start
    summed, envelope = summed[:, start:end], envelope[start:end]
    if envelope.numel() and not envelope.is_meta and not holds(envelope.abs().min() > 1e-11):
        raise RuntimeError("istft: the windows do not cover the signal")
    y = ops.constant_pad_nd(summed / envelope, [0, max(end - total, 0)], 0)
    return y if input.ndim == 3 else y.squeeze([0])

"""Windows for signals (`signal.windows`), and the bare window functions."""

from typing import Any

from aten import dispatch
from aten import dtype as dtypes
from aten.op import composite, ops
from aten.promotion import TYPE_NAMES, category
from aten.scalar.unpatched import math

_OPTIONS = "ScalarType? dtype=None, Any layout=None, Device? device=None, bool requires_grad=False"


def _check(name: str, M: int, dtype: Any) -> Any:
    dtype = dtype or dtypes.get_default_dtype()
    if category(dtype) != 2:
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {TYPE_NAMES[dtype.name]}")
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    return dtype


def _window(name: str, parameters: str, shape: Any, doc: str) -> None:
    """`shape(M, sym, dtype, *parameters)` gives the window of M >= 2 points in float64."""
    extra = parameters + ", " if parameters else ""

    @composite(f"signal_{name}(int M, *, {extra}bool sym=True, {_OPTIONS}) -> Tensor", tags=["function_only"])
    def definition(M, *rest):
        *own, sym, dtype, layout, device, requires_grad = rest
        dtype = _check(name, M, dtype)
        if M == 0:
            made = ops.empty(0, dtype=dtype, device=device)
        elif M == 1:
            made = ops.ones(1, dtype=dtype, device=device)
        elif device is None:
            made = shape(M, sym, *own).to(dtype)
        else:
            with dispatch.On(device):
                made = shape(M, sym, *own).to(dtype)
        return made.requires_grad_() if requires_grad else made

    definition.__doc__ = doc


def _points(M: int, sym: bool) -> Any:
    """0 … M-1 over the length of a period."""
    return ops.arange(M, dtype=dtypes.float64) / (M - 1 if sym else M)


def _cosines(M: int, sym: bool, a: Any) -> Any:
    x = _points(M, sym) * (2 * math.pi)
    total = 0.0
    for k, c in enumerate(a):
        total = total + (x * k).cos() * ((-1) ** k * c)
    return total


def _centred(M: int, sym: bool) -> Any:
    return ops.arange(M, dtype=dtypes.float64) - (M - 1 if sym else M) / 2


def _exponential(M, sym, center, tau):
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    middle = (M - 1 if sym else M) / 2 if center is None else center
    return (-(ops.arange(M, dtype=dtypes.float64) - middle).abs() / tau).exp()


def _gaussian(M, sym, std):
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    x = _centred(M, sym) / (std * math.sqrt(2))
    return (-x * x).exp()


def _kaiser(M, sym, beta):
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    x = _points(M, sym) * 2 - 1
    inside = (1 - x * x).clamp(min=0).sqrt()
    return ops.i0(inside * beta) / ops.i0(ops.full([], beta, dtype=dtypes.float64))


_NUTTALL = (0.3635819, 0.4891775, 0.1365995, 0.0106411)
_window("hann", "", lambda M, sym: _cosines(M, sym, (0.5, 0.5)), "The Hann window.")
_window("hamming", "", lambda M, sym: _cosines(M, sym, (0.54, 0.46)), "The Hamming window.")
_window(
    "general_hamming",
    "float alpha=0.54",
    lambda M, sym, alpha: _cosines(M, sym, (alpha, 1 - alpha)),
    "alpha - (1 - alpha) * cos.",
)
_window("general_cosine", "Any a", _cosines, "A sum of cosines with weights a.")
_window("blackman", "", lambda M, sym: _cosines(M, sym, (0.42, 0.5, 0.08)), "The Blackman window.")
_window("nuttall", "", lambda M, sym: _cosines(M, sym, _NUTTALL), "The minimal four-term Blackman-Harris window (Nuttall).")
_window("bartlett", "", lambda M, sym: 1 - (_points(M, sym) * 2 - 1).abs(), "A triangle.")
_window(
    "cosine",
    "",
    lambda M, sym: ((ops.arange(M, dtype=dtypes.float64) + 0.5) * (math.pi / (M if sym else M + 1))).sin(),
    "Half a sine.",
)
_window("exponential", "Any center=None, float tau=1.0", _exponential, "exp(-|x - center| / tau).")
_window("gaussian", "float std=1.0", _gaussian, "exp(-(x / std)**2 / 2).")
_window("kaiser", "float beta=12.0", _kaiser, "The Kaiser window.")


def _bare(name: str, target: str, parameters: str = "") -> None:
    extra = parameters + ", " if parameters else ""

    @composite(f"{name}_window(int window_length, bool periodic=True, {extra}*, {_OPTIONS}) -> Tensor", tags=["function_only"])
    def definition(window_length, periodic, *rest):
        """The window of signal processing, periodic by default."""
        *own, dtype, layout, device, requires_grad = rest
        keywords = {"a": own} if name == "hamming" else dict(zip(("beta",), own))
        return getattr(ops, f"signal_{target}")(
            window_length, **keywords, sym=not periodic, dtype=dtype, device=device, requires_grad=requires_grad
        )


_bare("hann", "hann")
_bare("hamming", "general_cosine", "float alpha=0.54, float beta=0.46")
_bare("blackman", "blackman")
_bare("bartlett", "bartlett")
_bare("kaiser", "kaiser", "float beta=12.0")

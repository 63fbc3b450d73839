"""The normal distribution's functions: of distribution, its inverse and logarithm, and the scaled error function they rest on."""

from aten.op import composite, ops
from aten.ops.closed import closed, floating_of
from aten.ops.pointwise import unary
from aten.scalar import numerics
from aten.scalar.numerics import via
from aten.scalar.unpatched import math


@composite("special_ndtr(Tensor input) -> Tensor", tags=["function_only"], compute="float32")
def special_ndtr(input):
    """The distribution function of the standard normal."""
    return (floating_of(input) * -math.sqrt(0.5)).erfc() * 0.5


unary(
    "special_ndtri",
    via(numerics.ndtri),
    inplace=False,
    derivative=lambda t, out: t * (math.sqrt(2 * math.pi) * (out * out / 2).exp()),
    doc="The inverse of `ndtr`.",
)


@composite("special_log_ndtr(Tensor input) -> Tensor", tags=["function_only"], compute="float32")
def special_log_ndtr(input):
    """log(ndtr(input)), exact in the tail."""
    return ops.log_ndtr_core(floating_of(input))


def _log_ndtr(x):
    low = x < -1
    t = x * math.sqrt(0.5)
    tail = (special_erfcx(-ops.where(low, t, -1.0)) / 2).log() - ops.where(low, t * t, 0.0)
    return ops.where(low, tail, (ops.where(low, 0.0, -t).erfc() * 0.5).log())


closed(
    "log_ndtr_core(Tensor input) -> Tensor",
    _log_ndtr,
    lambda t, x: t * (math.sqrt(2 / math.pi) / special_erfcx(x * -math.sqrt(0.5))),
    "log(ndtr(input)).",
)


special_erfcx = unary(
    "special_erfcx",
    via(numerics.erfcx),
    inplace=False,
    derivative=lambda t, x, out: t * (2 * x * out - 2 / math.sqrt(math.pi)),
    doc="exp(x*x) * erfc(x).",
)

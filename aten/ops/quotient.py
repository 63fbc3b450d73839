"""Quotients with kernels of their own: of integers towards zero, and of complex numbers by their sizes."""

import numpy as np

from aten.meta import Meta
from aten.op import op, ops
from aten.ops.array_loops import nonzero_divisor
from aten.ops.by_definition import by_definition
from aten.ops.pointwise import finish_pointwise, pointwise_meta


@op("truncated_quotient(Tensor input, Tensor other) -> Tensor", tags=("pointwise", "fused", "function_only", "hidden"))
def truncated_quotient(input: Meta, other: Meta) -> Meta:
    """Integer division towards zero of tensors of one dtype, which is no bool."""
    return pointwise_meta(input, other)


def _truncated(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    np.floor_divide(x - np.fmod(x, y), y, out=out)


truncated_quotient.kernel(lambda out, x, y: nonzero_divisor(_truncated)(x, y, out=out))
truncated_quotient.decompose(lambda input, other: ops.floor_divide(ops.sub(input, ops.fmod(input, other)), other))
finish_pointwise(truncated_quotient, None, False)


@op("direction(Tensor input) -> Tensor", tags=["fused", "function_only", "hidden"])
def direction(input: Meta) -> Meta:
    """Complex numbers divided by their sizes; 0 of 0."""
    return pointwise_meta(input)


@direction.decompose
def _(input):
    size = input.abs()
    return ops.where(ops.eq(size, 0), 0, input / ops.where(ops.eq(size, 0), 1, size))


direction.kernel(by_definition(lambda input: direction.decompose_fn(input)))

"""Complex numbers: parts, conjugates, polar form, and their views as pairs of real numbers."""

from typing import Any

import numpy as np

from aten import _native
from aten import dtype as dtypes
from aten.laid_out import laid_out_as
from aten.meta import Meta
from aten.op import composite, op, ops
from aten.ops.batching import to_front
from aten.ops.pointwise import unary
from aten.promotion import TYPE_NAMES, category, to_complex, to_real
from aten.scalar.numerics import via
from aten.scalar.unpatched import math
from aten.shapes import pointwise_strides

# What complex numbers are made of: there are none of bfloat16.
PARTS = {dtypes.float16, dtypes.float32, dtypes.float64}

conj_physical = unary(
    "conj_physical",
    via(lambda x: np.conjugate(x) if x.dtype.kind == "c" else x),
    promote="same",
    doc="The complex conjugate of each element.",
)


conj_physical.vjp(lambda g: g.conj())
conj_physical.jvp(lambda tangents, input, out: tangents[0].conj())


@composite("conj(Tensor input) -> Tensor")
def conj(input):
    """The complex conjugate; the tensor itself if it is real."""
    return ops.conj_physical(input) if input.dtype.is_complex else input


@composite("resolve_conj(Tensor input) -> Tensor")
def resolve_conj(input):
    """The tensor itself: conjugates are never lazy here."""
    return input


@composite("resolve_neg(Tensor input) -> Tensor")
def resolve_neg(input):
    """The tensor itself: negations are never lazy here."""
    return input


@op("view_as_real(Tensor input) -> Tensor", kind="view", tags=["library"], native="view")
def view_as_real(input: Meta) -> Meta:
    """The memory of complex numbers as pairs (real, imaginary) in a new last dimension."""
    if not input.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    strides = [*(s * 2 for s in input.strides), 1]
    return input.view([*input.sizes, 2], strides, input.offset * 2, to_real(input.dtype))


@view_as_real.kernel
def _(out, x):
    out[..., 0], out[..., 1] = x.real, x.imag


view_as_real.vjp(lambda g: _paired(g))
view_as_real.jvp(lambda tangents, input, out: view_as_real(tangents[0]))
view_as_real.put(lambda base, new: _paired(new))
view_as_real.batch(lambda n, dims, x: (view_as_real(to_front(x, dims[0])), 0))


@op("view_as_complex(Tensor input) -> Tensor", kind="view", tags=["library"], native="view")
def view_as_complex(input: Meta) -> Meta:
    """The memory of pairs in the last dimension as complex numbers.

    Raises RuntimeError where the pairs do not lie in memory as complex numbers do.
    """
    if input.dtype not in PARTS:
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{TYPE_NAMES[input.dtype.name]}"
        )
    if input.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.sizes[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if input.strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 != 0 for s in input.strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if input.offset % 2 != 0:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    strides = [s // 2 for s in input.strides[:-1]]
    return input.view(input.sizes[:-1], strides, input.offset // 2, to_complex(input.dtype))


@view_as_complex.kernel
def _(out, x):
    out[...] = x[..., 0] + 1j * x[..., 1]


view_as_complex.vjp(lambda g: view_as_real(g if g.dtype.is_complex else g.to(to_complex(g.dtype))))
view_as_complex.jvp(lambda tangents, input, out: _paired(tangents[0]))
view_as_complex.put(lambda base, new: view_as_real(new))
view_as_complex.batch(lambda n, dims, x: (_paired(to_front(x, dims[0])), 0))


def _paired(pairs: Any) -> Any:
    """The complex numbers that pairs are, however they lie in memory."""
    return view_as_complex(ops.clone(ops.contiguous(pairs)) if _odd(pairs) else pairs)


def _odd(pairs: Any) -> bool:
    return bool(pairs.stride(-1) != 1 or pairs.storage_offset() % 2 != 0 or any(s % 2 != 0 for s in pairs.stride()[:-1]))


@composite("real(Tensor input) -> Tensor", tags=["property"])
def real(input):
    """The real part: a view of the same memory."""
    return ops.select(view_as_real(input), -1, 0) if input.dtype.is_complex else input


@composite("imag(Tensor input) -> Tensor", tags=["property"])
def imag(input):
    """The imaginary part: a view of the same memory."""
    if not input.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return ops.select(view_as_real(input), -1, 1)


@composite("angle(Tensor input) -> Tensor", native="chain")
def angle(input):
    """The argument of complex numbers; 0 or pi for real ones."""
    if input.dtype.is_complex:
        return ops.atan2(imag(input), real(input))
    x = input if category(input.dtype) >= 2 else input.to(dtypes.get_default_dtype())
    recorded = _native.is_grad_enabled() and (x.requires_grad or _native.is_tracer(x))
    own = x.detach() if recorded else x
    zero = ops.zeros([], dtype=x.dtype, device=x.device)  # (two numbers would be of the default dtype)
    made = ops.where(ops.isnan(own), math.nan, ops.where(own < 0, math.pi, zero))
    return ops.flat_in(x, made) if recorded else made


def _check_parts(first: Any, second: Any) -> None:
    if first.dtype not in PARTS or second.dtype not in PARTS:
        names = [TYPE_NAMES[x.dtype.name] for x in (first, second)]
        raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors but got {names[0]} and {names[1]}")
    if first.dtype is not second.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {TYPE_NAMES[first.dtype.name]} but got scalar type "
            f"{TYPE_NAMES[second.dtype.name]} for second argument"
        )


@composite("polar(Tensor abs, Tensor angle) -> Tensor", tags=["function_only"])
def polar(abs, angle):
    """Complex numbers of these sizes and arguments."""
    _check_parts(abs, angle)
    if abs.dtype is dtypes.float16:
        raise NotImplementedError("\"polar_cpu\" not implemented for 'Half'")
    return ops.complex(abs * angle.cos(), abs * angle.sin())


@composite("complex(Tensor real, Tensor imag) -> Tensor", tags=["function_only"])
def complex_(real: Any, imag: Any):
    """A complex tensor of these parts."""
    _check_parts(real, imag)
    both = [Meta.of(real), Meta.of(imag)]
    real, imag = ops.broadcast_tensors(real, imag)
    return laid_out_as(view_as_complex(ops.stack([real, imag], -1)), pointwise_strides(tuple(real.shape), both))


@composite("adjoint(Tensor input) -> Tensor")
def adjoint(input):
    """Matrices transposed and conjugated."""
    if input.ndim == 1:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return conj(ops.transpose(input, -2, -1))

"""Derivatives in one native pass, taken by a backward walk that is not itself recorded.

A row gives, for an op, what replaces its vjp on plain tensors: `fn(needs, g, saved by name) -> gradients`, or
NotImplemented
where there is no kernel for these arguments; then the vjp runs. A test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import _native
from aten.meta import Meta
from aten.op import ops

fused: dict[str, Callable[[tuple[bool, ...], Any, dict[str, Any]], Any]] = {}


def without_gaps(g: Any) -> Any:
    """A gradient with gaps between its elements as the row-major copy of it; any other as it is. (Compiled code whose sizes are not
    known has no form for gaps, and is to take the same derivative.)"""
    strides, sizes, step = g.stride(), g.shape, 1
    for d in sorted([d for d in reversed(range(len(sizes))) if strides[d] != 0], key=lambda d: (strides[d], sizes[d])):
        if strides[d] != step:
            return g.contiguous()
        step *= sizes[d]
    return g


def _row(name: str) -> Callable[[Any], Any]:
    def declare(fn: Any) -> Any:
        fused[name] = fn
        return fn

    return declare


def _one(gradient: Any) -> Any:
    return NotImplemented if gradient is NotImplemented else (gradient,)


_row("gelu")(lambda needs, g, saved: _one(_native.gelu_backward(g, saved["input"], saved["approximate"] == "tanh")))
_row("silu")(lambda needs, g, saved: _one(_native.silu_backward(g, saved["input"])))
for _name in ("sigmoid", "tanh"):  # whose derivative reads the result
    _code = [name for name, _ in _native.pointwise_rows()].index(f"{_name}_backward")
    _row(_name)(lambda needs, g, saved, code=_code: _one(_native.loop_backward(code, g, saved["out"])))
_row("softmax")(lambda needs, g, saved: _one(_native.softmax_backward(g, saved["out"], saved["dim"], False)))
_row("log_softmax")(lambda needs, g, saved: _one(_native.softmax_backward(g, saved["out"], saved["dim"], True)))


def _row_length(sizes: list[int]) -> int:
    n = 1
    for size in sizes:
        n *= size
    return n


def _in_shape(found: Any, sizes: Any) -> Any:
    """(gradient of input, of weight, of bias) with those of weight and bias in their own sizes."""
    if found is NotImplemented or len(sizes) == 1:
        return found
    return (found[0], *(None if x is None else x.reshape(list(sizes)) for x in found[1:]))


@_row("layer_norm")
def _(needs: tuple[bool, ...], g: Any, saved: dict[str, Any]) -> Any:
    sizes = saved["normalized_shape"]
    found = _native.layer_norm_backward(
        g, saved["input"], _row_length(sizes), saved["weight"], saved["eps"], False, (needs[0], needs[2], needs[3])
    )
    return _in_shape(found, sizes)


@_row("rms_norm")
def _(needs: tuple[bool, ...], g: Any, saved: dict[str, Any]) -> Any:
    sizes = saved["normalized_shape"]
    found = _native.layer_norm_backward(
        g, saved["input"], _row_length(sizes), saved["weight"], saved["eps"], True, (needs[0], needs[2], False)
    )
    return NotImplemented if found is NotImplemented else _in_shape(found[:2], sizes)


@_row("scaled_dot_product_attention")
def _(needs: tuple[bool, ...], g: Any, saved: dict[str, Any]) -> Any:
    given = [saved[name] for name in ("query", "key", "value", "attn_mask", "out")]
    if needs[3] or any(_native.is_tracer(x) for x in (g, *given)):
        return NotImplemented
    batch = tuple(given[4].shape[:-2])
    if any(tuple(x.shape[:-2]) != batch for x in given[:3]):
        return NotImplemented
    rule = ops.scaled_dot_product_attention_backward.function
    metas = rule(*[None if x is None else Meta.of(x) for x in (g, *given)], False, 1.0)
    grown = [_native.empty(m.sizes, m.dtype, m.device, m.strides) if need else None for m, need in zip(metas, needs[:3])]
    if _native.attention_derivative_into(*grown, g, *given, saved["is_causal"], saved["scale"]):
        return (*grown, None)
    return NotImplemented


__all__ = ["fused", "without_gaps"]

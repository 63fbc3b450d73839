"""Derivatives in one native pass, taken by a backward walk that is not itself recorded.

A row gives, for an op, what replaces its vjp on plain tensors: `fn(needs, g, saved by name) -> gradients`, or
NotImplemented
where there is no kernel for these arguments; then the vjp runs. A test holds the two equal.
"""

from collections.abc import Callable
from typing import Any

from aten import _native
from aten.op import registry

fused: dict[str, Callable[[tuple[bool, ...], Any, dict[str, Any]], Any]] = {}


def _row(name: str) -> Callable[[Any], Any]:
    def declare(fn: Any) -> Any:
        fused[name] = fn
        return fn

    return declare


def _one(gradient: Any) -> Any:
    return NotImplemented if gradient is NotImplemented else (gradient,)


_row("gelu")(lambda needs, g, saved: _one(_native.gelu_backward(g, saved["input"], saved["approximate"] == "tanh")))
_row("silu")(lambda needs, g, saved: _one(_native.silu_backward(g, saved["input"])))
_row("softmax")(lambda needs, g, saved: _one(_native.softmax_backward(g, saved["out"], saved["dim"], False)))
_row("log_softmax")(lambda needs, g, saved: _one(_native.softmax_backward(g, saved["out"], saved["dim"], True)))


def _row_length(sizes: list[int]) -> int:
    n = 1
    for size in sizes:
        n *= size
    return n


@_row("layer_norm")
def _(needs: tuple[bool, ...], g: Any, saved: dict[str, Any]) -> Any:
    n = _row_length(saved["normalized_shape"])
    return _native.layer_norm_backward(
        g, saved["input"], n, saved["weight"], saved["eps"], False, (needs[0], needs[2], needs[3])
    )


@_row("rms_norm")
def _(needs: tuple[bool, ...], g: Any, saved: dict[str, Any]) -> Any:
    n = _row_length(saved["normalized_shape"])
    found = _native.layer_norm_backward(
        g, saved["input"], n, saved["weight"], saved["eps"], True, (needs[0], needs[2], False)
    )
    return NotImplemented if found is NotImplemented else found[:2]


def attention_backward(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Of the attention that the native path records whole: saved are query, key, value, mask, out, is_causal, scale."""
    (g,), (query, key, value, mask, out, is_causal, scale) = grads, node.saved
    needs = node.needs
    if not _native.is_grad_enabled() and not needs[3] and not _native.is_tracer(g):
        grown = [x.new_empty(x.shape) if n else None for x, n in zip((query, key, value), needs)]
        if _native.attention_derivative_into(*grown, g, query, key, value, mask, out, is_causal, scale):
            return (*grown, None)
    vjp = registry["scaled_dot_product_attention"].vjp_fn
    return vjp(g, needs, query, key, value, mask, is_causal, scale)


__all__ = ["attention_backward", "fused"]

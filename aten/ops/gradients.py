"""Gradients that eager takes in one native pass (aten/autograd/fused.py), as ops: exact graphs are made of them.

Each runs the backward of a recorded op, on the values that its Node would have saved. What is not needed is an empty tensor.
"""

from types import SimpleNamespace
from typing import Any

from aten import _native
from aten.autograd.record import Backward
from aten.meta import Meta
from aten.op import op, ops, registry

_TAGS = ("opaque", "library", "function_only", "hidden")


def _run(name: str, needs: tuple[bool, ...], grad: Any, **saved: Any) -> tuple[Any, ...]:
    plan = registry[name].plan(needs)
    node = SimpleNamespace(saved=tuple([saved.get(n) for n in plan.names]))
    return Backward(plan, False)(node, (grad,))


def _all(found: tuple[Any, ...], like: Any) -> tuple[Any, ...]:
    return tuple([_native.empty((0,), like.dtype) if x is None else x for x in found])


def _meta(needed: bool, like: Any, sizes: Any) -> Meta:
    return like.like(sizes=sizes if needed else (0,))


@op("gelu_gradient(Tensor grad, Tensor input, str approximate) -> Tensor", tags=_TAGS)
def gelu_gradient(grad: Meta, input: Meta, approximate: str) -> Meta:
    """Of gelu(input)."""
    return input.like()


@gelu_gradient.anywhere
def _(grad, input, approximate):
    return _run("gelu", (True, False), grad, input=input, approximate=approximate)[0]


@op("silu_gradient(Tensor grad, Tensor input) -> Tensor", tags=_TAGS)
def silu_gradient(grad: Meta, input: Meta) -> Meta:
    """Of silu(input)."""
    return input.like()


@silu_gradient.anywhere
def _(grad, input):
    return _run("silu", (True,), grad, input=input)[0]


@op("softmax_gradient(Tensor grad, Tensor output, int dim, bool log) -> Tensor", tags=_TAGS)
def softmax_gradient(grad: Meta, output: Meta, dim: int, log: bool) -> Meta:
    """Of softmax or log_softmax along `dim`, from its result."""
    return output.like(sizes=output.sizes)


@softmax_gradient.anywhere
def _(grad, output, dim, log):
    return _run("log_softmax" if log else "softmax", (True, False), grad, out=output, dim=dim)[0]


@op(
    "norm_gradient(Tensor grad, Tensor input, int[] normalized_shape, Tensor? weight, float eps, bool rms, bool[] needs) -> "
    "(Tensor, Tensor, Tensor)",
    tags=_TAGS,
)
def norm_gradient(
    grad: Meta, input: Meta, normalized_shape: list[Any], weight: Any, eps: float, rms: bool, needs: list[bool]
) -> tuple[Meta, Meta, Meta]:
    """Of layer_norm or rms_norm: of its input, weight and bias."""
    return (
        _meta(needs[0], input, input.sizes),
        _meta(needs[1], input, normalized_shape),
        _meta(needs[2], input, normalized_shape),
    )


@norm_gradient.anywhere
def _(grad, input, normalized_shape, weight, eps, rms, needs):
    name, wanted = ("rms_norm", (needs[0], False, needs[1], False)) if rms else ("layer_norm", (needs[0], False, *needs[1:], False))
    saved = {"input": input, "normalized_shape": list(normalized_shape), "weight": weight, "eps": eps}
    found = tuple(_run(name, wanted, grad, **saved))
    found = (*found, *(None,) * (3 - len(found)))
    shaped = [x.reshape(list(normalized_shape)) if k and x is not None else x for k, x in enumerate(found)]
    return _all(tuple(shaped), input)


@op(
    "attention_gradient(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor? attn_mask, Tensor output, bool is_causal, "
    "float scale, bool[] needs) -> (Tensor, Tensor, Tensor)",
    tags=_TAGS,
)
def attention_gradient(
    grad: Meta, query: Meta, key: Meta, value: Meta, attn_mask: Any, output: Meta, is_causal: bool, scale: float, needs: list[bool]
) -> tuple[Meta, ...]:
    """Of scaled_dot_product_attention: of its query, key and value, with the batch sizes of the result, laid out as eager's."""
    rule = ops.scaled_dot_product_attention_backward.function
    metas = rule(grad, query, key, value, attn_mask, output, is_causal, scale)
    return tuple([m if need else _meta(False, x, ()) for need, m, x in zip(needs, metas, (query, key, value))])


@attention_gradient.anywhere
def _(grad, query, key, value, attn_mask, output, is_causal, scale, needs):
    saved = {"query": query, "key": key, "value": value, "attn_mask": attn_mask, "out": output}
    wanted = (*needs, False, False, False, False)
    found = _run("scaled_dot_product_attention", wanted, grad, **saved, is_causal=is_causal, scale=scale)[:3]
    return _all(tuple([x if need else None for x, need in zip(found, needs)]), query)


@op(
    "batch_norm_training(Tensor input, Tensor running_mean, Tensor running_var, Tensor? weight, Tensor? bias, float momentum, "
    "float eps) -> (Tensor, Tensor, Tensor)",
    tags=_TAGS,
)
def batch_norm_training(
    input: Meta, running_mean: Meta, running_var: Meta, weight: Any, bias: Any, momentum: float, eps: float
) -> tuple[Meta, Meta, Meta]:
    """batch_norm while training without gradients, and the new running mean and variance."""
    return input.like(sizes=input.sizes), running_mean.like(), running_var.like()


@batch_norm_training.anywhere
def _(input, running_mean, running_var, weight, bias, momentum, eps):
    mean, var = running_mean.clone(), running_var.clone()
    return ops.batch_norm(input, mean, var, weight, bias, True, momentum, eps), mean, var

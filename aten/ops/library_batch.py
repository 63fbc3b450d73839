"""Batching rules, for vmap, of the ops that libraries run: on matrices, transforms, selections, windows and special functions.

Most of them take any dims in front of those that they work on, so that a batch is one more dim at the front.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten.op import Op, ops, registry
from aten.ops.batching import batch_dims, batch_pointwise, invoke, is_tensor, materialize, to_front


def batch_in_front(op: Op) -> Callable[..., Any]:
    """For ops whose tensors share the dims in front of the last ones, without broadcasting: each gets one more."""
    least = 0 if op.name in _NO_MATRICES else 2

    def rule(size: Any, dims: tuple[int | None, ...], *args: Any) -> Any:
        check_matrix(op, args[0], dims[0], least)
        several = sum(is_tensor(a) for a in args) > 1
        moved = [(materialize(a, d, size) if several else to_front(a, d)) if is_tensor(a) else a for a, d in zip(args, dims)]
        result = invoke(op, tuple(moved))
        return (tuple(result), (0,) * len(result)) if isinstance(result, tuple) else (result, 0)

    return rule


def check_matrix(op: Op, x: Any, dim: int | None, least: int = 2) -> None:
    """Raises RuntimeError where an element has too few dims: with that of the batch it would look like a matrix."""
    if x.ndim - (dim is not None) < least:
        name = "linalg." + op.name.removeprefix("linalg_")
        raise RuntimeError(f"{name}: The input tensor must have at least {least} dimensions.")


def _aligned_in_front(op: Op) -> Callable[..., Any]:
    """The same for ops that broadcast the dims in front: ranks are made equal behind the batch."""

    def rule(size: Any, dims: tuple[int | None, ...], *args: Any) -> Any:
        for a, d in zip(args, dims):
            if is_tensor(a):
                check_matrix(op, a, d)
        rank = max(a.ndim - (d is not None) for a, d in zip(args, dims) if is_tensor(a))
        moved = []
        for a, d in zip(args, dims):
            if is_tensor(a):
                a = materialize(a, d, size)
                while a.ndim <= rank:
                    a = a.unsqueeze(1)
            moved.append(a)
        return invoke(op, tuple(moved)), 0

    return rule


_MATRICES = (
    "linalg_inv cholesky_lower cholesky_info solve_factored linalg_qr linalg_eigh linalg_svd linalg_eig linalg_lu_factor_ex "
    "hermitian_values singular_values permutation_of matrix_exp geqrf slogdet linalg_det adjugate linalg_ldl_factor_ex "
    "ldl_solve_matrix frexp solve_triangular_matrix lu_solve_matrix "
    "product_of_reflections reflected"
)
_NO_MATRICES = frozenset("permutation_of frexp".split())
_POINTWISE = (
    "polygamma standard_gamma_grad gelu_gradient silu_gradient poisson_philox binomial_philox standard_gamma_philox"
)
_SHIFTED = "fft_c2c fft_r2c fft_c2r"
_RULES: dict[str, Callable[..., Any]] = {}


def _rule(name: str) -> Callable[..., Any]:
    def keep(rule: Callable[..., Any]) -> Callable[..., Any]:
        rule.takes_scalars = True  # type: ignore[attr-defined]
        _RULES[name] = rule
        return rule

    return keep


def declare() -> Callable[[Op], None]:
    """What gives an op, of which all are there, its rule."""
    families: tuple[tuple[str, Callable[[Op], Any]], ...] = (
        (_MATRICES, batch_in_front),
        (_POINTWISE, batch_pointwise),
        (_SHIFTED, batch_dims),
        ("solve_matrix solve_info", _aligned_in_front),
    )
    makers = {id(registry[name]): family for names, family in families for name in names.split() if name in registry}
    makers |= {id(registry[name]): lambda op, rule=rule: rule for name, rule in _RULES.items() if name in registry}

    def give(op: Op) -> None:
        maker = makers.get(id(op))
        if maker is not None:
            op.batch_fn = maker(op)
        elif "_polynomial_" in op.name and op.kind == "core":
            op.batch_fn = batch_pointwise(op)

    return give


@_rule("pinv_cut")
def _(size, dims, A, cut, hermitian):
    return invoke(registry["pinv_cut"], (materialize(A, dims[0], size), materialize(cut, dims[1], size), hermitian)), 0


# ------------------------------------------------------------------------------------------------- along dims
@_rule("topk")
def _(size, dims, x, k, dim, largest, sorted):
    x = to_front(x, dims[0])
    if x.ndim == 1:
        values, indices = registry["topk"](x.unsqueeze(1), k, 1, largest, sorted)
        return (values.squeeze([1]), indices.squeeze([1])), (0, 0)
    return tuple(registry["topk"](x, k, dim + 1, largest, sorted)), (0, 0)


@_rule("scatter_reduce")
def _(size, dims, x, dim, index, src, reduce, include_self):
    op = registry["scatter_reduce"]
    x, index, src = materialize(x, dims[0], size), materialize(index, dims[2], size), materialize(src, dims[3], size)
    if x.ndim == 1:
        made = op(x.unsqueeze(1), 1, index.reshape([size, 1]), src.reshape([size, 1]), reduce, include_self=include_self)
        return made.squeeze([1]), 0
    return op(x, dim + 1, index, src, reduce, include_self=include_self), 0


@_rule("searchsorted")
def _(size, dims, rows, x, out_int32, right):
    op = registry["searchsorted"]
    if dims[0] is None and rows.ndim == 1:
        return op(rows, to_front(x, dims[1]), out_int32=out_int32, right=right), 0
    one_row = rows.ndim - (dims[0] is not None) == 1
    rows, x = materialize(rows, dims[0], size), materialize(x, dims[1], size)
    if not one_row:
        return op(rows, x, out_int32=out_int32, right=right), 0
    sizes = list(x.shape)
    return op(rows, x.reshape([size, -1]), out_int32=out_int32, right=right).reshape(sizes), 0


@_rule("embedding_backward")
def _(size, dims, grad, indices, num_weights):
    grad, indices = materialize(grad, dims[0], size), materialize(indices, dims[1], size)
    first = ops.arange(size, device=grad.device).reshape([size, *([1] * (indices.ndim - 1))]) * num_weights
    made = registry["embedding_backward"](grad, indices + first, size * num_weights)
    return made.reshape([size, num_weights, grad.shape[-1]]), 0


@_rule("unfold_backward")
def _(size, dims, grad, input_sizes, dim, length, step):
    grad = to_front(grad, dims[0])
    return registry["unfold_backward"](grad, [size, *input_sizes], dim + 1, length, step), 0


@_rule("softmax_gradient")
def _(size, dims, grad, output, dim, log):
    grad, output = materialize(grad, dims[0], size), materialize(output, dims[1], size)
    if output.ndim == 1:
        made = registry["softmax_gradient"](grad.unsqueeze(1), output.unsqueeze(1), 1, log)
        return made.squeeze([1]), 0
    return registry["softmax_gradient"](grad, output, dim + 1, log), 0


@_rule("multinomial_philox")
def _(size, dims, weights, *rest):
    weights = to_front(weights, dims[0])
    if weights.ndim == 2:
        return invoke(registry["multinomial_philox"], (weights, *rest)), 0
    drawn = invoke(registry["multinomial_philox"], (weights.reshape([-1, weights.shape[-1]]), *rest))
    return drawn.reshape([size, -1, drawn.shape[-1]]), 0

"""Products with Jacobians and Hessians of functions of tensors, by ordinary autograd (torch.autograd.functional)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten._native import Tensor
from aten.autograd.engine import grad
from aten.autograd.grad_mode import enable_grad

Tensors = Any  # a Tensor or a tuple of Tensors


def _tuple(x: Any, what: str) -> tuple[tuple[Tensor, ...], bool]:
    """(the tensors, whether they came as a tuple)"""
    if isinstance(x, Tensor):
        return (x,), False
    if not isinstance(x, (tuple, list)) or not all(isinstance(t, Tensor) for t in x):
        raise TypeError(f"The {what} must be a Tensor or a tuple of Tensors, but got {type(x).__name__}")
    return tuple(x), True


def _leaves(inputs: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    """The inputs as tensors that a function is differentiated by; with create_graph they stay part of their graph."""
    return tuple(t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_() for t in inputs)


def _call(func: Callable, inputs: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], bool]:
    return _tuple(func(*inputs), "outputs of the user-provided function")


def _grads(outputs: tuple, inputs: tuple, weights: Any, create_graph: bool, strict: bool, what: str) -> tuple[Tensor, ...]:
    """Gradients with zeros where there is no dependence; RuntimeError there if strict."""
    pairs = [(o, w) for o, w in zip(outputs, weights) if o.requires_grad]
    found: tuple = (None,) * len(inputs)
    if pairs:
        ys, ws = zip(*pairs)
        found = grad(ys, inputs, ws, retain_graph=True, create_graph=create_graph, allow_unused=True)
    if strict and any(g is None for g in found):
        i = next(i for i, g in enumerate(found) if g is None)
        raise RuntimeError(
            f"The output of the user-provided function is independent of input {i}. This is not allowed in strict mode ({what})."
        )
    return tuple(t.new_zeros(tuple(t.shape)) if g is None else g for g, t in zip(found, inputs))


def _finish(values: tuple[Tensor, ...], as_tuple: bool, create_graph: bool) -> Tensors:
    if not create_graph:
        values = tuple(v.detach() for v in values)
    return values if as_tuple else values[0]


def _weights(v: Any, like: tuple[Tensor, ...], what: str) -> tuple[Tensor, ...]:
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if the {what} is a single Tensor with a single element.")
        return (like[0].detach().new_ones(tuple(like[0].shape)),)
    vs, _ = _tuple(v, "v")
    if len(vs) != len(like):
        raise RuntimeError(f"v should be a tuple of {len(like)} tensors but got {len(vs)}")
    for i, (a, b) in enumerate(zip(vs, like)):
        if tuple(a.shape) != tuple(b.shape):
            raise RuntimeError(f"v has invalid size: entry {i} is {list(a.shape)} but should be {list(b.shape)}")
    return vs


def vjp(func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(*inputs), v @ Jacobian): the second nested as `inputs`, v as the outputs (None for one number)."""
    with enable_grad():
        given, many = _tuple(inputs, "inputs")
        xs = _leaves(given, create_graph)
        ys, many_out = _call(func, xs)
        found = _grads(ys, xs, _weights(v, ys, "output"), create_graph, strict, "vjp")
        return _finish(ys, many_out, create_graph), _finish(found, many, create_graph)


def jvp(func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(*inputs), Jacobian @ v): v nested as the inputs. The gradient of the vjp by its weights."""
    with enable_grad():
        given, _ = _tuple(inputs, "inputs")
        xs = _leaves(given, create_graph)
        vs = _weights(v, xs, "input")
        ys, many_out = _call(func, xs)
        weights = tuple(y.detach().new_zeros(tuple(y.shape)).requires_grad_() for y in ys)
        pulled = _grads(ys, xs, weights, True, strict, "jvp")
        found = _grads(pulled, weights, vs, create_graph, False, "jvp")
        return _finish(ys, many_out, create_graph), _finish(found, many_out, create_graph)


def jacobian(
    func: Callable,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """For each output and input a tensor of sizes (*output, *input): nested as outputs, then inputs, where they are tuples.

    vectorize: one backward walk for all elements of an output. strategy "forward-mode" needs vectorize.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(f'Expected strategy to be either "forward-mode" or "reverse-mode". Got {strategy}')
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError("torch.autograd.functional.jacobian: strategy='forward-mode' needs vectorize=True")
    with enable_grad():
        given, many = _tuple(inputs, "inputs")
        xs = _leaves(given, create_graph)
        ys, many_out = _call(func, xs)
        rows = [_rows(y, xs, create_graph, strict, vectorize) for y in ys]
    parts = tuple(_finish(row, many, create_graph) for row in rows)
    return parts if many_out else parts[0]


def _rows(y: Tensor, xs: tuple[Tensor, ...], create_graph: bool, strict: bool, vectorize: bool) -> tuple[Tensor, ...]:
    """The Jacobian of one output by each input."""
    import aten

    n = y.numel()
    sizes = [(*y.shape, *x.shape) for x in xs]
    if not y.requires_grad or n == 0:
        if strict and n:
            raise RuntimeError("Output of the user-provided function does not require gradients: it is independent of the inputs.")
        return tuple(x.new_zeros(s) for x, s in zip(xs, sizes))
    basis = aten.eye(n, dtype=y.dtype, device=y.device).reshape([n, *y.shape])
    if vectorize:
        found = grad(
            y, xs, basis, retain_graph=True, create_graph=create_graph, allow_unused=True, is_grads_batched=True,
            materialize_grads=True,
        )  # fmt: skip
        return tuple(g.reshape(list(s)) for g, s in zip(found, sizes))
    columns = [_grads((y,), xs, (basis[i],), create_graph, strict, "jacobian") for i in range(n)]
    return tuple(aten.stack(list(column)).reshape(list(s)) for column, s in zip(zip(*columns), sizes))


def _scalar(func: Callable) -> Callable:
    def checked(*xs: Tensor) -> Tensor:
        y = func(*xs)
        if not isinstance(y, Tensor):
            raise RuntimeError("The function given to hessian should return a single Tensor")
        if y.numel() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
        return y.reshape([])

    return checked


def hessian(
    func: Callable,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of a function with one number: for each pair of inputs a tensor of sizes (*first, *second)."""
    checked = _scalar(func)
    _, many = _tuple(inputs, "inputs")

    def first(*xs: Tensor) -> tuple[Tensor, ...]:
        ys = tuple(x if x.requires_grad else x.requires_grad_() for x in xs)
        found = grad(checked(*ys), ys, create_graph=True, allow_unused=True, materialize_grads=not strict)
        if strict and any(g is None for g in found):
            raise RuntimeError("The output of the user-provided function is independent of an input (hessian, strict mode).")
        return found

    result = jacobian(first, inputs, create_graph, False, vectorize, outer_jacobian_strategy)
    return result if many else result[0]


def vhp(func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(*inputs), v @ Hessian) of a function with one number."""
    with enable_grad():
        given, many = _tuple(inputs, "inputs")
        xs = _leaves(given, create_graph)
        vs = _weights(v, xs, "input")
        y = _scalar(func)(*xs)
        first = _grads((y,), xs, (y.detach().new_ones([]),), True, strict, "vhp")
        found = _grads(first, xs, vs, create_graph, strict, "vhp")
        return _finish((y,), False, create_graph), _finish(found, many, create_graph)


def hvp(func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(*inputs), Hessian @ v); the Hessian is symmetric, so this is `vhp`."""
    return vhp(func, inputs, v, create_graph, strict)

"""Products with Jacobians and Hessians of functions of tensors, by ordinary autograd (torch.autograd.functional)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aten
from aten._native import Tensor
from aten.autograd.engine import grad
from aten.autograd.grad_mode import enable_grad

Tensors = Any  # a Tensor or a tuple of Tensors


def _tuple(x: Any, what: str, fn: str) -> tuple[tuple[Tensor, ...], bool]:
    """(the tensors, whether they came as a tuple)"""
    if isinstance(x, Tensor):
        return (x,), False
    whose = f"The {what} given to {fn} must be either a Tensor or a tuple of Tensors but the"
    if not isinstance(x, (tuple, list)):
        raise TypeError(f"{whose} given {what} has type {type(x)}.")
    for i, t in enumerate(x):
        if not isinstance(t, Tensor):
            raise TypeError(f"{whose} value at index {i} has type {type(t)}.")
    return tuple(x), True


def _leaves(inputs: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    """The inputs as tensors that a function is differentiated by; with create_graph they stay part of their graph."""
    return tuple(t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_() for t in inputs)


# What strict mode says of a value without dependence, by where it was met.
_INDEPENDENT = {
    "back": "The output of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
    "back_trick": "The gradient with respect to the input is independent of entry {i} in the grad_outputs when using the double "
    "backward trick to compute forward mode gradients. This is not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {i} in the grad_jacobian. This is not "
    "allowed in strict mode as it prevents from using the double backward trick to replace forward mode AD.",
    "outputs": "Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
    "differentiable manner from the input when running in strict mode.",
    "grad_inputs": "The gradient with respect to input {i} is independent of the inputs of the user-provided function. This is not "
    "allowed in strict mode.",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with respect to input {i} is "
    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and "
    "that the jacobian depends on the inputs (this would be violated by a linear function for example).",
    "hessian": "The hessian of the user-provided function with respect to input {i} is independent of the input. This is "
    "not allowed "
    "in strict mode. You should ensure that your function is thrice differentiable and that the hessian depends on the inputs.",
    "create_graph": "The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict "
    "mode when "
    "create_graph=True.",
}


def _refuse(where: str, i: int) -> None:
    raise RuntimeError(_INDEPENDENT[where].format(i=i))


def _check(values: tuple[Any, ...], where: str, strict: bool) -> None:
    """In strict mode every value must be there and depend on the inputs."""
    if strict:
        for i, value in enumerate(values):
            if value is None:
                _refuse("back", i)
            if not value.requires_grad:
                _refuse(where, i)


def _found(outputs: tuple, inputs: tuple, weights: Any, create_graph: bool) -> tuple[Any, ...]:
    """Gradients, None where there is no dependence."""
    pairs = [(o, w) for o, w in zip(outputs, weights) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    ys, ws = zip(*pairs)
    return grad(ys, inputs, ws, retain_graph=True, create_graph=create_graph, allow_unused=True)


def _filled(found: tuple[Any, ...], like: tuple[Tensor, ...], strict: bool, create_graph: bool, where: str) -> tuple[Tensor, ...]:
    """Gradients with zeros where there are none; RuntimeError there if strict."""
    if strict:
        for i, g in enumerate(found):
            if g is None:
                _refuse(where, i)
            if create_graph and not g.requires_grad:
                _refuse("create_graph" if "double" not in where else "hessian", i)
    return tuple(t.new_zeros(tuple(t.shape)) if g is None else g for g, t in zip(found, like))


def _finish(values: tuple[Tensor, ...], as_tuple: bool, create_graph: bool) -> Tensors:
    if not create_graph:
        values = tuple(v.detach() for v in values)
    return values if as_tuple else values[0]


def _weights(v: Any, like: tuple[Tensor, ...], many: bool, fn: str, whose: str) -> tuple[Tensor, ...]:
    """v, nested as `like`, which came as a tuple where `many`."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if the {whose} a single Tensor with a single element.")
        return (like[0].detach().new_ones(tuple(like[0].shape)),)
    vs, _ = _tuple(v, "v", fn)
    if len(vs) != len(like):
        if many:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vs)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (a, b) in enumerate(zip(vs, like)):
        if tuple(a.shape) != tuple(b.shape):
            prefix = f"Entry {i} in " if many else ""
            raise RuntimeError(f"{prefix}v has invalid size: should be {b.shape} but got {a.shape}.")
    return vs


_OF_INPUT, _OF_OUTPUT = "input to the user-provided function is", "user-provided function returns"


def vjp(func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(*inputs), v @ Jacobian): the second nested as `inputs`, v as the outputs (None for one number)."""
    with enable_grad():
        given, many = _tuple(inputs, "inputs", "vjp")
        xs = _leaves(given, create_graph)
        ys, many_out = _tuple(func(*xs), "outputs of the user-provided function", "vjp")
        _check(ys, "outputs", strict)
        found = _found(ys, xs, _weights(v, ys, many_out, "vjp", _OF_OUTPUT), create_graph)
        pulled = _filled(found, xs, strict, create_graph, "back")
        return _finish(ys, many_out, create_graph), _finish(pulled, many, create_graph)


def jvp(func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(*inputs), Jacobian @ v): v nested as the inputs. The gradient of the vjp by its weights."""
    with enable_grad():
        given, many = _tuple(inputs, "inputs", "jvp")
        xs = _leaves(given, create_graph)
        vs = _weights(v, xs, many, "jvp", _OF_INPUT)
        ys, many_out = _tuple(func(*xs), "outputs of the user-provided function", "jvp")
        _check(ys, "outputs", strict)
        weights = tuple(y.detach().new_zeros(tuple(y.shape)).requires_grad_() for y in ys)
        pulled = _found(ys, xs, weights, True)
        _check(pulled, "grad_inputs", strict)
        found = _found(pulled, weights, vs, create_graph)
        pushed = _filled(found, ys, strict, create_graph, "back_trick")
        return _finish(ys, many_out, create_graph), _finish(pushed, many_out, create_graph)


def jacobian(
    func: Callable,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """For each output and input a tensor of sizes (*output, *input): nested as outputs, then inputs, where they are tuples.

    vectorize: one backward walk for all elements of an output. strategy "forward-mode" (one forward walk for all elements of an
    input) needs vectorize.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than inputs, '
            '"forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        return _by_forward_mode(func, inputs, create_graph, strict, vectorize)
    with enable_grad():
        given, many = _tuple(inputs, "inputs", "jacobian")
        xs = _leaves(given, create_graph)
        ys, many_out = _tuple(func(*xs), "outputs of the user-provided function", "jacobian")
        _check(ys, "outputs", strict)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please "
                "either set "
                "`strict=False` or `vectorize=False`."
            )
        rows = [_rows(k, y, xs, create_graph, strict, vectorize) for k, y in enumerate(ys)]
    parts = tuple(_finish(row, many, create_graph) for row in rows)
    return parts if many_out else parts[0]


def _by_forward_mode(func: Callable, inputs: Tensors, create_graph: bool, strict: bool, vectorize: bool) -> Any:
    from aten.transforms import jacfwd  # transforms are above this package

    for asked, name in ((strict, "strict"), (create_graph, "create_graph")):
        if asked:
            raise NotImplementedError(
                f'torch.autograd.functional.jacobian: `{name}=True` and `strategy="forward-mode"` are not supported '
                f"together (yet). Please "
                f'either set `{name}=False` or `strategy="reverse-mode"`.'
            )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`."
        )
    given, many = _tuple(inputs, "inputs", "jacobian")
    nested: list[bool] = []

    def plain(*xs: Tensor) -> tuple[Tensor, ...]:
        ys, many_out = _tuple(func(*xs), "outputs of the user-provided function", "jacobian")
        nested[:] = [many_out]
        return ys

    found = jacfwd(plain, argnums=tuple(range(len(given))))(*given)
    parts = tuple(tuple(row) if many else row[0] for row in found)
    return parts if nested[0] else parts[0]


def _rows(k: int, y: Tensor, xs: tuple[Tensor, ...], create_graph: bool, strict: bool, vectorize: bool) -> tuple[Tensor, ...]:
    """The Jacobian of output k by each input."""
    n = y.numel()
    sizes = [(*y.shape, *x.shape) for x in xs]
    if not y.requires_grad or n == 0:
        return tuple(x.new_zeros(s) for x, s in zip(xs, sizes))
    basis = aten.eye(n, dtype=y.dtype, device=y.device).reshape([n, *y.shape])
    if vectorize:
        found = grad(
            y, xs, basis, retain_graph=True, create_graph=create_graph, allow_unused=True, is_grads_batched=True,
            materialize_grads=True,
        )  # fmt: skip
        return tuple(g.reshape(list(s)) for g, s in zip(found, sizes))
    columns = []
    for i in range(n):
        found = _found((y,), xs, (basis[i],), create_graph)
        if strict:
            for e, g in enumerate(found):
                if g is None:
                    raise RuntimeError(
                        f"Output {k} of the user-provided function is independent of input {e}. This is not allowed in strict mode."
                    )
                if create_graph and not g.requires_grad:
                    _refuse("create_graph", e)
        columns.append(tuple(x.new_zeros(tuple(x.shape)) if g is None else g for g, x in zip(found, xs)))
    return tuple(aten.stack(list(column)).reshape(list(s)) for column, s in zip(zip(*columns), sizes))


def _construct_standard_basis_for(tensors: tuple[Tensor, ...], tensor_numels: tuple[int, ...]) -> tuple[Tensor, ...]:
    """For each tensor its part of the identity matrix of all elements: sizes (elements of all, of this one)."""
    if len(tensors) != len(tensor_numels) or not tensors:
        raise AssertionError("as many tensors as numbers of elements, and at least one")
    total, start, made = sum(tensor_numels), 0, []
    for t, n in zip(tensors, tensor_numels):
        part = t.new_zeros([total, n])
        part.diagonal(-start).fill_(1)
        made.append(part)
        start += n
    return tuple(made)


def _scalar(func: Callable, fn: str) -> Callable:
    def checked(*xs: Tensor) -> Tensor:
        y = func(*xs)
        ys, many = _tuple(y, "outputs of the user-provided function", fn)
        if many:
            raise RuntimeError(f"The function given to {fn} should return a single Tensor")
        if ys[0].numel() != 1:
            raise RuntimeError(f"The Tensor returned by the function given to {fn} should contain a single element")
        return ys[0].reshape([])

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
    _, many = _tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    checked = _scalar(func, "hessian")

    def first(*xs: Tensor) -> tuple[Tensor, ...]:
        ys = tuple(x if x.requires_grad else x.requires_grad_() for x in xs)
        y = checked(*ys)
        _check((y,), "outputs", strict)
        found = _found((y,), ys, (y.detach().new_ones([]),), True)
        _check(found, "jacobian", strict)
        return _filled(found, ys, False, True, "back")

    if outer_jacobian_strategy == "forward-mode":
        from aten.transforms import grad as func_grad  # transforms are above this package

        given, _ = _tuple(inputs, "inputs", "hessian")
        result = jacobian(
            lambda *xs: func_grad(checked, argnums=tuple(range(len(given))))(*xs), given, create_graph, strict, vectorize,
            outer_jacobian_strategy,
        )  # fmt: skip
        return result if many else result[0][0]
    result = jacobian(first, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return result if many else result[0]


def _first_derivative(fn: str, func: Callable, xs: tuple[Tensor, ...], strict: bool) -> tuple[Tensor, tuple[Tensor, ...]]:
    """(the number, its gradients as functions of the inputs)"""
    y = _scalar(func, fn)(*xs)
    _check((y,), "outputs", strict)
    found = _found((y,), xs, (y.detach().new_ones([]),), True)
    _check(found, "jacobian", strict)
    return y, found


def vhp(func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(*inputs), v @ Hessian) of a function with one number."""
    with enable_grad():
        given, many = _tuple(inputs, "inputs", "vhp")
        xs = _leaves(given, create_graph)
        vs = _weights(v, xs, many, "vhp", _OF_INPUT)
        y, first = _first_derivative("vhp", func, xs, strict)
        found = _filled(_found(first, xs, vs, create_graph), xs, strict, create_graph, "double_back")
        return _finish((y,), False, create_graph), _finish(found, many, create_graph)


def hvp(func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(*inputs), Hessian @ v); the gradient of v's vhp by v, so right where the Hessian is not symmetric too."""
    with enable_grad():
        given, many = _tuple(inputs, "inputs", "hvp")
        xs = _leaves(given, create_graph)
        vs = _weights(v, xs, many, "hvp", _OF_INPUT)
        y, first = _first_derivative("hvp", func, xs, strict)
        weights = tuple(x.detach().new_zeros(tuple(x.shape)).requires_grad_() for x in xs)
        pulled = _found(first, xs, weights, True)
        _check(pulled, "hessian", strict)
        found = _filled(_found(pulled, weights, vs, create_graph), xs, strict, create_graph, "double_back_trick")
        return _finish((y,), False, create_graph), _finish(found, many, create_graph)

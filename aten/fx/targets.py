"""What the nodes of graphs call."""

from typing import Any

from aten.errors import PromiseBroken


def item(tensor: Any) -> Any:
    """The number in a tensor of one element. The node's symbol (`u0`) is bound by it."""
    return tensor.item()


def draw(generator: Any, method: str, *args: Any, **kwargs: Any) -> Any:
    """What a method of a random.Random gives. A number is the value of the node's symbol."""
    return getattr(generator, method)(*args, **kwargs)


def set_data(tensor: Any, value: Any) -> Any:
    """tensor.data = value"""
    tensor.data = value
    return tensor


def check(condition: bool) -> None:
    """Raises RuntimeError for a promise about numbers (torch._check, say) that is not kept."""
    if not condition:
        raise RuntimeError("Expected cond to be True, but got False.")


def expect(condition: bool, text: str, again: bool) -> None:
    """Fails where a number is not as it was taken to be while capturing: with PromiseBroken if the call can be made `again`, run
    eager, else with RuntimeError."""
    if not condition:
        _failed(f"Runtime assertion failed for expression {text}", again)


def expect_sizes(result: Any, sizes: tuple, again: bool) -> None:
    """Fails, as `expect`, where a tensor (or one of several) has other sizes than those with which what follows was captured."""
    if sizes and type(sizes[0]) is tuple:
        for part, expected in zip(result, sizes, strict=True):
            expect_sizes(part, expected, again)
    elif tuple(result.shape) != sizes:
        _failed(f"Runtime assertion failed: a tensor has sizes {list(result.shape)}, where {list(sizes)} was captured", again)


def assert_true(condition: Any, message: str | None) -> None:
    """`assert condition, message` of a tensor of one element: raises AssertionError."""
    if holds(condition):
        return
    raise AssertionError() if message is None else AssertionError(message)


def assert_async(condition: Any, message: str | None) -> None:
    """The same in an exported graph: raises RuntimeError, as torch._assert_async does."""
    if not holds(condition):
        raise RuntimeError(message or "assertion error")


def holds(condition: Any) -> bool:
    """Whether a tensor is true. In a graph that is being made: an index that is out of bounds where it is not, so that kernels
    fail and the call is made again, op by op."""
    from aten._native import is_tracer
    from aten.op import registry

    if not is_tracer(condition):
        return bool(condition)
    index = registry["where"](condition.reshape(1) != 0, 0, 1)
    registry["index_select"](registry["zeros"]((1,), device=condition.device), 0, index)
    return True


def _failed(text: str, again: bool) -> None:
    if again:
        raise PromiseBroken()
    raise RuntimeError(text)


def gradients(outputs: list, inputs: list, seeds: list, retain_graph: bool, create_graph: bool, own: bool) -> tuple:
    """The gradients of tensors of the graph, None where there is no dependence; `own`: each a copy, laid out row-major."""
    from aten.autograd.engine import grad

    found = grad(outputs, inputs, seeds, retain_graph, create_graph, allow_unused=True)
    return tuple([None if g is None else _copy(g) for g in found]) if own else found


def _copy(grad: Any) -> Any:
    from aten.layout import contiguous_format

    return grad.clone(memory_format=contiguous_format)


def require_grad(tensor: Any) -> Any:
    """A tensor that the graph has made becomes a leaf of its own, for gradients that are taken within the graph."""
    return tensor.requires_grad_()


class LateHook:
    """A hook of a tensor that a graph makes. What it calls is made behind the graph, and backward comes later still."""

    def __init__(self, tensor: Any, name: str):
        self.function: Any = None
        self.handle = getattr(tensor, name)(self)

    def __call__(self, grad: Any) -> Any:
        return self.function(grad)


def hook_later(tensor: Any, name: str) -> LateHook:
    """Registers (`register_hook`) what becomes a hook once its `function` is set."""
    return LateHook(tensor, name)


def resize_storage(tensor: Any, size: int) -> None:
    """tensor.untyped_storage().resize_(size)"""
    tensor.untyped_storage().resize_(size)


def hook_of_graph(tensor: Any, module: Any, *operands: Any) -> None:
    """Registers a hook of a tensor that hands on what the module makes of the gradient and of the operands."""
    tensor.register_hook(lambda grad: module(grad, *operands)[0])


def set_grad_enabled(mode: bool) -> None:
    """Says where in a graph gradients begin or cease to be recorded. Each node has its mode (`meta["grad"]`): it does nothing."""


set_grad_enabled.__name__ = "_set_grad_enabled"


def set_default_dtype(dtype: Any) -> None:
    """The same of the default dtype (`meta["default_dtype"]`)."""


# A graph with one of these is run as it is, or cut at them (aot/stages.py).
WHOLE = (item, draw, set_data, hook_later, resize_storage)


def is_op(target: Any) -> bool:
    """Whether a call_function's target is an op of aten (not operator.getitem or a foreign function)."""
    return hasattr(target, "schema") and hasattr(target, "kind")

"""What the nodes of graphs call."""

from typing import Any


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


def set_grad_enabled(mode: bool) -> None:
    """Says where in a graph gradients begin or cease to be recorded. Each node has its mode (`meta["grad"]`): it does nothing."""


set_grad_enabled.__name__ = "_set_grad_enabled"
WHOLE = (item, draw, set_data)  # a graph with one of these is run as it is: it is cut into no parts yet


def is_op(target: Any) -> bool:
    """Whether a call_function's target is an op of aten (not operator.getitem or a foreign function)."""
    return hasattr(target, "schema") and hasattr(target, "kind")

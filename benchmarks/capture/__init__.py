"""Programs as PyTorch users write them, captured whole: `python -m benchmarks.capture`.

Each file defines programs: `@program(inputs)` on a function of tensors, where `inputs(n, rng)` gives its NumPy arguments for a
size n. Floating arguments require grad unless the program says otherwise; what is random comes in as an argument.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FILES = ("training", "losses", "decoding", "simulation", "reinforcement", "python")
PROGRAMS: dict[str, "Program"] = {}


@dataclass
class Program:
    """`function(*inputs(n, rng))`: a tensor, or a nesting of them. grads: whether gradients are compared."""

    name: str
    function: Callable[..., Any]
    inputs: Callable[..., tuple]
    grads: bool


def program(inputs: Callable[..., tuple], grads: bool = True) -> Callable:
    """Declare a program."""

    def declare(function: Callable) -> Callable:
        PROGRAMS[function.__name__] = Program(function.__name__, function, inputs, grads)
        return function

    return declare


def normal(*sizes: Any) -> Callable[..., tuple]:
    """Inputs of these sizes, "n" being the size that varies: float32, standard normal."""

    def inputs(n: int, rng: Any) -> tuple:
        return tuple([rng.normal(size=[n if s == "n" else s for s in size]).astype("f4") for size in sizes])

    return inputs

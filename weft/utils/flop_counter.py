"""Floating-point operations of a program, counted op by op (a multiplication and an addition are two)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from aten import Tensor
from weft.utils import _pytree as pytree
from weft.utils._python_dispatch import TorchDispatchMode
from weft.utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

flop_registry: dict[str, Callable[..., int]] = {}
"""The formula of each op by its name: formula(*args, out_val=result, **kwargs), with tensors."""


def _shapes(value: Any) -> Any:
    return pytree.tree_map(lambda x: tuple(x.shape) if isinstance(x, Tensor) else x, value)


def _name_of(target: Any) -> str:
    name = getattr(target, "__name__", None) or str(target)
    return name.removeprefix("aten::").removeprefix("aten.").partition(".")[0]


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Callable], Callable]:
    """The decorated function counts for these ops: formula(*args, out_shape=, **kwargs) with shapes, or, with get_raw, tensors."""

    def declare(formula: Callable) -> Callable:
        def of_shapes(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
            return formula(*_shapes(args), out_shape=_shapes(out_val), **_shapes(kwargs))

        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            flop_registry[_name_of(target)] = formula if get_raw else of_shapes
        return formula

    return declare


@register_flop_formula("mm")
def mm_flop(a_shape: Sequence[int], b_shape: Sequence[int], *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """2 m n k."""
    return 2 * a_shape[0] * a_shape[1] * b_shape[1]


@register_flop_formula("addmm")
def addmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """The product alone."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula("bmm")
def bmm_flop(a_shape: Sequence[int], b_shape: Sequence[int], *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """2 b m n k."""
    return 2 * math.prod(a_shape) * b_shape[2]


@register_flop_formula("baddbmm")
def baddbmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """The products alone."""
    return bmm_flop(a_shape, b_shape)


@register_flop_formula(["mv", "dot", "vdot"])
def mv_flop(a_shape: Sequence[int], *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """2 for each element of the matrix."""
    return 2 * math.prod(a_shape)


def conv_flop_count(x_shape: Sequence[int], w_shape: Sequence[int], out_shape: Sequence[int]) -> int:
    """2 for each weight at each place, in each image. Places are those of the smaller side: a transposed convolution spreads each
    element of its input, and so does the gradient of an input."""
    places = min(math.prod(x_shape[2:]), math.prod(out_shape[2:]))
    return 2 * places * math.prod(w_shape) * x_shape[0]


@register_flop_formula("convolution")
def conv_flop(x_shape: Any, w_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """As `conv_flop_count`."""
    return conv_flop_count(x_shape, w_shape, out_shape)


@register_flop_formula("convolution_weight")
def conv_weight_flop(g_shape: Any, x_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """The gradient of the weight: as many as forwards."""
    return conv_flop_count(x_shape, out_shape, g_shape)


def sdpa_flop_count(query_shape: Sequence[int], key_shape: Sequence[int], value_shape: Sequence[int]) -> int:
    """Both products of an attention."""
    *batch, n, k = query_shape
    return 2 * math.prod(batch) * n * key_shape[-2] * (k + value_shape[-1])


@register_flop_formula(["scaled_dot_product_attention", "attention"])
def sdpa_flop(query_shape: Any, key_shape: Any, value_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """As `sdpa_flop_count`."""
    return sdpa_flop_count(query_shape, key_shape, value_shape)


_SUFFIXES = ["", "K", "M", "B", "T"]


def get_suffix_str(number: int) -> str:
    """The unit in which a count has at most three digits before the last three: "" or one of K, M, B, T."""
    return _SUFFIXES[max(0, min(len(_SUFFIXES) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number: int, suffix: str) -> str:
    """The count in that unit, with three places."""
    return f"{number / 1000 ** _SUFFIXES.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num: int, denom: int) -> str:
    """A share in percent."""
    return "0%" if denom == 0 else f"{num / denom:.2%}"


class FlopCounterMode:
    """Within `with FlopCounterMode() as counter:` operations are counted, for each module and op.

    mods: not needed. depth: how far below the outermost modules the table goes. display: print the table at the end.
    custom_mapping: {op: formula with shapes} beside the known ones. Backward counts where it runs.
    """

    def __init__(
        self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: dict[Any, Any] | None = None
    ) -> None:
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        self.flop_registry = dict(flop_registry)
        for target, formula in (custom_mapping or {}).items():
            raw = getattr(formula, "_get_raw", False)
            self.flop_registry[_name_of(target)] = formula if raw else _on_shapes(formula)
        self.mod_tracker = ModuleTracker()
        self._mode = _Counting(self)

    def get_total_flops(self) -> int:
        """The count of all."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """{name of a module: {op: count}}, "Global" being all."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Counts and shares of modules and their ops."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        unit, rows = get_suffix_str(total), [("Module", "FLOP", "% Total")]
        for module in sorted(self.flop_counts, key=lambda name: (name != "Global", name)):
            level = 0 if module == "Global" else module.count(".") + 1
            if level > depth:
                continue
            counts = self.flop_counts[module]
            lines = [(" " * level + module, sum(counts.values()))]
            lines += [(" " * level + " - " + str(op), count) for op, count in counts.items()]
            rows += [(name, convert_num_with_suffix(n, unit), convert_to_percent_str(n, total)) for name, n in lines]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        shown = ["  ".join([row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].rjust(widths[2])]) for row in rows]
        return "\n".join([shown[0], "  ".join("-" * width for width in widths), *shown[1:]])

    def _count(self, func: Any, result: Any, args: Any, kwargs: Any) -> None:
        formula = self.flop_registry.get(_name_of(func))
        if formula is None:
            return
        count = formula(*args, **kwargs, out_val=result)
        key = getattr(func, "overloadpacket", func)
        for parent in self.mod_tracker.parents:
            self.flop_counts[parent][key] += count

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self._mode.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._mode.__exit__(*exc)
        self.mod_tracker.__exit__(*exc)
        if self.display:
            print(self.get_table(self.depth))


def _on_shapes(formula: Callable) -> Callable:
    return lambda *args, out_val=None, **kwargs: formula(*_shapes(args), out_shape=_shapes(out_val), **_shapes(kwargs))


class _Counting(TorchDispatchMode):
    def __init__(self, counter: FlopCounterMode) -> None:
        self.counter = counter

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.counter._count(func, result, args, kwargs or {})
        return result

"""What `functorch.compile` offers, under its inner name."""

from weft.functorch.compile import (
    default_decompositions,
    make_boxed_compiler,
    make_boxed_func,
    memory_efficient_fusion,
    min_cut_rematerialization_partition,
    nop,
    print_compile,
)

__all__ = [
    "default_decompositions", "make_boxed_compiler", "make_boxed_func", "memory_efficient_fusion",
    "min_cut_rematerialization_partition", "nop", "print_compile",
]  # fmt: skip

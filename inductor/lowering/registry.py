"""Which function lowers which op."""

from __future__ import annotations

import importlib
from collections.abc import Callable

table: dict[str, Callable] = {}


class NotLowered(Exception):
    """This call of the op has no loops: the op itself runs as a step."""


def lowering(*names: str):
    """Declare `fn(graph, *args, **kwargs) -> Value | tuple` as the lowering of the ops `names`.

    `graph` is the GraphLowering; args are the node's, with Values for tensors and Exprs or numbers for sizes.
    `graph.out` is the Meta (or tuple of Metas) of the result. Raising NotLowered leaves the call to the op's own
    kernel.
    """

    def declare(fn: Callable) -> Callable:
        for name in names:
            table[name] = fn
        return fn

    return declare


FAMILIES = {  # the file of a lowering, which is loaded when one of its ops is met; pointwise.py has all others
    "attention": "scaled_dot_product_attention dropout_attention scaled_dot_product_attention_backward dropout_attention_backward",
    "complex": "view_as_real view_as_complex",
    "creation": "full arange eye",
    "indexing": "gather index_select index embedding embedding_backward scatter_add scatter index_add index_put masked_fill",
    "matmul": "mm bmm",
    "random": "rand_philox randn_philox randint_philox probabilities",
    "reduction": "sum prod amax amin any all argmax argmin max_dim min_dim mean var var_mean",
    "scan": "cumsum cumprod logcumsumexp cummax cummin",
    "scatter_reduce": "scatter_reduce",
    "sorting": "sort topk searchsorted",
    "structure": "cat constant_pad_nd flip roll",
    "view": "view reshape flatten_view permute expand squeeze unsqueeze alias watched watched_image detach data_of slice select "
    "diagonal unfold as_strided slice_scatter select_scatter diagonal_scatter clone row_major contiguous copy tril triu",
}
_FAMILY = {name: family for family, names in FAMILIES.items() for name in names.split()}


def lowering_of(name: str) -> Callable | None:
    """The lowering of the op of that name; None if it has none."""
    if name not in table:
        importlib.import_module(f"inductor.lowering.{_FAMILY.get(name, 'pointwise')}")
    return table.get(name)


def load_all() -> dict[str, Callable]:
    """The table, with every family imported."""
    for family in ("pointwise", *FAMILIES):
        importlib.import_module(f"inductor.lowering.{family}")
    return table

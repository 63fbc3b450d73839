"""Running sums and products."""

from __future__ import annotations

from aten.symbolic.expr import ONE
from inductor.ir.fold import cast
from inductor.ir.loops import Scan
from inductor.ir.nodes import compute_dtype
from inductor.lowering.registry import lowering
from inductor.lowering.value import Value


def _scan(name: str, kind: str) -> None:
    @lowering(name)
    def lower(graph, x, dim):
        dtype = graph.out.dtype.name
        wide = compute_dtype(dtype)
        if not x.rank or x.sizes[int(dim) % x.rank] is ONE:
            return Value(x.sizes, dtype, cast(x.body, wide))
        return graph.computed(Scan(x.sizes, (int(dim) % x.rank,), kind, wide, cast(x.body, wide)), dtype, x.sizes, ())


for _name, _kind in (("cumsum", "sum"), ("cumprod", "prod")):
    _scan(_name, _kind)

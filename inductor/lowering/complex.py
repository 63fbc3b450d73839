"""Complex numbers on a device: in memory they are pairs of floats, and loops see them as such (`inductor.complex_pairs`)."""

from __future__ import annotations

from inductor.ir import nodes
from inductor.ir.buffer import PARTS
from inductor.ir.index import flat
from inductor.ir.loops import Pointwise, loop_variables
from inductor.lowering.operations import Computed
from inductor.lowering.registry import NotLowered, lowering
from inductor.lowering.sorting import on_device
from inductor.lowering.value import Value, of_buffer


@lowering("view_as_real")
def view_as_real(graph, x):
    """(real, imaginary) along a new last dim: an element of the memory each."""
    on_device(graph)
    n = x.buffer_load
    if n is None or n.args or x.dtype not in PARTS:
        raise NotLowered(f"parts of {x.dtype} that are not in memory")
    i = loop_variables(x.rank + 1)
    return Value((*x.sizes, graph.sizes(graph.out)[-1]), PARTS[x.dtype], nodes.load(n.buffer, n.index * 2 + i[-1], PARTS[x.dtype]))


@lowering("view_as_complex")
def view_as_complex(graph, x):
    """Pairs along the last dim, stored side by side."""
    on_device(graph)
    if graph.out.dtype.name not in PARTS:
        raise NotLowered(f"numbers of {graph.out.dtype.name}")
    b = graph.new_buffer(graph.out.dtype.name, x.sizes[:-1])
    i = loop_variables(x.rank)
    store = flat(i[:-1], b.strides) * 2 + i[-1]
    graph.operations.append(Computed(b.name, Pointwise(x.sizes, x.body), store, PARTS[b.dtype], graph.lines()))
    return of_buffer(b)

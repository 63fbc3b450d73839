"""The kernels of a step of training of a GPT as large as GPT-2's blocks, for `benchmarks.triton_quality`: captured on meta, where
nothing is computed. (The update of the optimizer is captured on the CPU, and looked at as if its tensors were elsewhere.)"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.gpt_model import Config, build

SIZE = Config(layers=2, width=768, heads=12, context=1024, batch=8)  # layers are alike: their kernels are the same


def schedules(dtype: str) -> Iterator[tuple[str, Any, dict, dict]]:
    """(name, schedule, ranges, hints) of the forward and the backward of the loss, and of the optimizer's update."""
    import weft as torch

    kind = getattr(torch, dtype)
    model = build(torch, SIZE).to("meta", kind)

    def loss(tokens: Any, targets: Any) -> Any:
        return torch.nn.functional.cross_entropy(model(tokens).reshape(-1, SIZE.vocabulary), targets.reshape(-1))

    tokens = torch.empty(SIZE.batch, SIZE.context, dtype=torch.int64, device="meta")
    yield from scheduled(f"gpt {dtype}", loss, tokens, tokens)
    parameters = [torch.nn.Parameter(torch.zeros(p.shape, dtype=kind)) for p in model.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-3)
    for p in parameters:
        p.grad = torch.zeros_like(p)

    def update() -> None:
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()

    yield from scheduled(f"gpt update {dtype}", update)


def scheduled(name: str, f: Any, *args: Any) -> Iterator[tuple[str, Any, dict, dict]]:
    """The schedules of the core graphs that `f(*args)` is compiled to."""
    import weft
    from aten import aot
    from inductor.compile import Part
    from inductor.decompositions import decompositions
    from inductor.ir.nodes import fresh_table
    from inductor.lowering import lower
    from inductor.schedule import schedule

    found: list[Any] = []

    def backend(gm: Any, inputs: Any) -> Any:
        found.append(aot.graphs(gm, inputs, decompositions()))
        return gm.forward

    call = weft.compile(f, backend=backend)
    call(*args)
    call(*args)  # an optimizer has its state now
    for graphs in found:
        for part, core in (("forward", graphs.forward), ("backward", graphs.backward)):
            if core is None:
                continue
            mutations = graphs.mutations if part == "forward" else ()
            graph = Part(part, core).graph
            for node in graph.graph.nodes:
                node.meta["val"] = away(node.meta.get("val"))
            with fresh_table():
                lowered = lower(graph, mutations)
                yield f"{name} {part}", schedule(lowered), lowered.ranges, dict(lowered.hints)


def away(val: Any) -> Any:
    """A value's description, as if it lay on a device."""
    from aten.device import device
    from aten.meta import Meta

    if isinstance(val, Meta):
        return Meta(val.dtype, device("meta"), val.sizes, val.strides) if val.sizes else val
    return type(val)(map(away, val)) if isinstance(val, (tuple, list)) else val

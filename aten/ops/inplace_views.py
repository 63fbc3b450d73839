"""View ops in place: the tensor itself takes the layout of the view (`t_`, `squeeze_`, ...), its memory stays."""

from typing import Any

from aten import _native
from aten.op import Op, alias_of, composite, registry


def relayout(target: Any, made: Op, args: tuple[Any, ...]) -> Any:
    """Let `target` be what `made(target, *args)` shows. Advances the version; views made before keep showing what they did.

    Raises RuntimeError for a leaf that requires grad, or a view of one, while gradients are recorded.
    """
    if _native.is_tracer(target):
        target.level.relayout(target, made(target, *args))
        return target
    _native.check_relayout(target)
    # `before` takes the target's place: in its history, and as the base of views that were made of it.
    before = _native.alias(target, tuple(target.shape), target.stride(), target.storage_offset())
    recording = _native.set_grad_enabled(True)
    try:
        given = target._view_of
        if given is not None and (target.is_meta or given[0].untyped_storage() == target.untyped_storage()):
            before._view_of = given  # (else the target was given other data since)
        history = target.grad_fn
        if history is not None:
            before._grad_fn = (history, target.output_nr)
        view = made(before, *args)
        made_by = None if history is None else (view.grad_fn, view.output_nr)
    finally:
        _native.set_grad_enabled(recording)
    _native.relayout(target, view, before)
    target._view_of = view._view_of
    if made_by is not None:
        target._grad_fn = made_by
    return target


def _in_place(name: str) -> None:
    made = registry[name]
    parameters = made.declaration[made.declaration.index("(") :]

    @composite(f"{name}_{parameters}", tags=["relayout"])
    def definition(input, *args):
        return relayout(input, made, args)

    definition.__doc__ = f"`{name}` in place: the tensor takes the layout of that view."


for _name in ("t", "transpose", "squeeze", "unsqueeze", "as_strided"):
    _in_place(_name)
for _new in ("swapaxes_", "swapdims_"):
    alias_of(_new, registry["transpose_"])

"""What `Op.meta` answers: above both dispatch, which shape rules share with eager calls, and the Tracers that composites run on."""

from collections.abc import Sequence
from typing import Any

import aten.op
from aten import dispatch
from aten.op import Op


def meta_call(op: Op, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Result Metas of a call on Metas: by the shape rule, or by running the definition of a composite on Tracers."""
    public = op.schema.bind(args, kwargs, op.name)
    if "scalars" in op.tags and op.kind == "core":
        public = dispatch.numbers_alone(op, public)
    if op.refuses is not None:
        op.refuses(public)
    if op.kind in ("composite", "inplace") or (op.special_when is not None and op.special_when(*public)):
        from aten.transforms.tracer import meta_of_call

        return meta_of_call(op, public)
    arguments = dispatch.normalize(op, tuple(map(dispatch._meta_argument, public)))
    return dispatch._public(op, op.function(*map(dispatch._meta_argument, arguments)))


aten.op._meta = meta_call

"""`name_copy` of every view: the same result in memory of its own. `unsafe_` names of pieces are the pieces."""

from typing import Any

from aten.op import Op, composite, ops, registry
from aten.ops import rearrange, view  # noqa: F401 (whose ops are copied here)

_VIEWS = "alias as_strided detach diagonal expand permute select slice squeeze t transpose unbind unfold unsqueeze view"
_VIEWS += " split split_with_sizes"


_PIECES = frozenset({"unbind", "split", "split_with_sizes"})


def _copied(result: Any) -> Any:
    return tuple(map(ops.row_major, result)) if isinstance(result, tuple) else ops.row_major(result)


def _declare(name: str, target: Op) -> None:
    made_name = f"{name}_copy"
    declaration = made_name + target.declaration[len(target.name) :]

    def definition(*args: Any) -> Any:
        n = target.schema.positional
        keywords = {p.name: v for p, v in zip(target.schema.params[n:], args[n:])}
        return _copied(target(*args[:n], **keywords))

    definition.__doc__ = f"A copy of what `{name}` shows."
    tags = ["function_only", *["no_result_of_out"] * (name in _PIECES)]  # (for their `out=` PyTorch answers with None)
    composite(declaration, tags=tags)(definition)


for _name in _VIEWS.split():
    if f"{_name}_copy" not in registry:
        _declare(_name, registry[_name])
for _name in ("split", "chunk", "split_with_sizes"):
    registry[f"unsafe_{_name}"] = registry[_name]

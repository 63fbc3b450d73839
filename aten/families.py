"""Which ops have a native path: one row binds an op to a family of aten/native/fast_*.cpp.

A family answers calls on plain tensors; what it does not handle takes the general path of aten/dispatch.py. Elementwise functions
are those of aten/scalar; other codes are the enums of aten/native/kernels.h, in their order.
"""

from typing import Any

from aten import _native
from aten import dtype as dtypes
from aten.autograd.record import node_name
from aten.ops.conversion import METHODS

_REDUCE = "sum prod amax amin any all mean".split()
_FLOAT, _ALPHA = 1, 2  # OpFlags: integers are computed in the default dtype; takes `alpha`
_VIEWS = "view permute transpose t expand unsqueeze select narrow alias".split()
# Ops whose family reads keywords: their parameter names, and how many may be positional.
_NAMED: dict[str, tuple[str, tuple[str, ...], int]] = {
    "gelu": ("gelu", ("input", "approximate"), 1),
    "clamp": ("clamp", ("input", "min", "max"), 3),
    "squeeze": ("squeeze", ("input", "dim"), 2),
    "flatten": ("flatten", ("input", "start_dim", "end_dim"), 3),
    "slice": ("slice", ("input", "dim", "start", "end", "step"), 5),
    "split": ("split", ("input", "split_size_or_sections", "dim"), 3),
    "chunk": ("chunk", ("input", "chunks", "dim"), 3),
    "unbind": ("unbind", ("input", "dim"), 2),
    "linear": ("linear", ("input", "weight", "bias"), 3),
    "layer_norm": ("layer_norm", ("input", "normalized_shape", "weight", "bias", "eps"), 5),
    "cat": ("cat", ("tensors", "dim"), 2),
    "scaled_dot_product_attention": (
        "attention",
        ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa"),
        6,
    ),
    "rms_norm": ("rms_norm", ("input", "normalized_shape", "weight", "eps"), 4),
    "batch_norm": ("batch_norm", ("input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps"), 8),
    "group_norm": ("group_norm", ("input", "num_groups", "weight", "bias", "eps"), 5),
    "logsumexp": ("logsumexp", ("input", "dim", "keepdim"), 3),
    "flip": ("flip", ("input", "dims"), 2),
    "roll": ("roll", ("input", "shifts", "dims"), 3),
}
_SCANS = "cumsum cumprod cummax cummin logcumsumexp".split()
_MAX_POOL = ("input", "kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices")
_AVG_POOL = ("input", "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
_PLACES = "index index_select index_add gather scatter scatter_add nonzero".split()
_CORE = "view permute expand squeeze unsqueeze slice select alias clone cast mm bmm add linear index".split()


def _bind(
    registry: dict[str, Any],
    name: str,
    family: str,
    code: int = 0,
    names: tuple[str, ...] = (),
    positional: int = 0,
    differentiable: bool = True,
    flags: int = 0,
) -> None:
    op = registry.get(name)
    if op is not None:
        _native.set_family(op, family, code, names, positional, node_name(name) if differentiable else None, flags)


def _pointwise(registry: dict[str, Any]) -> None:
    for code, (name, arity) in enumerate(_native.pointwise_rows()):
        op = registry.get(name)
        if op is None or name in _NAMED:
            continue
        family = ("unary", "binary")[arity - 1]
        flags = (_FLOAT if op.promote == "float" else 0) | (_ALPHA if name in ("add", "sub") else 0)
        _bind(registry, name, family, code, differentiable=op.vjp_fn is not None, flags=flags)
        if op.inplace is not None:
            _bind(registry, name + "_", "inplace_" + family, code, differentiable=False, flags=flags)
    _bind(registry, "where", "where")


def _copies(registry: dict[str, Any]) -> None:
    for name, dtype in METHODS.items():
        if not dtype.startswith("complex"):
            _bind(registry, name, "convert", getattr(dtypes, dtype).code)
    for name in ("to", "cast", "clone", "contiguous", "detach", "copy_", "fill_"):
        _bind(registry, name, name)
    _bind(registry, "zero_", "fill_", 1)


def bind_families(registry: dict[str, Any]) -> None:
    """Bind every op that has a native family."""
    _pointwise(registry)
    _copies(registry)
    for code, name in enumerate(_REDUCE):
        _bind(registry, name, "reduce", code, ("input", "dim", "keepdim", "dtype"), 3, name not in ("any", "all"))
    for code, name in enumerate(("argmax", "argmin")):
        _bind(registry, name, "arg_extreme", code, ("input", "dim", "keepdim"), 3, False)
    for code, name in enumerate(("var", "var_mean")):
        _bind(registry, name, "var", code, ("input", "dim", "correction", "keepdim", "unbiased"), 4)
    for code, name in enumerate(_SCANS):
        _bind(registry, name, "scan", code, ("input", "dim", "dtype")[: 3 if code < 2 else 2], 2)
    for name in _VIEWS:
        _bind(registry, name, name)
    _bind(registry, "reshape", "view", 1)
    for name, (family, names, positional) in _NAMED.items():
        _bind(registry, name, family, 0, names, positional)
    for code, name in enumerate(("softmax", "log_softmax")):
        _bind(registry, name, "softmax", code, ("input", "dim", "dtype"), 3)
    for code, name in enumerate(("mm", "bmm")):
        _bind(registry, name, "mm", code)
    for n in (1, 2, 3):
        _bind(registry, f"max_pool{n}d", "max_pool", n, _MAX_POOL, 7)
        _bind(registry, f"avg_pool{n}d", "avg_pool", n, _AVG_POOL, 7)
    for name in "matmul getitem setitem embedding embedding_backward".split() + _PLACES:
        _bind(registry, name, name)
    for code, name in enumerate(("index_put", "index_put_")):
        _bind(registry, name, "index_put", code, ("input", "indices", "values", "accumulate"), 4)
    for code, name in enumerate(("zeros", "ones", "empty", "full")):
        _bind(registry, name, "create", code, differentiable=False)
        _bind(registry, name + "_like", "like", code, differentiable=False)
        if name != "full":
            _bind(registry, "new_" + name, "new", code, differentiable=False)
    _bind(registry, "arange", "arange", differentiable=False)
    for name in _CORE:
        _native.set_core_op(name, registry[name])


__all__ = ["bind_families"]

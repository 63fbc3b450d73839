"""weft.library: custom ops of users: functions (`custom_op`), or declared as text and implemented by place (`Library`)."""

from aten.declared_ops import Library, _scoped_library, define, impl, register_kernel
from aten.library import (
    CustomOp,
    custom_op,
    infer_schema,
    register_autocast,
    register_autograd,
    register_fake,
    register_vmap,
)
from weft.opcheck import opcheck

impl_abstract = register_fake  # its name before

__all__ = [
    "CustomOp", "Library", "_scoped_library", "custom_op", "define", "impl", "impl_abstract",
    "infer_schema", "opcheck", "register_autocast", "register_autograd", "register_fake",
    "register_kernel", "register_vmap",
]  # fmt: skip

"""weft.library: custom ops of users (`custom_op`, `register_fake`, `register_autograd`, `register_vmap`)."""

from aten.library import CustomOp, custom_op, infer_schema, register_autograd, register_fake, register_vmap

__all__ = ["CustomOp", "custom_op", "infer_schema", "register_autograd", "register_fake", "register_vmap"]

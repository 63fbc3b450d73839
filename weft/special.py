"""Special functions under PyTorch's names: `special.entr` is the op `aten.special_entr`."""

from weft.op_namespace import functions

__getattr__, __dir__, __all__ = functions(__name__, "special_")

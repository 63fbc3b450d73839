"""Linear algebra under PyTorch's names: `linalg.norm` is the op `aten.linalg_norm`."""

from aten.errors import LinAlgError  # noqa: F401
from weft.op_namespace import functions

__getattr__, __dir__, __all__ = functions(__name__, "linalg_")
__all__ += ["LinAlgError"]

"""Higher-order operations under the name that functorch gave them first."""

from aten.higher_order import cond
from weft._higher_order_ops import map

__all__ = ["cond", "map"]

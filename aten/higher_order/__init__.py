"""Operations that take functions: cond, while_loop, map, scan, wrap and their like. Also `weft._higher_order_ops`."""

from aten.higher_order.associative_scan import associative_scan
from aten.higher_order.cond import cond
from aten.higher_order.hints_wrap import hints_wrapper
from aten.higher_order.map import map
from aten.higher_order.scan import scan
from aten.higher_order.while_loop import while_loop
from aten.higher_order.wrap import wrap

__all__ = ["associative_scan", "cond", "hints_wrapper", "map", "scan", "while_loop", "wrap"]

"""Settings of capture, read when a function is compiled: `weft._dynamo.config.recompile_limit = 16`."""

from __future__ import annotations

recompile_limit = 8  # entries per code object; calls that none of them answers run eager from then on
automatic_dynamic_shapes = True  # a size or number that is seen to change becomes a symbol

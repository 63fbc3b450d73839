"""Engines of quantised kernels, of which weft has none."""

from __future__ import annotations

engine = "none"
supported_engines: list[str] = ["none"]

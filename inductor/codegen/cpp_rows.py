"""How nests whose vectors run along rows are written: one row after the other, or several at once where that pays."""

from __future__ import annotations

from typing import Any

from inductor.codegen.cpp_across import AcrossWriter, goes_across
from inductor.codegen.cpp_bundle import BundleWriter, bundles
from inductor.codegen.cpp_loops import NestWriter
from inductor.codegen.cpp_stagger import StaggeredWriter, staggers


def writer_of_rows(w: NestWriter, given: tuple[Any, ...]) -> NestWriter:
    """The writer of a nest: `w`, which writes row by row, or another of the same arguments."""
    if goes_across(w):
        return AcrossWriter(*given)
    if staggers(w):
        return StaggeredWriter(*given)
    return BundleWriter(*given) if bundles(w) else w

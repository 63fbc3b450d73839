"""Approximate decompositions by few columns, under the name that PyTorch has for the file."""

from aten import pca_lowrank, svd_lowrank

__all__ = ["pca_lowrank", "svd_lowrank"]

"""Differentiation of whole graphs ahead of time, under the names that PyTorch's tools use."""

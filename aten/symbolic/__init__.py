"""Sizes not yet known: integer expressions, SymInt, ranges, guards."""

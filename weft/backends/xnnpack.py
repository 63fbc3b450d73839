"""XNNPACK, which weft does not use: set, read, and without effect."""

enabled = False

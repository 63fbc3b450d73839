"""Passes for graphs of any kind of ops."""

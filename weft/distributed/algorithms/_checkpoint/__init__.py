"""Checkpointing as a wrapper of modules."""

"""Every module that adds rows to the type table or rules for calls; importing this fills the tables."""

from dynamo.variables import aten_kinds, builtin, deque, native, track  # noqa: F401

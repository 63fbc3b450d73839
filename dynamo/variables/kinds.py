"""Every module that adds rows to the type table or rules for calls; importing this fills the tables."""

from dynamo.variables import builtin, native, track  # noqa: F401

"""Core ops → loops on buffers; one family a file, named as in aten/ops."""


def __getattr__(name: str):
    if name == "lower":  # loaded on first use: a warm start needs none of it
        from inductor.lowering.graph import lower

        return lower
    raise AttributeError(f"module 'inductor.lowering' has no attribute {name!r}")

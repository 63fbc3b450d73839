"""Graph → Graph."""


def __getattr__(name: str):
    if name == "run":
        from inductor.passes.order import run

        return run
    raise AttributeError(f"module 'inductor.passes' has no attribute {name!r}")

"""inductor: graphs → kernels. `compile_fx(gm, example_inputs)` is the pipeline; parts load on first use."""

from importlib import import_module

from inductor.counters import counters

__all__ = ["compile_fx", "counters", "list_mode_options", "list_options"]


def __getattr__(name: str):
    if name in ("compile_fx", "config"):
        return import_module(f"inductor.{name}")
    if name in ("list_options", "list_mode_options"):
        from inductor import modes

        return getattr(modes, name)
    raise AttributeError(f"module 'inductor' has no attribute {name!r}")

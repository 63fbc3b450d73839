"""`weft.compile`: where capture (dynamo), differentiation (aten.aot) and kernels (inductor) meet."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from aten.collection import lasting_imports
from aten.fx.graph_module import GraphModule
from aten.fx.symbols import runs_whole
from dynamo import backends
from dynamo import config as dynamo_config
from dynamo.backends.common import as_it_is, asserting
from dynamo.eval_frame import Config, optimize
from dynamo.polyfills.outermost import calling
from inductor import modes

_FUNCTIONS = (types.FunctionType, types.MethodType)


@backends.register_backend(name="inductor")
def inductor(gm: Any, example_inputs: list, mode: str | None = None, options: dict[str, Any] | None = None) -> Callable:
    """Fused native kernels; the graph run eager where there is no C++ compiler."""
    with lasting_imports():
        from inductor.entry import compile_fx

    if not runs_whole(gm.graph):
        found = as_it_is(gm, example_inputs, functools.partial(inductor, mode=mode, options=options))
        if found is not None:
            return found
    compiled = compile_fx(gm, example_inputs, mode, options)
    return backends.lookup_backend("eager")(gm, example_inputs) if compiled is gm else asserting(gm, compiled)


class Inductor:
    """The backend under a mode or options. Equal ones share what they have compiled."""

    __name__ = "inductor"

    def __init__(self, options: tuple[tuple[str, Any], ...]):
        self.options = options

    def __eq__(self, other: object) -> bool:
        return type(other) is Inductor and self.options == other.options

    def __hash__(self) -> int:
        return hash(self.options)

    def __call__(self, gm: Any, example_inputs: list) -> Callable:
        return inductor(gm, example_inputs, options=dict(self.options))


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """A compiled version of a function, method, Module or callable object; without `model`, a decorator.

    fullgraph: raise `Unsupported`, saying where and why, instead of breaking the graph. dynamic: True makes all sizes
    symbols at once, False never, None those that change. backend: a name (`weft.compiler.list_backends()`) or
    `backend(gm, example_inputs) -> callable`. mode, options: one of them, see `weft._inductor.list_options()`; other
    backends than inductor get what they ask for by name; `guard_filter_fn` says which guards are kept
    (`weft.compiler.skip_guard_on_globals_unsafe` and the like). disable: `model` unchanged.
    Raises RuntimeError for an unknown mode or option, ValueError for an unknown backend, TypeError for what cannot be
    called.
    """
    if dynamic is not None and type(dynamic) is not bool:
        raise TypeError(f"dynamic is True, False or None, not {dynamic!r}")
    if mode is not None and options:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable
        )
    if not callable(model):
        raise TypeError(f"weft.compile takes a function, method, Module or callable, not {type(model).__name__}")
    if disable or dynamo_config.disable:
        return model
    chosen = backends.lookup_backend(_default[-1] if backend is None else backend)
    filters = {k: v for k, v in (options or {}).items() if k == "guard_filter_fn"}
    options = {k: v for k, v in (options or {}).items() if k not in filters}
    if chosen is inductor:
        given = modes.chosen(mode, options)
        chosen = Inductor(tuple(sorted(given.items()))) if given else chosen
    elif mode is not None or options:
        chosen = _with_options(chosen, {**(options or {}), **({"mode": mode} if mode is not None else {})})
    return compiled(model, Config(chosen, fullgraph, dynamic, filters))


_default: list[Any] = ["inductor"]


def get_default_backend() -> Any:
    """What `compile` takes that is told no backend."""
    return _default[-1]


def set_default_backend(backend: Any) -> None:
    """`compile` without a backend takes this one: a name, a function, or None for "inductor"."""
    _default[:] = ["inductor" if backend is None else backend]


def _with_options(backend: Callable, extra: dict[str, Any]) -> Callable:
    """A user's backend takes mode and options only if it asks for them by name."""
    import inspect

    try:
        known = inspect.signature(backend).parameters
    except (TypeError, ValueError):
        return backend
    takes_any = any(p.kind is p.VAR_KEYWORD for p in known.values())
    wanted = {k: v for k, v in extra.items() if takes_any or k in known}
    if "options" in known and "options" not in wanted:
        wanted["options"] = extra
    return functools.partial(backend, **wanted) if wanted else backend


def compiled(model: Any, config: Any) -> Any:
    """`model` with calls captured under a dynamo Config."""
    if isinstance(model, functools.partial):
        return functools.partial(compiled(model.func, config), *model.args, **model.keywords)
    modules = sys.modules.get("weft.nn.module")  # who has a module has imported it
    if modules is not None and isinstance(model, modules.Module):
        from weft.compiled_module import OptimizedModule

        return OptimizedModule(model, config)
    if isinstance(model, GraphModule):
        return optimize(calling(model), config)
    call = getattr(type(model), "__call__", None)  # noqa: B004  (the method itself is wanted)
    if isinstance(model, _FUNCTIONS) or isinstance(model, type) or not isinstance(call, types.FunctionType):
        return optimize(model, config)
    return types.MethodType(optimize(call, config), model)

"""Compiled graphs and the cache on disk: what is kept of one, and the callable made of it.

A hit runs no lowering and no compiler, and imports neither: it reads the manifest, adds the guards that had been added
after capture, and loads the Programs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from aten import logs
from aten.symbolic.evaluate import evaluate
from aten.symbolic.nodes import walk
from aten.symbolic.text import parse
from inductor import _runner
from inductor.cache import key as cache_key
from inductor.cache import store as cache_store
from inductor.counters import counters

log = logs.get("cache")


class _Stale(Exception):
    """An entry whose guards do not hold for the sizes at hand."""


def cached(gm: Any, kind: str, build: Callable[[], Any], compile_core: Callable | None = None) -> Callable[..., tuple]:
    """The callable for a graph from the cache, or else what `build` makes: a callable, or a `compile.Compiled` to keep.

    `kind` says what the text of the graph means: "captured", or "core" for a graph that is compiled as it stands.
    `compile_core`: see `load`.
    """
    started = time.perf_counter()
    store = cache_store.current()
    key = cache_key.of(gm, kind) if store is not None else None
    if store is not None and key is not None:
        found = _look_up(store, key, gm, compile_core)
        if found is not None:
            counters["cache_hits"] += 1
            log(f"hit {key[:16]} in {1e3 * (time.perf_counter() - started):.1f} ms")
            return found
        counters["cache_misses"] += 1
    compiled = build()
    manifest = getattr(compiled, "manifest", None)
    if manifest is None:
        return compiled
    if store is not None and key is not None and compiled.keep:
        if store.save(key, manifest, [*compiled.libraries.values()]):
            log(f"saved {key[:16]} after {time.perf_counter() - started:.2f} s")
    return compiled.callable


def _look_up(store: cache_store.Store, key: str, gm: Any, compile_core: Callable | None) -> Callable | None:
    try:
        return store.load(key, lambda manifest, path_of: load(gm, manifest, path_of, compile_core=compile_core))
    except _Stale as e:
        log(f"entry {key[:16]} is for other sizes: {e}")
        return None


def load(
    gm: Any,
    manifest: dict,
    path_of: Callable[[str], str],
    constants: dict | None = None,
    compile_core: Callable | None = None,
    image_of: Callable[[str], bytes] | None = None,
) -> Callable[..., tuple]:
    """The callable that a manifest describes; `path_of(digest)` is a path from which a library can be loaded, `image_of` gives
    what a device loads, by default from that path.

    `constants`: by Program, the tensors bound to it; `compile_core`: what compiles backwards that are not there yet.
    Raises ValueError or KeyError for a manifest that is corrupt.
    """
    guards = [parse(text, kinds) for text, kinds in manifest["guards"]]
    env = gm.shape_env
    for guard in guards:
        if not guard.free_symbols <= env.hints.keys() or not evaluate(guard, env.hints):
            raise _Stale(str(guard))
    if manifest.get("eager"):
        for guard in guards:
            env.assume(guard)
        return gm
    lines = [line_of(node) for node in gm.graph.nodes]

    def program(name: str) -> Any:
        part = manifest[name]
        library = part["library"]
        data = part["program"]
        functions = functions_of(data, image_of or (lambda digest: _contents(path_of(digest))))
        for check in data["checks"]:
            check[2] = lines[check[2]] if type(check[2]) is int else check[2]
        return _runner.Program(data, path_of(library) if library else None, (constants or {}).get(name, ()), functions)

    forward = program("forward")
    joint = manifest["training"]
    if joint is not None:
        from inductor.higher import differentiable

        other = None
        if joint["saved"] is not None and compile_core is not None:
            from inductor.forms import Backwards, for_node

            other = for_node(Backwards(gm, joint["saved"], compile_core), joint["gradients"])
        forward = _runner.Training(
            forward,
            program("backward"),
            joint["n_results"],
            joint["results"],
            joint["gradients"],
            differentiable(gm, joint["results"], joint["gradients"], joint["random"]),
            other_forms=other,
        )
    for guard in guards:
        env.assume(guard)
    return forward


def functions_of(data: dict, image_of: Callable[[str], bytes]) -> dict[tuple[str, str], Any] | None:
    """The functions that a Program launches, by image and name, loaded by the driver; None where it launches nothing."""
    launched = [f for step in data["steps"] if step[0] == "Launch" for f in step[1]]
    if not launched:
        return None
    from inductor.cuda import modules

    device = int(data["device"].partition(":")[2] or 0)
    return {(digest, name): modules.function(device, digest, name, shared, image_of) for digest, name, _, shared in launched}


def _contents(path: str) -> bytes:
    with open(path, "rb") as f:
        return f.read()


def guard_data(guard: Any) -> list:
    """A condition as plain data: its text, and the symbols in it that are not integers."""
    return [str(guard), {e.name: e.kind for e in walk(guard) if e.op == "sym" and e.kind != "int"}]


def line_of(node: Any) -> str:
    """The user's line of a node, "file.py:3  x + y", or ""."""
    line = node.meta.get("line")
    return "" if line is None else f"{line}  {line.text}"

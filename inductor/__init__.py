"""inductor: graphs → kernels. `compile_fx(gm, example_inputs)` is the pipeline; parts load on first use."""

from collections import Counter

# What the compiler has done in this process: graphs, lowerings, compiles (of C++), kernels, cache_hits, cache_misses,
# cache_errors.
counters: Counter[str] = Counter()


def __getattr__(name: str):
    if name == "compile_fx":
        from inductor.entry import compile_fx

        return compile_fx
    if name in ("list_options", "list_mode_options"):
        from inductor import modes

        return getattr(modes, name)
    raise AttributeError(f"module 'inductor' has no attribute {name!r}")
